"""A small set of inputs that has everything that all inputs have: edges, kills.

What an input has is a bit mask: 20,000 inputs with 5,000 edges each are 200 MB, as sets 3 GB.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar


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
    has: Collection[Hashable]


@dataclass(frozen=True, slots=True)
class CoverPick(Generic[_Row]):
    """An input of a cover, and what it has that no earlier pick has."""

    row: _Row
    new: frozenset[Hashable]


class Numbering:
    """Numbers things in the order in which they are first met, so that sets become bit masks."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._things: list[Hashable] = []

    def mask(self, things: Iterable[Hashable]) -> int:
        """Return the set as a mask."""
        numbers = self._numbers
        found = bytearray(len(numbers) // 8 + 1)
        for thing in things:
            number = numbers.get(thing)
            if number is None:
                number = numbers[thing] = len(self._things)
                self._things.append(thing)
                if number // 8 >= len(found):
                    found.append(0)
            found[number // 8] |= 1 << number % 8
        return int.from_bytes(found, "little")

    def things(self, mask: int) -> Iterator[Hashable]:
        """Return the things in a mask."""
        return (self._things[bit] for bit in bits_of(mask))


def greedy_cover(
    rows: Sequence[_Row],
    key: Callable[[_Row], Iterable[Hashable]],
    first: Callable[[Hashable], bool] = lambda thing: False,
    have: Iterable[Hashable] = (),
) -> list[CoverPick[_Row]]:
    """Return few rows that together have everything that all rows have, the best first.

    Each pick is the row with the most new things for which ``first`` is true; of equals, the one
    with the most new things of any kind, then the smallest. Picks that later ones make needless are
    dropped at the end. The result does not depend on the order of ``rows``. ``key`` returns what a
    row has. ``have``: things that need not be covered.
    """
    numbers = Numbering()
    known = numbers.mask(have)
    ordered = sorted(rows, key=lambda row: (row.size, row.file))
    masks = [numbers.mask(key(row)) for row in ordered]
    total = 0
    for mask in masks:
        total |= mask
    heavy = numbers.mask(thing for thing in numbers.things(total) if first(thing))
    return [
        CoverPick(ordered[at], frozenset(numbers.things(new)))
        for at, new in cover_of_masks(masks, heavy, known)
    ]


def cover_of_masks(masks: Sequence[int], heavy: int = 0, have: int = 0) -> list[tuple[int, int]]:
    """Return the indices of few masks that together have all bits, each with its new bits.

    :func:`greedy_cover` for masks; of equals, the first one is picked. ``heavy``: bits that count
    before all others. ``have``: bits that need not be covered.
    """
    parts = {at: mask & ~have for at, mask in enumerate(masks) if mask & ~have}
    chosen = [at for at, _ in _greedy(parts, heavy)]
    once = twice = 0
    for at in chosen:
        twice |= once & parts[at]
        once |= parts[at]
    counts: dict[int, int] = {}
    for at in chosen:
        for bit in bits_of(parts[at] & twice):
            counts[bit] = counts.get(bit, 0) + 1
    for at in reversed(chosen.copy()):
        shared = [*bits_of(parts[at] & twice)]
        if not parts[at] & ~twice and all(counts[bit] > 1 for bit in shared):
            chosen.remove(at)
            for bit in shared:
                counts[bit] -= 1
    # Ordered again, because what was dropped had a part in the first order.
    return _greedy({at: parts[at] for at in sorted(chosen)}, heavy)


def _greedy(parts: dict[int, int], heavy: int) -> list[tuple[int, int]]:
    """Pick the one that brings the most, until none brings anything.

    A part is weighed again only if it may be the best, because it can only weigh less than before:
    of 10,000 parts that is a few each time.
    """
    heap = [(*_lightness(part, heavy), at) for at, part in parts.items()]
    heapq.heapify(heap)
    picks: list[tuple[int, int]] = []
    seen = 0
    while heap:
        at = heapq.heappop(heap)[2]
        new = parts[at] & ~seen
        if not new:
            continue
        now = (*_lightness(new, heavy), at)
        if heap and heap[0] < now:
            heapq.heappush(heap, now)
            continue
        picks.append((at, new))
        seen |= new
    return picks


def _lightness(part: int, heavy: int) -> tuple[int, int]:
    return -(part & heavy).bit_count(), -part.bit_count()


def bits_of(mask: int) -> Iterator[int]:
    """Yield the numbers of the bits of a mask."""
    for at, byte in enumerate(mask.to_bytes((mask.bit_length() + 7) // 8, "little")):
        left = byte
        while left:
            yield 8 * at + (left & -left).bit_length() - 1
            left &= left - 1
