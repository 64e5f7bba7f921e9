"""The part of the supervisor that the mutant phase uses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from fuzztui.kernel.model.state import State
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.instances import life
from fuzztui.run.instances.life import EndReason, InstanceLife

ReportStep = Callable[[str], None]
"""Called with a message about each step that takes time."""


class CampaignStopping(Exception):
    """The campaign is ending; unfinished steps are continued when it is resumed."""


class MutantPhaseContext(life.LifeContext, Protocol):
    """The part of the supervisor that the mutant phase uses."""

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
