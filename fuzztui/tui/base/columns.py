"""The columns of a table: their cells and widths."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from rich.cells import cell_len

from fuzztui.kernel.wire.conditions import FilterKey
from fuzztui.tui.base import format
from fuzztui.tui.base.text import plain

NEVER = sys.maxsize
"""More cells than any terminal has: the column is used for searching only."""

NARROW = 100
"""Cells of a table below which no room is kept for columns that may get text later."""

LEAST = 8
"""Minimum cells of the last column of text: without room for these the table scrolls sideways."""

HIDDEN = "-"
"""Prefix of a column's id in the user's choice that hides the column."""

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
    is hidden while no row that passes the filter has text in it; ``spare_below``: in a table with
    fewer cells. ``varies``: it is hidden while all rows have the same text in it. Without room for
    all columns, those with ``yields`` shrink down to it before ``flex`` is cut; then the column
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
    meaning: str = ""
    """What the column shows; an empty string: the legend has the meaning."""
    spare: bool = False
    spare_below: int = 0
    varies: bool = False
    stays: bool = False
    """Whether a column that has become empty stays until the table's ``remeasure``."""
    give: int = 0
    yields: int = 0
    drop: bool = False
    cut: Callable[[str, int], str] | None = None
    searched: Callable[[T], str] | None = None
    """Returns the text that a filter searches; None: the cell's. For cells that cost reading."""

    value: Callable[[T], str] | None = None
    """Returns the text that a condition compares; None: what a filter searches. For cells with
    more than the value, for example a glyph."""
    number: Callable[[T], float] | None = None
    """Returns the number that a condition compares; negative: unknown. None: of columns that are
    aligned to the right it is the sort value."""

    def hay(self, row: T) -> str:
        """Return the text of a row that a filter searches."""
        return self.cell(row)[0] if self.searched is None else self.searched(row)


def column_keys(columns: Iterable[Column[T]]) -> dict[str, FilterKey[T]]:
    """Return the keys of a filter's conditions: the columns' titles, with - for blanks."""
    out: dict[str, FilterKey[T]] = {}
    for column in columns:
        number = column.number
        if number is None and column.align == "right":
            number = column.sort
        if column.title:
            text = column.value or column.hay
            listed = number is None and not column.flex
            out[column.title.replace(" ", "-")] = FilterKey(text, number, listed=listed)
    return out


def widths(
    columns: Sequence[Column[T]],
    wanted: Sequence[int],
    room: int,
    sorted_by: Column[T] | None = None,
) -> list[int]:
    """Return the columns' widths: as their content needs, within limits; ``flex`` gets the rest.

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
    while left < 0:
        # The widest first, so that no column is cut more than the others.
        able = [
            i for i, c in enumerate(columns) if c.yields and out[i] > max(c.yields, len(c.title))
        ]
        if not able:
            break
        out[max(able, key=out.__getitem__)] -= 1
        left += 1
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


def _last_cut(cells: list[tuple[Column[T], int]], room: int) -> list[tuple[Column[T], int]]:
    """Narrow the last column to ``room`` if at least :data:`LEAST` of its cells remain.

    A cut text ends with an ellipsis, while one that continues beyond the edge does not. Before, the
    column with ``give`` shrinks further: at this point no more columns can be dropped.
    """
    if not cells or _total(cells) <= room:
        return cells
    cells = [
        (c, min(wide, max(LEAST, wide - max(0, _total(cells) - room))) if c.give else wide)
        for c, wide in cells
    ]
    if _total(cells) <= room:
        return cells
    last, wide = cells[-1]
    left = wide - (_total(cells) - room)
    return [*cells[:-1], (last, left)] if last.align == "left" and left >= LEAST else cells


class Layout(Generic[T]):
    """The column widths of a table, as the contents of its measured rows need them.

    Some rows are measured when the rows were loaded, filtered or changed, so that 100,000 rows cost
    no more than these. Scrolling changes no width, except that numbers are never cut.
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

    def fit(
        self,
        rows: Iterable[T],
        room: int,
        sorted_by: Column[T] | None,
        present: Collection[str] | None = None,
        *,
        numbers: bool = False,
    ) -> bool:
        """Measure ``rows`` for a table of ``room`` cells. Returns whether a width changed.

        ``present``: the ids of columns with text, of those that are hidden without; None: those
        with text in measured rows. ``numbers``: measure numbers only, which must never be cut.
        """
        columns = [c for c in self._columns if c.needs <= room or (c is sorted_by and c.title)]
        for row in rows:
            for column in columns:
                if not numbers or column.align == "right":
                    self._measure(column, row)
        there = self._wanted if present is None else present
        spare = {c.id for c in columns if c.spare or room < c.spare_below}
        wanted = [
            c for c in columns if not (c.id in spare or c.varies) or c is sorted_by or c.id in there
        ]
        columns = [
            c
            for c in wanted
            if present is not None or c.id not in spare or self._wanted.get(c.id) or c is sorted_by
        ]
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
                return _last_cut(cells, room)
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


def chosen(columns: Sequence[Column[Any]], wanted: Sequence[str]) -> Sequence[Column[Any]]:
    """Return the columns with those first that ``wanted`` names by id, in this order.

    The others only serve a filter. If a name begins with :data:`HIDDEN`, all but the named columns
    are shown, in their own order. Without room the last ones are left out. ``columns`` is returned
    unchanged if it has none of the named columns, or if no column would be shown.
    """
    by_id = {c.id: c for c in columns if c.needs < NEVER}
    if any(name.startswith(HIDDEN) for name in wanted):
        hidden = {name.removeprefix(HIDDEN) for name in wanted}
        if by_id.keys() <= hidden:
            return columns
        return [replace(c, needs=NEVER) if c.id in hidden else c for c in columns]
    first = [by_id[name] for name in wanted if name in by_id]
    if not first:
        return columns
    # The first column stays whatever the room.
    shown = [replace(c, needs=0, spare=False, drop=n > 0) for n, c in enumerate(first)]
    return [*shown, *(replace(c, needs=NEVER) for c in columns if c not in first)]


def count_column(
    id: str,
    title: str,
    of: Callable[[T], int],
    style: str = "",
    *,
    zero: str = "",
    needs: int = 0,
    drop: bool = False,
    spare: bool = False,
) -> Column[T]:
    """Return a column of numbers, whose largest come first.

    ``zero``: the text in place of 0. Like the dash of a number that is not reported, it is muted.
    """

    def cell(row: T) -> Cell:
        n = of(row)
        return (format.count(n), style) if n > 0 else (format.count(n) if n else zero, "muted")

    return Column(
        id, title, cell, of, "right", needs=needs, descending=True, drop=drop, spare=spare
    )
