"""The table of files and functions: coverage, score, survivors, findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from fuzztui.features.source.tree import CodeNode
from fuzztui.tui.base import format
from fuzztui.tui.base.braille import gauge
from fuzztui.tui.base.columns import Cell, Column, count_column

BAR = 8
"""Cells of the bar of the covered share."""

CODE = "code"
"""The column by which the table is sorted: files by name, functions by line."""


def tree_columns(rows: Mapping[str, CodeNode]) -> Sequence[Column[CodeNode]]:
    """Return the columns; ``rows`` has the files by path."""

    def of_file(number: Callable[[CodeNode], float]) -> Callable[[CodeNode], tuple[float, ...]]:
        """Sorted by the numbers of files; the functions of a file stay below it."""

        def key(row: CodeNode) -> tuple[float, ...]:
            return number(rows.get(row.path, row)), -float(row.first if row.function else -1)

        return key

    def figure(
        id: str, title: str, of: Callable[[CodeNode], int], style: str, needs: int = 0
    ) -> Column[CodeNode]:
        column = count_column(id, title, of, style, needs=needs, spare=True)
        return replace(column, sort=of_file(of), number=of)

    def by_name(row: CodeNode) -> tuple[str, bool, int, int]:
        return row.name, bool(row.function), row.first, -row.last

    return (
        Column(CODE, "file and function", _name, by_name, min=12, max=60, give=12, flex=True,
               searched=lambda r: f"{r.name} {r.function}"),
        Column("cover", "cover", _share, of_file(_covered), "right", number=_covered, min=5),
        Column("bar", "", _bar, None, min=BAR, max=BAR, needs=64),
        figure("frontier", "frontier", lambda r: r.frontier, "alive", needs=54),
        Column("score", "score", _score_cell, of_file(_score), "right",
               number=_score, spare=True, descending=True),
        figure("left", "left", lambda r: r.left, "alive"),
        figure("findings", "finds", lambda r: r.findings, "bold crash"),
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
    if row.function and not row.covered:
        return "never", "muted"
    return format.share(_covered(row)), "" if row.function else "bold"


def _bar(row: CodeNode) -> Cell:
    if _covered(row) < 0:
        return "", ""
    full, rest = gauge(_covered(row), BAR)
    return f"{full}{rest}", "valid"
