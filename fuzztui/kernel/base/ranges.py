"""Sets of small numbers, such as line numbers, as a short text: ``3-7,12``."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

MAX_NUMBER: Final = 1_000_000
"""Numbers from here on are left out: a text of a few bytes must not stand for millions."""


def encode(numbers: Iterable[int]) -> str:
    """Return the text for a set of numbers."""
    parts: list[str] = []
    first = last = -2
    for n in sorted(set(numbers)):
        if n == last + 1:
            last = n
            continue
        if last >= 0:
            parts.append(f"{first}-{last}" if last > first else str(first))
        first = last = n
    if last >= 0:
        parts.append(f"{first}-{last}" if last > first else str(first))
    return ",".join(parts)


def decode(text: str, most: int = MAX_NUMBER) -> set[int]:
    """Return the numbers of a text; parts that are no range, or too large, are left out.

    ``most``: how many numbers to return at most: the range that exceeds it ends the result.
    """
    found: set[int] = set()
    for first, last in _ranges(text):
        most -= last - first + 1
        if most < 0:
            break
        found.update(range(first, last + 1))
    return found


def chosen(text: str, among: Sequence[int]) -> list[int]:
    """Return those of the sorted numbers ``among`` that the ranges of a text contain.

    A number in several ranges is repeated; the rest is left out once the result has more than twice
    as many numbers as ``among``. The size of a range does not matter for the time.
    """
    found: list[int] = []
    for first, last in _ranges(text):
        found += among[bisect_left(among, first) : bisect_right(among, last)]
        if len(found) > 2 * len(among):
            break
    return found


def _ranges(text: str) -> Iterator[tuple[int, int]]:
    for part in text.split(","):
        first, _, last = part.partition("-")
        last = last or first
        # isdecimal() is true for other digits too, which int() reads.
        if not (first.isdecimal() and last.isdecimal() and len(first) < 8 and len(last) < 8):
            continue
        if int(first) <= int(last) < MAX_NUMBER:
            yield int(first), int(last)
