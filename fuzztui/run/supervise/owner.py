"""The process of a supervisor or of a hub: lock, campaign, guard, and the report of the start.

Without options the process stays in the foreground (for a service manager). With ``--detach FD`` it
leaves its parent and reports its start as JSON lines on the pipe ``FD``.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.installation import hold_installation
from fuzztui.kernel.remote.lock import LockHeld, RunLock
from fuzztui.kernel.wire.events import Event, Message
from fuzztui.run.campaign import CampaignError, FrozenCampaign, load
from fuzztui.run.campaign.rundir import AlreadyRunning, RunDir, SupervisorError
from fuzztui.run.process.identity import check_proc
from fuzztui.run.supervise.daemon import StarterPipe

_GUARD_S = 0.5


class LogOwner(Protocol):
    """A supervisor, or a hub: the only writer of the log of a run."""

    def setup(self) -> None:
        """Prepare the start. Blocking. Raises SupervisorError; nothing has been logged then."""

    async def run(self, ready: Callable[[], None]) -> None:
        """Run the campaign to its end. ``ready`` is called once it runs. Raises SupervisorError."""

    def record(self, *events: Event) -> None:
        """Log events."""

    def run_gone(self, why: str) -> None:
        """End the campaign, because its run, log or lock was deleted or moved; ``why``: text."""


MakeOwner = Callable[
    [FrozenCampaign, RunDir, Callable[[str], None], Callable[[str], None]], LogOwner
]
"""Makes the owner of a campaign's log. Arguments: the campaign, its run, a function that is called
with each slow step of the start, and one that is called with a message while nothing can be
written. Raises SupervisorError."""


async def _own(
    make: MakeOwner, run_dir: RunDir, frozen: str | None, lock: RunLock, parent: StarterPipe
) -> None:
    try:
        loaded = load(run_dir.campaign, text=frozen)
    except CampaignError as e:
        raise SupervisorError(str(e)) from None
    owner = make(loaded, run_dir, parent.progress, lock.note_trouble)
    guard = asyncio.ensure_future(_guard(lock, run_dir.log, owner))

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
                owner.record(Message("error", text))
        parent.ready()

    try:
        with parent.waiting():
            owner.setup()
        await owner.run(ready)
    finally:
        guard.cancel()


async def _guard(lock: RunLock, log: Path, owner: LogOwner) -> None:
    """End a campaign whose lock file or log was deleted or moved.

    Without the lock file a second supervisor can start; without the log no finding is recorded.
    """
    while lock.in_place() and not _is_gone(log):
        await asyncio.sleep(_GUARD_S)
    why = _whereabouts(lock)
    logging.error("%s: the campaign ends", why)
    owner.run_gone(why)


def _whereabouts(lock: RunLock) -> str:
    if lock.in_place():
        return "the run's log was deleted or moved"
    if (now := lock.moved_to()) is None:
        return "the run directory was deleted"
    again = shlex.join(["fuzztui", str(now / "campaign.toml")])
    return f"the run directory was moved to {now}, while the campaign ran; resume it with: {again}"


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


def run_process(module: str, make: MakeOwner) -> int:
    """Run the campaign that the command line names to its end. ``module``: for the usage message.

    Returns 0, or 1 if the campaign could not start.
    """
    options = argparse.ArgumentParser(prog=f"python -m {module}")
    options.add_argument("run", type=Path)
    options.add_argument("--detach", type=int, metavar="FD")
    options.add_argument("--campaign", type=int, metavar="FD", help="replaces the run's campaign")
    arguments = options.parse_args()
    hold_installation()
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
            asyncio.run(_own(make, run_dir, frozen, lock, parent))
        finally:
            lock.release()  # before the error is reported: the user may try again at once
    except SupervisorError as e:
        parent.fail(e)
        return 1
    return 0
