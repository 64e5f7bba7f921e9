"""Making an input smaller without losing what it is kept for."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["shrink"]


def shrink(data: bytes, keeps: Callable[[bytes], bool], runs: int) -> bytes:
    """Remove blocks, large ones first, while ``keeps`` says yes; asks it at most ``runs`` times.

    From the end to the start, because what comes later needs what came before more
    often than the other way round. Halving block sizes, as AFL's trimming does. The
    result is ``data`` or something shorter that ``keeps`` has accepted.
    """
    size = 1 << max(0, len(data).bit_length() - 2)
    while size and len(data) > 1:
        end = len(data)
        while end > 0:
            if runs <= 0:
                return data
            runs -= 1
            shorter = data[: max(0, end - size)] + data[end:]
            if keeps(shorter):
                data = shorter
            end -= size
        size >>= 1
    return data
