"""Attempts of the simplifier: other values or fewer draws, run if they were not run before."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from fuzztui.engines.inputs.draws import CallSpan, Draw, Value

_PADDING: Final = 16
"""Zero bytes after an input with too few choices."""
_UNKNOWN: Final = "byte"
"""The kind of the bytes of an input whose draws are not known."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of running an input. ``alike``: it has the same signature as the first one.

    ``data``: the used bytes of the input. ``draws``: what was drawn from them; empty if unknown,
    or if the input does not consist of choices. ``spans``: the calls that drew. ``short``: the
    input had too few choices.
    """

    alike: bool
    data: bytes
    draws: Sequence[Draw] = ()
    spans: Sequence[CallSpan] = ()
    short: bool = False


def part_of(rounds: int, done: float) -> float:
    """The share that is done after these whole rounds and a part of the next one.

    The number of rounds is unknown: each counts as half of what remains.
    """
    return float(1 - 0.5**rounds * (1 - done / 2))


class _Shape(NamedTuple):
    """What an attempt drew. ``used``: number of bytes.

    ``short``: the same bytes with more after them may have another result. ``wants``: there were
    too few choices. ``drew``: number of draws if they are the first ones of the best input, with
    any values; -1: other draws, or too few choices.
    """

    used: int
    short: bool
    wants: bool
    drew: int


class Attempts:
    """Keeps :attr:`best`, the simplest failing input, and what was tried."""

    def __init__(
        self,
        first: Attempt,
        attempt: Callable[[bytes], Attempt],
        redraw: Callable[[bytes, bytes], Attempt],
    ) -> None:
        """``first``: the result of the original input. ``attempt`` runs an input.

        ``redraw(data, like)`` runs the generator with the choices of ``data``, which are at the
        same offsets in ``like``. Each is found by its execution index in ``like``, so it keeps its
        role although other choices have changed.
        """
        self.best = _known(first)
        self._attempt, self._redraw = attempt, redraw
        self._size = _size(self.best)
        self._kinds = [draw.kind for draw in self.best.draws]
        self._seen: dict[bytes, _Shape] = {}
        """The shapes of attempts, by their used bytes; of those that were short, by all bytes."""
        self._lengths: set[int] = set()
        """The lengths of these bytes."""
        self._last = self._note(first.data, first)
        """The shape of the last attempt."""
        self._tried = first
        """The last attempt that was run."""
        self._redrawn: set[bytes] = set()
        self.part = 0.0
        """An estimate of the share that is done, from 0 to 1: :func:`part_of`."""

    def _try(self, data: bytes | None, pad: bool = False) -> bool:
        """Keep ``data`` if it is simpler and has the same signature. Nothing is tried twice.

        ``pad``: if the generator draws more, it gets zeros, mostly the simplest values.
        """
        if data is None:
            return False
        known = self._result_of(data)
        if known is None:
            tried = self._tried = self._attempt(data)
            known = self._note(data, tried)
            if self._keep(tried):
                self._last = known
                return True
        if pad and known.wants:
            return self._try(data + bytes(_PADDING))
        self._last = known
        return False

    def _note(self, data: bytes, tried: Attempt) -> _Shape:
        """Remember an attempt by the bytes that it used: others make no difference."""
        short = tried.short or not tried.draws
        kinds = [draw.kind for draw in tried.draws]
        first = not tried.short and kinds == self._kinds[: len(kinds)]
        shape = _Shape(len(tried.data), short, tried.short, len(kinds) if first else -1)
        used = len(data) if shape.short else shape.used
        self._seen[_key(data[:used])] = self._seen[_key(tried.data[:used])] = shape
        self._lengths.add(used)
        return shape

    def _result_of(self, data: bytes) -> _Shape | None:
        """The shape of an earlier attempt that used the same bytes; None if there is none."""
        if tried := self._seen.get(_key(data)):
            return tried
        for length in self._lengths:
            if length < len(data) and (tried := self._seen.get(_key(data[:length]))):
                return None if tried.short else tried
        return None

    def _keep(self, tried: Attempt) -> bool:
        if not tried.alike:
            return False
        tried = _known(tried)
        size = _size(tried)
        if size >= self._size:
            return False
        self.best, self._size = tried, size
        self._kinds = [draw.kind for draw in tried.draws]
        return True

    def _set(self, changes: Mapping[int, Value]) -> bool:
        """Try other values for these draws, also without the draws that are then surplus."""
        data = self._with(changes)
        if data is None:
            return False
        if self._try(data, pad=True):
            return True
        if self._last.drew == len(self._kinds):
            return False  # no other draw depends on these
        last = max(changes)
        if self._try(self._refitted(data, last)):
            return True
        after = len(data) - (len(self.best.data) - self.best.draws[last].end)
        left = len(data) - self._last.used
        if 0 < left <= len(data) - after and self._try(data[:after] + data[after + left :]):
            return True
        simplest = all(value == self.best.draws[at].simplest for at, value in changes.items())
        return simplest and self._aligned(data)

    def _with(self, changes: Mapping[int, Value]) -> bytes | None:
        """The best input with other values; None if they cannot be drawn."""
        data, draws = self.best.data, self.best.draws
        parts, end = [], 0
        for at in sorted(changes):
            encoded = draws[at].encode(changes[at])
            if encoded is None:
                return None
            parts += [data[end : draws[at].start], encoded]
            end = draws[at].end
        return b"".join([*parts, data[end:]])

    def _refitted(self, data: bytes, at: int) -> bytes | None:
        """The last attempt, with the values of the best input's last draws after draw ``at``.

        Another branch of a generator may draw the same values from other ranges.
        """
        mine, best = self._tried.draws, self.best.draws
        fewer = len(best) - len(mine)
        begin = self._tried.data[: mine[at].end] if at < len(mine) else b""
        if self._tried.short or fewer < 0 or not begin or not data.startswith(begin):
            return None
        parts = [begin]
        for draw, other in zip(mine[at + 1 :], best[at + 1 + fewer :], strict=True):
            encoded = draw.encode(other.value) if _word(draw) == _word(other) else None
            parts.append(encoded or self._tried.data[draw.start : draw.end])
        return b"".join(parts)

    def _without(self, first: int, last: int) -> bytes | None:
        """The best input without the draws from ``first`` to ``last - 1``; None if it is useless.

        The generator draws at ``first`` what it drew there before: the next draw must be alike.
        """
        data, draws = self.best.data, self.best.draws
        if last < len(draws):
            if _word(draws[first]) != _word(draws[last]):
                return None
        elif draws[first].kind != _UNKNOWN:
            return None
        return data[: draws[first].start] + data[draws[last - 1].end :]

    def _aligned(self, data: bytes) -> bool:
        """Try ``data`` with all other choices found by execution index."""
        like = self.best.data
        key = _key(data)
        if self._last.drew >= 0 or key in self._redrawn or len(data) != len(like):
            return False
        self._redrawn.add(key)
        tried = self._redraw(data, like)
        # The draws are not known of such a run.
        return tried.alike and tried.data != like and self._try(tried.data)


def _key(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _size(tried: Attempt) -> tuple[int, list[tuple[int, ...]]]:
    return len(tried.draws), [draw.rank for draw in tried.draws]


def _known(tried: Attempt) -> Attempt:
    """The attempt, with a draw for each byte if its draws are not known."""
    if tried.draws:
        return tried
    draws = [
        Draw(at, at + 1, _UNKNOWN, byte, _byte, 0, 0, 255) for at, byte in enumerate(tried.data)
    ]
    return Attempt(tried.alike, tried.data, draws)


def _word(draw: Draw) -> str:
    """The kind of the draw without its range."""
    return draw.kind.partition(" ")[0]


def _byte(value: int) -> bytes | None:
    return bytes([value]) if 0 <= value <= 255 else None
