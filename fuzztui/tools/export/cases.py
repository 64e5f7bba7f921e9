"""Choose the inputs for exported tests: a small cover of kills and edges, the best first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from fuzztui.features.corpus.cover import greedy_cover
from fuzztui.features.corpus.matrix import CorpusMatrix, MatrixEntry
from fuzztui.tools.export.recorded import Recorded

_MAX_WORD = 40


@dataclass(slots=True)
class TestCase:
    """An input that becomes a test."""

    __test__ = False  # pytest collects classes with this name

    entry: str
    """The name of the queue entry, or finding, as the docstring shows it."""
    word: str
    """What the test is named after: a function."""
    recorded: Recorded = field(default_factory=lambda: Recorded("unfit"))
    kills: tuple[str, ...] = ()
    """The mutants that no test before it kills, as the campaign compares values."""
    confirmed: tuple[str, ...] = ()
    """The mutants among ``kills`` with which this test was run and has failed."""
    edges: int = 0
    """The number of edges that no test before it covers."""
    functions: tuple[tuple[str, int], ...] = ()
    """Functions with their numbers of ``kills``, the largest number first."""
    hangs: bool = False
    """Whether some of the mutants do not end."""
    cause: str = ""
    """A finding's title; empty: the input is no finding."""
    message: bool = True
    """Whether the text of an exception is asserted."""
    value: bool = True
    """Whether the value is asserted; if not, only that there is one."""

    @property
    def unseen(self) -> tuple[str, ...]:
        """The parts of the value that the test does not compare."""
        recorded = self.recorded
        if self.cause or recorded.outcome != "success":
            return ()
        whole = not self.value or recorded.value is None
        return (f"{recorded.type or 'a value'} that varies",) if whole else recorded.unseen


def chosen_rows(matrix: CorpusMatrix) -> list[tuple[MatrixEntry, frozenset[str], int]]:
    """Choose rows that together have all kills and edges, greedily.

    Returns each row with the kills, and the number of edges, that no row before it has. The next
    row is always the one with the most new kills; of equals, the one with the most new edges.
    """
    rows = [row for row in matrix.rows if row.outcome in ("success", "invalid")]

    return [
        (
            pick.row,
            frozenset(item for item in pick.new if isinstance(item, str)),
            sum(isinstance(item, int) for item in pick.new),
        )
        for pick in greedy_cover(
            rows, lambda row: [*row.kills, *row.edges], first=lambda item: isinstance(item, str)
        )
    ]


def cases_of(
    matrix: CorpusMatrix, rows: Sequence[tuple[MatrixEntry, frozenset[str], int]]
) -> list[TestCase]:
    """The chosen rows as test cases, without outcomes."""
    cases = []
    seen: set[int] = set()
    for row, kills, edges in rows:
        functions = Counter(_function(id_) for id_ in kills).most_common()
        places = Counter(matrix.cells[e][3] for e in sorted(row.edges - seen)).most_common(1)
        seen |= row.edges
        names = [name for name, _ in functions] or [name for name, _ in places]
        cases.append(
            TestCase(
                entry=shown_entry(row.file),
                word=word_of(names[0] if names else ""),
                kills=tuple(sorted(kills)),
                edges=edges,
                functions=tuple(functions),
                hangs=any(row.kills[id_] == "timeout" for id_ in kills),
            )
        )
    return cases


def _function(mutant: str) -> str:
    """The function in a mutant's id, ``module:scope:operator:ordinal:variant``."""
    return mutant.partition(":")[2].partition(":")[0]


def word_of(name: str) -> str:
    """A part of a test's name: the last part of a function's qualified name."""
    words = [w for w in re.findall(r"[A-Za-z0-9_]+", name.replace("<locals>", "")) if w.strip("_")]
    word = words[-1].strip("_") if words else ""
    if word in ("", "init", "call", "module", "lambda") and len(words) > 1:
        word = f"{words[-2].strip('_')}_{word}"
    return word[:_MAX_WORD].lower() or "module"


def shown_entry(file: str) -> str:
    """The id of a queue entry or finding, or its name; only characters that need no escape."""
    name = file.rpartition("/")[2]
    found = re.match(r"id:\d+", name)
    return found[0] if found else re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)[:60]
