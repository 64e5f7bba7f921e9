"""The run of the same target that was started before another one."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fuzztui.kernel.log.files import LogError
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.wire.events import CampaignStarted
from fuzztui.run.home.finding import runs_in

_MAX_RUNS: Final = 30
"""Runs of a directory that are looked at, those that were changed last."""
_HEAD: Final = 20
"""Records in which the start of the campaign is looked for."""


def earlier_run(run: Path) -> Path | None:
    """Return the last run beside ``run`` that began before it, of the same target and engine.

    None if there is none. Runs that cannot be read are left out. Raises LogError, OSError for
    ``run`` itself.
    """
    mine = _start(run)
    if mine is None:
        return None
    found: list[tuple[float, Path]] = []
    beside = [path for path in runs_in(run.absolute().parent) if path.name != run.absolute().name]
    for path in sorted(beside, key=_changed, reverse=True)[:_MAX_RUNS]:
        try:
            start = _start(path)
        except (LogError, OSError):
            continue
        if (
            start is not None
            and (start.target, start.engine) == (mine.target, mine.engine)
            and start.wall < mine.wall
        ):
            found.append((start.wall, path))
    return max(found)[1] if found else None


def _changed(run: Path) -> float:
    try:
        return (run / "log").stat().st_mtime
    except OSError:
        return 0.0


def _start(run: Path) -> CampaignStarted | None:
    """The start of a run's campaign; None if its log does not contain it."""
    events = (record.event for record in LogReader(run).records(limit=_HEAD))
    return next((event for event in events if isinstance(event, CampaignStarted)), None)
