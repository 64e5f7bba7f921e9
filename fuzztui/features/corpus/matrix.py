"""The kill matrix as an engine prints it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_ORACLES = ("value", "exception", "timeout", "died")


class MatrixError(Exception):
    """The data is not a kill matrix; the message says why."""


@dataclass(frozen=True, slots=True)
class MatrixEntry:
    """One input: how the program ends on it, what it covers, which mutants it kills."""

    file: str
    sha256: str
    size: int
    outcome: str
    """success, invalid, failure, timeout; flaky, died: no mutant was run on it."""
    edges: frozenset[int]
    kills: dict[str, str]
    """The mutants that the input kills, by id, each with the kind of kill."""
    reached: int = 0
    """Bit n: whether the input reaches mutant n of :attr:`CorpusMatrix.mutants`."""


@dataclass(frozen=True, slots=True)
class CorpusMatrix:
    """Which input kills which mutants."""

    rows: list[MatrixEntry]
    cells: list[tuple[str, int, str, str]]
    """File, line, kind and function of each edge."""
    first_only: frozenset[str]
    """Killed mutants of which only the first input that kills them is known: static ones, and
    others that run in a process of their own."""
    mutants: tuple[str, ...] = ()
    """The ids of all mutants, also of those that live."""

    @property
    def killed(self) -> set[str]:
        """The ids of all mutants that an input kills."""
        return {mutant for row in self.rows for mutant in row.kills}

    @classmethod
    def of(cls, data: Any) -> CorpusMatrix:
        """Read what an engine has printed. Raises :class:`MatrixError`."""
        try:
            mutants = [str(id_) for id_ in data["mutants"]]
            cells = [(str(f), int(line), str(k), str(q)) for f, line, k, q in data["cells"]]
            rows = [_entry(row, mutants) for row in data["rows"]]
            first_only = frozenset(mutants[n] for n, killer in data["first_only"] if killer)
        except (LookupError, TypeError, ValueError, AttributeError) as e:
            raise MatrixError(f"{type(e).__name__}: {e}") from None
        return cls(rows, cells, first_only, tuple(mutants))


def _entry(row: Any, mutants: Sequence[str]) -> MatrixEntry:
    return MatrixEntry(
        file=str(row["file"]),
        sha256=str(row["sha256"]),
        size=int(row["size"]),
        outcome=str(row["outcome"]),
        edges=frozenset(map(int, row["edges"])),
        kills={mutants[n]: o for o in _ORACLES for n in row["kills"].get(o, ())},
        reached=int(row.get("reached", "0"), 16),
    )
