"""``python -m fuzztui.supervise RUN``: the supervisor's process.

In the foreground as it is (for a service manager); with ``--detach FD`` it leaves its
parent, and tells on the pipe ``FD``, in JSON lines, how its start goes.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import sys
from pathlib import Path

from fuzztui.campaign import CampaignError, load
from fuzztui.remote.lock import LockHeld, RunLock
from fuzztui.supervise.parent import Parent
from fuzztui.supervise.rundir import AlreadyRunning, RunDir, SupervisorError
from fuzztui.supervise.supervisor import Supervisor

_GUARD_S = 0.5


async def _supervise(home: RunDir, file: Path, lock: RunLock, parent: Parent) -> None:
    try:
        loaded = load(file)
    except CampaignError as e:
        raise SupervisorError(str(e)) from None
    supervisor = Supervisor(loaded.campaign, home, parent.progress, lock.tell)
    guard = asyncio.ensure_future(_guard(lock, supervisor))

    def ready() -> None:
        # A campaign that is refused must not take the place of the one that the run is of.
        with contextlib.suppress(FileNotFoundError):  # the run is gone: the guard sees to that
            file.replace(home.campaign)
        parent.ready()

    try:
        with parent.waiting():
            supervisor.setup()
        await supervisor.run(ready)
    finally:
        guard.cancel()


async def _guard(lock: RunLock, supervisor: Supervisor) -> None:
    """End a campaign whose lock file has gone: nobody could find it, and a second one may come."""
    while lock.in_place():
        await asyncio.sleep(_GUARD_S)
    supervisor.deserted()


def main() -> int:
    """Supervise until the campaign ends; 0 if it did, 1 if it could not begin."""
    options = argparse.ArgumentParser(prog="python -m fuzztui.supervise")
    options.add_argument("run", type=Path)
    options.add_argument("--detach", type=int, metavar="FD")
    options.add_argument("--campaign", type=Path, metavar="FILE", help="of the run from now on")
    arguments = options.parse_args()
    # The parent waits for the first of the two, so that nobody has to bury the second.
    if arguments.detach is not None and os.fork():
        os._exit(0)
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    parent = Parent(arguments.detach)
    home = RunDir(arguments.run.resolve())
    try:
        try:
            lock = RunLock(home.path)
        except LockHeld as e:
            raise AlreadyRunning(home.path, e.pid) from None
        except OSError as e:
            raise SupervisorError(f"{home.path}: cannot be locked: {e.strerror or e}") from None
        try:
            file = arguments.campaign or home.campaign
            asyncio.run(_supervise(home, file, lock, parent))
        finally:
            lock.release()  # before anybody hears of it, who may try again at once
    except SupervisorError as e:
        if arguments.campaign:
            arguments.campaign.unlink(missing_ok=True)
        parent.refuse(e)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
