"""A small set of inputs that has everything that all inputs have: edges, kills."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar


class _Sized(Protocol):
    @property
    def file(self) -> str: ...
    @property
    def size(self) -> int: ...


_Row = TypeVar("_Row", bound=_Sized)


@dataclass(frozen=True, slots=True)
class CoverInput:
    """An input, and all that it covers or kills."""

    file: str
    size: int
    has: frozenset[object]


@dataclass(frozen=True, slots=True)
class CoverPick(Generic[_Row]):
    """An input of a cover, and what no earlier pick has."""

    row: _Row
    new: frozenset[object]


def greedy_cover(
    rows: Sequence[_Row],
    key: Callable[[_Row], Collection[object]],
    weight: Callable[[Collection[object]], Any] = len,
    have: Iterable[object] = (),
) -> list[CoverPick[_Row]]:
    """Return few rows that together have everything that all rows have, the best first.

    The next one has the most that is new, by ``weight``, which more items never make smaller; of
    equals, the smallest input. Picks that later ones make needless are dropped at the end. The
    result depends on the rows only. ``have``: what need not be covered.
    """
    known = frozenset(have)
    parts = {id(row): frozenset(key(row)) - known for row in rows}
    ordered = sorted(rows, key=lambda row: (row.size, row.file))
    chosen = [pick.row for pick in _greedy(ordered, parts, weight)]
    counts: dict[object, int] = {}
    for row in chosen:
        for item in parts[id(row)]:
            counts[item] = counts.get(item, 0) + 1
    for row in reversed(chosen.copy()):
        if all(counts[item] > 1 for item in parts[id(row)]):
            chosen.remove(row)
            for item in parts[id(row)]:
                counts[item] -= 1
    # Ordered again, because what was dropped had a part in the first order.
    kept = {id(row) for row in chosen}
    return _greedy([row for row in ordered if id(row) in kept], parts, weight)


@dataclass(slots=True)
class _Bound(Generic[_Row]):
    """A row, and what it weighed when it was last looked at: it can only weigh less now."""

    weight: Any
    at: int
    row: _Row

    def __lt__(self, other: _Bound[_Row]) -> bool:
        if self.weight == other.weight:
            return self.at < other.at
        return bool(self.weight > other.weight)


def _greedy(
    ordered: Sequence[_Row],
    parts: dict[int, frozenset[object]],
    weight: Callable[[Collection[object]], Any],
) -> list[CoverPick[_Row]]:
    """Pick the row that brings the most, until none brings anything; the first one of equals.

    A row is weighed again only if it may be the best: of 10,000 rows that is a few each time.
    """
    heap = [_Bound(weight(parts[id(row)]), at, row) for at, row in enumerate(ordered)]
    heapq.heapify(heap)
    picks: list[CoverPick[_Row]] = []
    seen: set[object] = set()
    while heap:
        best = heapq.heappop(heap)
        new = parts[id(best.row)] - seen
        if not new:
            continue
        best.weight = weight(new)
        if heap and heap[0] < best:
            heapq.heappush(heap, best)
            continue
        picks.append(CoverPick(best.row, new))
        seen |= new
    return picks
