"""The source of the target as a part of a page: coverage, mutants and findings at their lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fuzztui.features.source.annotated import MISSED, AnnotatedFile, AnnotatedLine
from fuzztui.features.source.executed import FunctionCoverage
from fuzztui.features.source.functions import FrontierLine
from fuzztui.kernel.base.page import (
    Cell,
    Code,
    Folded,
    Gutter,
    ListedLine,
    Note,
    Part,
    Section,
    SourceLines,
    Table,
)
from fuzztui.kernel.base.text import brief, several
from fuzztui.kernel.model.state import Mutant

MAX_LINES: Final = 30_000
"""Lines of all files together: a page of some megabytes."""
_MAX_TEXT: Final = 400
_MAX_ROWS: Final = 50
"""Functions, and conditions on the frontier, that are listed."""
_MAX_NOTES: Final = 4
"""Mutants, and findings, that are named below one line."""

_MARKS: Final = {"covered": Gutter.COVERED, MISSED: Gutter.MISSED}


@dataclass(frozen=True, slots=True)
class ReportedSource:
    """The files of a target."""

    files: Sequence[AnnotatedFile]
    inputs: int = -1
    """The number of inputs whose coverage was measured; -1: it was not."""
    changed: Sequence[str] = ()
    """Names of files that were changed after the campaign began."""
    lines: bool = True
    """Whether the page has room for the lines themselves."""
    measured_by: str = ""
    """How the lines of a C target were measured."""
    functions: Sequence[tuple[str, FunctionCoverage]] = ()
    """With the names of their files, those to look at first."""
    frontier: Sequence[FrontierLine] = ()


def source_section(source: ReportedSource | None) -> Section | None:
    """The section about the source; None without files."""
    if source is None or not source.files:
        return None
    parts: list[Part] = [Note(_headline(source))]
    if source.changed:
        names = ", ".join(brief(name, 100) for name in source.changed[:5])
        more = f" and {len(source.changed) - 5:,} more" * (len(source.changed) > 5)
        text = f"Changed after the campaign began, so lines may not match: {names}{more}."
        parts.append(Note(text, is_warning=True))
    files = sorted(source.files, key=_by_work)
    parts.append(_table(files))
    if source.functions:
        parts.append(_functions(source.functions))
    if source.frontier:
        parts.append(_frontier(source.frontier))
    if source.lines:
        parts += _listings(files)
    return Section("Source", parts)


def source_json(source: ReportedSource | None) -> dict[str, Any]:
    """The files as JSON data: coverage, mutants and findings by line, without the source text."""
    if source is None:
        return {}
    return {
        file.name: {
            "statements": file.statements if source.inputs >= 0 else None,
            "missed_lines": [n.number for n in file.lines if n.coverage == MISSED],
            "reached_by_finding_only": [n.number for n in file.lines if n.reached_only],
            "mutants": {
                str(line.number): {"killed": line.killed, "survivors": line.survivors}
                for line in file.lines
                if line.mutants
            },
            "findings": {
                str(line.number): [f.signature for f in line.findings]
                for line in file.lines
                if line.findings
            },
        }
        for file in source.files
    }


def _headline(source: ReportedSource) -> str:
    if source.inputs < 0:
        return (
            "Mutants and findings at their lines. Which lines are covered was not measured "
            "('fuzztui report --coverage' runs the inputs again)."
        )
    covered = sum(file.covered for file in source.files)
    statements = sum(file.statements for file in source.files)
    share = f" ({covered / statements:.1%})" if statements else ""
    reached = sum(line.reached_only for file in source.files for line in file.lines)
    more = f" Of the others, a finding has reached {reached:,}." if reached else ""
    how = f" {source.measured_by}." if source.measured_by else ""
    return (
        f"{covered:,} of {several(statements, 'statement')}{share} were executed when the "
        f"{several(source.inputs, 'input')} of the corpus ran again.{more}{how}"
    )


def _by_work(file: AnnotatedFile) -> tuple[int, int, int, str]:
    """Files with findings first, then those with most survivors and missed lines."""
    missed = file.statements - file.covered
    return -file.findings, -sum(m.survives for m in file.mutants), -missed, file.name


def _table(files: Sequence[AnnotatedFile]) -> Table:
    heads = ("file", "statements", "covered", "mutants", "killed", "survivors", "findings")
    rows: list[list[Cell]] = [[Code(brief(file.name, 200)), *_figures(file)] for file in files]
    used = [n for n in range(len(heads)) if any(row[n] for row in rows)]
    return Table(
        [heads[n] for n in used],
        [[row[n] for n in used] for row in rows],
        frozenset(range(1, len(used))),
    )


def _functions(functions: Sequence[tuple[str, FunctionCoverage]]) -> Part:
    never = sum(not f.entered for _, f in functions)
    return _folded(
        f"{several(len(functions), 'function')}, {never:,} never entered",
        ("function", "where", "lines", "covered", "calls"),
        [(f.name, f"{file}:{f.first}", f"{f.statements:,}", f"{f.executed:,}", f.called)
         for file, f in functions],
    )  # fmt: skip


def _frontier(frontier: Sequence[FrontierLine]) -> Part:
    return _folded(
        f"{several(len(frontier), 'condition')} with a branch never taken",
        ("condition", "function", "never taken", "lines behind"),
        [(f"{row.file}:{row.line}", row.function, f"{row.never:,} of {row.branches:,}",
          f"{row.behind:,}") for row in frontier],
    )  # fmt: skip


def _folded(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Part:
    """A table whose first two columns are code, and the others numbers."""
    cells: list[list[Cell]] = [
        [*(Code(brief(c, 200)) for c in row[:2]), *row[2:]] for row in rows[:_MAX_ROWS]
    ]
    numbers = frozenset(range(2, len(heads)))
    return Folded(title, [Table(heads, cells, numbers, max(0, len(rows) - _MAX_ROWS))])


def _figures(file: AnnotatedFile) -> list[str]:
    """The figures of a file; an empty string: unknown, or there are none."""
    statements, mutants = file.statements, file.mutants
    found = [f"{statements:,}", f"{file.covered / statements:.0%}"] if statements else ["", ""]
    if mutants:
        counts = sum(m.state == "killed" for m in mutants), sum(m.survives for m in mutants)
        found += [f"{len(mutants):,}", *(f"{count:,}" for count in counts)]
    else:
        found += ["", "", ""]
    return [*found, f"{file.findings:,}" if file.findings else ""]


def _listings(files: Sequence[AnnotatedFile]) -> Iterator[Part]:
    room = MAX_LINES
    for number, file in enumerate(files):
        if len(file.lines) > room:
            left = several(len(files) - number, "file")
            yield Note(f"The lines of {left} more are left out: the page would be too large.")
            return
        room -= len(file.lines)
        yield Folded(brief(file.name, 200), [SourceLines([_listed(line) for line in file.lines])])


def _listed(line: AnnotatedLine) -> ListedLine:
    survivors = [m for m in line.mutants if m.survives]
    notes = [
        f"{brief(f.category, 40)}: {brief(f.title or f.signature, 200)}"
        for f in line.findings[:_MAX_NOTES]
    ]
    notes += [_survivor(m) for m in survivors[:_MAX_NOTES]]
    left = max(0, len(survivors) - _MAX_NOTES) + max(0, len(line.findings) - _MAX_NOTES)
    if left:
        notes.append(f"and {left:,} more")
    text = line.text if len(line.text) <= _MAX_TEXT else line.text[: _MAX_TEXT - 1] + "…"
    return ListedLine(
        line.number,
        text.expandtabs(4),
        Gutter.REACHED if line.reached_only else _MARKS.get(line.coverage, Gutter.NONE),
        killed=line.killed,
        survivors=len(survivors),
        is_finding=bool(line.findings),
        notes=notes,
    )


def _survivor(m: Mutant) -> str:
    before, after = (brief(" ".join(text.split()), 120) for text in (m.before, m.after))
    return f"{m.state}: {before} → {after} ({brief(m.operator, 40)})"
