"""The log of a campaign that has ended, opened for what is recorded after the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from fuzztui.kernel.remote.lock import LockHeld, RunLock
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.supervise.campaign_log import CampaignLog


@contextmanager
def ended_log(run: Path) -> Iterator[tuple[RunDir, CampaignLog]]:
    """Context manager: the run, locked, so that no campaign starts there, and its log.

    Its clock stands still. Raises :class:`SupervisorError` if the run is locked, damaged, or cannot
    be written.
    """
    run_dir = RunDir(run.resolve())
    try:
        lock = RunLock(run_dir.path)
    except LockHeld as e:
        raise SupervisorError(str(e)) from None
    except OSError as e:
        raise SupervisorError(f"{run}: cannot be locked: {e.strerror or e}") from None
    try:
        with closing(_opened(run_dir)) as log:
            log.clock.stay()
            try:
                yield run_dir, log
            finally:
                written = log.flush()
            if not written:
                raise SupervisorError(
                    f"{run_dir.log}: the campaign log cannot be written (disk full?)"
                )
    finally:
        lock.release()


def _opened(run_dir: RunDir) -> CampaignLog:
    try:
        return CampaignLog(run_dir, lambda event: None, lambda trouble: None)
    except OSError as e:
        file = e.filename or run_dir.path
        raise SupervisorError(f"{file}: cannot be written: {e.strerror or e}") from None
