"""``python -m fuzztui.supervise RUN``: the supervisor's process.

Without options the process stays in the foreground (for a service manager). With ``--detach FD`` it
leaves its parent and reports its start as JSON lines on the pipe ``FD``.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from pathlib import Path

from fuzztui.base.atomic import replace_text
from fuzztui.campaign import CampaignError, load
from fuzztui.campaign.rundir import AlreadyRunning, RunDir, SupervisorError
from fuzztui.process.identity import check_proc
from fuzztui.remote.lock import LockHeld, RunLock
from fuzztui.supervise.daemon import StarterPipe
from fuzztui.supervise.supervisor import Supervisor
from fuzztui.wire.events import Message

_GUARD_S = 0.5


async def _supervise(
    run_dir: RunDir, frozen: str | None, lock: RunLock, parent: StarterPipe
) -> None:
    try:
        loaded = load(run_dir.campaign, text=frozen)
    except CampaignError as e:
        raise SupervisorError(str(e)) from None
    supervisor = Supervisor(loaded.campaign, run_dir, parent.progress, lock.note_trouble)
    guard = asyncio.ensure_future(_guard(lock, run_dir.log, supervisor))

    def ready() -> None:
        # A campaign that cannot start must not replace the campaign of the run.
        if frozen is not None:
            try:
                replace_text(run_dir.campaign, frozen)
            except FileNotFoundError:
                pass  # the run was deleted: the guard ends the campaign
            except OSError as e:
                text = (
                    f"{run_dir.campaign} cannot be written: {e.strerror or e}; the campaign "
                    "continues as started, but the run keeps its old campaign file until the next "
                    "start"
                )
                supervisor.record(Message("error", text))
        parent.ready()

    try:
        with parent.waiting():
            supervisor.setup()
        await supervisor.run(ready)
    finally:
        guard.cancel()


async def _guard(lock: RunLock, log: Path, supervisor: Supervisor) -> None:
    """End a campaign whose lock file or log was deleted.

    Without the lock file a second supervisor can start; without the log no finding is recorded.
    """
    while lock.in_place() and not _is_gone(log):
        await asyncio.sleep(_GUARD_S)
    logging.error("the run directory, or its log, was deleted: the campaign ends")
    supervisor.run_deleted()


def _is_gone(directory: Path) -> bool:
    try:
        directory.stat()
    except FileNotFoundError:
        return True
    except OSError:  # an I/O error does not mean that the directory was deleted
        pass
    return False


def _text(fd: int) -> str:
    with os.fdopen(fd, encoding="utf-8") as file:
        return file.read()


def main() -> int:
    """Supervise a campaign to its end. Returns 0, or 1 if the campaign could not start."""
    options = argparse.ArgumentParser(prog="python -m fuzztui.supervise")
    options.add_argument("run", type=Path)
    options.add_argument("--detach", type=int, metavar="FD")
    options.add_argument("--campaign", type=int, metavar="FD", help="replaces the run's campaign")
    arguments = options.parse_args()
    # The parent waits for the first of the two processes, so the second becomes no zombie.
    if arguments.detach is not None and os.fork():
        os._exit(0)
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    parent = StarterPipe(arguments.detach)
    run_dir = RunDir(arguments.run.resolve())
    try:
        try:
            check_proc()
        except OSError as e:
            raise SupervisorError(f"{e.filename}: {e.strerror}") from None
        try:
            lock = RunLock(run_dir.path)
        except LockHeld as e:
            raise AlreadyRunning(run_dir.path, e.pid) from None
        except OSError as e:
            raise SupervisorError(f"{run_dir.path}: cannot be locked: {e.strerror or e}") from None
        try:
            frozen = None if arguments.campaign is None else _text(arguments.campaign)
            asyncio.run(_supervise(run_dir, frozen, lock, parent))
        finally:
            lock.release()  # before the error is reported: the user may try again at once
    except SupervisorError as e:
        parent.fail(e)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
