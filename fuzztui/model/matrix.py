"""The kill matrix as an engine prints it, and a small set of inputs that covers it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

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
    """The kind of kill by the mutant's id."""
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


class _Sized(Protocol):
    @property
    def file(self) -> str: ...
    @property
    def size(self) -> int: ...


_Row = TypeVar("_Row", bound=_Sized)


@dataclass(frozen=True, slots=True)
class CoverPick(Generic[_Row]):
    """An input of a cover, and what no earlier pick has."""

    row: _Row
    new: frozenset[object]


def greedy_cover(
    rows: Sequence[_Row],
    key: Callable[[_Row], Collection[object]],
    weight: Callable[[Collection[object]], Any] = len,
) -> list[CoverPick[_Row]]:
    """Return few rows that together have everything that all rows have, the best first.

    The next one has the most that is new, by ``weight``; of equals, the smallest input. Picks that
    later ones make needless are dropped at the end. The result depends on the rows only.
    """
    parts = {id(row): frozenset(key(row)) for row in rows}
    left: set[object] = set().union(*parts.values()) if parts else set()
    open_ = sorted(rows, key=lambda row: (row.size, row.file))
    chosen: list[_Row] = []
    while left:
        best = max(open_, key=lambda row: weight(parts[id(row)] & left))  # the first of equals
        left -= parts[id(best)]
        chosen.append(best)
    counts: dict[object, int] = {}
    for row in chosen:
        for item in parts[id(row)]:
            counts[item] = counts.get(item, 0) + 1
    for row in reversed(chosen.copy()):
        if all(counts[item] > 1 for item in parts[id(row)]):
            chosen.remove(row)
            for item in parts[id(row)]:
                counts[item] -= 1
    return _in_best_order(chosen, parts, weight)


def _in_best_order(
    rows: list[_Row],
    parts: dict[int, frozenset[object]],
    weight: Callable[[Collection[object]], Any],
) -> list[CoverPick[_Row]]:
    """Order a cover greedily again, because what was dropped had a part in the first order."""
    picks: list[CoverPick[_Row]] = []
    seen: set[object] = set()
    while rows:
        best = max(rows, key=lambda row: weight(parts[id(row)] - seen))
        rows.remove(best)
        picks.append(CoverPick(best, parts[id(best)] - seen))
        seen |= parts[id(best)]
    return picks
