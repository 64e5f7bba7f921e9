"""The reducer: minimises a failing input, first to fewer bytes, then to simpler bytes.

The search is greedy and deterministic: the same attempts give the same result. Passes over the
input are repeated until a pass changes nothing. In a generator's choices,

- some consecutive choices are removed;
- a choice is lowered, to 0 or as far as possible, and choices that are then not drawn are removed:
  elements of a list whose length it was, bytes of a number whose size it was, and so on;
- a length is lowered by one, and one of the following elements is removed;
- equal choices are lowered together, for example a key that is used twice.

In other inputs, bytes are removed or replaced by ``0`` (the digit), as afl-tmin does.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

_MAX_RUN: Final = 8
"""Most consecutive choices whose removal is tried at every position."""
_MAX_DISTANCE: Final = 32
"""Choices after a length among which its elements are searched."""
_MAX_NUMBER: Final = 16
"""Bytes of a choice above which it counts as a block of bytes, not as a number."""
_PLAIN: Final = b"0"


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of running an input. ``alike``: it has the same signature as the first one.

    ``data``: the used bytes of the input. ``starts``: the offset in ``data`` of each choice; empty
    if unknown, or if the input has no choices.
    """

    alike: bool
    data: bytes
    starts: Sequence[int] = ()


class Reducer:
    """Minimises :attr:`best`, step by step. Exceptions of the callbacks end :meth:`run`."""

    def __init__(
        self,
        first: Attempt,
        attempt: Callable[[bytes], Attempt],
        redraw: Callable[[bytes, bytes], bytes] | None,
    ) -> None:
        """``first``: the result of the original input. ``attempt`` runs an input.

        ``redraw(data, like)``, for choices: returns the choices that are drawn if each one keeps
        its execution index of ``like``, although other choices have changed. None: no choices.
        """
        self.best = first
        self._attempt, self._redraw = attempt, redraw
        self._filler = _PLAIN if redraw is None else bytes(1)
        self._last = _shape(first)
        """The shape of the last attempt."""
        self._redrawn: set[bytes] = set()
        self._seen = {_key(first.data): self._last}

    def run(self) -> None:
        """Repeat all passes until they change nothing."""
        before = None
        while before != self.best.data:
            before = self.best.data
            self._remove()
            self._blank()
            if self._redraw:
                self._lower_each()
                self._lower_lengths()
                self._lower_together()

    # ---------------------------------------------------------------------- attempts

    def _try(self, data: bytes) -> bool:
        """Keep ``data`` if it is smaller and has the same signature. Nothing is tried twice."""
        key = _key(data)
        if key in self._seen:
            self._last = self._seen[key]
            return False
        tried = self._attempt(data)
        self._last = self._seen[key] = _shape(tried)
        if not tried.alike or self._size(tried.data) >= self._size(self.best.data):
            return False
        self._seen[_key(tried.data)] = self._last
        self.best = tried
        return True

    def _size(self, data: bytes) -> tuple[int, int, bytes]:
        if self._redraw:
            return len(data), 0, data
        return len(data), len(data) - data.count(self._filler), data

    def _bounds(self) -> list[int]:
        """Offsets of the best input's choices, or of its bytes, and its end."""
        starts, size = self.best.starts, len(self.best.data)
        return [*starts, size] if starts else list(range(size + 1))

    # ------------------------------------------------------------------------ passes

    def _remove(self) -> None:
        """Remove parts of halving sizes, then small parts at every position.

        From the end, because later parts depend on earlier ones more often than the reverse.
        """
        size = len(self._bounds()) // 2
        while size > _MAX_RUN:
            self._sweep(size, size, b"")
            size //= 2
        for small in range(min(_MAX_RUN, len(self._bounds()) - 1), 0, -1):
            self._sweep(small, 1, b"")

    def _blank(self) -> None:
        """Replace parts of halving sizes by the filler."""
        size = len(self._bounds()) // 2
        while size:
            self._sweep(size, size, self._filler)
            size //= 2

    def _sweep(self, size: int, step: int, filler: bytes) -> None:
        """Try to replace ``size`` consecutive choices by fillers, at every ``step``-th position."""
        bounds = self._bounds()
        at = len(bounds) - 1 - size
        while at > -step:
            at = max(at, 0)
            if at + size >= len(bounds):
                at = len(bounds) - 1 - size
                if at < 0:
                    return
            low, high = bounds[at], bounds[at + size]
            data = self.best.data
            if self._try(data[:low] + filler * (high - low) + data[high:]):
                bounds = self._bounds()
                at -= size
            else:
                at -= step

    def _lower_each(self) -> None:
        at = 0
        while at < len(self._bounds()) - 1:
            self._lower([at])
            at += 1

    def _lower_together(self) -> None:
        alike = defaultdict(list)
        for at in range(len(bounds := self._bounds()) - 1):
            alike[self.best.data[bounds[at] : bounds[at + 1]]].append(at)
        for value, group in alike.items():
            now = self._bounds()
            if len(group) > 1 and group[-1] < len(now) - 1:
                spans = [self.best.data[now[at] : now[at + 1]] for at in group]
                if all(span == value for span in spans):
                    self._lower(group)

    def _lower(self, group: list[int]) -> None:
        """Lower equal choices together: to 0, or by bisection as far as possible."""
        bounds = self._bounds()
        low, high = bounds[group[0]], bounds[group[0] + 1]
        most = int.from_bytes(self.best.data[low:high], "big")
        if not most or high - low > _MAX_NUMBER or self._lowered(group, 0):
            return
        least = 0  # which has failed
        while most - least > 1:
            middle = (least + most) // 2
            if self._lowered(group, middle):
                most = middle
                bounds = self._bounds()
                if group[-1] >= len(bounds) - 1:
                    return
            else:
                least = middle

    def _lowered(self, group: list[int], value: int) -> bool:
        """Try another value for these choices, also without the choices that are then not drawn."""
        bounds = self._bounds()
        data = bytearray(self.best.data)
        for at in group:
            low, high = bounds[at], bounds[at + 1]
            if value >> 8 * (high - low):  # the choice has fewer bytes by now
                return False
            data[low:high] = value.to_bytes(high - low, "big")
        if self._try(bytes(data)):
            return True
        after, left = bounds[group[-1] + 1], len(data) - self._last[0]
        if 0 < left <= len(data) - after and self._try(bytes(data[:after] + data[after + left :])):
            return True
        return not value and self._aligned(bytes(data))

    def _aligned(self, data: bytes) -> bool:
        """Try ``data`` with all other choices found by execution index."""
        key = _key(data)
        if self._redraw is None or key in self._redrawn:
            return False
        self._redrawn.add(key)
        drawn = self._redraw(data, self.best.data)
        return self._size(drawn) < self._size(self.best.data) and self._try(drawn)

    def _lower_lengths(self) -> None:
        at = 0
        while at < len(self._bounds()) - 1:
            while self._shorter(at):
                pass
            at += 1

    def _shorter(self, at: int) -> bool:
        """Lower one choice by one, and remove some of the choices that follow."""
        bounds, data = self._bounds(), self.best.data
        if at >= len(bounds) - 1:
            return False
        low, high = bounds[at], bounds[at + 1]
        value = int.from_bytes(data[low:high], "big")
        if not value or high - low > 2:  # not a length
            return False
        head = data[:low] + (value - 1).to_bytes(high - low, "big")
        if self._try(head + data[high:]):
            return True
        if self._last == _shape(self.best):
            return False  # no other choice depends on it
        if self._aligned(head + data[high:]):
            return True
        last = min(at + 1 + _MAX_DISTANCE, len(bounds) - 1)
        return any(
            self._try(head + data[high : bounds[begin]] + data[bounds[end] :])
            for begin in range(at + 1, last)
            for end in range(begin + 1, min(begin + _MAX_RUN, len(bounds) - 1) + 1)
        )


def _key(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _shape(tried: Attempt) -> tuple[int, int]:
    """Number of used bytes, and a hash of the choices' offsets."""
    return len(tried.data), hash(tuple(tried.starts))


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
