"""Trim an entry: remove bytes that the reasons for keeping it do not need."""

from __future__ import annotations

from collections.abc import Callable


def shrink(data: bytes, keeps: Callable[[bytes], bool], runs: int) -> bytes:
    """Remove blocks of ``data`` that ``keeps`` accepts as removed, in at most ``runs`` calls.

    Block sizes are halved, as in AFL's trimming. Each pass goes from the end to the start, because
    later parts depend on earlier ones more often than the reverse. Returns ``data``, or the
    shortest version that ``keeps`` has accepted.
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
