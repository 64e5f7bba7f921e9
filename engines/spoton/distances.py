"""Choose the type to mutate next, from the distances, factors and weights of types.

Three numbers of a type are independent, so that no change undoes another. The *distance* follows
from the static analysis and the uncovered goals. The *factor* grows with each input that has no
choice of the type, and shrinks with each that has one. Only a user changes the *weight*.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from math import fsum
from typing import Final

from fuzztui.engines.spoton.goals import Goal
from fuzztui.engines.spoton.relations import TypeRelations

MATCH: Final = 3 / 4
MISS: Final = 4 / 3
MAX_FACTOR: Final = 8.0
"""Bound of a factor, so that a type that most inputs lack is still picked sometimes."""
YIELD_BOUND: Final = 4.0
"""What types bring makes them at most so many times as probable, or improbable."""
ASSUMED: Final = 100
"""Mutations, one of them with new cells, that are added to the results of types."""
RENEWED: Final = 100
"""Mutations after which the probabilities are computed anew."""
REMEMBERED: Final = 4000
"""Mutations after which earlier results count half."""


def unify(goals: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """One distance for each type: the distance to the goal that the most types influence.

    The SpotOn paper, III-B, type unification pass; between goals with equally many types, the
    smaller distance.
    """
    best: dict[str, tuple[int, int]] = {}
    for goal in goals:
        size = len(goal)
        for name, distance in goal.items():
            now = (-size, distance)
            if name not in best or now < best[name]:
                best[name] = now
    return {name: distance for name, (_, distance) in best.items()}


@dataclass(slots=True)
class TypeStats:
    """Counters, factor and weight of one type, over all restarts of the instance."""

    weight: float = 1.0
    """The user's multiplier; 0 bans the type."""
    factor: float = 1.0
    picks: int = 0
    matches: int = 0
    misses: int = 0
    new_arms: int = 0
    """Cells that were first covered by a child of a mutation directed at this type."""


class Distances:
    """Weighted random choice among the types of the goals: p ~ weight / ((1 + distance) * factor).

    Types that the same parts of inputs have (a class and its base class) share the probability of
    one of them, times what mutations directed at them lately brought. The paper does neither.

    A type that has not occurred in any mutated entry yet is never picked: it could only be missed.

    The paper multiplies the factor with a distance that is never 0. Here 0 is the nearest, so 1 is
    added: else a type at distance 0 that no generator makes would never become less probable.
    """

    def __init__(self, rng: random.Random, relations: TypeRelations | None = None) -> None:
        """``relations``: the types that occurred in entries; None: every type may be picked."""
        self._random, self._relations = rng.random, relations
        self.stats_by_type: dict[str, TypeStats] = {}
        self.now: dict[str, int] = {}
        """The types of the current goals, and their distances."""
        self._chances: dict[str, float] = {}
        self._tried: Counter[str] = Counter()
        self._brought: Counter[str] = Counter()
        """By type: mutations directed at it, and children of them with new cells; of this worker,
        and older ones count less."""
        self._until_renewed = RENEWED
        self._names: list[str] = []
        self._sums: list[float] = []
        self._alike: list[list[str]] = []
        """The types of the current goals that entries have, grouped by the choices they make."""
        self._age = -1
        """``relations.age`` when the groups were found."""
        self.on_goals: Callable[[], None] = lambda: None
        """Called when the goals were replaced."""

    def set_goals(self, goals: Iterable[Goal]) -> None:
        """Replace the goals that mutations are directed at."""
        self.now = unify(goal.types for goal in goals)
        for name in self.now:
            self.stats_by_type.setdefault(name, TypeStats())
        self._age = -1
        self._renew()
        self.on_goals()

    def probability(self, name: str) -> float:
        """The probability that a type is picked, as last computed.

        Recomputes nothing. Callers follow the clock, and a recomputation looks for classes that may
        have been imported meanwhile, so that runs with one seed would differ.
        """
        total = self._sums[-1] if self._sums else 0.0
        return self._chances.get(name, 0.0) / total if total else 0.0

    def pick(self) -> str | None:
        """Pick a type; None if no type is available or all are banned."""
        if self._relations is not None and self._age != self._relations.age:
            self._renew()
        if not self._sums or not self._sums[-1]:
            return None
        at = bisect_right(self._sums, self._random() * self._sums[-1])
        name = self._names[min(at, len(self._names) - 1)]
        self.stats_by_type[name].picks += 1
        return name

    def record_match(self, name: str) -> None:
        """Count an input that has choices of the picked type."""
        stats = self.stats_by_type[name]
        stats.matches += 1
        self._tried[name] += 1
        self._until_renewed -= 1
        if not self._until_renewed:
            self._until_renewed = RENEWED
            self._forget()
            self._renew()
        self._scale(stats, MATCH)

    def record_new(self, name: str, cells: int) -> None:
        """Count an input, made by a mutation directed at a type, that covers new cells."""
        self.stats_by_type[name].new_arms += cells
        self._brought[name] += 1
        self._renew()

    def record_miss(self, name: str) -> None:
        """Count an input that has no choice of the picked type."""
        stats = self.stats_by_type[name]
        stats.misses += 1
        self._scale(stats, MISS)

    def weigh(self, name: str, weight: float) -> None:
        """Set a user's weight; the type may be unused now. Raises ValueError if out of range."""
        if not 0 <= weight <= 1e6:
            raise ValueError(f"a weight is from 0 to 1,000,000, not {weight:g}")
        self.stats_by_type.setdefault(name, TypeStats()).weight = weight
        self._renew()

    def _scale(self, stats: TypeStats, by: float) -> None:
        factor = min(MAX_FACTOR, max(1.0, stats.factor * by))
        if factor != stats.factor:
            stats.factor = factor
            self._renew()

    def _chance(self, name: str) -> float:
        if self._relations is not None and not self._relations.met(name):
            return 0.0
        stats = self.stats_by_type[name]
        return stats.weight / ((1 + self.now[name]) * stats.factor)

    def _renew(self) -> None:
        if self._relations is not None and self._age != self._relations.age:
            self._age = self._relations.age
            self._group(self._relations)
        self._chances = {name: self._chance(name) for name in self.now}
        if self._relations is not None:
            self._share()
        self._names = list(self._chances)
        self._sums = list(accumulate(self._chances.values()))

    def _group(self, relations: TypeRelations) -> None:
        """Find the types that the same choices make."""
        alike: dict[frozenset[int], list[str]] = {}
        for name in filter(relations.met, self.now):
            alike.setdefault(relations.stacks_of(name), []).append(name)
        self._alike = list(alike.values())

    def _share(self) -> None:
        """Give the types that the same choices make the probability of one, by what they bring."""
        mean = self._rate(self._chances, 1 / ASSUMED)
        for names in self._alike:
            own = [self._chances[name] for name in names]
            if any(own):
                rate = self._rate(names, mean) / mean
                scale = max(own) / fsum(own) * min(YIELD_BOUND, max(1 / YIELD_BOUND, rate))
                for name in names:
                    self._chances[name] *= scale

    def _rate(self, names: Iterable[str], mean: float) -> float:
        """The share of mutations directed at one of these types whose children have new cells.

        One such child is added, for as many mutations as it takes in the mean: types that were
        seldom tried have about the mean.
        """
        names = list(names)
        brought, tried = (sum(map(c.__getitem__, names)) for c in (self._brought, self._tried))
        return (brought + 1) / (tried + 1 / mean)

    def _forget(self) -> None:
        """Let earlier results count half once there are many."""
        if self._tried.total() > REMEMBERED:
            for counts in (self._tried, self._brought):
                for name in counts:
                    counts[name] //= 2
