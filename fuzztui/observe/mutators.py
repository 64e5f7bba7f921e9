"""From the block of a text engine (``.text`` in its directory) to events for the log.

The engine writes its figures into the block all the time; the log gets them rarely, and
the sooner the more they say: another mixture at once, finds soon, mere counts now and then.
"""

from __future__ import annotations

import time
from pathlib import Path

from fuzztui.engines.text.block import BLOCK, StatsBlock, read_block
from fuzztui.engines.text.table import ARMS
from fuzztui.wire.events import MutatorStats
from fuzztui.wire.mixture import Mixture

__all__ = ["MutatorBlock", "figures_of"]

LOOK_S = 0.25
"""Between two looks at the block."""

FINDS_S = 2.0
"""At least between two events because something was found."""

COUNTS_S = 5.0
"""And because there is nothing new but counts."""


def figures_of(name: str, block: StatsBlock) -> MutatorStats:
    """What the block of instance ``name`` says, for the log."""
    arms = block.arms
    return MutatorStats(
        name,
        block.havoc,
        block.text,
        block.splice,
        block.adaptive,
        block.trials,
        list(ARMS),
        [a.tried for a in arms],
        [a.applied for a in arms],
        [a.found for a in arms],
        [a.crashes for a in arms],
        [a.weight for a in arms],
    )


class MutatorBlock:
    """The block of instance ``name`` in the directory ``path``; it need not have one."""

    def __init__(self, path: str, name: str, told: MutatorStats | None = None) -> None:
        self._path = Path(path) / BLOCK
        self._name = name
        self._told = told
        """What the log has."""
        self._told_at = float("-inf")
        self._due = 0.0

    def look(self, *, last: bool = False) -> MutatorStats | None:
        """News, None if there are none that are worth telling yet. ``last``: nobody writes now."""
        now = time.monotonic()
        if now < self._due and not last:
            return None
        self._due = now + LOOK_S
        if (block := read_block(self._path)) is None:
            return None
        figures = figures_of(self._name, block)
        if figures == self._told:
            return None
        if not last and now - self._told_at < self._patience(figures):
            return None
        self._told, self._told_at = figures, now
        return figures

    def _patience(self, now: MutatorStats) -> float:
        """How long ago the last event must be for this one."""
        told = self._told
        if told is None or told.adaptive != now.adaptive or told.names != now.names:
            return 0.0
        # What is adaptive changes its mixture all the time.
        was, is_ = (Mixture(f.havoc, f.text, f.splice) for f in (told, now))
        if not now.adaptive and was != is_:
            return 0.0
        if (told.found, told.crashes) != (now.found, now.crashes):
            return FINDS_S
        return COUNTS_S
