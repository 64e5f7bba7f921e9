"""The table of files and functions: coverage, score, survivors, findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fuzztui.features.source.tree import CodeNode
from fuzztui.tui.base import format
from fuzztui.tui.base.braille import gauge
from fuzztui.tui.base.columns import Cell, Column

BAR = 8
"""Cells of the bar of the covered share."""

CODE = "code"
"""The column by which the table is sorted: files by name, functions by line."""


def tree_columns(rows: Mapping[str, CodeNode]) -> Sequence[Column[CodeNode]]:
    """Return the columns; ``rows`` has the files by path."""

    def of_file(number: Callable[[CodeNode], float]) -> Callable[[CodeNode], tuple[float, ...]]:
        """Sorted by the numbers of files; the functions of a file stay below it."""

        def key(row: CodeNode) -> tuple[float, ...]:
            return number(rows.get(row.path, row)), -_place(row)

        return key

    def _place(row: CodeNode) -> float:
        return float(row.first if row.function else -1)

    def by_name(row: CodeNode) -> tuple[str, bool, int, int]:
        return row.name, bool(row.function), row.first, -row.last

    return (
        Column(CODE, "file and function", _name, by_name, min=12, max=60, give=12, flex=True,
               searched=lambda r: f"{r.name} {r.function}"),
        Column("cover", "cover", _share, of_file(_covered), "right", number=_covered, min=5),
        Column("bar", "", _bar, None, min=BAR, max=BAR, needs=64),
        _figure("frontier", "front", lambda r: r.frontier, of_file, "alive", needs=54),
        Column("score", "score", _score_cell, of_file(_score), "right",
               number=_score, spare=True, descending=True),
        _figure("left", "left", lambda r: r.survivors, of_file, "alive"),
        _figure("findings", "finds", lambda r: r.findings, of_file, "bold crash"),
    )  # fmt: skip


def _name(row: CodeNode) -> Cell:
    if not row.function:
        return row.name, "bold"
    return f"  {row.function}", "" if row.covered else "muted"


def _covered(row: CodeNode) -> float:
    return row.covered / row.statements if row.statements > 0 <= row.covered else -1.0


def _score(row: CodeNode) -> float:
    return -1.0 if row.score is None else row.score


def _score_cell(row: CodeNode) -> Cell:
    return (format.score(row.score), "") if row.mutants else ("", "")


def _share(row: CodeNode) -> Cell:
    if row.statements <= 0:
        return "", ""
    if row.covered < 0:
        return format.NONE, "muted"
    return format.share(_covered(row)), "" if row.function else "bold"


def _bar(row: CodeNode) -> Cell:
    if _covered(row) < 0:
        return "", ""
    full, rest = gauge(_covered(row), BAR)
    return f"{full}{rest}", "valid"


def _figure(
    id: str,
    title: str,
    of: Callable[[CodeNode], int],
    of_file: Callable[[Callable[[CodeNode], float]], Callable[[CodeNode], tuple[float, ...]]],
    style: str,
    *,
    needs: int = 0,
) -> Column[CodeNode]:
    def cell(row: CodeNode) -> Cell:
        n = of(row)
        return (format.count(n), style) if n else ("", "")

    return Column(
        id, title, cell, of_file(lambda r: float(of(r))), "right",
        number=lambda r: float(of(r)), spare=True, descending=True, needs=needs,
    )  # fmt: skip
