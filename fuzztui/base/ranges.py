"""Sets of small numbers, such as line numbers, as a short text: ``3-7,12``."""

from __future__ import annotations

from collections.abc import Iterable
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


def decode(text: str) -> set[int]:
    """Return the numbers of a text; what is not a range, or too large, is left out."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        last = last or first
        # isdecimal() is true for other digits too, which int() reads.
        if not (first.isdecimal() and last.isdecimal() and len(first) < 8 and len(last) < 8):
            continue
        start, end = int(first), int(last)
        if end < MAX_NUMBER:
            found.update(range(start, end + 1))
    return found
