"""The source of choices that a generator draws from.

Zest's idea: a generator's choices are a sequence of bytes, so mutating bytes
mutates the *structured* input that they make. Bytes are drawn on demand; what a
generator did not draw is not part of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar, cast

from fuzztui.engines.inputs.constants import ConstantPool

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["Rejected", "Source"]

_T = TypeVar("_T")

_BLOCK = 64
"""Fresh bytes are asked for in blocks, so that they can be journalled in blocks."""

_MANY: Final = 16
"""An integer of fewer values than these meets each of them soon enough without constants."""


class Rejected(Exception):
    """The choices lead to no input: the trial counts as invalid."""


class Source:
    """Choices for one input: recorded ones first, then fresh ones up to ``limit`` bytes.

    A choice among up to 256 takes one byte, among up to 65,536 two, and so on; the
    remainder decides, so any byte is a legal choice.

    With ``magic``, texts, blocks of bytes and integers are constants of the application half
    of the time, where one fits (the SpotOn paper, III-B); that, and which one, are choices like
    any other.
    """

    __slots__ = ("_data", "_limit", "_magic", "_more", "_pos")

    draw_strategy: ClassVar[Callable[[Source, Any], Any] | None] = None
    """Draws from a Hypothesis strategy; ``engines/strategies`` sets it when it is imported."""
    typed: ClassVar[bool] = False
    """Does it want to know which generators are in progress (``engines/generators``)?"""

    def __init__(
        self,
        data: bytes,
        limit: int,
        more: Callable[[int], bytes],
        magic: ConstantPool | None = None,
    ) -> None:
        """``more(n)`` returns ``n`` fresh bytes when ``data`` is used up."""
        self._data = bytearray(data)
        self._limit = limit
        self._more = more
        self._magic = magic
        self._pos = 0

    def drawn(self) -> bytes:
        """The bytes that were drawn so far: with them the generator repeats itself."""
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
        """An integer from 0 to ``n - 1``. Every other choice is made of this one."""
        if n <= 256:
            if n < 1:
                raise ValueError(f"no integer is below {n} and not negative")
            return self._data[self._advance(1)] % n
        size = ((n - 1).bit_length() + 7) >> 3
        at = self._advance(size)
        return int.from_bytes(self._data[at : at + size], "big") % n

    def integer(self, low: int, high: int) -> int:
        """An integer from ``low`` to ``high``, both included."""
        if self._magic is not None and high - low >= _MANY:
            constant = self._constant(self._magic.integers(low, high))
            if constant is not None:
                return constant
        return low + self.below(high - low + 1)

    def boolean(self) -> bool:
        """True or False."""
        return self.below(2) == 1

    def choose(self, options: Sequence[_T]) -> _T:
        """One of the options."""
        return options[self.below(len(options))]

    def weighted(self, options: Sequence[tuple[int, _T]]) -> _T:
        """One of ``(weight, option)``, each as likely as its weight."""
        at = self.below(sum(weight for weight, _ in options))
        for weight, option in options:
            at -= weight
            if at < 0:
                return option
        raise ValueError("weights must not be negative")

    def real(self, low: float = 0.0, high: float = 1.0) -> float:
        """A number from ``low`` to ``high``."""
        return low + (high - low) * (self.below(1 << 32) / ((1 << 32) - 1))

    def bytes(self, n: int, *, each: bool = False) -> bytes:
        """``n`` bytes: a single choice, a block, or with ``each`` as many as bytes.

        A mutator that takes choices as they are meets a block as often as any other choice,
        so that a large payload does not get nearly all mutations.
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
        """``low`` to ``high`` characters of the alphabet."""
        if self._magic is not None:
            constant = self._constant(self._magic.texts(alphabet, low, high))
            if constant is not None:
                return constant
        length = low + self.below(high - low + 1)  # a constant is no length
        return "".join(alphabet[at] for at in self.row(length, len(alphabet)))

    def row(self, n: int, below: int) -> list[int]:
        """``n`` integers that belong together, and may be more or fewer next time."""
        return [self.below(below) for _ in range(n)]

    def constant(self, fitting: Callable[[ConstantPool], Sequence[_T]]) -> _T | None:
        """One of the application's constants that fit, half of the time; else None."""
        return None if self._magic is None else self._constant(fitting(self._magic))

    def _constant(self, fitting: Sequence[_T]) -> _T | None:
        """One of these, half of the time; None: a value of one's own is to be made."""
        return self.choose(fitting) if fitting and self.below(2) else None

    def more(self, low: int = 0, high: int = 1 << 30, *, continues: float = 0.75) -> Repeat:
        """Iterate ``low`` to ``high`` times, continuing with the given probability each time.

        Each turn costs one choice, so that a mutation can add or drop an element.
        """
        return Repeat(self, low, high, continues)

    def draw(self, strategy: SearchStrategy[_T]) -> _T:
        """What a Hypothesis strategy makes of this source's choices (``engines/strategies``)."""
        if Source.draw_strategy is None:
            raise RuntimeError("drawing from a strategy needs fuzztui.engines.strategies")
        return cast(_T, Source.draw_strategy(self, strategy))

    def assume(self, condition: object) -> None:
        """Give this input up unless the condition holds."""
        if not condition:
            raise Rejected("an assumption of the generator does not hold")


class Repeat:
    """The turns of :meth:`Source.more`: iterating gives 0, 1, 2, ..."""

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
