"""The draws of an input: which bytes were drawn for which value, and the bytes for other values.

The minimiser lowers values, not bytes: a value may take several choices (the number of characters
and each character, the size of a number and the number), whose bytes depend on each other.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, ClassVar, Final, NamedTuple

from fuzztui.engines.inputs.constants import ConstantPool
from fuzztui.engines.inputs.source import Repeat, Source

Value = int | float | tuple[int, ...]
"""A number; a real number; the items of a text or of a block of bytes, 0 the simplest one."""

_FULL: Final = 256
_EXACT: Final = 1 << 56
"""Integers up to this size are simple real numbers."""


@dataclass(frozen=True, slots=True)
class Draw:
    """One drawn value. ``start``, ``end``: its bytes in the input.

    ``kind``: equal for draws of the same range. ``encode`` returns the bytes from which another
    value is drawn; None if it cannot be drawn. ``origin``: the simplest number. ``low``, ``high``:
    the bounds of a number, or of the number of items; None: no bound.
    """

    start: int
    end: int
    kind: str
    value: Value
    encode: Callable[[Any], bytes | None]
    origin: int = 0
    low: int | None = 0
    high: int | None = None

    @property
    def rank(self) -> tuple[int, ...]:
        """Orders values by simplicity: 0, 1, -1, 2, ... from the origin; the shorter text."""
        value = self.value
        if isinstance(value, tuple):
            return (len(value), *value)
        if isinstance(value, float):
            return _rank_of_real(value)
        distance = abs(value - self.origin)
        return (2 * distance - (value > self.origin),)

    @property
    def simplest(self) -> Value:
        """The simplest value of this kind."""
        if isinstance(self.value, tuple):
            return (0,) * (self.low or 0)
        return 0.0 if isinstance(self.value, float) else self.origin


def _rank_of_real(value: float) -> tuple[int, ...]:
    """Positive before negative; integers before fractions before very large ones."""
    negative = int(math.copysign(1, value) < 0)
    if not math.isfinite(value):
        return negative, 3, int(math.isnan(value))
    above, below = abs(value).as_integer_ratio()
    if below > 1:
        return negative, 1, below, above
    return negative, 0 if above < _EXACT else 2, above


class CallSpan(NamedTuple):
    """The draws of one call of a generator, or of a part of a strategy: from ``first`` to ``last``.

    ``label``: equal for calls from the same place. ``discarded``: the value was not used.
    """

    label: int
    first: int
    last: int
    discarded: bool = False


def number_bytes(value: int, below: int, prefix: str = "") -> bytes | None:
    """The bytes from which :meth:`Source.below` draws ``value``. ``prefix``: bytes before them."""
    if not 0 <= value < below:
        return None
    size = 1 if below <= _FULL else ((below - 1).bit_length() + 7) >> 3
    return bytes.fromhex(prefix) + value.to_bytes(size, "big")


def joined(parts: Sequence[bytes | None]) -> bytes | None:
    """All parts together; None if one of them cannot be drawn."""
    known = [part for part in parts if part is not None]
    return b"".join(known) if len(known) == len(parts) else None


def _number(start: int, end: int, value: int, below: int, prefix: str = "") -> Draw:
    return Draw(start, end, f"number {below}", value,
                lambda n: number_bytes(n, below, prefix), 0, 0, below - 1)  # fmt: skip


def _switch(start: int, end: int, value: int, off: int, on: int) -> Draw:
    """A choice between two values, which are drawn from the numbers ``off`` and ``on``."""
    size = end - start

    def encode(n: int) -> bytes | None:
        number = on if n else off
        return None if number >> 8 * size else number.to_bytes(size, "big")

    return Draw(start, end, "switch", value, encode, 0, 0, 1)


def _letters(start: int, end: int, items: list[int], *details: Any) -> Draw:
    below, low, high, prefix = details

    def encode(items: tuple[int, ...]) -> bytes | None:
        parts = [number_bytes(len(items) - low, high - low + 1, prefix)]
        return joined([*parts, *(number_bytes(item, below) for item in items)])

    return Draw(start, end, f"letters {below}", tuple(items), encode, 0, low, high)


def _block(start: int, end: int, value: str, prefix: str) -> Draw:
    items = tuple(bytes.fromhex(value))
    size = len(items)

    def encode(items: tuple[int, ...]) -> bytes | None:
        return bytes.fromhex(prefix) + bytes(items) if len(items) == size else None

    return Draw(start, end, f"block {size}", items, encode, 0, size, size)


KINDS: Final[dict[str, Callable[..., Draw]]] = {
    "number": _number,
    "switch": _switch,
    "letters": _letters,
    "block": _block,
}
"""What makes a :class:`Draw` of a note of :class:`NotingSource`."""


class NotingSource(Source):
    """A plain source that notes each draw and each call of a generator, for the minimiser.

    The bytes of each choice are normalised: choices with the same value get the same bytes,
    although values are drawn as remainders. Notes are JSON; :data:`KINDS` makes draws of them.
    """

    __slots__ = ("_open", "_prefixed", "notes", "spans")

    typed: ClassVar[bool] = True  # so that generators announce their calls
    noting: ClassVar[bool] = True

    def __init__(
        self,
        data: bytes,
        limit: int,
        more: Callable[[int], bytes],
        magic: ConstantPool | None = None,
    ) -> None:
        super().__init__(data, limit, more, magic)
        self.notes: list[list[Any]] = []
        self.spans: list[list[Any]] = []
        self._open: list[tuple[int, int]] = []
        self._prefixed = False
        """Whether the last draw could have been a constant: its first choice decided this."""

    # ------------------------------------------------------------------------- draws

    def below(self, n: int) -> int:
        """Draw an integer below ``n``, and store it in place of the drawn bytes."""
        at = self._pos
        value = super().below(n)
        end = self._pos
        self._data[at:end] = value.to_bytes(end - at, "big")
        self.notes.append(["number", at, end, value, n])
        return value

    def row(self, n: int, below: int) -> list[int]:
        """Draw ``n`` integers below ``below``, each of them noted."""
        return [self.below(below) for _ in range(n)]

    def integer(self, low: int, high: int) -> int:
        """Draw an integer, and note it as one draw, even if it is one of the constants."""
        since = self.begin()
        value = super().integer(low, high)
        self.note(since, "number", value - low, high - low + 1, self.prefix)
        return value

    def bytes(self, n: int, *, each: bool = False) -> bytes:
        """Draw ``n`` bytes; note them as one draw, or with ``each`` one draw for each byte."""
        since, at = self.begin(), self._pos
        value = super().bytes(n, each=each)
        if not each and self._pos > at:
            self.notes[since:] = [["block", at, self._pos, value.hex(), self.prefix]]
        return value

    def text(self, alphabet: str, low: int, high: int) -> str:
        """Draw a text, and note it as one draw."""
        since = self.begin()
        value = super().text(alphabet, low, high)
        items = [alphabet.index(c) for c in value]
        self.note(since, "letters", items, len(alphabet), low, high, self.prefix)
        return value

    def more(self, low: int = 0, high: int = 1 << 30, *, continues: float = 0.75) -> Repeat:
        """Iterate ``low`` to ``high`` times, and note each iteration as a span."""
        return _NotedRepeat(self, low, high, continues)

    def _constant(self, fitting: Sequence[Any]) -> Any:
        self._prefixed = bool(fitting)
        return super()._constant(fitting)

    # ------------------------------------------------------------------------- notes

    @property
    def constants(self) -> bool:
        """Whether draws may be constants of the application."""
        return self._magic is not None

    @property
    def prefix(self) -> str:
        """The bytes, in hex, before the others of a draw that is not a constant but could be."""
        return "00" if self._prefixed else ""

    def begin(self) -> int:
        """Call this before a draw that :meth:`note` notes; returns its ``since``."""
        self._prefixed = False
        return len(self.notes)

    def note(self, since: int, kind: str, value: Any, *details: Any) -> None:
        """Replace the notes from ``since`` on by one draw of this kind."""
        if since < len(self.notes):
            start, end = self.notes[since][1], self.notes[-1][2]
            self.notes[since:] = [[kind, start, end, value, *details]]

    @property
    def position(self) -> int:
        """The number of noted draws."""
        return len(self.notes)

    def call(self, makes: object, function: Callable[..., Any], args: Any, named: Any) -> Any:
        """Call a generator in a span (as ``Typed.call``)."""
        depth = self.enter(_label(sys._getframe(2)))
        try:
            return function(*args, **named)
        finally:
            self.leave(depth)

    def scope(self, types: tuple[str, ...], depth: int) -> _NotedCall:
        """A context manager for one call of a generator (as ``Typed.scope``)."""
        return self.span(_label(sys._getframe(depth)))

    def span(self, label: int) -> _NotedCall:
        """A context manager for one call of a strategy's part."""
        return _NotedCall(self, label)

    def unmade(self, since: int) -> None:
        """Note that the value of the last span was not used."""
        if self.spans and self.spans[-1][1] >= since:
            self.spans[-1][3] = True

    def enter(self, label: int) -> int:
        """Open a span; returns its depth."""
        self._open.append((label, len(self.notes)))
        return len(self._open)

    def leave(self, depth: int) -> None:
        """Close the span of this depth, and those in it that are still open."""
        while len(self._open) >= depth:
            label, first = self._open.pop()
            if first < len(self.notes):
                self.spans.append([label, first, len(self.notes), False])


def _label(frame: FrameType) -> int:
    return hash((id(frame.f_code), frame.f_lasti))


class _NotedCall:
    """One call; entered once for each step if the generator yields."""

    __slots__ = ("_depth", "_label", "_source")

    def __init__(self, source: NotingSource, label: int) -> None:
        self._source, self._label, self._depth = source, label, 0

    def __enter__(self) -> None:
        self._depth = self._source.enter(self._label)

    def __exit__(self, *_: object) -> None:
        self._source.leave(self._depth)


class _NotedRepeat(Repeat):
    """The iterator of :meth:`NotingSource.more`: each iteration is a span."""

    __slots__ = ("_depth",)

    def __init__(self, source: NotingSource, low: int, high: int, continues: float) -> None:
        super().__init__(source, low, high, continues)
        self._depth = 0

    def __next__(self) -> int:
        source = self._source
        assert isinstance(source, NotingSource)
        if self._depth:
            source.leave(self._depth)
        self._depth = source.enter(id(type(self)))
        since, goes_on = source.begin(), False
        try:
            n = super().__next__()
            goes_on = True
        finally:
            source.note(since, "switch", int(goes_on), self._threshold, 0)
            if not goes_on:
                source.leave(self._depth)
                self._depth = 0
        return n
