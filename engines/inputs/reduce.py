"""Making a failing input as small as it gets: first fewer bytes, then plainer ones.

Greedy and without chance: the same answers lead to the same result. Passes over the input are
repeated until one changes nothing. Of a generator's choices

- some in a row are removed;
- one is lowered, to 0 or as far as it goes, and what is then left undrawn is removed: elements of a
  list whose length it was, bytes of a number whose size it was, whatever it had switched on;
- a length is lowered by one and one of the elements that follow is removed, whichever may go;
- choices that are the same are lowered together: a key that is used again, say.

Of an input itself bytes are removed, or become ``0`` (the digit), as afl-tmin would have it.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["Attempt", "Reducer"]

_RUN: Final = 8
"""Up to so many choices in a row are tried to be removed from every place."""
_NEAR: Final = 32
"""So many choices after a length an element is looked for that goes with it."""
_NUMBER: Final = 16
"""A choice of more bytes is a block of them, and no number."""
_PLAIN: Final = b"0"


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of running an input. ``alike``: it fails as the first one did.

    ``data``: the bytes of it that were used, no more than it has. ``starts``: where in them each
    choice begins; empty where that is not known, or there are none.
    """

    alike: bool
    data: bytes
    starts: Sequence[int] = ()


class Reducer:
    """Makes :attr:`best` smaller. What the functions raise ends that, at any moment."""

    def __init__(
        self,
        first: Attempt,
        attempt: Callable[[bytes], Attempt],
        redraw: Callable[[bytes, bytes], bytes] | None,
    ) -> None:
        """``first`` is what came of the input as it is.

        ``redraw(data, like)``, for choices: what is drawn where each of them stays where it was in
        ``like``, although others have changed.
        """
        self.best = first
        self._attempt, self._redraw = attempt, redraw
        self._filler = _PLAIN if redraw is None else bytes(1)
        self._last = _shape(first)
        """Of what was tried last."""
        self._redrawn: set[bytes] = set()
        self._seen = {_key(first.data): self._last}

    def run(self) -> None:
        """Until nothing can be made smaller, as far as is known here."""
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
        """Where each choice of the best begins, and the last one ends; else each byte."""
        starts, size = self.best.starts, len(self.best.data)
        return [*starts, size] if starts else list(range(size + 1))

    # ------------------------------------------------------------------------ passes

    def _remove(self) -> None:
        """Halving sizes, each once over the input; then small ones at every place.

        From the end: what comes later needs what came before more often than the other way round.
        """
        size = len(self._bounds()) // 2
        while size > _RUN:
            self._sweep(size, size, b"")
            size //= 2
        for small in range(min(_RUN, len(self._bounds()) - 1), 0, -1):
            self._sweep(small, 1, b"")

    def _blank(self) -> None:
        """As it is removed, but made plain."""
        size = len(self._bounds()) // 2
        while size:
            self._sweep(size, size, self._filler)
            size //= 2

    def _sweep(self, size: int, step: int, filler: bytes) -> None:
        """Put ``filler`` for each byte of so many choices in a row, wherever that may be."""
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
        """Lower choices that are the same: to 0, or by halves as far as it goes."""
        bounds = self._bounds()
        low, high = bounds[group[0]], bounds[group[0] + 1]
        most = int.from_bytes(self.best.data[low:high], "big")
        if not most or high - low > _NUMBER or self._lowered(group, 0):
            return
        least = 0  # which will not do
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
        """Give these choices another value; remove what is then left undrawn behind the last."""
        bounds = self._bounds()
        data = bytearray(self.best.data)
        for at in group:
            low, high = bounds[at], bounds[at + 1]
            if value >> 8 * (high - low):  # it has become a narrower one since
                return False
            data[low:high] = value.to_bytes(high - low, "big")
        if self._try(bytes(data)):
            return True
        after, left = bounds[group[-1] + 1], len(data) - self._last[0]
        if 0 < left <= len(data) - after and self._try(bytes(data[:after] + data[after + left :])):
            return True
        return not value and self._aligned(bytes(data))

    def _aligned(self, data: bytes) -> bool:
        """The same with all other choices where they were, whatever came or went between them."""
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
        """Lower one choice by one, and remove some of those that follow."""
        bounds, data = self._bounds(), self.best.data
        if at >= len(bounds) - 1:
            return False
        low, high = bounds[at], bounds[at + 1]
        value = int.from_bytes(data[low:high], "big")
        if not value or high - low > 2:  # of a length
            return False
        head = data[:low] + (value - 1).to_bytes(high - low, "big")
        if self._try(head + data[high:]):
            return True
        if self._last == _shape(self.best):
            return False  # nothing depends on it
        if self._aligned(head + data[high:]):
            return True
        last = min(at + 1 + _NEAR, len(bounds) - 1)
        return any(
            self._try(head + data[high : bounds[begin]] + data[bounds[end] :])
            for begin in range(at + 1, last)
            for end in range(begin + 1, min(begin + _RUN, len(bounds) - 1) + 1)
        )


def _key(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _shape(tried: Attempt) -> tuple[int, int]:
    """How many bytes were used, and something that tells other choices."""
    return len(tried.data), hash(tuple(tried.starts))
