"""The big table: 100,000 rows that scroll, sort and update within a frame.

Drawn with Textual's Line API: only visible rows cost time, and of these only changed cells are sent
to the terminal. The cursor stays on its row when the row moves (Textual's DataTable: measured in
benchmarks/tui_table.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from fuzztui.tui.base.canvas import changed_span
from fuzztui.tui.base.columns import Column, Layout
from fuzztui.tui.base.painter import painter
from fuzztui.tui.base.palette import Palette
from fuzztui.tui.base.rows import RowModel, Rows
from fuzztui.tui.base.tablelines import cut, header_line, row_line
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.actions import bindings

T = TypeVar("T")

SAMPLE = 60
"""Number of rows at either end that are measured before the first paint."""

CACHE = 2000
"""Maximal number of cached drawn rows."""


class BigTable(ScrollView, Generic[T], can_focus=True):
    """Rows of a :class:`~fuzztui.tui.base.rows.RowModel` below a header line.

    The rows are :class:`~fuzztui.tui.base.rows.Rows` unless the caller passes another model, which
    cannot be sorted here. After a change of rows :meth:`touch` must be called, or :meth:`load` for
    all rows.
    """

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("table"), *bindings("sorting")]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "bigtable--header",
        "bigtable--cursor",
        "bigtable--empty",
    }
    DEFAULT_CSS = """
    BigTable {
        height: 1fr;
        overflow-x: auto;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        scrollbar-size-horizontal: 0;
        scrollbar-color: $gauge;
        scrollbar-background: $background;
        scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
        & > .bigtable--header { color: $muted; }
        & > .bigtable--empty { color: $muted; }
        & > .bigtable--cursor { background: $foreground 9%; }
        &:focus > .bigtable--cursor { background: $primary 28%; }
        &:ansi > .bigtable--cursor { background: ansi_default; text-style: underline; }
        &:ansi:focus > .bigtable--cursor { background: ansi_default; text-style: reverse; }
    }
    """

    class Highlighted(Message):
        """The cursor moved to another row; ``key`` is None in an empty table."""

        def __init__(self, table: BigTable[Any], key: str | None) -> None:
            super().__init__()
            self.table = table
            self.key = key

        @property
        def control(self) -> BigTable[Any]:
            """The table, for ``@on`` selectors."""
            return self.table

    class Selected(Highlighted):
        """Enter or a click on the row under the cursor."""

    def __init__(
        self,
        columns: Sequence[Column[T]],
        *,
        empty: str = "nothing here yet",
        source: RowModel[T] | None = None,
        follow: bool = False,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.columns = columns
        self.empty = empty
        self._captions: tuple[str, ...] = ()
        self.rows = Rows(columns)
        self.source: RowModel[T] = self.rows if source is None else source
        self.follow = follow
        """With the cursor on the last row, new rows move it along (as ``tail -f``)."""
        self.cursor: str | None = None
        self.keeps_line = False
        """Whether the cursor stays on its line, not on its row, until the user moves it."""
        self._moved = False
        """Whether the user has put the cursor on a row; the first line does not count."""
        self._sent: set[str] = set()
        """Rows that the user has moved away and that have not moved yet."""
        self._row = 0
        self._shown: list[Strip] = []
        self._strips: dict[str, Strip] = {}
        self._layout = Layout(columns)
        self._size_seen = Size(0, 0)

    # ---------------------------------------------------------------- data

    def show_empty(self, words: str) -> None:
        """Set the text of a table without rows."""
        if words != self.empty:
            self.empty = words
            self.refresh()

    def load(self, rows: dict[str, T]) -> None:
        """Show ``rows`` (kept by reference); the cursor stays on its row if possible."""
        self.rows.load(rows)
        self._strips.clear()
        self._layout.forget()
        self.sync()

    def replace_rows(self, rows: dict[str, T], now: dict[str, T], *, reset: bool = False) -> None:
        """Replace the content of ``rows``, which the table shows; ``reset``: by unrelated rows."""
        before = dict(rows)
        rows.clear()
        rows.update(now)
        if reset or not before:
            self.load(rows)
        else:
            every = before.keys() | now.keys()
            self.touch(key for key in every if before.get(key) != now.get(key))

    def show_columns(self, columns: Sequence[Column[T]], sort: Column[T] | None = None) -> None:
        """Show rows of another kind; only the cursor is kept."""
        self.columns = columns
        rows = Rows(columns)
        if self.source is self.rows:
            self.source = rows
        self.rows = rows
        self._layout = Layout(columns)
        self.rows.sort(sort)
        self._strips.clear()
        self.sync()

    def touch(self, keys: Iterable[str], *, still: bool = False) -> None:
        """Update the rows with these keys, which were added, changed or removed.

        ``still``: the view does not scroll, even if the cursor's row moves.
        """
        keys = list(keys)
        if not keys:
            return
        sent = {key: self.source.position(key) for key in self._sent.intersection(keys)}
        if self.source is self.rows:
            self.rows.update(keys)
        for key in keys:
            self._strips.pop(key, None)
        gone = {key for key, was in sent.items() if self.source.position(key) != was}
        self._sent -= gone
        self.sync(still=still or bool(gone))

    def narrow(self, text: str) -> None:
        """Show only rows that contain every word of ``text``."""
        self.rows.narrow(text)
        self.sync(reveal=True)

    def sort_by(self, column: Column[T] | None, reverse: bool = False) -> None:
        """Order the rows by a column; None: in their own order."""
        self.rows.sort(column, reverse)
        self.sync(reveal=True)

    def invalidate(self) -> None:
        """Draw every row again, for example after a jump in a replay."""
        self._strips.clear()
        self.sync()

    def remeasure(self, column: str) -> None:
        """Measure a ``spare`` column again; it is hidden if it is empty now."""
        self._layout.forget(column)
        self.sync()

    def set_caption(self, *texts: str) -> None:
        """Show what the rows are filtered to in the header: the first text that has room."""
        if texts != self._captions:
            self._captions = texts
            self._repaint()

    @property
    def current(self) -> T | None:
        """The row under the cursor; None if there is none."""
        return None if self.cursor is None else self.source.row(self.cursor)

    # -------------------------------------------------------------- cursor

    def move_to(self, index: int) -> None:
        """Put the cursor on the row at ``index`` (clamped) and scroll to it."""
        n = len(self.source)
        self._moved = index > 0
        self._set_cursor(min(max(0, index), n - 1) if n else None)
        self._reveal()
        self._repaint()

    def go_to(self, key: str) -> bool:
        """Put the cursor on the row with ``key``; returns False if it is not shown."""
        index = self.source.position(key)
        if index is None:
            return False
        self.move_to(index)
        return True

    def _set_cursor(self, index: int | None) -> None:
        key = None if index is None else self.source.key(index)
        self._row = index or 0
        if key != self.cursor:
            self.cursor = key
            self.post_message(self.Highlighted(self, key))

    def _reveal(self) -> None:
        page = self._page
        top = self.scroll_offset.y
        if self._row < top or self._row >= top + page:
            # Scroll by a line at the edges; after a leap the row is in the middle.
            target = self._row if self._row < top else self._row - page + 1
            if abs(target - top) > page:
                target = self._row - page // 2
            self._scroll_rows(target)

    def _scroll_rows(self, top: int) -> None:
        # Forced: before the next layout there may be no scrollbar, which would forbid it.
        self.scroll_to(y=max(0, top), animate=False, force=True)

    @property
    def _room(self) -> int:
        """Cells for the rows, without the scrollbar."""
        return self.scrollable_content_region.width

    @property
    def _area(self) -> Size:
        return Size(self._room, self.size.height)

    @property
    def _page(self) -> int:
        return max(1, self.size.height - 1)

    # ---------------------------------------------------------------- sync

    def hold(self) -> None:
        """Keep the cursor on its row, wherever the row moves: the user has chosen it."""
        self._moved = True

    def move_on(self, alike: Callable[[T], bool] = lambda _: True) -> None:
        """Move the cursor on, because the user moves its row away, which may take a while.

        The cursor goes to the next row that passes ``alike``, or to the previous one, so that the
        same key can be pressed again for that row. The view does not scroll when the first row
        moves.
        """
        if self.cursor is None:
            return
        self._sent.add(self.cursor)
        for index in (*range(self._row + 1, len(self.source)), *reversed(range(self._row))):
            row = self.source.row(self.source.key(index))
            if row is not None and alike(row):
                self.move_to(index)
                return
        self.hold()

    def sync(self, *, reveal: bool = False, still: bool = False) -> None:
        """Update cursor, scroll position, widths and changed cells from the row model."""
        n = len(self.source)
        before, at_end = self._row, self._row >= self._count_seen - 1
        screen_line = before - self.scroll_offset.y
        self._count_seen = n
        index = None if self.cursor is None else self.source.position(self.cursor)
        if self.keeps_line and not self._moved:
            index = None
        if self.follow and at_end and n:
            index = n - 1
        if index is None:
            index = min(before, n - 1) if n else None
        self._set_cursor(index)
        self._measure()
        self._fit_virtual_size()
        if index is not None and self.size.height:
            if reveal or (self.follow and at_end):
                self._reveal()
            elif index != before and 0 <= screen_line < self._page and not still:
                # Rows were inserted above: the current row stays at its place on the screen.
                self._scroll_rows(index - screen_line)
        self._repaint()

    _count_seen = 0

    def _fit_virtual_size(self) -> None:
        total = self._layout.total
        size = Size(total if total > self._room else 0, len(self.source) + 1)
        if size != self.virtual_size:
            self.virtual_size = size

    def _measure(self, *, ends: bool = False) -> None:
        n = len(self.source)
        top = self.scroll_offset.y
        sample = [*range(top, min(n, top + self._page))]
        if ends or not self._layout.measured:
            sample += [*range(min(n, SAMPLE)), *range(max(0, n - SAMPLE), n)]
        rows = (self.source.row(self.source.key(index)) for index in sample)
        known = (row for row in rows if row is not None)
        if self._layout.fit(known, self._room, self.rows.sort_column):
            self._strips.clear()

    def _repaint(self) -> None:
        """Redraw the lines that differ from what the screen shows."""
        if self._size_seen != self._area or len(self._shown) != self.size.height:
            self.refresh()
            return
        for y, old in enumerate(self._shown):
            new = self._line(y)
            if new is not old and (span := changed_span(old, new)) is not None:
                self._shown[y] = new
                self.refresh(Region(span[0], y, span[1] - span[0], 1))

    # ------------------------------------------------------------- drawing

    @property
    def _palette(self) -> Palette:
        return painter(self).palette

    def render_line(self, y: int) -> Strip:
        """Implements Textual's Line API."""
        if self._size_seen != self._area:
            self._size_seen = self._area
            self._shown = [Strip.blank(0)] * self.size.height
            self._measure(ends=True)  # new columns may fit, which were not measured
        strip = self._line(y)
        if y < len(self._shown):
            self._shown[y] = strip
        return strip

    def _line(self, y: int) -> Strip:
        width = self._room
        x, top = self.scroll_offset
        if y == 0:
            return self._header(x, width)
        index = top + y - 1
        n = len(self.source)
        if index >= n:
            if n == 0 and y == 2:
                style = self.get_component_rich_style("bigtable--empty")
                return Strip([Segment(" " + plain(self.empty), style)]).adjust_cell_length(
                    width, self.rich_style
                )
            return Strip.blank(width, self.rich_style)
        key = self.source.key(index)
        if key == self.cursor:
            base = self.get_component_rich_style("bigtable--cursor")
            return cut(self._row_strip(key, base), x, width, base)
        strip = self._strips.get(key)
        if strip is None:
            strip = self._row_strip(key, self.rich_style)
            if len(self._strips) > CACHE:
                self._strips.clear()
            if self.source.row(key) is not None:
                self._strips[key] = strip
        if x or strip.cell_length != width:
            return cut(strip, x, width, self.rich_style)
        return strip

    def _row_strip(self, key: str, base: Style) -> Strip:
        row = self.source.row(key)
        if row is None:
            return Strip([Segment(" …", base + self._palette["muted"])])
        line = row_line(row, self._layout.cells, self._palette, base)
        return line.adjust_cell_length(max(self._room, self._layout.total), base)

    def _header(self, x: int, width: int) -> Strip:
        base = self.get_component_rich_style("bigtable--header")
        sign = base + self._palette["bold primary"]
        notes = [plain(text) for text in self._captions]
        return header_line(self._layout, self.rows, notes, x, width, base=base, sign=sign)

    def notify_style_update(self) -> None:
        """Discard all drawn rows, because the theme changed."""
        self._strips.clear()
        self._size_seen = Size(0, 0)
        super().notify_style_update()

    # --------------------------------------------------------------- input

    def watch_show_vertical_scrollbar(self, shown: bool) -> None:
        """Set the new scrollbar to the scroll position, which may be older than the bar."""
        if shown:
            self.vertical_scrollbar.position = self.scroll_y

    def on_resize(self) -> None:
        """Update the columns, of which others may fit now."""
        self.sync(reveal=True)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Measure the rows that came into view."""
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self._measure()
            self._fit_virtual_size()

    def on_click(self, event: events.Click) -> None:
        """Header: sort. Row: move the cursor; row under the cursor: select."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        if offset.y == 0:
            column = self._layout.at(offset.x + self.scroll_offset.x)
            if column is not None and column.sort is not None:
                again = column is self.rows.sort_column
                self._sort(column, not self.rows.reverse if again else column.descending)
            return
        index = self.scroll_offset.y + offset.y - 1
        if index < len(self.source):
            if index == self._row:
                self.do_table_select()
            else:
                self.move_to(index)

    def _sort(self, column: Column[T] | None, reverse: bool) -> None:
        if self.source is self.rows:
            self.sort_by(column, reverse)

    # ------------------------------------------------------------- actions

    def do_table_rows(self, by: int) -> None:
        """Move the cursor by some rows."""
        self.move_to(self._row + by)

    def do_table_pages(self, by: int) -> None:
        """Move the cursor by some pages."""
        self.move_to(self._row + by * self._page)

    def do_table_columns(self, by: int) -> None:
        """Scroll horizontally by some cells."""
        self.scroll_to(x=self.scroll_offset.x + by, animate=False)

    def do_table_first(self) -> None:  # noqa: D102
        self.move_to(0)

    def do_table_last(self) -> None:  # noqa: D102
        self.move_to(len(self.source) - 1)

    def do_table_select(self) -> None:  # noqa: D102
        self._moved = True  # the user has chosen this row
        if self.cursor is not None:
            self.post_message(self.Selected(self, self.cursor))

    def do_table_sort(self) -> None:
        """Sort by the next sortable column; after the last one: in the rows' own order."""
        choices: list[Column[T] | None] = [None]
        choices += [c for c, _ in self._layout.cells if c.sort is not None]
        now = self.rows.sort_column
        following = choices[(choices.index(now) + 1) % len(choices)] if now in choices else None
        self._sort(following, following is not None and following.descending)

    def do_table_reverse(self) -> None:  # noqa: D102
        self._sort(self.rows.sort_column, not self.rows.reverse)
