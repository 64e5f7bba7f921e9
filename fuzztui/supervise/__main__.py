"""``python -m fuzztui.supervise RUN``: the supervisor's process.

In the foreground as it is (for a service manager); with ``--detach FD`` it leaves its
parent, and tells on the pipe ``FD``, in JSON lines, how its start goes.
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
from fuzztui.supervise.parent import StarterPipe
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
    supervisor = Supervisor(loaded.campaign, run_dir, parent.progress, lock.tell)
    guard = asyncio.ensure_future(_guard(lock, run_dir.log, supervisor))

    def ready() -> None:
        # A campaign that is refused must not take the place of the one that the run is of.
        if frozen is not None:
            try:
                replace_text(run_dir.campaign, frozen)
            except FileNotFoundError:
                pass  # the run is gone: the guard ends us
            except OSError as e:
                words = f"{run_dir.campaign} cannot be written: {e.strerror or e}"
                more = (
                    "the campaign continues as it was started, but the run keeps its old campaign"
                )
                supervisor.record(Message("error", f"{words}; {more} until the next start"))
        parent.ready()

    try:
        with parent.waiting():
            supervisor.setup()
        await supervisor.run(ready)
    finally:
        guard.cancel()


async def _guard(lock: RunLock, log: Path, supervisor: Supervisor) -> None:
    """End a campaign whose lock file or log has gone.

    Without the lock file a second campaign may be started; without the log nothing
    that is found is recorded.
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
    except OSError:  # a file system in trouble says nothing about the directory
        pass
    return False


def _text(fd: int) -> str:
    with os.fdopen(fd, encoding="utf-8") as file:
        return file.read()


def main() -> int:
    """Supervise until the campaign ends; 0 if it did, 1 if it could not begin."""
    options = argparse.ArgumentParser(prog="python -m fuzztui.supervise")
    options.add_argument("run", type=Path)
    options.add_argument("--detach", type=int, metavar="FD")
    options.add_argument("--campaign", type=int, metavar="FD", help="of the run from now on")
    arguments = options.parse_args()
    # The parent waits for the first of the two, so that nobody has to bury the second.
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
            lock.release()  # before anybody hears of it, who may try again at once
    except SupervisorError as e:
        parent.refuse(e)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
