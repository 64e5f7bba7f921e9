"""What the mutants' stage needs of its supervisor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from fuzztui.campaign.rundir import RunDir
from fuzztui.instances import life
from fuzztui.instances.life import Ending, Life
from fuzztui.model.state import State

__all__ = ["Desk", "Halted", "Told"]

Told = Callable[[str], None]
"""Told in words what is being done: it takes time."""


class Halted(Exception):
    """The campaign is being ended; what was begun is gone on with when it is resumed."""


class Desk(life.Desk, Protocol):
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
        """Wait for ``job``; give it up and raise :class:`Halted` when the campaign ends."""

    async def live(self, lives: Sequence[Life], home: RunDir, mutant: str) -> None:
        """Let instances that fuzz a mutant live, observed, to their end."""

    def end(self, ending: Ending) -> None:
        """End the campaign."""

    def end_one(self, life: Life, ending: Ending) -> None:
        """End one instance, cleanly."""
