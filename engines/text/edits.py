"""Edits of an input, which templates make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

MAX_SPAN: Final = 4096
MAX_EDITS: Final = 64

_Item = TypeVar("_Item")

Edit = tuple[int, int, bytes]
"""Replace the bytes from ``begin`` to ``end`` by these bytes."""


def trimmed(data: bytes, start: int, end: int, made: bytes) -> Edit | None:
    """The edit without equal bytes at both ends; None if nothing changes or the edit is too long.

    "if ($A) $B ==> while ($A) $B" then replaces one word, so it still applies after other changes
    of the statement.
    """
    old = data[start:end]
    if old == made:
        return None
    most = min(len(old), len(made))
    head = common_head(old, 0, made, 0, most)
    tail = common_tail(old, len(old), made, len(made), most - head)
    new = made[head : len(made) - tail]
    return (start + head, end - tail, new) if len(new) <= MAX_SPAN else None


def spread(all_: Sequence[_Item], most: int) -> tuple[_Item, ...]:
    """At most ``most`` of the items, evenly spread."""
    if len(all_) <= most:
        return tuple(all_)
    return tuple(all_[i * len(all_) // most] for i in range(most))


def sampled(kinds: Mapping[str, Sequence[_Item]], most: int) -> dict[str, tuple[_Item, ...]]:
    """At most ``most`` items: all of rare kinds, of the others as many as fit, evenly spread."""
    room, left = most, len(kinds)
    mosts: dict[str, int] = {}
    for kind in sorted(kinds, key=lambda k: len(kinds[k])):
        mosts[kind] = min(len(kinds[kind]), room // left)
        room, left = room - mosts[kind], left - 1
    return {kind: spread(items, mosts[kind]) for kind, items in kinds.items() if mosts[kind]}


def common_head(a: bytes, at: int, b: bytes, bt: int, most: int) -> int:
    """The number of equal bytes after these positions, at most ``most``."""
    low, high = 0, most
    while low < high:
        n = (low + high + 1) // 2
        if a[at + low : at + n] == b[bt + low : bt + n]:
            low = n
        else:
            high = n - 1
    return low


def common_tail(a: bytes, at: int, b: bytes, bt: int, most: int) -> int:
    """The number of equal bytes before these positions, at most ``most``."""
    low, high = 0, most
    while low < high:
        n = (low + high + 1) // 2
        if a[at - n : at - low] == b[bt - n : bt - low]:
            low = n
        else:
            high = n - 1
    return low
