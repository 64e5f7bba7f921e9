"""Which type is mutated next: the distances of types, and what moves them.

Three things are kept apart, so that none undoes another: the *distance* of a type, which the
static analysis and what is left to cover say; its *factor*, which grows with each input that has no
choice of the type and shrinks again with each that has one; its *weight*, which only a user
changes.
"""

from __future__ import annotations

import random
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from fuzztui.engines.spoton.goals import Goal
from fuzztui.engines.spoton.relations import TypeRelations

__all__ = ["Distances", "TypeStats", "label_of", "unify"]

MATCH: Final = 3 / 4
MISS: Final = 4 / 3
MOST: Final = 8.0
"""Of a factor: a type that most inputs lack is still asked for now and then."""


_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_.<>]")


def label_of(name: str) -> str:
    """A type's name as it stands in names of files: nothing else, and not too long."""
    return _NO_NAME.sub("_", name)[-80:]


def unify(targets: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """One distance a type, of the distances in each target: where the most types influence it.

    The SpotOn paper, III-B, type unification pass; of two that are as large, the smaller distance.
    """
    best: dict[str, tuple[int, int]] = {}
    for target in targets:
        size = len(target)
        for name, distance in target.items():
            now = (-size, distance)
            if name not in best or now < best[name]:
                best[name] = now
    return {name: distance for name, (_, distance) in best.items()}


@dataclass(slots=True)
class TypeStats:
    """What is known of one type, over the whole life of the instance."""

    weight: float = 1.0
    """A person's; 0 bans it."""
    factor: float = 1.0
    picks: int = 0
    matches: int = 0
    misses: int = 0
    new_arms: int = 0
    """Cells that children which aimed at this type were the first to cover."""


class Distances:
    """A roulette over the types that matter now: p ~ weight / ((1 + distance) * factor).

    A type that no choice of any entry that was mutated so far has been of is not drawn: it could
    only be missed.

    The paper scales a distance that is never 0; here 0 is the nearest, so what is scaled is one
    more: else a type at 0 that no generator makes would never lose a chance.
    """

    def __init__(self, rng: random.Random, kin: TypeRelations | None = None) -> None:
        """``kin`` knows which types entries have had; without it, all types are drawn."""
        self._random, self._kin = rng.random, kin
        self.standings: dict[str, TypeStats] = {}
        self.now: dict[str, int] = {}
        """The types of what is left to cover, and their distances."""
        self._chances: dict[str, float] = {}
        self._names: list[str] = []
        self._sums: list[float] = []
        self._age = 0
        """Of what ``kin`` knew when the chances were made out."""

    def aim(self, targets: Iterable[Goal]) -> None:
        """These are what is to be covered now."""
        self.now = unify(target.types for target in targets)
        for name in self.now:
            self.standings.setdefault(name, TypeStats())
        self._renew()

    def probability(self, name: str) -> float:
        """How probable a type was to be picked, when that was last made out.

        It looks at nothing: whoever asks does so by the clock, and classes that are looked for
        sooner or later may be there or not.
        """
        total = self._sums[-1] if self._sums else 0.0
        return self._chances.get(name, 0.0) / total if total else 0.0

    def pick(self) -> str | None:
        """A type; None: there is none, or all are banned."""
        if self._kin is not None and self._age != self._kin.age:
            self._renew()
        if not self._sums or not self._sums[-1]:
            return None
        at = bisect_right(self._sums, self._random() * self._sums[-1])
        name = self._names[min(at, len(self._names) - 1)]
        self.standings[name].picks += 1
        return name

    def matched(self, name: str) -> None:
        """The input has choices of the type."""
        standing = self.standings[name]
        standing.matches += 1
        self._scale(standing, MATCH)

    def missed(self, name: str) -> None:
        """It has none."""
        standing = self.standings[name]
        standing.misses += 1
        self._scale(standing, MISS)

    def weigh(self, name: str, weight: float) -> None:
        """A person's word; also about a type that does not matter now. Raises ValueError."""
        if not 0 <= weight <= 1e6:
            raise ValueError(f"a weight is from 0 to 1,000,000, not {weight:g}")
        self.standings.setdefault(name, TypeStats()).weight = weight
        self._renew()

    def _scale(self, standing: TypeStats, by: float) -> None:
        factor = min(MOST, max(1.0, standing.factor * by))
        if factor != standing.factor:
            standing.factor = factor
            self._renew()

    def _chance(self, name: str) -> float:
        if self._kin is not None and not self._kin.met(name):
            return 0.0
        standing = self.standings[name]
        return standing.weight / ((1 + self.now[name]) * standing.factor)

    def _renew(self) -> None:
        self._age = self._kin.age if self._kin is not None else 0
        self._chances = {name: self._chance(name) for name in self.now}
        self._names = list(self._chances)
        self._sums = list(accumulate(self._chances.values()))
