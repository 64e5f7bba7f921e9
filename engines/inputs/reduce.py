"""The reducer: minimises a failing input of bytes or text, as afl-tmin does.

Parts are removed, then replaced by ``0`` (the digit). The search is greedy and deterministic: the
same attempts give the same result. Inputs that consist of choices: ``inputs/simplify.py``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

from fuzztui.engines.inputs.attempts import Attempt, part_of

_MAX_RUN: Final = 8
"""Most consecutive bytes whose removal is tried at every position."""
_PLAIN: Final = b"0"


class Reducer:
    """Minimises :attr:`best`, step by step. Exceptions of the callback end :meth:`run`."""

    def __init__(self, first: Attempt, attempt: Callable[[bytes], Attempt]) -> None:
        """``first``: the result of the original input. ``attempt`` runs an input."""
        self.best = first
        self._attempt = attempt
        self._seen = {_key(first.data)}
        self.part = 0.0
        """An estimate of the share that is done, from 0 to 1: :func:`part_of`."""

    def run(self) -> None:
        """Remove and replace parts of halving sizes until this changes nothing.

        Small parts are removed at every position.
        """
        before, rounds = None, 0
        while before != self.best.data:
            before = self.best.data
            size = (len(before) + 1) // 2
            while size > _MAX_RUN:
                self._sweep(size, size, b"")
                size //= 2
            for small in range(min(_MAX_RUN, len(self.best.data)), 0, -1):
                self.part = part_of(rounds, 1 - small / _MAX_RUN)
                self._sweep(small, 1, b"")
            size = (len(self.best.data) + 1) // 2
            while size:
                self._sweep(size, size, _PLAIN)
                size //= 2
            rounds += 1

    def _sweep(self, size: int, step: int, filler: bytes) -> None:
        """Try to replace ``size`` consecutive bytes by fillers, at every ``step``-th position.

        From the end, because later parts depend on earlier ones more often than the reverse.
        """
        at = len(self.best.data) - size
        while at > -step:
            at = max(at, 0)
            if at + size > len(self.best.data):
                at = len(self.best.data) - size
                if at < 0:
                    return
            data = self.best.data
            at -= size if self._try(data[:at] + filler * size + data[at + size :]) else step

    def _try(self, data: bytes) -> bool:
        """Keep ``data`` if it is smaller and has the same signature. Nothing is tried twice."""
        key = _key(data)
        if key in self._seen:
            return False
        self._seen.add(key)
        tried = self._attempt(data)
        if not tried.alike or _size(tried.data) >= _size(self.best.data):
            return False
        self._seen.add(_key(tried.data))
        self.best = tried
        return True


def _size(data: bytes) -> tuple[int, int, bytes]:
    return len(data), len(data) - data.count(_PLAIN), data


def _key(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


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
