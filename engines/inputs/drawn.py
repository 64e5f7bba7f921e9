"""Record what a generator draws: the value of each draw, and how to draw another one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, ClassVar, Final, TypeVar

from fuzztui.engines.inputs import inputs, source
from fuzztui.engines.inputs.constants import ConstantPool
from fuzztui.engines.inputs.draws import joined, number_bytes
from fuzztui.engines.inputs.inputs import GeneratedInput
from fuzztui.engines.inputs.source import MIN_RANGE, Repeat, Source

_T = TypeVar("_T")

_frame: Final = sys._getframe
_OWN: Final = globals()
_SOURCE: Final = vars(source)
_BUILDING: Final = vars(inputs)
_DEEPEST: Final = 64
"""Frames of a generator that are looked at for each draw."""


@dataclass(frozen=True, slots=True)
class DrawnValue:
    """One value of a generator: the choices from ``start`` to ``end`` made it."""

    start: int
    end: int
    value: str | bytes | int
    encode: Callable[[Any], bytes | None]
    """The choices that make another value; None if this draw cannot make it."""


@dataclass(frozen=True, slots=True)
class InputPart:
    """A part of an input, from ``start`` to ``end``; parts of one ``kind`` can be exchanged.

    ``item``: the part can be left out or repeated.
    """

    start: int
    end: int
    kind: Hashable
    item: bool


class RecordingSource(Source):
    """A source that records the draws of texts, bytes, integers and options."""

    __slots__ = ("_calls", "_depth", "draws", "items")

    recording: ClassVar[bool] = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.draws: list[DrawnValue] = []
        self.items: list[InputPart] = []
        self._calls: dict[int, tuple[FrameType, int, int]] = {}
        self._depth = 0

    def _advance(self, n: int) -> int:
        start = Source._advance(self, n)
        frame: FrameType | None = _frame(1)
        for _ in range(_DEEPEST):
            if frame is None or frame.f_globals is _BUILDING:
                break
            if frame.f_globals is not _OWN and frame.f_globals is not _SOURCE:
                known = self._calls.get(id(frame))  # the frame is kept: its id stays taken
                first = start if known is None else known[1]
                self._calls[id(frame)] = frame, first, start + n
            frame = frame.f_back
        return start

    @property
    def parts(self) -> list[InputPart]:
        """The items of repetitions, and the calls of the generator's functions that drew."""
        calls = [
            InputPart(
                start, end, (frame.f_code.co_filename, frame.f_code.co_firstlineno), item=False
            )
            for frame, start, end in self._calls.values()
        ]
        return [*self.items, *(c for c in calls if (c.start, c.end) != (0, self._pos))]

    def more(self, low: int = 0, high: int = 1 << 30, *, continues: float = 0.75) -> Repeat:
        """Iterate ``low`` to ``high`` times; each iteration is an item."""
        caller = _frame(1)
        kind = caller.f_code.co_filename, caller.f_lineno
        return _RecordingRepeat(self, low, high, continues, kind)

    def record(self, draw: Callable[[], _T], encode: Callable[[Any], bytes | None]) -> _T:
        """Draw a value by ``draw`` and record it as a whole. ``encode``: as in
        :class:`DrawnValue`.
        """
        if self._depth:
            return draw()  # a part of a draw that is recorded as a whole
        start = self._pos
        self._depth = 1
        try:
            value = draw()
        finally:
            self._depth = 0
        if type(value) in (str, bytes, int):
            self.draws.append(DrawnValue(start, self._pos, value, encode))  # type: ignore[arg-type]
        return value

    def below(self, n: int) -> int:
        """Draw an integer from 0 to ``n - 1``."""
        return self.record(lambda: Source.below(self, n), lambda v: number_bytes(v, n))

    def integer(self, low: int, high: int) -> int:
        """Draw an integer from ``low`` to ``high``, both included."""
        constants = high - low >= MIN_RANGE and self.has_constants(
            lambda pool: pool.integers(low, high)
        )
        return self.record(
            lambda: Source.integer(self, low, high),
            lambda v: _after(constants, number_bytes(v - low, high - low + 1)),
        )

    def choose(self, options: Sequence[_T]) -> _T:
        """Draw one of the options."""

        def encode(value: object) -> bytes | None:
            same = (at for at, o in enumerate(options) if type(o) is type(value) and o == value)
            return number_bytes(next(same, -1), len(options))

        return self.record(lambda: Source.choose(self, options), encode)

    def weighted(self, options: Sequence[tuple[int, _T]]) -> _T:
        """Draw an option from pairs ``(weight, option)``, with probability by weight."""

        def encode(value: object) -> bytes | None:
            at = 0
            for weight, option in options:
                if weight and type(option) is type(value) and option == value:
                    return number_bytes(at, sum(weight for weight, _ in options))
                at += weight
            return None

        return self.record(lambda: Source.weighted(self, options), encode)

    def bytes(self, n: int, *, each: bool = False) -> bytes:
        """Draw ``n`` bytes."""
        constants = n > 1 and self.has_constants(lambda pool: pool.blocks(n, n))
        return self.record(
            lambda: Source.bytes(self, n, each=each),
            lambda v: _after(constants, v) if len(v) == n else None,
        )

    def text(self, alphabet: str, low: int, high: int) -> str:
        """Draw a text of ``low`` to ``high`` characters of the alphabet."""
        constants = self.has_constants(lambda pool: pool.texts(alphabet, low, high))

        def encode(value: str) -> bytes | None:
            numbers = [alphabet.index(c) if c in alphabet else -1 for c in value]
            parts = [number_bytes(len(value) - low, high - low + 1)]
            parts += [number_bytes(number, len(alphabet)) for number in numbers]
            return _after(constants, joined(parts))

        return self.record(lambda: Source.text(self, alphabet, low, high), encode)

    def has_constants(self, fitting: Callable[[ConstantPool], Sequence[object]]) -> bool:
        """Whether a draw first chooses between the constants that ``fitting`` selects and none."""
        return self._magic is not None and bool(fitting(self._magic))


class _RecordingRepeat(Repeat):
    """A repetition whose iterations are recorded."""

    __slots__ = ("_began", "_kind", "_to")

    def __init__(
        self, source: RecordingSource, low: int, high: int, continues: float, kind: Hashable
    ) -> None:
        super().__init__(source, low, high, continues)
        self._to, self._kind, self._began = source, kind, -1

    def __next__(self) -> int:
        at = self._to._pos
        if 0 <= self._began < at:
            self._to.items.append(InputPart(self._began, at, self._kind, item=True))
        self._began = at
        return Repeat.__next__(self)


def _after(constants: bool, choices: bytes | None) -> bytes | None:
    """The choices after the one that says "no constant", if there is such a choice."""
    return b"\0" + choices if constants and choices is not None else choices


class RecordingInput(GeneratedInput):
    """The input of a generator, with its draws."""

    @classmethod
    def of(cls, form: GeneratedInput) -> RecordingInput:
        """The same form with a record. Missing choices are zeros and are not reported."""
        return cls(form._generator, form._limit, bytes, None, form._magic)

    def _plain(self, data: bytes) -> Source:
        return RecordingSource(data, self._limit, self._more, self._magic)

    @property
    def draws(self) -> Sequence[DrawnValue]:
        """The draws of the last input."""
        return self._source.draws if isinstance(self._source, RecordingSource) else ()

    @property
    def parts(self) -> Sequence[InputPart]:
        """The parts of the last input."""
        return self._source.parts if isinstance(self._source, RecordingSource) else ()

    def forget(self) -> None:
        """Drop the record, which refers to the generator's objects."""
        self._source = None
