"""Find mutants that are the same program, by the digest of the linked binary."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

ORIGINAL = "original"


def digest_of(files: Iterable[Path]) -> str:
    """Return one digest of several files, in this order. Raises OSError."""
    total = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()[:32]


class DuplicateMutants:
    """The digest of each mutant, and the first mutant of each digest."""

    def __init__(self) -> None:
        self.digests: dict[str, str] = {}
        """By mutant id; to be kept over restarts."""
        self._first: dict[str, str] = {}

    def restore_digests(self, digests: Mapping[str, str]) -> None:
        """Restore the digests of an earlier start, in their order."""
        for mutant, digest in digests.items():
            self.add(mutant, digest)

    def of(self, mutant: str, digest: str, original: str) -> str:
        """Return what a mutant duplicates: ``ORIGINAL``, another mutant's id, or ""."""
        if digest == original:
            return ORIGINAL
        first = self._first.get(digest, mutant)
        return "" if first == mutant else first

    def add(self, mutant: str, digest: str) -> None:
        """Record the digest of a mutant."""
        self.digests[mutant] = digest
        self._first.setdefault(digest, mutant)
