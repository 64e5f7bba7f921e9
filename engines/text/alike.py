"""The common beginning and end of two texts, by bisection, so that memcmp does the work."""

from __future__ import annotations


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
