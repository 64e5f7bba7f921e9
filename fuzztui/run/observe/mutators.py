"""Observe the statistics block of text mutators (``.text`` in an instance's directory).

The engine updates the block all the time. A new mixture is reported at once, new entries and
crashes soon, and mere counts rarely.
"""

from __future__ import annotations

import time
from pathlib import Path

from fuzztui.engines.text.block import BLOCK, StatsBlock, read_block
from fuzztui.engines.text.table import ARMS
from fuzztui.kernel.wire.events import MutatorStats
from fuzztui.kernel.wire.mixture import Mixture

LOOK_S = 0.25
"""Seconds between two reads of the block."""

FINDS_S = 2.0
"""Minimum seconds between two events if a mutator found something."""

COUNTS_S = 5.0
"""Minimum seconds between two events if only counts have changed."""


def stats_of(name: str, block: StatsBlock) -> MutatorStats:
    """Make the event from the block of instance ``name``."""
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
        [a.wished / 1000 for a in arms] if any(a.wish for a in arms) else [],
    )


class MutatorBlock:
    """The statistics block of instance ``name`` in the directory ``path``, if there is one.

    ``logged``: the instance's last event in the log; None: none.
    """

    def __init__(self, path: str, name: str, logged: MutatorStats | None = None) -> None:
        self._path = Path(path) / BLOCK
        self._name = name
        self._logged = logged
        self._logged_at = float("-inf")
        self._due = 0.0

    def look(self, *, last: bool = False) -> MutatorStats | None:
        """Return the event if one is due, else None. ``last``: the engine has ended."""
        now = time.monotonic()
        if now < self._due and not last:
            return None
        self._due = now + LOOK_S
        if (block := read_block(self._path)) is None:
            return None
        stats = stats_of(self._name, block)
        if stats == self._logged:
            return None
        if not last and now - self._logged_at < self._interval_s(stats):
            return None
        self._logged, self._logged_at = stats, now
        return stats

    def _interval_s(self, now: MutatorStats) -> float:
        """Minimum seconds between the last event and this one."""
        logged = self._logged
        if logged is None or logged.adaptive != now.adaptive or logged.names != now.names:
            return 0.0
        if logged.wishes != now.wishes:
            return 0.0
        # An adaptive mixture changes all the time.
        before, after = (Mixture(s.havoc, s.text, s.splice) for s in (logged, now))
        if not now.adaptive and before != after:
            return 0.0
        if (logged.found, logged.crashes) != (now.found, now.crashes):
            return FINDS_S
        return COUNTS_S
