"""The shares of a suite's properties: most work for those that still cover new code.

A property's share is proportional to its yield, the new cells that it lately brought for its work,
and to the user's weight. One turn in five goes to the property that had the least work for its
weight, so that none starves. Work is counted, not timed: with the same seed, trial N is the same in
every run.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

FLOOR: Final = 0.2
"""Share of the turns that all properties get alike."""

_EACH: Final = round(1 / FLOOR)

WINDOW: Final = 2_000_000.0
"""Work of a property after which its earlier results count half."""

PRIOR_FOUND: Final = 1.0
PRIOR_WORK: Final = 200_000.0
"""New cells, and their work, that are added to each property's own results."""


@dataclass(slots=True, eq=False)
class Yield:
    """The new cells that one property has found, and the work for them."""

    weight: float = 1.0
    """A user's weight; 0: no turns."""
    work: float = 0.0
    """The work of the property since the campaign began."""
    _lately: float = 0.0
    _found: float = 0.0

    def add(self, work: float) -> None:
        """Count work."""
        self.work += work
        self._lately += work
        if self._lately > WINDOW:
            self._lately /= 2
            self._found /= 2

    def find(self, cells: float) -> None:
        """Count new cells, or what is worth as much."""
        self._found += cells

    @property
    def rate(self) -> float:
        """New cells for a unit of work, lately."""
        return (self._found + PRIOR_FOUND) / (self._lately + PRIOR_WORK)


class Shares:
    """Decides which property has the next turn."""

    def __init__(self, yields: Sequence[Yield], rng: random.Random) -> None:
        self._yields, self._rng = yields, rng
        self._turns = 0

    def next(self, able: Sequence[int]) -> int:
        """The next property, one of ``able``, which is not empty."""
        self._turns += 1
        yields = self._yields
        wanted = [at for at in able if yields[at].weight] or able
        least = min(wanted, key=lambda at: yields[at].work / (yields[at].weight or 1.0))
        if not yields[least].work or self._turns % _EACH == 0:
            return least
        rates = [yields[at].weight * yields[at].rate for at in wanted]
        if not any(rates):
            return least
        return self._rng.choices(wanted, rates)[0]

    def shares(self, able: Sequence[int]) -> dict[int, float]:
        """The share of the next work of each of ``able``; 0 of those with weight 0."""
        yields = self._yields
        wanted = [at for at in able if yields[at].weight] or able
        rates = {at: (yields[at].weight or 1.0) * yields[at].rate for at in wanted}
        weights = {at: yields[at].weight or 1.0 for at in wanted}
        whole, weight = sum(rates.values()), sum(weights.values())
        return {
            at: FLOOR * weights[at] / weight + (1 - FLOOR) * rates[at] / whole
            if at in rates
            else 0.0
            for at in able
        }
