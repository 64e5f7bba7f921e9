"""The text mutators in Python, used if nothing was compiled; equal to mutate.c byte for byte.

After "Fast String-level Approximation of Mutation Operators" in the paper on compiler fuzzing. The
comments in mutate.h and mutate.c explain the reasons. A change of one must be made in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fuzztui.engines.text.table import MUTATORS, TextMutator, TextMutatorKind

_MASK: Final = 2**64 - 1


class Rng:
    """The generator splitmix64. Its ``state`` is one number below 2**64, which may be set."""

    __slots__ = ("state",)

    def __init__(self, seed: int) -> None:
        """``seed``: any integer."""
        self.state = seed & _MASK

    def next(self) -> int:
        """64 random bits."""
        self.state = z = (self.state + 0x9E3779B97F4A7C15) & _MASK
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & _MASK
        return z ^ z >> 31

    def below(self, n: int) -> int:
        """A number from 0 to n - 1, for n from 1 to 2**32 - 1."""
        return (self.next() >> 32) * n >> 32

    def position(self, n: int) -> int:
        """A number from 0 to n - 1, for any n >= 1."""
        return self.next() % n if n >> 32 else self.below(n)


def apply(data: bytes, limit: int, rng: Rng, op: int) -> bytes | None:
    """Apply the mutator with number ``op`` at a random occurrence; at most ``limit`` bytes result.

    Returns None if it does not apply. ``rng`` advances in both cases, unless ``data`` is empty.
    """
    if not 0 <= op < len(MUTATORS) or not data:
        return None
    mutator = MUTATORS[op]
    places = _occurrence(data, rng, mutator)
    if places is None:
        return None
    strings = mutator.strings
    begin, end = places[0][0], places[-1][1]
    match mutator.kind:
        case TextMutatorKind.REPLACE:
            made = strings[1]
        case TextMutatorKind.SPAN:
            made = strings[2]
            if made.startswith(strings[0]):
                begin, made = places[0][1], made[len(strings[0]) :]
        case TextMutatorKind.SWAP:
            begin, end = places[0][1], places[2][0]
            middle, behind = places[1]
            made = data[behind:end] + data[middle:behind] + data[begin:middle]
        case TextMutatorKind.DUPLICATE:
            begin = places[0][strings[1].startswith(strings[0])]
            made = data[begin:end] * 2
    if len(data) - (end - begin) + len(made) > max(limit, 0) or made == data[begin:end]:
        return None
    return data[:begin] + made + data[end:]


_Places = list[tuple[int, int]]
"""For each delimiter: its begin, and the begin of the text after it."""


def _occurrence(data: bytes, rng: Rng, mutator: TextMutator) -> _Places | None:
    """The delimiters' positions: at or after a random position, or else before it."""
    start = rng.position(len(data))
    first = mutator.strings[0]
    found = _locate(data, start, len(data), mutator)
    return found or _locate(data, 0, start + len(first) - 1, mutator)


def _locate(data: bytes, start: int, end: int, mutator: TextMutator) -> _Places | None:
    """The first delimiter before ``end``, and each other one as soon as possible after it."""
    places = []
    delimiters = mutator.delimiters
    if mutator.kind is TextMutatorKind.SPAN and mutator.strings[:2] == (b"\n", b" "):
        return _first_word(data, start, end)
    for number, delimiter in enumerate(delimiters):
        at = data.find(delimiter, start, end)
        if at < 0:
            return None
        start, end = at + len(delimiter), len(data)
        if number + 1 < len(delimiters) and b" " in delimiters[number : number + 2]:
            while data[start : start + 1] in _BLANKS:
                start += 1
        places.append((at, start))
    return places


_BLANKS: Final = (b" ", b"\t")


def _first_word(data: bytes, start: int, end: int) -> _Places | None:
    """The first word of the first line after a newline in this range whose first word precedes a
    blank.
    """
    at = data.find(b"\n", start, end)
    while at >= 0:
        word = at + 1
        while data[word : word + 1] in _BLANKS:
            word += 1
        blank, newline = data.find(b" ", word), data.find(b"\n", word)
        if blank >= 0 and (newline < 0 or blank < newline):
            return [(at, word), (blank, blank + 1)]
        if blank < 0:
            return None
        at = newline
    return None


_WHOLE: Final = 1_000_000
_FLOOR: Final = 5
_MAX_FOUND: Final = 2**20
_MAX_APPLIED: Final = 2**31
_MAX_PRIOR: Final = 2**20
_MERIT: Final = 4096


def weights(
    applied: Sequence[int],
    found: Sequence[int],
    base: Sequence[int],
    floors: Sequence[int],
    prior: int,
) -> list[int]:
    """The bandit: weights of mutators from their recent counters (see mutate.c).

    ``base``: the wished weight of each, at most 1,000,000; ``floors``: the proportions in which
    mutators without finds are drawn. The sum of the result is 1,000,000 or a little more. The
    caller sets the weights of disabled mutators to 0.
    """
    applied = [min(a, _MAX_APPLIED) for a in applied]
    found = [min(f, _MAX_FOUND) for f in found]
    of, all_ = min(sum(applied), _MAX_APPLIED), min(sum(found), _MAX_FOUND)
    prior = max(1, min(prior, _MAX_PRIOR))
    wanted = [
        min(b, _WHOLE) * _merit(a, f, of, all_, prior)
        for a, f, b in zip(applied, found, base, strict=True)
    ]
    total = sum(wanted)
    floors = [min(f, _WHOLE) for f in floors]
    shares = _FLOOR * sum(floors) or 1
    return [
        max(1, _WHOLE * floor // shares, w * _WHOLE // total if total else 0)
        for floor, w in zip(floors, wanted, strict=True)
    ]


def _merit(applied: int, found: int, of: int, all_: int, prior: int) -> int:
    """The finds of a mutator in proportion to all mutators; _MERIT is the average."""
    if not all_:
        return _MERIT
    value = (found * of + prior * all_) * _MERIT // ((applied + prior) * all_)
    return max(1, min(value, 64 * _MERIT))
