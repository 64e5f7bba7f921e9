"""The columns of a table: their cells and widths."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rich.cells import cell_len

from fuzztui.tui.base.text import plain

NEVER = sys.maxsize
"""More cells than any terminal has: the column is used for searching only."""

T = TypeVar("T")

Cell = tuple[str, str]
"""Text (untrusted: the table makes it plain) and style."""

GAP = 2
"""Blank cells between columns."""


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """One column: its cells, sort order and width.

    ``sort`` returns values of one comparable type; None: not sortable. ``flex`` takes the remaining
    room (one column per table), after a column with ``more`` has taken up to ``more`` cells beyond
    its ``max``. ``needs``: the column is hidden in a table with fewer cells. ``spare``: the column
    is hidden while no measured row has text in it. Without room for all columns, first the column
    with ``give`` (one per table) shrinks down to ``give`` cells, then columns with ``drop`` are
    hidden, the last one first. ``cut`` shortens a text that is too long, for columns whose texts
    should not lose their ends.
    """

    id: str
    title: str
    cell: Callable[[T], Cell]
    sort: Callable[[T], Any] | None = None
    align: str = "left"
    min: int = 3
    max: int = 40
    more: int = 0
    flex: bool = False
    needs: int = 0
    descending: bool = False
    """Whether the first click sorts the largest value to the top."""
    spare: bool = False
    give: int = 0
    drop: bool = False
    cut: Callable[[str, int], str] | None = None
    searched: Callable[[T], str] | None = None
    """Returns the text that a filter searches; None: the cell's. For cells that cost reading."""

    def hay(self, row: T) -> str:
        """Return the text of a row that a filter searches."""
        return self.cell(row)[0] if self.searched is None else self.searched(row)


def shown(columns: Sequence[Column[T]], room: int) -> list[Column[T]]:
    """Return the columns that a table of ``room`` cells shows."""
    return [c for c in columns if c.needs <= room]


def widths(
    columns: Sequence[Column[T]],
    wanted: Sequence[int],
    room: int,
    sorted_by: Column[T] | None = None,
) -> list[int]:
    """Return the columns' widths: of their content within limits; the rest goes to ``flex``.

    The sum with gaps may exceed ``room``: then the table scrolls sideways.
    """
    out = [
        max(c.min, len(c.title) + 2 * (c is sorted_by), min(c.max, want))
        for c, want in zip(columns, wanted, strict=True)
    ]
    left = room - sum(out) - GAP * (len(out) - 1)
    for i, column in enumerate(columns):
        if column.more and left > 0:
            more = min(left, column.more, max(0, wanted[i] - out[i]))
            out[i] += more
            left -= more
    for i, column in enumerate(columns):
        if column.flex:
            wide = out[i]
            out[i] = max(column.min, wide + left)
            left += wide - out[i]
            break
    for i, column in enumerate(columns):
        if column.give and left < 0:
            out[i] = max(min(column.give, out[i]), out[i] + left)
            break
    return out


def _total(cells: Sequence[tuple[Any, int]]) -> int:
    return 1 + sum(width for _, width in cells) + GAP * max(0, len(cells) - 1)


class Layout(Generic[T]):
    """The column widths of a table, as its measured rows need them.

    Only visible rows are measured, so that 100,000 rows cost no more than these. Widths grow with
    rows that come into view and never shrink by themselves, so that columns do not jump.
    """

    def __init__(self, columns: Sequence[Column[T]]) -> None:
        self._columns = columns
        self._wanted: dict[str, int] = {}
        self.cells: list[tuple[Column[T], int]] = []
        """The visible columns with their widths."""
        self.hidden = False
        """Whether a wider table would have further columns."""

    def forget(self, column: str = "") -> None:
        """Measure again, because the rows changed; or only the column with this id."""
        if column:
            self._wanted.pop(column, None)
        else:
            self._wanted.clear()

    @property
    def measured(self) -> bool:
        """Whether any row was measured."""
        return bool(self._wanted)

    @property
    def total(self) -> int:
        """Cells of a whole row: a blank on the left, the columns, and gaps between them."""
        return _total(self.cells)

    def fit(self, rows: Iterable[T], room: int, sorted_by: Column[T] | None) -> bool:
        """Measure ``rows`` for a table of ``room`` cells. Returns whether a width changed."""
        columns = shown(self._columns, room)
        for row in rows:
            for column in columns:
                self._measure(column, row)
        columns = [c for c in columns if not c.spare or self._wanted.get(c.id) or c is sorted_by]
        wider = (c for c in self._columns if room < c.needs < NEVER and not c.spare)
        self.hidden = any(wider)
        cells = self._fitted(columns, room, sorted_by)
        if cells == self.cells:
            return False
        self.cells = cells
        return True

    def _fitted(
        self, columns: list[Column[T]], room: int, sorted_by: Column[T] | None
    ) -> list[tuple[Column[T], int]]:
        while True:
            wanted = [self._wanted.get(c.id, 0) for c in columns]
            cells = list(zip(columns, widths(columns, wanted, room - 1, sorted_by), strict=True))
            spared = [c for c in columns if c.drop and c is not sorted_by]
            if not spared or _total(cells) <= room:
                return cells
            columns.remove(spared[-1])
            self.hidden = True

    def _measure(self, column: Column[T], row: T) -> None:
        want = self._wanted.setdefault(column.id, 0)
        most = column.max + column.more
        if want < most:
            text = column.cell(row)[0]
            if len(text) > want or not text.isascii():
                need = min(most, cell_len(plain(text, most + 1)))
                self._wanted[column.id] = max(want, need)

    def at(self, x: int) -> Column[T] | None:
        """Return the column at cell ``x`` of a row; None beyond the last one."""
        edge = 1
        for column, width in self.cells:
            edge += width + GAP
            if x < edge:
                return column
        return None
