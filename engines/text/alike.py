"""How far two texts are the same: by halves, so that memcmp does the work."""

from __future__ import annotations

__all__ = ["common_head", "common_tail"]


def common_head(a: bytes, at: int, b: bytes, bt: int, most: int) -> int:
    """How many bytes are the same from these places on."""
    low, high = 0, most
    while low < high:
        n = (low + high + 1) // 2
        if a[at + low : at + n] == b[bt + low : bt + n]:
            low = n
        else:
            high = n - 1
    return low


def common_tail(a: bytes, at: int, b: bytes, bt: int, most: int) -> int:
    """And how many just before them."""
    low, high = 0, most
    while low < high:
        n = (low + high + 1) // 2
        if a[at - n : at - low] == b[bt - n : bt - low]:
            low = n
        else:
            high = n - 1
    return low
