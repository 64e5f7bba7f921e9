"""A phase of a campaign that comes before the target's, and the part of the supervisor it uses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import Event, PhaseStarted
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.instances import life
from fuzztui.run.instances.life import EndReason, InstanceLife

ReportStep = Callable[[str], None]
"""Called with a message about each step that takes time."""


class CampaignStopping(Exception):
    """The campaign is ending; unfinished steps are continued when it is resumed."""


class Phase(Protocol):
    """What a campaign does before the target's instances start, such as fuzzing mutants."""

    def on_event(self, event: Event) -> None:
        """Note an event that was recorded and is in the state."""

    def running_instances(self) -> list[str]:
        """Return the phase's instances whose engines an earlier supervisor left running."""
        ...

    def remaining_turn_s(self) -> float:
        """Return the most seconds that a running turn had left when the last supervisor ended.

        Infinite if turns are limited by trials.
        """
        ...

    async def run(self) -> None:
        """Run to the end of the phase.

        Raises :class:`~fuzztui.run.campaign.rundir.SupervisorError` with the reason why the
        campaign fails, and :class:`CampaignStopping` if it ends earlier.
        """

    def over(self) -> PhaseStarted:
        """Return the event to log after :meth:`run`: the target's phase starts."""
        ...


class PhaseContext(life.LifeContext, Protocol):
    """The part of the supervisor that a phase uses."""

    @property
    def state(self) -> State:
        """The campaign's state, folded from its log."""

    @property
    def leaving(self) -> bool:
        """Whether the campaign is ending."""

    def now(self) -> float:
        """Return the campaign time in seconds."""

    def unpaid(self) -> AbstractContextManager[None]:
        """Context manager: stop the campaign time, so that no budget is used."""

    async def abide(self, job: Awaitable[None]) -> None:
        """Wait for ``job``; if the campaign ends, cancel it and raise ``CampaignStopping``."""

    async def live(self, lives: Sequence[InstanceLife], run_dir: RunDir, mutant: str) -> None:
        """Run and observe instances that fuzz a mutant, until all have ended."""

    def end(self, ending: EndReason) -> None:
        """End the campaign."""

    def end_one(self, life: InstanceLife, ending: EndReason) -> None:
        """End one instance."""
