"""A service: what runs beside the instances, in the process that owns a campaign's log.

That is the supervisor, or the hub of a campaign on several hosts. Both run the services that
:mod:`fuzztui.run.supervise.services` lists.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.commands import Command
from fuzztui.kernel.wire.events import CommandApplied, Event, Message
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir

Progress = Callable[[str, float], None]
"""Called with a message and the part (0 to 1) of a handler's work that is done; -1: unknown."""

Handler = Callable[[Any, Progress], Awaitable[str | CommandApplied]]
"""Carries out a command in the supervisor. Returns the text of the answer, or the whole answer
without the command's id.

Raises :class:`~fuzztui.run.campaign.rundir.SupervisorError` with the reason if it fails.
"""


@dataclass(frozen=True, slots=True)
class ServiceContext:
    """The campaign of a service."""

    campaign: Campaign
    run_dir: RunDir
    state: State
    record: Callable[..., None]
    """Logs events, which are then in ``state``."""
    now: Callable[[], float]
    """Returns the campaign time in seconds."""
    rest: Callable[[str, str], None] = lambda name, why: None
    """Pauses an instance until its next turn, with the reason; an empty reason: it has a turn."""
    is_hub: bool = False
    """Whether the owner of the log is a hub: the instances run on hosts, with owners of theirs."""


class Service:
    """One service. A subclass implements the methods that it needs."""

    again_s: float = 3.0
    """Seconds after which :meth:`run` is called again when it has returned; infinite: never."""

    directory: str = ""
    """The directory in ``out/`` that the service fills with entries, which are observed."""

    def handlers(self) -> Mapping[str, Handler]:
        """Return the handlers of commands that the service carries out, by the command's name."""
        return {}

    def refusal(self, command: Command, by: str) -> str:
        """Return why a command of the user ``by`` is refused; an empty string: it is not."""
        return ""

    def at_start(self) -> Sequence[Event]:
        """Return events to log before the campaign starts. Blocking.

        Raises :class:`~fuzztui.run.campaign.rundir.SupervisorError` if the campaign must not start.
        """
        return ()

    def setup(self, progress: Callable[[str], None]) -> Sequence[Message]:
        """Prepare what all instances need, after an AFL++ target was built.

        Not called if engines run already; in a hub at each of its starts. Blocking. ``progress``:
        called with a message about each slow step. Returns messages to log.
        Raises :class:`~fuzztui.run.campaign.rundir.SupervisorError` if nothing can be started.
        """
        return ()

    def saw(self, event: Event) -> None:
        """Note an event that was recorded and is in the state."""

    async def run(self) -> None:
        """Do what is due, or work until cancelled."""

    @property
    def pending(self) -> str:
        """The work that is left before the end, such as ``3 findings``; an empty string: none."""
        return ""

    async def finish(self) -> None:
        """Do what is left when all instances have ended. May be cancelled at any time."""

    async def close(self) -> None:
        """Release what :meth:`run` holds, quickly. Called when all services have finished."""

    async def ended(self, end: str, reason: str) -> None:
        """Called when nothing else runs any more. ``end``: the campaign's last state."""
