"""The source of choices that a generator draws from.

Zest's idea: a generator's choices are a sequence of bytes, so mutating the bytes mutates the
*structured* input that the generator makes. Bytes are drawn on demand. Bytes that the generator
does not draw are not part of the input.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar, cast

from fuzztui.engines.inputs.constants import ConstantPool

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_T = TypeVar("_T")

_BLOCK = 64
"""Fresh bytes are requested in blocks of this size, which the journal stores as a whole."""

MIN_RANGE: Final = 16
"""Range of an integer below which constants are not used: all values are drawn soon anyway."""


class Rejected(Exception):
    """The choices make no input: the trial counts as invalid."""


class Source:
    """Choices for one input: recorded ones first, then fresh ones up to ``limit`` bytes.

    A choice among at most 256 options takes one byte, among at most 65,536 two bytes, and so on.
    The remainder selects the option, so all bytes are valid choices.

    With ``magic``, texts, blocks of bytes and integers are fitting constants of the application in
    half of the cases (the SpotOn paper, III-B). Whether and which constant is used are choices too.
    """

    __slots__ = ("_data", "_limit", "_magic", "_more", "_pos")

    draw_strategy: ClassVar[Callable[[Source, Any], Any] | None] = None
    """Draws from a Hypothesis strategy; ``engines/strategies`` sets it when it is imported."""
    typed: ClassVar[bool] = False
    """Whether generators announce their calls to the source (``engines/generators``)."""
    annotates: ClassVar[bool] = False
    """Whether the source must know the types that strategies make."""
    noting: ClassVar[bool] = False
    """Whether the source notes each draw (``inputs/draws.py``)."""
    recording: ClassVar[bool] = False
    """Whether the source records how to draw other values (``inputs/drawn.py``)."""

    def __init__(
        self,
        data: bytes,
        limit: int,
        more: Callable[[int], bytes],
        magic: ConstantPool | None = None,
    ) -> None:
        """``more(n)`` returns ``n`` fresh bytes, after ``data`` is used up."""
        self._data = bytearray(data)
        self._limit = limit
        self._more = more
        self._magic = magic
        self._pos = 0

    def drawn(self) -> bytes:
        """The bytes drawn until now, with which the generator makes the same input again."""
        return bytes(self._data[: self._pos])

    def _advance(self, n: int) -> int:
        start = self._pos
        end = start + n
        missing = end - len(self._data)
        if missing > 0:
            if end > self._limit:
                raise Rejected(f"the generator drew more than {self._limit} bytes")
            room = self._limit - len(self._data)
            self._data += self._more(min(max(missing, _BLOCK), room))
        self._pos = end
        return start

    def below(self, n: int) -> int:
        """Draw an integer from 0 to ``n - 1``. The other methods build on this one."""
        if n <= 256:
            if n < 1:
                raise ValueError(f"there is no integer from 0 to {n - 1}")
            return self._data[self._advance(1)] % n
        size = ((n - 1).bit_length() + 7) >> 3
        at = self._advance(size)
        return int.from_bytes(self._data[at : at + size], "big") % n

    def key(self, size: int) -> builtins.bytes:
        """Take ``size`` bytes as they are: no value that mutators or records need to know."""
        at = Source._advance(self, size)
        return builtins.bytes(self._data[at : at + size])

    def integer(self, low: int, high: int) -> int:
        """Draw an integer from ``low`` to ``high``, both included."""
        if self._magic is not None and high - low >= MIN_RANGE:
            constant = self._constant(self._magic.integers(low, high))
            if constant is not None:
                return constant
        return low + self.below(high - low + 1)

    def boolean(self) -> bool:
        """Draw True or False."""
        return self.below(2) == 1

    def choose(self, options: Sequence[_T]) -> _T:
        """Draw one of the options."""
        return options[self.below(len(options))]

    def weighted(self, options: Sequence[tuple[int, _T]]) -> _T:
        """Draw an option from pairs ``(weight, option)``, with probability by weight."""
        at = self.below(sum(weight for weight, _ in options))
        for weight, option in options:
            at -= weight
            if at < 0:
                return option
        raise ValueError("weights must not be negative")

    def real(self, low: float = 0.0, high: float = 1.0) -> float:
        """Draw a float from ``low`` to ``high``, both included."""
        return low + (high - low) * (self.below(1 << 32) / ((1 << 32) - 1))

    def bytes(self, n: int, *, each: bool = False) -> bytes:
        """Draw ``n`` bytes: one choice, or with ``each`` one choice for each byte.

        Mutators that select choices mutate one block as often as any other choice, so that a
        large payload does not get nearly all mutations.
        """
        if self._magic is not None and n > 1:
            constant = self._constant(self._magic.blocks(n, n))
            if constant is not None:
                return constant
        if each:
            return bytes(self.row(n, 256))
        at = self._advance(n) if n > 0 else self._pos
        return bytes(self._data[at : at + n])

    def text(self, alphabet: str, low: int, high: int) -> str:
        """Draw a text of ``low`` to ``high`` characters of the alphabet."""
        if self._magic is not None:
            constant = self._constant(self._magic.texts(alphabet, low, high))
            if constant is not None:
                return constant
        length = low + self.below(
            high - low + 1
        )  # not integer(): a constant makes no sense as a length
        return "".join(alphabet[at] for at in self.row(length, len(alphabet)))

    def row(self, n: int, below: int) -> list[int]:
        """Draw ``n`` integers below ``below``, as one group whose size may vary."""
        if n < 1 or not 1 <= below <= 256:
            return [self.below(below) for _ in range(n)]
        at = self._advance(n)
        return [byte % below for byte in self._data[at : at + n]]

    def constant(self, fitting: Callable[[ConstantPool], Sequence[_T]]) -> _T | None:
        """Draw a fitting constant of the application in half of the cases, else None."""
        return None if self._magic is None else self._constant(fitting(self._magic))

    def _constant(self, fitting: Sequence[_T]) -> _T | None:
        """Draw one of ``fitting`` in half of the cases; None: the caller draws a value."""
        return self.choose(fitting) if fitting and self.below(2) else None

    def more(self, low: int = 0, high: int = 1 << 30, *, continues: float = 0.75) -> Repeat:
        """Iterate ``low`` to ``high`` times, continuing with probability ``continues`` each time.

        Each iteration takes one choice, so that a mutation can add or remove an element.
        """
        return Repeat(self, low, high, continues)

    def draw(self, strategy: SearchStrategy[_T]) -> _T:
        """Draw a value of a Hypothesis strategy from these choices (``engines/strategies``)."""
        if Source.draw_strategy is None:
            raise RuntimeError("drawing from a strategy needs fuzztui.engines.strategies")
        return cast(_T, Source.draw_strategy(self, strategy))

    def assume(self, condition: object) -> None:
        """Reject this input unless the condition is true."""
        if not condition:
            raise Rejected("an assumption of the generator does not hold")


class Repeat:
    """The iterator of :meth:`Source.more`: yields 0, 1, 2, ..."""

    __slots__ = ("_done", "_high", "_low", "_source", "_threshold")

    def __init__(self, source: Source, low: int, high: int, continues: float) -> None:
        self._source, self._low, self._high = source, low, high
        self._threshold = int(continues * 256)
        self._done = 0

    def __iter__(self) -> Repeat:
        return self

    def __next__(self) -> int:
        n = self._done
        if n >= self._high or (n >= self._low and self._source.below(256) >= self._threshold):
            raise StopIteration
        self._done = n + 1
        return n
