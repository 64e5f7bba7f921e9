"""Make the primitive values of a property test from a source's choices.

One function for each kind of value that a Hypothesis backend makes. Every value satisfies its
constraints, whatever the choices are; choices that are all zero give a simple value.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from fuzztui.engines.inputs.draws import Draw, joined, number_bytes
from fuzztui.engines.inputs.source import Source

if TYPE_CHECKING:
    from hypothesis.internal.intervalsets import IntervalSet

_NARROW: Final = 128
"""Size of a range of integers up to which each integer has the same probability. Numbers of
elements and of alternatives are such ranges: the application's constants must not affect them."""

_UNBOUNDED: Final = 1 << 128
_SIZES: Final = (1, 1, 1, 2, 2, 4, 8, 16)
"""Bytes of an integer's distance from the simplest integer."""

_LENGTHS: Final = 256
_RARE: Final = 240
"""A character drawn as this number or a larger one is any character of a large alphabet."""

_RAW: Final = 176
"""The smallest first choice of a real number that is drawn as its eight bytes."""

_COMMON: Final = "".join(map(chr, [*range(48, 58), *range(97, 123), *range(65, 91)])) + "".join(
    chr(n) for n in range(32, 127) if not chr(n).isalnum()
)
"""Characters that programs often handle specially: printable ASCII, the simplest first."""


def boolean(source: Source, p: float) -> bool:
    """True with approximately the probability ``p``; exactly if ``p`` is 0 or 1."""
    if p <= 0 or p >= 1:
        return p >= 1
    return source.below(_range_of(p)) >= least_true(p)


def _range_of(p: float) -> int:
    return 256 if 1 / 32 < p < 31 / 32 else 1 << 16


def least_true(p: float) -> int:
    """The smallest number from which :func:`boolean` makes True."""
    n = _range_of(p)
    return n - min(max(1, round(p * n)), n - 1)


def integer(
    source: Source,
    low: int | None,
    high: int | None,
    weights: dict[int, float] | None = None,
    origin: int = 0,
) -> int:
    """An integer from ``low`` to ``high``; None: no bound. ``origin``: the simplest integer.

    In a wide range half of the integers are near the origin, some are the keys of ``weights`` (with
    these probabilities), and some are constants of the application.
    """
    if low is not None and high is not None and high - low < _NARROW:
        if origin <= low or origin > high:
            return low + source.below(high - low + 1)
        n = origin - low + source.below(high - low + 1)  # so that 0 means the origin
        return low + n % (high - low + 1)
    least, most = bounds(low, high)
    constant = source.constant(lambda magic: magic.integers(least, most))
    if constant is not None:
        return constant
    way = source.below(256)
    if weights:
        at = (255 - way) / 256
        for value, weight in weights.items():
            at -= weight
            if at < 0:
                return value
    if way >= 64 and way & 1 and low is not None and high is not None:
        return low + source.below(high - low + 1)
    size = _SIZES[way >> 1 & 7]
    near = min(max(origin, least), most)
    distance = source.below(1 << 8 * size)
    # 0, -1, 1, -2, ... from the origin, modulo the range.
    value = near + (distance >> 1 if distance & 1 == 0 else -(distance >> 1) - 1)
    return value if least <= value <= most else least + (value - least) % (most - least + 1)


def bounds(low: int | None, high: int | None) -> tuple[int, int]:
    """The smallest and the largest integer that :func:`integer` makes."""
    least = low if low is not None else min(-_UNBOUNDED, 2 * (high or 0))
    return least, high if high is not None else max(_UNBOUNDED, 2 * (low or 0))


def real(source: Source, low: float, high: float, nan: bool, smallest: float) -> float:
    """A float from ``low`` to ``high``, where -0.0 is below 0.0; also NaN if ``nan``.

    ``smallest``: the smallest magnitude of values other than zero.
    """
    way = source.below(256)
    if way >= 224:
        odd = _odd_reals(low, high, nan, smallest)
        return odd[source.below(len(odd))]
    if way < 64:
        value = float(integer(source, -(1 << 15), (1 << 15) - 1))
    elif way < 128:
        value = integer(source, -(1 << 31), (1 << 31) - 1) / (10, 100, 1000, 4, 3)[source.below(5)]
    elif way < _RAW and math.isfinite(low) and math.isfinite(high):
        part = source.below(1 << 32) / ((1 << 32) - 1)
        value = low * (1 - part) + high * part
    else:
        value = struct.unpack(">d", source.below(1 << 64).to_bytes(8, "big"))[0]
        if math.isnan(value) and not nan:
            value = 0.0
    if math.isnan(value) or _is_real(value, low, high, smallest):
        return value
    if math.isfinite(low) and math.isfinite(high):
        part = math.fabs(value) % 1 if math.isfinite(value) else 0.5
        value = low * (1 - part) + high * part
    elif math.isfinite(low) or math.isfinite(high):
        value = low + math.fabs(value) if math.isfinite(low) else high - math.fabs(value)
    value = low if value < low else high if value > high else value
    if _is_real(value, low, high, smallest):
        return value
    near = [v for v in (0.0, -0.0, smallest, -smallest) if _is_real(v, low, high, smallest)]
    return near[0] if near and math.fabs(value) < smallest else low


def _is_real(value: float, low: float, high: float, smallest: float) -> bool:
    if value == 0:
        sign = math.copysign(1, value)
        return (low < 0 or (low == 0 and math.copysign(1, low) <= sign)) and (
            high > 0 or (high == 0 and math.copysign(1, high) >= sign)
        )
    return low <= value <= high and math.fabs(value) >= smallest


@lru_cache(256)
def _odd_reals_of(
    low: float, high: float, signs: tuple[float, float], nan: bool, smallest: float
) -> list[float]:
    big = sys.float_info.max
    candidates = [0.0, -0.0, 1.0, -1.0, low, high, low + 1, high - 1, 0.5, 1e16, -1e16, 1e-9]
    candidates += [math.nextafter(low, math.inf), math.nextafter(high, -math.inf), 0.1 + 0.2]
    candidates += [math.inf, -math.inf, big, -big, smallest, -smallest, sys.float_info.min]
    odd = [v for v in candidates if not math.isnan(v) and _is_real(v, low, high, smallest)]
    return [*odd, math.nan, -math.nan] if nan else odd or [low]


def _odd_reals(low: float, high: float, nan: bool, smallest: float) -> list[float]:
    signs = math.copysign(1, low), math.copysign(1, high)  # else 0.0 and -0.0 are the same key
    return _odd_reals_of(low, high, signs, nan, smallest)


class Alphabet:
    """The characters that a text may contain, common ones first."""

    def __init__(self, intervals: IntervalSet) -> None:
        """``intervals``: the code points of the characters."""
        self._intervals = intervals
        self.size = len(intervals)
        self.common = "".join(c for c in _COMMON if c in self)
        if self.size <= _NARROW or not self.common:
            others = (chr(intervals[n]) for n in range(min(self.size, _NARROW)))
            self.common += "".join(c for c in others if c not in self.common)

    def __contains__(self, character: object) -> bool:
        return isinstance(character, str) and ord(character) in self._intervals

    def __getitem__(self, n: int) -> str:
        return chr(self._intervals[n])


@lru_cache(256)
def alphabet_of(intervals: IntervalSet) -> Alphabet:
    """The alphabet of these code points."""
    return Alphabet(intervals)


def text(source: Source, intervals: IntervalSet, low: int, high: int) -> str:
    """``low`` to ``high`` characters; from a large alphabet, 15 of 16 are common ones.

    Each character is a choice; uncommon characters are drawn after all others.
    """
    alphabet = alphabet_of(intervals)
    if not alphabet.size:
        return ""
    constant = source.constant(lambda magic: magic.texts(alphabet, low, high))
    if constant is not None:
        return constant
    length = _length(source, low, high)
    common = alphabet.common
    if len(common) == alphabet.size:
        return "".join(common[n] for n in source.row(length, len(common)))
    row = source.row(length, 256)
    others = iter(source.row(sum(n >= _RARE for n in row), alphabet.size))
    return "".join(alphabet[next(others)] if n >= _RARE else common[n % len(common)] for n in row)


def block(source: Source, low: int, high: int) -> bytes:
    """``low`` to ``high`` bytes, as one choice (``Source.bytes``)."""
    constant = source.constant(lambda magic: magic.blocks(low, high))
    return source.bytes(_length(source, low, high)) if constant is None else constant


def _length(source: Source, low: int, high: int) -> int:
    """A length from ``low`` to ``high``, mostly a little more than ``low``."""
    room = high - low
    if room < 16:
        return low + source.below(room + 1)
    n = source.below(_LENGTHS)
    return low + min(room, n % 8 if n < 160 else n % 32 if n < 252 else n)


# ------------------------------------------------- back: the choices from which a value is made


def integer_bytes(
    value: int, low: int | None, high: int | None, origin: int, prefix: str = ""
) -> bytes | None:
    """The shortest choices from which :func:`integer` makes ``value``; None if there are none.

    ``prefix``: in hex, a choice before them that selects no constant; empty if there is none.
    """
    if (low is not None and value < low) or (high is not None and value > high):
        return None
    if low is not None and high is not None and high - low < _NARROW:
        first = low if origin <= low or origin > high else origin
        return bytes([(value - first) % (high - low + 1)])
    least, most = bounds(low, high)
    near = min(max(origin, least), most)
    size = most - least + 1  # values beyond the range are drawn modulo its size
    steps = min((value - near + n * size for n in (0, 1, -1)), key=abs)
    distance = 2 * steps if steps >= 0 else -2 * steps - 1
    for way, size in enumerate(_SIZES):
        if not distance >> 8 * size:
            return bytes.fromhex(prefix) + bytes([way << 1]) + distance.to_bytes(size, "big")
    return None


def _integer(start: int, end: int, value: int, *details: Any) -> Draw:
    low, high, origin, prefix = details
    least, most = bounds(low, high)
    near = min(max(origin, least), most)

    def encode(n: int) -> bytes | None:
        return integer_bytes(n, low, high, origin, prefix)

    return Draw(start, end, f"integer {low} {high}", value, encode, near, low, high)


def _real(start: int, end: int, value: str, *bounds: str) -> Draw:
    low, high, smallest = map(float.fromhex, bounds)

    def encode(value: float) -> bytes | None:
        if not math.isnan(value) and not _is_real(value, low, high, smallest):
            return None
        return bytes([_RAW]) + struct.pack(">d", value)

    return Draw(start, end, "real", float.fromhex(value), encode)


def items_of(value: str, intervals: IntervalSet) -> tuple[list[int], int, int]:
    """A text as a number for each character, how many characters are common ones, and how many
    characters the alphabet has. Simpler characters have lower numbers.
    """
    alphabet = alphabet_of(intervals)
    common = alphabet.common
    items = [common.index(c) if c in common else _LENGTHS + intervals.index(ord(c)) for c in value]
    return items, len(common), alphabet.size


def _items_bytes(
    length: bytes | None, items: Sequence[int], common: int, size: int
) -> bytes | None:
    parts = [length]
    known = [n if n < common else _LENGTHS if n < _LENGTHS else n for n in items]
    parts += [bytes([n if n < common else _RARE]) for n in known]
    parts += [number_bytes(n - _LENGTHS, size) for n in known if n >= common]
    return joined(parts)


def text_bytes(
    value: str, intervals: IntervalSet, low: int, high: int, prefix: str = ""
) -> bytes | None:
    """The choices from which :func:`text` makes ``value``; None if there are none."""
    alphabet = alphabet_of(intervals)
    if not all(c in alphabet for c in value):
        return None
    items, common, size = items_of(value, intervals)
    return _items_bytes(_length_bytes(len(items), low, high, prefix), items, common, size)


def block_bytes(value: bytes, low: int, high: int, prefix: str = "") -> bytes | None:
    """The choices from which :func:`block` makes ``value``; None if there are none."""
    return joined([_length_bytes(len(value), low, high, prefix), value])


def _text(start: int, end: int, items: list[int], *details: Any) -> Draw:
    common, size, low, high, prefix = details

    def encode(items: tuple[int, ...]) -> bytes | None:
        return _items_bytes(_length_bytes(len(items), low, high, prefix), items, common, size)

    return Draw(start, end, f"text {size}", tuple(items), encode, 0, low, high)


def _block(start: int, end: int, value: str, low: int, high: int) -> Draw:
    def encode(items: tuple[int, ...]) -> bytes | None:
        return block_bytes(bytes(items), low, high)

    return Draw(start, end, "bytes", tuple(bytes.fromhex(value)), encode, 0, low, high)


def _length_bytes(length: int, low: int, high: int, prefix: str = "") -> bytes | None:
    """The choice from which :func:`_length` makes this length; None if there is none."""
    room, n = high - low, length - low
    if not 0 <= n <= room:
        return None
    if room < 16:
        return number_bytes(n, room + 1, prefix)
    if n < 32:
        return number_bytes(n if n < 8 else 160 + n, _LENGTHS, prefix)
    return number_bytes(_LENGTHS - 1 if n == room else n, _LENGTHS, prefix) if (
        n == room < _LENGTHS or n in range(252, _LENGTHS)
    ) else None  # fmt: skip


KINDS: Final[dict[str, Callable[..., Draw]]] = {
    "integer": _integer,
    "real": _real,
    "text": _text,
    "bytes": _block,
}
"""What makes a :class:`Draw` of a note of the backend (``making.NotingBackend``)."""
