"""The big table: 100,000 rows that scroll, sort and update within a frame.

Drawn with Textual's Line API: only visible rows cost time, and of these only changed cells are sent
to the terminal. The cursor stays on its row when the row moves (Textual's DataTable: measured in
benchmarks/tui_table.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Generic, TypeVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.worker import WorkType

from fuzztui.tui.base.canvas import TextSpan, changed_spans, painter
from fuzztui.tui.base.columns import Column, Layout, chosen
from fuzztui.tui.base.palette import Palette
from fuzztui.tui.base.presence import Presence
from fuzztui.tui.base.rows import MarkedRows, RowModel, Rows
from fuzztui.tui.base.tablelines import TableFrame, cut, header_line, row_line
from fuzztui.tui.base.text import plain
from fuzztui.tui.base.wrap import wrap
from fuzztui.tui.frame.actions import bindings
from fuzztui.tui.frame.sort_menu import SortScreen

T = TypeVar("T")

SAMPLE = 200
"""Number of rows, from all parts of the table, that are measured when it was loaded or filtered."""

LOADING = "loading the log…"
"""What a screen without rows shows until the log was read."""

MARK = "▌"
"""The sign of a marked row, in the blank cell on its left."""

SLICE_S = 0.012
"""Seconds of CPU time for which rows are sorted or filtered at once."""

FIRST_S = 0.004
"""The same for the first slice after a key, which delays the frame that answers the key."""

BREATH_S = 0.001
"""Seconds between two slices."""

CACHE = 2000
"""Maximal number of cached drawn rows."""


class BigTable(ScrollView, Generic[T], can_focus=True):
    """Rows of a :class:`~fuzztui.tui.base.rows.RowModel` below a header line.

    The rows are :class:`~fuzztui.tui.base.rows.Rows` unless the caller passes another model, which
    cannot be sorted here. After a change of rows :meth:`touch` must be called, or :meth:`load` for
    all rows.
    """

    ALLOW_SELECT = False
    MARKABLE: ClassVar[bool] = True
    """Whether rows can be marked, on a screen with commands about several rows."""
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

    class OfTable(Message):
        """The base of all messages of a table."""

        def __init__(self, table: BigTable[Any]) -> None:
            super().__init__()
            self.table = table

        @property
        def control(self) -> BigTable[Any]:
            """The table, for ``@on`` selectors."""
            return self.table

    class Marked(OfTable):
        """The user has marked or unmarked rows."""

    class Worked(Marked):
        """Rows were filtered or sorted further: see :attr:`Rows.pending`."""

    class Highlighted(OfTable):
        """The cursor moved to another row; ``key`` is None in an empty table."""

        def __init__(self, table: BigTable[Any], key: str | None) -> None:
            super().__init__(table)
            self.key = key

    class Selected(Highlighted):
        """Enter or a click on the row under the cursor."""

    topic = ""
    """The name of the columns for users' choices and the help; an empty string: the screen's."""
    meanings: Mapping[str, str] = MappingProxyType({})
    """What the columns mean, by id: shown under the pointer."""

    own_order = "as recorded"
    """The title, in the sort menu, of the order in which the rows came."""

    def __init__(
        self,
        columns: Sequence[Column[T]],
        *,
        empty: str = "nothing here yet",
        source: RowModel[T] | None = None,
        follow: bool = False,
        first: str = "",
        reverse: bool = False,
        rank: Callable[[T], Any] | None = None,
        id: str | None = None,
    ) -> None:
        """``first``: the id of the column by which the rows are sorted at first.

        ``rank``: the sort value in the table's own order; None: the order in which the rows came.
        """
        super().__init__(id=id)
        self._rank = rank
        self.columns = columns
        self._wanted: Sequence[str] = ()
        self.empty = empty
        self._loading = False
        self._captions: tuple[str, ...] = ()
        self.rows = Rows(columns, rank)
        self.rows.sort(next((c for c in columns if c.id == first), None), reverse)
        self.source: RowModel[T] = self.rows if source is None else source
        self.follow = follow
        """With the cursor on the last row, new rows move it along (as ``tail -f``)."""
        self.cursor: str | None = None
        self.marks = MarkedRows()
        self.keeps_line = False
        """Whether the cursor stays on its line, not on its row, until the user moves it."""
        self._moved = False
        """Whether the user has put the cursor on a row; a move to the first line does not count."""
        self._sent: set[str] = set()
        """Keys of rows that a command of the user will move, and that have not moved yet."""
        self._presence = Presence(columns)
        self._deciding = False
        """Whether a timer will continue :meth:`_decide_columns`."""
        self._to_end = False
        """Whether the cursor goes to the last row once all rows are sorted."""
        self._working = False
        """Whether a worker sorts or filters rows."""
        self._row = 0
        self._shown: list[Strip] = []
        self._strips: dict[str, Strip] = {}
        self._layout = Layout(columns)
        self._drawn_for = Size(0, 0), Offset(0, 0)
        """Room and scroll position for which the lines on the screen were drawn."""
        self._frame: TableFrame | None = None
        """The values for the frame that Textual is drawing; None at other times."""

    # ---------------------------------------------------------------- data

    def show_empty(self, words: str) -> None:
        """Set the text that is shown if the table has no rows; each paragraph is a line."""
        if words != self.empty:
            self.empty = words
            self.refresh()

    def show_loading(self, *, loading: bool) -> None:
        """Show, without rows, that the log is being read: why there is no row is not yet known."""
        if loading != self._loading:
            self._loading = loading
            self.refresh()

    def load(self, rows: dict[str, T]) -> None:
        """Show ``rows`` (kept by reference); the cursor stays on its row if possible."""
        self.rows.load(rows, FIRST_S, self.cursor)
        self._strips.clear()
        self._layout.forget()
        self.sync()
        self._go_on()

    def replace_rows(self, rows: dict[str, T], now: dict[str, T], *, reset: bool = False) -> None:
        """Replace the content of ``rows``, the dict that the table shows, by ``now``.

        ``reset``: the new rows have nothing to do with the old ones, so that all are loaded again.
        """
        before = dict(rows)
        rows.clear()
        rows.update(now)
        if reset or not before:
            self.load(rows)
        else:
            if [*now][: len(before)] != [*before]:
                self.rows.on_reordered()
            every = before.keys() | now.keys()
            self.touch(key for key in every if before.get(key) != now.get(key))

    def show_columns(self, columns: Sequence[Column[T]], sort: Column[T] | None = None) -> None:
        """Show rows of another kind; only the cursor is kept."""
        self.columns = chosen(columns, self._wanted)
        rows = Rows(self.columns, self._rank)
        if self.source is self.rows:
            self.source = rows
        self.rows = rows
        self._layout = Layout(self.columns)
        self._presence = Presence(self.columns)
        self.rows.sort(self._own(sort))
        self._strips.clear()
        self.sync()

    def choose_columns(self, wanted: Sequence[str]) -> None:
        """Show the columns that the user wants (:func:`chosen`). Call it before there are rows."""
        self._wanted = wanted
        if wanted:
            self.show_columns(self.columns, self.rows.sort_column)

    def _own(self, column: Column[T] | None) -> Column[T] | None:
        """This table's column with the id of ``column``: the user's choice may have changed it."""
        return next((c for c in self.columns if column and c.id == column.id), column)

    def touch(self, keys: Iterable[str], *, still: bool = False) -> None:
        """Update the rows with these keys, which were added, changed or removed.

        ``still``: the view does not scroll, even if the cursor's row moves.
        """
        keys = list(keys)
        if not keys:
            return
        sent = {key: self.source.position(key) for key in self._sent.intersection(keys)}
        moved = True
        if self.source is self.rows:
            moved = self.rows.update(keys, SLICE_S)
            self._presence.changed(self.rows, keys)
        for key in keys:
            self._strips.pop(key, None)
        if not moved and not self._decide_columns():
            seen = map(self.source.key, self.in_view)
            if not {self.cursor, *seen}.intersection(keys):
                return  # none of them is on the screen: nothing has to be measured or drawn
        gone = {key for key, was in sent.items() if self.source.position(key) != was}
        self._sent -= gone
        self.sync(still=still or bool(gone))
        self._go_on()

    def narrow(self, words: str | Sequence[str], also: Callable[[T], bool] | None = None) -> None:
        """Show only rows that contain every word and pass ``also``."""
        self.rows.narrow(words, also, within=FIRST_S, first=self.cursor)
        self._presence.restart()
        self._layout.forget()
        self.sync(reveal=True)
        self._go_on()

    def sort_by(self, column: Column[T] | None, reverse: bool = False) -> None:
        """Order the rows by a column; None: in their own order."""
        self.rows.sort(self._own(column), reverse, FIRST_S)
        self._presence.restart()
        self.sync(reveal=True)
        self._go_on()

    def _go_on(self) -> None:
        """Sort or filter the remaining rows, in slices between which keys can be handled."""
        if self.rows.pending and not self._working and self.is_attached:
            self._working = True
            work: WorkType[None] = self._work
            self.run_worker(work, group="rows", exclusive=True)

    async def _work(self) -> None:
        try:
            while self.rows.pending:
                await asyncio.sleep(BREATH_S)
                before = len(self.rows)
                if self.rows.work(SLICE_S) or len(self.rows) != before:
                    self.sync(reveal=True)
                    if self._to_end:
                        self.do_table_last()
                    self.post_message(self.Worked(self))
        finally:
            self._working = False

    def invalidate(self) -> None:
        """Draw every row again, for example after a jump in a replay."""
        self._strips.clear()
        self.sync()

    def remeasure(self, column: str) -> None:
        """Measure a ``spare`` column again; it is hidden if it is empty now."""
        self._layout.forget(column)
        self._presence.forget(column)
        self.sync()

    def set_caption(self, *texts: str) -> None:
        """Show in the header how the rows are filtered, by the first of ``texts`` that has room."""
        if texts != self._captions:
            self._captions = texts
            self._repaint()

    @property
    def current(self) -> T | None:
        """The row under the cursor; None if there is none."""
        return None if self.cursor is None else self.source.row(self.cursor)

    # --------------------------------------------------------------- marks

    def marked_rows(self) -> list[T]:
        """Return the marked rows that still exist, in the order of marking."""
        return self.marks.rows(self.source)

    def clear_marks(self) -> bool:
        """Unmark all rows. Returns False if none was marked."""
        if not self.marks:
            return False
        self.marks.clear()
        self._marks_changed()
        return True

    def _marks_changed(self) -> None:
        self._repaint()
        self.post_message(self.Marked(self))

    def do_table_mark(self) -> None:
        """Mark or unmark the row under the cursor, and go to the next one."""
        key = self.cursor
        if key is None or not self.MARKABLE:
            return
        self.marks.toggle(key)
        self.move_to(self._row + 1)
        self._marks_changed()

    def do_table_mark_range(self) -> None:
        """Mark all rows from the one that was marked last to the one under the cursor."""
        if self.cursor is None or not self.MARKABLE:
            return
        self.marks.extend(self._row, self.source)
        self._marks_changed()

    # -------------------------------------------------------------- cursor

    def move_to(self, index: int) -> None:
        """Put the cursor on the row at ``index`` (clamped) and scroll to it."""
        n = len(self.source)
        self._to_end = False
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
            # Past the containers, so that the details are drawn in the same frame as the cursor.
            (self.screen if self.is_attached else self).post_message(self.Highlighted(self, key))

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
    def in_view(self) -> range:
        """The indices of the rows on the screen."""
        top = self.scroll_offset.y
        return range(top, min(len(self.source), top + self._page))

    @property
    def _room(self) -> int:
        """Cells for the rows, without the scrollbar."""
        return self.scrollable_content_region.width

    @property
    def _page(self) -> int:
        return max(1, self.size.height - 1)

    # ---------------------------------------------------------------- sync

    def hold(self) -> None:
        """Keep the cursor on its row when the row moves: the user has chosen that row."""
        self._moved = True

    def move_on(self, alike: Callable[[T], bool] = lambda _: True) -> None:
        """Move the cursor to another row: a command will move the present one, perhaps much later.

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
        self._decide_columns()
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

    def _decide_columns(self) -> bool:
        """Decide which columns have nothing to show; if rows are left, a timer continues later.

        Returns whether the set of columns has changed.
        """
        if self.source is not self.rows or self.rows.pending:
            return False
        before = set(self._presence.present)
        done = self._presence.look(self.rows, SLICE_S / 4)
        if not done and not self._deciding and self.is_attached:
            self._deciding = True
            self.set_timer(BREATH_S, self._decide_more)
        return before != self._presence.present

    def _decide_more(self) -> None:
        self._deciding = False
        self.sync(still=True)

    def _fit_virtual_size(self) -> None:
        total = self._layout.total
        size = Size(total if total > self._room else 0, len(self.source) + 1)
        if size != self.virtual_size:
            self.virtual_size = size

    def _measure(self, *, ends: bool = False, scrolled: bool = False) -> None:
        n = len(self.source)
        sample = [*self.in_view]
        if ends or not self._layout.measured:
            if self.source is self.rows:
                # From all parts of the table: rows that are scrolled to have similar widths.
                sample += range(0, n, max(1, n // SAMPLE))
            else:  # read page by page: only rows of the first and last pages
                sample += [*range(min(n, SAMPLE // 4)), *range(max(0, n - SAMPLE // 4), n)]
        rows = (self.source.row(self.source.key(index)) for index in sample)
        known = (row for row in rows if row is not None)
        present = self._presence.present if self.source is self.rows else None
        sort = self.rows.sort_column
        if self._layout.fit(known, self._room, sort, present, numbers=scrolled):
            self._strips.clear()

    def _repaint(self) -> None:
        """Redraw the lines that differ from what the screen shows."""
        frame = TableFrame.of(self)
        if self._drawn_for != frame.place:
            self.refresh()
            return
        for y, old in enumerate(self._shown):
            new = self._line(y, frame)
            if new is not old and (spans := changed_spans(old, new)):
                self._shown[y] = new
                self.refresh(*(Region(x, y, end - x, 1) for x, end in spans))

    # ------------------------------------------------------------- drawing

    @property
    def _palette(self) -> Palette:
        return painter(self).palette

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw the lines of a frame."""
        self._frame = TableFrame.of(self)
        try:
            return super().render_lines(crop)
        finally:
            self._frame = None

    def render_line(self, y: int) -> Strip:
        """Implements Textual's Line API."""
        frame = self._frame or TableFrame.of(self)
        seen, now = self._drawn_for, frame.place
        if seen != now:
            self._drawn_for = now
            self._shown = [Strip.blank(0)] * now[0].height
            if seen[0] != now[0]:  # columns that were not measured may fit now
                self._measure(ends=seen[0].width != now[0].width)
        strip = self._line(y, frame)
        if y < len(self._shown):
            self._shown[y] = strip
        return strip

    def _line(self, y: int, frame: TableFrame) -> Strip:
        strip = self._unmarked_line(y, frame)
        if y and self.marks:
            index = frame.place[1].y + y - 1
            first = next(iter(strip), None)  # None: the table has no width yet
            if first and index < len(self.source) and self.source.key(index) in self.marks:
                base = first.style or frame.base
                sign = Segment(MARK, base + self._palette["bold primary"])
                return Strip([sign, *strip.crop(1)])
        return strip

    def _empty_line(self, number: int, frame: TableFrame) -> Strip:
        """A line of the text of a table without rows."""
        (width, _), _ = frame.place
        words = LOADING if self._loading else self.empty
        paragraphs = (wrap([TextSpan(plain(text))], width - 2) for text in words.split("\n"))
        lines = [line for paragraph in paragraphs for line in paragraph]
        if number >= len(lines):
            return Strip.blank(width, frame.base)
        style = self.get_component_rich_style("bigtable--empty")
        text = " " + "".join(span.text for span in lines[number])
        return Strip([Segment(text, style)]).adjust_cell_length(width, frame.base)

    def _unmarked_line(self, y: int, frame: TableFrame) -> Strip:
        (width, _), (x, top) = frame.place
        if y == 0:
            return self._header(x, width)
        index = top + y - 1
        n = len(self.source)
        if index >= n:
            if n == 0 and y >= 2:
                return self._empty_line(y - 2, frame)
            return Strip.blank(width, frame.base)
        key = self.source.key(index)
        if key == self.cursor:
            base = self.get_component_rich_style("bigtable--cursor")
            return cut(self._row_strip(key, width, base), x, width, base)
        strip = self._strips.get(key)
        if strip is None:
            strip = self._row_strip(key, width, frame.base)
            if len(self._strips) > CACHE:
                self._strips.clear()
            if self.source.row(key) is not None:
                self._strips[key] = strip
        if x or strip.cell_length != width:
            return cut(strip, x, width, frame.base)
        return strip

    def _row_strip(self, key: str, width: int, base: Style) -> Strip:
        row = self.source.row(key)
        if row is None:
            return Strip([Segment(" …", base + self._palette["muted"])])
        line = row_line(row, self._layout.cells, self._palette, base)
        return line.adjust_cell_length(max(width, self._layout.total), base)

    def _header(self, x: int, width: int) -> Strip:
        base = self.get_component_rich_style("bigtable--header")
        sign = base + self._palette["bold primary"]
        notes = [plain(text) for text in (*self.marks.notes(self.source), *self._captions)]
        return header_line(self._layout, self.rows, notes, x, width, base=base, sign=sign)

    def notify_style_update(self) -> None:
        """Discard all drawn rows, because the theme changed."""
        self._strips.clear()
        self._drawn_for = Size(0, 0), Offset(0, 0)
        super().notify_style_update()

    # --------------------------------------------------------------- input

    def watch_show_vertical_scrollbar(self, shown: bool) -> None:
        """Set a scrollbar that has just appeared to the scroll position, which may not be 0."""
        if shown:
            self._move_scrollbar()

    def _move_scrollbar(self) -> None:
        """Set the scrollbar to the scroll position, rounded to the steps that it can show.

        Without rounding, Textual would draw it (2 ms) for each position, even if it looks the same.
        """
        hidden = len(self.source) + 1 - self.size.height
        steps = 8 * self.size.height  # it is drawn in eighths of cells
        y = self.scroll_y
        if 0 < steps < hidden:
            y = round(y * steps / hidden) * hidden / steps
        self.vertical_scrollbar.position = y

    def on_resize(self) -> None:
        """Update the columns, because other columns may fit now."""
        self.sync(reveal=True)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Draw and measure the rows that came into view. Replaces Textual's method."""
        if self.show_vertical_scrollbar:
            self._move_scrollbar()
        if round(old_value) != round(new_value):
            self.refresh()
            self._measure(scrolled=True)
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

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Show what a column means while the pointer is on its title."""
        offset = event.get_content_offset(self)
        column = None
        if offset is not None and offset.y == 0:
            column = self._layout.at(offset.x + self.scroll_offset.x)
        words = "" if column is None else self.meanings.get(column.id, "")
        wanted = None if column is None or not words else Text(f"{column.title}: {words}")
        if wanted != self.tooltip:
            self.tooltip = wanted

    def on_leave(self) -> None:
        """Forget the title under the pointer."""
        self.tooltip = None

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

    def do_table_last(self) -> None:
        """Go to the last row; if rows are still filtered or sorted, again when that is done."""
        self.move_to(len(self.source) - 1)
        self._to_end = self.rows.pending

    def do_table_select(self) -> None:  # noqa: D102
        self._moved = True  # the user has chosen this row
        if self.cursor is not None:
            self.post_message(self.Selected(self, self.cursor))

    def do_table_sort(self) -> None:
        """Ask for a column to sort by; the present one again reverses the order."""
        if self.source is not self.rows:
            self.notify("These rows have one order only.", timeout=3)
            return
        columns = [None, *(c for c in self.columns if c.sort is not None and c.title)]
        now = self.rows.sort_column
        titles = [self.own_order if c is None else c.title for c in columns]

        def chosen(index: int | None) -> None:
            if index is not None and index < len(columns):
                column = columns[index]
                first = column is not None and column.descending
                self._sort(column, not self.rows.reverse if column is now else first)

        at = columns.index(now) if now in columns else 0
        self.app.push_screen(SortScreen(titles, at, self.rows.reverse), chosen)

    def do_table_reverse(self) -> None:  # noqa: D102
        self._sort(self.rows.sort_column, not self.rows.reverse)
