"""Mutants that are the same program: told by the linked binary."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

__all__ = ["DuplicateMutants", "digest_of"]

ORIGINAL = "original"


def digest_of(files: Iterable[Path]) -> str:
    """One digest of several files, in this order. Raises OSError."""
    total = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()[:32]


class DuplicateMutants:
    """Digests by mutant, and of each digest the mutant that had it first."""

    def __init__(self) -> None:
        self.digests: dict[str, str] = {}
        self._first: dict[str, str] = {}

    def known(self, digests: Mapping[str, str]) -> None:
        """Take those of an earlier start, in their order."""
        for mutant, digest in digests.items():
            self.add(mutant, digest)

    def of(self, mutant: str, digest: str, original: str) -> str:
        """``original``, another mutant, or "": whom a mutant is the twin of."""
        if digest == original:
            return ORIGINAL
        first = self._first.get(digest, mutant)
        return "" if first == mutant else first

    def add(self, mutant: str, digest: str) -> None:
        """Remember a mutant's."""
        self.digests[mutant] = digest
        self._first.setdefault(digest, mutant)
