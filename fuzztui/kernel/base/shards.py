"""Shards: a fixed division of mutants by their ids, so that several machines do a part each.

A mutant's shard depends on its id and the number of shards only. Other mutants that are added or
removed move none; shards differ in size by chance.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

MAX_SHARDS: Final = 10_000

SHARD_PATTERN: Final = r"\s*[0-9]{1,5}\s*/\s*[0-9]{1,5}\s*"
SHARD_HELP: Final = 'a shard K/N with K from 1 to N, such as "2/5": the second of five'

_BITS: Final = 48
"""Bits of a mutant's hash and of the sum: the sum of two is still exact as a float."""


@dataclass(frozen=True, slots=True)
class Shard:
    """One of ``of`` parts; ``number`` counts from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def has(self, id_: str) -> bool:
        """Whether the mutant with this id is in this shard."""
        return _hash(id_) % self.of == self.number - 1


def parse_shard(text: object) -> Shard:
    """Parse ``"2/5"``. Raises ValueError."""
    if isinstance(text, str) and re.fullmatch(SHARD_PATTERN, text, re.ASCII):
        number, of = (int(part) for part in text.split("/"))
        if 1 <= number <= of <= MAX_SHARDS:
            return Shard(number, of)
    raise ValueError(f"{text!r} is not {SHARD_HELP}")


@dataclass(slots=True)
class ProgramSum:
    """Number and checksum of a program's mutants, in all shards; equal for the same program."""

    mutants: int = 0
    total: int = 0

    def add(self, *of_mutant: str) -> None:
        """Add a mutant: its id, and what it changes. The order of mutants does not matter."""
        self.mutants += 1
        self.total = (self.total + _hash("\0".join(of_mutant))) % (1 << _BITS)

    @property
    def hex(self) -> str:
        """The sum as a text."""
        return f"{self.total:012x}"


def _hash(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_BITS // 8)
    return int.from_bytes(digest.digest())
