"""Mutators of bytes and of choices: each makes a new input from an entry of the corpus."""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Final, Protocol

from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.loop.corpus import Corpus, CorpusEntry


class Mutator(Protocol):
    """Makes a child of an entry. All randomness comes from the engine's ``rng``."""

    def mutate(self, entry: CorpusEntry) -> Candidate:
        """Make a child; does not change the entry."""


WeightedMutator = tuple[str, float, Callable[[CorpusEntry], Candidate]]
"""A mutator of :class:`YieldMutators`: name, weight, and the function that makes a child."""


class YieldMutators:
    """Applies one of several mutators, the more often the more of its children are kept.

    A mutator's probability is its weight times the share of its children that were kept, and at
    least :data:`LEAST` of what fixed probabilities leave. Older results count less. A mutator that
    cannot change an entry and lets another one make the child has used its turn.
    """

    LEAST: Final = 0.05
    PERIOD: Final = 4000
    """Children after which earlier results count half."""

    def __init__(self, parts: Sequence[WeightedMutator], rng: random.Random) -> None:
        """A child's operation starts with the name of its mutator, or counts for the first one."""
        self._random = rng.random
        self._names = [name for name, _, _ in parts]
        self._weights = [weight for _, weight, _ in parts]
        self._mutators = [mutate for _, _, mutate in parts]
        self._tried = dict.fromkeys(self._names, 0.0)
        self._kept = dict.fromkeys(self._names, 0.0)
        self.children = dict.fromkeys(self._names, 0)
        """The number of children by the name that their operations begin with."""
        self._fixed: dict[str, float] = {}
        self._left = 0
        self._limits: list[float] = []

    def fix(self, name: str, share: float | None) -> None:
        """Set the probability of a mutator, from 0 to 1; None: by its yield again."""
        self._fixed.pop(name, None)
        if share is not None:
            self._fixed[name] = share
        self._left = 0

    def mutate(self, entry: CorpusEntry) -> Candidate:
        """Make a child with a mutator drawn by its yield."""
        if self._left <= 0:
            self._rebuild()
        self._left -= 1
        at = 0
        if len(self._mutators) > 1:
            at = min(bisect_right(self._limits, self._random()), len(self._mutators) - 1)
        child = self._mutators[at](entry)
        self._tried[self._names[at]] += 1
        self.children[self._named(child) or self._names[0]] += 1
        return child

    def saved(self, child: Candidate, folder: str) -> None:
        """Count a child that was saved in ``folder``, if one of the mutators has made it."""
        name = self._named(child)
        if name and not child.peer and not child.origin and self.children[name]:
            self._kept[name] += 1
            self._left = 0

    def _named(self, child: Candidate) -> str:
        """The mutator that the child's operation begins with; "" for other operations."""
        name = child.op.partition(",")[0].partition(":")[0]
        return name if name in self._tried else ""

    @property
    def shares(self) -> dict[str, float]:
        """The probability of each mutator, by name."""
        rates = {
            name: weight * (self._kept[name] + 1) / (self._tried[name] + 100)
            for name, weight in zip(self._names, self._weights, strict=True)
            if name not in self._fixed
        }
        least = self.LEAST if len(rates) > 1 else 0.0
        rest, free = 1 - least * len(rates), 1 - sum(self._fixed.values())
        whole = sum(rates.values())
        return {
            name: self._fixed[name]
            if name in self._fixed
            else free * (least + rest * rates[name] / whole)
            for name in self._names
        }

    def _rebuild(self) -> None:
        if sum(self._tried.values()) > self.PERIOD:
            self._tried = {name: n / 2 for name, n in self._tried.items()}
            self._kept = {name: n / 2 for name, n in self._kept.items()}
        self._limits = list(accumulate(self.shares.values()))
        self._left = self.PERIOD // 10


class Geometric:
    """Draws geometric numbers 1, 2, ... with a given mean (> 1), by inversion."""

    __slots__ = ("_random", "_scale")

    def __init__(self, mean: float, rng: random.Random) -> None:
        self._random = rng.random
        self._scale = 1.0 / math.log1p(-1.0 / mean)

    def __call__(self) -> int:
        """Draw a number."""
        return 1 + int(math.log1p(-self._random()) * self._scale)


class ChoiceMutator:
    """Zest's mutation of a choice sequence (JQF, ZestGuidance.LinearInput.fuzz).

    Geometric(8) times, Geometric(4) bytes at a uniform offset are overwritten: by zeros with
    probability 0.1, decided once for each child; else by uniform bytes. The length does not
    change: choices beyond it are drawn at random when the generator needs them.
    """

    ZEROS: Final = 0.1
    """Probability that a child's bytes are overwritten by zeros."""

    def __init__(self, rng: random.Random) -> None:
        self._random = rng.random
        self._bytes = rng.randbytes
        self._times = Geometric(8.0, rng)
        self._size = Geometric(4.0, rng)

    def mutate(self, entry: CorpusEntry) -> Candidate:
        """Make a child of the same length."""
        data = bytearray(entry.data)
        length = len(data)
        zeros = self._random() < self.ZEROS
        times = self._times() if length else 0
        for _ in range(times):
            at = int(self._random() * length)
            n = min(self._size(), length - at)
            data[at : at + n] = bytes(n) if zeros else self._bytes(n)
        return Candidate(bytes(data), f"havoc,rep:{times}", entry.id)


class CopyMutator:
    """Copies a part of a choice sequence to another place: values occur twice.

    Also fills parts with one value.

    Equal values lead to code that random ones hardly reach: a key that is known, a header that is
    in the table. Hypothesis makes them in the same way. Also inserts and removes parts.
    """

    def __init__(self, rng: random.Random, start: int, limit: int) -> None:
        """``start``: bytes that stay as they are. ``limit``: most bytes of a child."""
        self._random = rng.random
        self._size = Geometric(8.0, rng)
        self._start, self._limit = start, limit
        self._fills = (b"\0", b"\xff", b"\x7f")

    def mutate(self, entry: CorpusEntry) -> Candidate:
        """Make a child; of an entry without choices a copy."""
        data, start = bytearray(entry.data), self._start
        times = 1 + int(self._random() * 3)
        for _ in range(times):
            length = len(data) - start
            if length <= 0:
                break
            at, to = (start + int(self._random() * length) for _ in range(2))
            part = data[at : at + self._size()]
            op = self._random()
            if op < 0.4:
                data[to : to + len(part)] = part
            elif op < 0.5:
                data[at : at + len(part)] = self._fills[int(self._random() * 3)] * len(part)
            elif op < 0.85:
                data[to:to] = part
            else:
                del data[at : at + len(part)]
        return Candidate(bytes(data[: self._limit]), f"copy,rep:{times}", entry.id)


_INTERESTING: Final = (
    *(n.to_bytes(1, "little", signed=True) for n in (-128, -1, 0, 1, 16, 32, 64, 100, 127)),
    *(
        n.to_bytes(2, order, signed=True)
        for n in (-32768, -129, 128, 255, 256, 512, 1000, 1024, 4096, 32767)
        for order in ("little", "big")
    ),
    *(
        n.to_bytes(4, order, signed=True)
        for n in (-(2**31), -100663046, -32769, 32768, 65535, 65536, 100663045, 2**31 - 1)
        for order in ("little", "big")
    ),
)
"""AFL's interesting values, in both byte orders."""

_NUMBERS: Final = (b"0", b"1", b"-1", b"127", b"128", b"255", b"256", b"65535", b"65536",
                   b"2147483647", b"2147483648", b"4294967296", b"9223372036854775808",
                   b"1e308", b"1e-400", b"0.1", b"1e5", b"nan", b"inf")  # fmt: skip
"""Interesting values for text inputs."""

_Op = Callable[[bytearray], None]


class Havoc:
    """Havoc as in AFL: a stack of random edits on bytes.

    Edits: bit flips, arithmetic, interesting values (numbers for text), random bytes, deleted,
    cloned and copied blocks, swapped bytes, and tokens of the dictionary; for text also printable
    characters. Blocks are short more often than long.
    """

    def __init__(
        self,
        rng: random.Random,
        limit: int,
        tokens: Sequence[bytes] = (),
        *,
        text: bool = False,
        stack: Sequence[int] = (1, 2, 2, 4, 4, 8, 16),
    ) -> None:
        """``limit``: maximum bytes of a child. ``stack``: numbers of edits, drawn uniformly.

        ``tokens`` may be changed between children.
        """
        self._random = rng.random
        self._bytes = rng.randbytes
        self.limit = limit
        self.tokens = tokens
        self._stack = tuple(stack)
        self._numbers = _NUMBERS if text else _INTERESTING
        weighted: list[tuple[int, _Op]] = [
            (2, self._flip_bit),
            (3, self._random_byte),
            (3, self._arithmetic),
            (3, self._interesting),
            (4, self._delete),
            (3, self._clone),
            (2, self._overwrite),
            (2, self._swap),
            (2, self._insert_random),
        ]
        if text:
            weighted += [(3, self._printable), (2, self._insert_printable)]
        self._ops = [op for weight, op in weighted for _ in range(weight)]
        self._ops_with_tokens = [
            *self._ops,
            *5 * [self._insert_token],
            *4 * [self._overwrite_token],
        ]

    def mutate(self, entry: CorpusEntry) -> Candidate:
        """Make a child; it equals its parent only by chance."""
        data = bytearray(entry.data)
        times = self.edit(data)
        return Candidate(bytes(data), f"havoc,rep:{times}", entry.id)

    def edit(self, data: bytearray) -> int:
        """Apply a stack of edits in place. Returns the number of edits."""
        random = self._random
        times = self._stack[int(random() * len(self._stack))]
        ops = self._ops_with_tokens if self.tokens else self._ops
        count = len(ops)
        for _ in range(times):
            if data:
                ops[int(random() * count)](data)
            else:
                self._edit(data)
        if len(data) > self.limit:
            del data[self.limit :]
        return times

    def once(self, data: bytes) -> bytes:
        """Return a copy with a single edit, for stacks of other mutators."""
        changed = bytearray(data)
        self._edit(changed)
        return bytes(changed[: self.limit])

    def _edit(self, data: bytearray) -> None:
        """Apply one edit in place; the result may exceed the limit."""
        tokens = self.tokens
        if data:
            ops = self._ops_with_tokens if tokens else self._ops
            ops[int(self._random() * len(ops))](data)
        elif tokens and self._random() < 0.5:
            self._insert_token(data)
        else:
            self._insert_printable(data)

    # ------------------------------------------------------------------- edits

    def _at(self, data: bytearray) -> int:
        return int(self._random() * len(data))

    def _span(self, data: bytearray) -> tuple[int, int]:
        """Draw a block, short more often than long. Returns its start and end."""
        length = len(data)
        most = (4, 16, 64, length)[int(self._random() * 4)]
        size = 1 + int(self._random() * min(most, length))
        at = int(self._random() * (length - size + 1))
        return at, at + size

    def _flip_bit(self, data: bytearray) -> None:
        data[self._at(data)] ^= 1 << int(self._random() * 8)

    def _random_byte(self, data: bytearray) -> None:
        data[self._at(data)] = int(self._random() * 256)

    def _printable(self, data: bytearray) -> None:
        data[self._at(data)] = 32 + int(self._random() * 95)

    def _arithmetic(self, data: bytearray) -> None:
        at = self._at(data)
        by = 1 + int(self._random() * 35)
        data[at] = (data[at] + (by if self._random() < 0.5 else -by)) & 255

    def _interesting(self, data: bytearray) -> None:
        value = self._numbers[int(self._random() * len(self._numbers))]
        at = self._at(data)
        data[at : at + len(value)] = value

    def _delete(self, data: bytearray) -> None:
        start, end = self._span(data)
        del data[start:end]

    def _clone(self, data: bytearray) -> None:
        start, end = self._span(data)
        at = int(self._random() * (len(data) + 1))
        data[at:at] = data[start:end]

    def _overwrite(self, data: bytearray) -> None:
        start, end = self._span(data)
        at = int(self._random() * (len(data) - (end - start) + 1))
        data[at : at + end - start] = data[start:end]

    def _swap(self, data: bytearray) -> None:
        a, b = self._at(data), self._at(data)
        data[a], data[b] = data[b], data[a]

    def _insert_random(self, data: bytearray) -> None:
        at = int(self._random() * (len(data) + 1))
        data[at:at] = self._bytes(1 + int(self._random() * 4))

    def _insert_printable(self, data: bytearray) -> None:
        at = int(self._random() * (len(data) + 1))
        data.insert(at, 32 + int(self._random() * 95))

    def _token(self) -> bytes:
        return self.tokens[int(self._random() * len(self.tokens))]

    def _insert_token(self, data: bytearray) -> None:
        at = int(self._random() * (len(data) + 1))
        data[at:at] = self._token()

    def _overwrite_token(self, data: bytearray) -> None:
        token = self._token()
        at = self._at(data)
        data[at : at + len(token)] = token


class Splice:
    """Joins the head of one entry and the tail of another, then applies havoc in 3 of 4 cases."""

    def __init__(self, rng: random.Random, corpus: Corpus, havoc: Havoc) -> None:
        self._random, self._corpus, self._havoc = rng.random, corpus, havoc

    def mutate(self, entry: CorpusEntry) -> Candidate:
        """Make a child of two parents; of one parent, by havoc alone, if no other was drawn."""
        partners = self._corpus.partners
        other = partners[int(self._random() * len(partners))] if partners else entry
        if other is entry or not entry.data or not other.data:
            return self._havoc.mutate(entry)
        head = int(self._random() * (len(entry.data) + 1))
        tail = int(self._random() * (len(other.data) + 1))
        data = bytearray(entry.data[:head] + other.data[tail:])
        times = self._havoc.edit(data) if self._random() < 0.75 else 0
        op = f"splice,rep:{times}" if times else "splice"
        return Candidate(bytes(data[: self._havoc.limit]), op, entry.id, other.id)
