"""Put the operands of comparisons into an input: each where the input has the other one.

The input-to-state idea of RedQueen (Aschermann et al., NDSS 2019, section IV-A): a value that a
program compares is often in its input, so the input with the other value passes the comparison.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from fuzztui.engines.inputs.drawn import DrawnValue

Kind = Literal["equal", "order", "length", "member", "key", "inside", "prefix", "suffix", "pattern"]
"""How the two operands relate.

``equal``: compared by ``==`` or ``!=``; ``order``: by ``<`` and so on; ``length``: a text or bytes
and the number that its length is compared with; ``member``: a value and one of the values that it
is looked up among; ``key``: the same for a dict, which stands on the left; ``inside``: a text and
a text that is searched in it; ``prefix``, ``suffix``: the two ends of a text that are compared;
``pattern``: a text and a literal of the regular expression that is matched with it.
"""

Scalar = str | bytes | int
"""The operands that are recorded, of exactly these types."""

_PLACES: Final = 3
"""Places of one operand in an input that are tried; of more, so many are drawn."""
_MAX_PLACES: Final = 64
_LONGEST_FILL: Final = 256


@dataclass(frozen=True, slots=True)
class Operands:
    """Two operands that differ, as an execution met them: ``value`` against ``wanted``.

    ``site``: the number of the comparison (``OperandLog.sites`` in instrument/comparisons.py).
    """

    value: Scalar
    wanted: Scalar
    kind: Kind
    site: int


@dataclass(frozen=True, slots=True)
class Edit:
    """An input made for one comparison. ``wanted``: the operand that was put in."""

    data: bytes
    operands: Operands
    wanted: Scalar


def edits_of_bytes(
    data: bytes, pairs: Sequence[Operands], rng: random.Random, *, text: bool
) -> Iterator[Edit]:
    """Inputs in which one operand is replaced by the other. ``text``: the input is UTF-8."""
    folded = data.lower()
    for pair in pairs:
        for value, wanted, spelled in _changes(pair):
            for old, new in _spellings(value, spelled, text=text):
                for at in _places(data, folded, old, rng):
                    yield Edit(data[:at] + new + data[at + len(old) :], pair, wanted)


def edits_of_choices(
    data: bytes, draws: Sequence[DrawnValue], pairs: Sequence[Operands], rng: random.Random
) -> Iterator[Edit]:
    """Choices in which the draw that made one operand makes the other instead."""
    drawn: dict[tuple[type, Scalar], list[DrawnValue]] = {}
    for draw in draws:
        drawn.setdefault((type(draw.value), draw.value), []).append(draw)
    texts = [value for kind, value in drawn if kind is not int and value]
    for pair in pairs:
        for value, wanted, spelled in _changes(pair):
            kind = type(value)
            if kind is not type(spelled):
                continue
            made = [(draw, spelled) for draw in drawn.get((kind, value), ())]
            if kind is not int and value:
                for text in texts:
                    if type(text) is kind and text != value and value in text:  # type: ignore[operator]
                        whole = text.replace(value, spelled, 1)  # type: ignore[union-attr,arg-type]
                        made += [(draw, whole) for draw in drawn[kind, text]]
            for draw, whole in made if len(made) <= _PLACES else rng.sample(made, _PLACES):
                if (new := draw.encode(whole)) is not None:
                    yield Edit(data[: draw.start] + new + data[draw.end :], pair, wanted)


def _changes(pair: Operands) -> Iterator[tuple[Scalar, Scalar, Scalar]]:
    """What to look for, the operand that is wanted there, and what to write in its place."""
    value, wanted, kind = pair.value, pair.wanted, pair.kind
    if kind == "length":
        if isinstance(value, str | bytes) and isinstance(wanted, int):
            for size in (wanted, wanted + 1, wanted - 1):
                if value and 0 <= size <= _LONGEST_FILL and size != len(value):
                    yield value, wanted, (value * (size // len(value) + 1))[:size]
        return
    if isinstance(value, int) or isinstance(wanted, int):
        yield value, wanted, wanted
        if kind != "member":
            yield wanted, value, value
        if kind == "order" and isinstance(wanted, int) and isinstance(value, int):
            yield value, wanted, wanted + 1
            yield value, wanted, wanted - 1
        return
    if kind not in ("inside", "pattern"):
        yield value, wanted, wanted
        if kind in ("equal", "order") and wanted:
            yield wanted, value, value
    if kind not in ("equal", "order", "member"):
        # The program looks for one text in or at the ends of the other.
        if kind != "suffix":
            yield value, wanted, wanted + value  # type: ignore[operator]
        if kind != "prefix":
            yield value, wanted, value + wanted  # type: ignore[operator]
        if kind == "inside" and len(value) > 1:
            half = len(value) // 2
            yield value, wanted, value[:half] + wanted + value[half:]  # type: ignore[operator]
        if kind == "pattern":
            yield value, wanted, wanted


def _spellings(old: Scalar, new: Scalar, *, text: bool) -> Iterator[tuple[bytes, bytes]]:
    """The ways in which both values can be written in an input."""
    if isinstance(old, str) and isinstance(new, str):
        for codec in ("utf-8",) if text else ("utf-8", "latin-1", "utf-16-le", "utf-16-be"):
            try:
                pair = old.encode(codec), new.encode(codec)
            except UnicodeError:
                continue
            if codec == "utf-8" or pair[0] != old.encode("utf-8", "replace"):
                yield pair
    elif isinstance(old, bytes) and isinstance(new, bytes):
        yield old, new
    elif isinstance(old, int) and isinstance(new, int):
        yield b"%d" % old, b"%d" % new
        if old > 9 and new >= 0:
            yield b"%x" % old, b"%x" % new
        if 32 <= old < 0x110000 and 0 <= new < 0x110000:
            yield (chr(old).encode("utf-8", "replace"), chr(new).encode("utf-8", "replace"))
        if not text:
            for size in (1, 2, 4, 8):
                fits = all(0 <= n < 1 << 8 * size for n in (old, new))
                if fits and (size == 1 or old >> 4 * size):  # else half of the bytes are zeros
                    yield old.to_bytes(size, "little"), new.to_bytes(size, "little")
                    yield old.to_bytes(size, "big"), new.to_bytes(size, "big")


def _places(data: bytes, folded: bytes, old: bytes, rng: random.Random) -> list[int]:
    """Offsets of ``old``, else those in another case; at most :data:`_PLACES`, drawn from all.

    An empty operand may stand anywhere: both ends, and one place between them.
    """
    if not old:
        return sorted({0, rng.randint(0, len(data)), len(data)})
    found = _all(data, old)
    if not found:
        found = _all(folded, old.lower())
    return found if len(found) <= _PLACES else rng.sample(found, _PLACES)


def _all(data: bytes, old: bytes) -> list[int]:
    found: list[int] = []
    at = data.find(old)
    while at >= 0 and len(found) < _MAX_PLACES:
        found.append(at)
        at = data.find(old, at + 1)
    return found
