"""What the mutant phase needs of its supervisor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from fuzztui.campaign.rundir import RunDir
from fuzztui.instances import life
from fuzztui.instances.life import EndReason, InstanceLife
from fuzztui.model.state import State

__all__ = ["CampaignStopping", "MutantPhaseContext", "Told"]

Told = Callable[[str], None]
"""Told in words what is being done: it takes time."""


class CampaignStopping(Exception):
    """The campaign is being ended; what was started is gone on with when it is resumed."""


class MutantPhaseContext(life.LifeContext, Protocol):
    """What a stage of the campaign needs of its supervisor."""

    @property
    def state(self) -> State:
        """The campaign, folded from its log."""

    @property
    def leaving(self) -> bool:
        """Whether the campaign is being ended."""

    def now(self) -> float:
        """Campaign time."""

    def unpaid(self) -> AbstractContextManager[None]:
        """No budget pays for what is done in it: campaign time stands still."""

    async def abide(self, job: Awaitable[None]) -> None:
        """Wait for ``job``; give it up and raise ``CampaignStopping`` when the campaign ends."""

    async def live(self, lives: Sequence[InstanceLife], home: RunDir, mutant: str) -> None:
        """Let instances that fuzz a mutant live, observed, to their end."""

    def end(self, ending: EndReason) -> None:
        """End the campaign."""

    def end_one(self, life: InstanceLife, ending: EndReason) -> None:
        """End one instance, cleanly."""
