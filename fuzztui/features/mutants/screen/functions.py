"""The table of files and functions with their mutation scores: what is left comes first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fuzztui.features.mutants.scores import CodeScore, CodeScores, file_key
from fuzztui.features.mutants.screen.groups import MutantGroup, selection_text
from fuzztui.kernel.model.mutants import NOT_RUN, RAN, REACHED, UNKNOWN_REACH, UNREACHED, WAITS
from fuzztui.tui.base import format
from fuzztui.tui.base.braille import gauge
from fuzztui.tui.base.columns import Cell, Column, count_column
from fuzztui.tui.frame.table import BigTable
from fuzztui.tui.labels.mutants import GROUP_LABELS

BAR = 12
"""Cells of the bar of a score."""

LEFT = "left"
"""The column by which the table is sorted at first, the most mutants on top."""


class _Descending(str):
    """A name with the order from Z to A: the rows with the same number go from A to Z when the
    largest number comes first.
    """

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return str.__gt__(self, other)


def function_columns(scores: CodeScores) -> Sequence[Column[CodeScore]]:
    """Return the columns; ``scores`` decides the order of files."""

    def by_left(row: CodeScore) -> tuple[int, str, bool, int, str]:
        """Sorted descending: the file with the most mutants left, below it its functions."""
        file = scores.rows.get(file_key(row.file), row)
        return file.left, _Descending(row.file), row.is_file, row.left, _Descending(row.function)

    def by_name(row: CodeScore) -> tuple[str, bool, str]:
        return row.file, not row.is_file, row.function

    return (
        Column("code", "file and function", _name, by_name, min=16, max=60, give=16),
        Column("score", "score", _score, lambda r: -1.0 if r.score is None else r.score, "right",
               min=6),
        Column("bar", "", _bar, None, min=BAR, max=BAR, needs=100),
        Column(LEFT, "left", _left, by_left, "right", descending=True),
        count_column("total", "mutants", lambda r: r.total),
        count_column("killed", "killed", lambda r: r.states["killed"], "killed", needs=60),
        count_column("alive", "alive", lambda r: r.states["alive"], "alive", needs=60),
        count_column("pending", "pending", lambda r: r.states["pending"], "pending", needs=68),
        count_column("ran", GROUP_LABELS[RAN], lambda r: r.groups[RAN], drop=True),
        count_column(
            "unreached", GROUP_LABELS[UNREACHED], lambda r: r.groups[UNREACHED], drop=True
        ),
        count_column(
            "same", GROUP_LABELS[REACHED],
            lambda r: r.groups[REACHED] + r.groups[UNKNOWN_REACH], drop=True,
        ),
        count_column(
            "waits", GROUP_LABELS[WAITS], lambda r: r.groups[WAITS] + r.groups[NOT_RUN], drop=True
        ),
        count_column(
            "excluded", "skipped", lambda r: r.states["skipped"] + r.states["equivalent"],
            drop=True,
        ),
    )  # fmt: skip


def _name(row: CodeScore) -> Cell:
    if row.is_file:
        return row.file or "(unknown file)", "bold"
    return f"  {row.function or '(no function)'}", "" if row.left else "muted"


def _bar(row: CodeScore) -> Cell:
    full, rest = gauge(row.score or 0.0, BAR)
    return f"{full}{rest}", "killed"


def _left(row: CodeScore) -> Cell:
    return (format.count(row.left), "") if row.left else ("", "")


def _score(row: CodeScore) -> Cell:
    return format.score(row.score), "bold" if row.is_file else ""


def group_of(row: CodeScore, scores: CodeScores) -> MutantGroup:
    """Return the mutants of a row, as a command or a filter selects them."""
    function = "" if row.is_file else row.function
    others = [r for r in scores.rows.values() if r is not row]
    alike = any(
        r.file.endswith(f"/{row.file}")
        or (function and r.file == row.file and r.function.endswith(f".{function}"))
        for r in others
    )
    select = selection_text(row.file, function, alone=alike)
    return MutantGroup(f"all in {row.function or row.file}", select, +row.states)


class FunctionTable(BigTable[CodeScore]):
    """Files, and below each its functions. Drawn again only when :meth:`catch_up` is called."""

    MARKABLE = False

    def __init__(self, scores: CodeScores) -> None:
        columns = function_columns(scores)
        super().__init__(columns, empty="no mutants", id="functions")
        self._scores = scores
        self._changed: set[str] = set()
        self._reload = True
        self.rows.sort(next(c for c in columns if c.id == LEFT), reverse=True)
        self.keeps_line = True

    def note(self, keys: Iterable[str], *, reset: bool) -> None:
        """Remember rows that have changed."""
        self._reload = self._reload or reset
        self._changed.update(keys)

    def catch_up(self) -> None:
        """Draw the changed rows. The functions of a file move with it."""
        files = {key for key in self._changed if "\n" not in key}
        moved = {key for key in self._scores.rows if key.partition("\n")[0] in files}
        if self._reload:
            self.load(self._scores.rows)
        elif self._changed:
            self.touch(self._changed | moved)
        self._changed.clear()
        self._reload = False
