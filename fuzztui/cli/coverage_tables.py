"""The tables of functions, and of the frontier, of ``fuzztui coverage``."""

from __future__ import annotations

from collections.abc import Iterator

from fuzztui.features.source.executed import Coverage
from fuzztui.features.source.functions import frontier, functions_by_work
from fuzztui.kernel.base.text import several

MAX_NAME = 60


def functions_table(coverage: Coverage) -> Iterator[str]:
    """Yield a table of functions: those that no input has entered first, the longest before."""
    rows = [(f"{file.name}:{f.first}", f) for file, f in functions_by_work(coverage)]
    width = max(len("function"), *(min(MAX_NAME, len(f.name)) for _, f in rows), 0)
    yield f"{'function':<{width}} {'covered':>7} {'lines':>7} {'calls':>11}  where"
    for where, f in rows:
        yield f"{f.name:<{width}} {f.executed:>7,} {f.statements:>7,} {f.called:>11}  {where}"
    never = sum(not f.entered for _, f in rows)
    yield f"{several(len(rows), 'function')}, {never:,} never entered"


def frontier_table(coverage: Coverage) -> Iterator[str]:
    """Yield a table of conditions with a branch that was never taken."""
    rows = frontier(coverage)
    width = max(len("condition"), *(len(f"{row.file}:{row.line}") for row in rows), 0)
    yield f"{'condition':<{width}} {'behind':>7} {'never':>7}  function"
    for row in rows:
        where = f"{row.file}:{row.line}"
        never = f"{row.never}/{row.branches}"
        yield f"{where:<{width}} {row.behind:>7,} {never:>7}  {row.function}".rstrip()
    yield (
        f"{several(len(rows), 'condition')} with a branch that was never taken; behind: lines "
        "never executed up to the next condition, and those of functions that are called there"
    )
