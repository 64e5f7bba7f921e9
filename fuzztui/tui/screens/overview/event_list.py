"""The event list: the latest events, or the story; a row leads to what it is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import BindingType

from fuzztui.kernel.model.gains import Gains
from fuzztui.kernel.model.state import State
from fuzztui.kernel.model.story import Moment
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Canvas, Line, TextSpan, merged, width_of
from fuzztui.tui.base.text import fit, plain
from fuzztui.tui.frame.actions import bindings
from fuzztui.tui.frame.heat import heat_strip
from fuzztui.tui.frame.host import host
from fuzztui.tui.frame.table import LOADING
from fuzztui.tui.labels.event_rows import EventRow, event_rows, moment_rows

_TITLE, _STORY = " Events ", " Story "
_LEAST_STRIP = 30
"""Cells from which on there is room for the gains in the title."""


class EventList(Canvas, can_focus=True):
    """Campaign time, kind, instance and text of the latest events; groups of findings first.

    With the focus it has a cursor: the arrow keys move it, Enter goes to what the row is about.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("table")]
    DEFAULT_CSS = "EventList { height: 1fr; min-height: 3; }"

    def __init__(self) -> None:
        super().__init__()
        self._rows: Sequence[EventRow] = ()
        self._moments: Sequence[Moment] = ()
        """The moments of the story, if the rows are these."""
        self._advice = ""
        self._empty = LOADING
        self._title_text = _TITLE
        self._gains: tuple[Gains, float] | None = None
        """The gains that the title shows, and the campaign time until which; None: none."""
        self._gains_title = ""
        self._cursor = 0
        self._top = 0

    @property
    def is_story(self) -> bool:
        """Whether the rows are moments of the story."""
        return self._title_text == _STORY

    def show(self, state: State) -> None:
        """Draw the latest events of ``state``. The cursor stays on its event."""
        self._show(_TITLE, event_rows(state))

    def show_story(self, moments: Sequence[Moment]) -> None:
        """Draw the moments of the story. The cursor stays on its moment."""
        self._moments = moments
        self._show(_STORY, moment_rows(moments))

    def go_to_gain(self, by: int) -> bool:
        """Move the cursor to the largest gain of the story, or from a gain to one ``by`` smaller.

        Returns whether there is one.
        """
        bursts = [n for n, moment in enumerate(self._moments) if moment.size]
        ranks = sorted(bursts, key=lambda n: -self._moments[n].size)
        wanted = ranks.index(self._cursor) + by if self._cursor in ranks else 0
        if not 0 <= wanted < len(ranks):
            return False
        self._move(ranks[wanted] - self._cursor)
        return True

    def _show(self, title: str, rows: Sequence[EventRow]) -> None:
        before = self.current if title == self._title_text else None
        self._cursor = self._cursor if title == self._title_text else 0
        self._title_text, self._rows = title, rows
        if before is not None and self.has_focus:
            where = (before.screen, before.key)
            at = (n for n, row in enumerate(self._rows) if (row.screen, row.key) == where)
            self._cursor = next(at, self._cursor)
        self._move(0)

    def show_loading(self, *, loading: bool) -> None:
        """Show, without events, whether the log is still being read."""
        self._empty = LOADING if loading else "waiting for the first event…"
        self.repaint()

    def advise(self, text: str) -> None:
        """Show an advice in the title; an empty string: none."""
        self._advice = text
        self.repaint()

    def heat(self, gains: Gains, now: float, title: str) -> None:
        """Show in the title, after ``title``, when the gains came, from the start until ``now``."""
        self._gains, self._gains_title = (gains, now), title
        self.repaint()

    @property
    def current(self) -> EventRow | None:
        """The row under the cursor; None if there is no event."""
        return self._rows[self._cursor] if self._cursor < len(self._rows) else None

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw a title and one event per line."""
        lines: list[Line] = [self._title(width)]
        if not self._rows:
            return [*lines, [TextSpan(f" {self._empty}", "muted")]]
        self._scroll(height - 1)
        shown = self._rows[self._top : self._top + height - 1]
        # Watched trees have long instance names; the text is more important.
        longest = max(cell_len(plain(row.described.instance)) for row in shown)
        name = 0 if self.is_story else min(max(8, longest), max(8, width // 6))
        for n, row in enumerate(shown, self._top):
            lines.append(self._line(row, width, name, under=self.has_focus and n == self._cursor))
        return lines

    def _title(self, width: int) -> Line:
        title = [TextSpan(self._title_text, "bold primary" if self.has_focus else "bold")]
        if self._advice:
            title += [TextSpan("── ", "rule"), TextSpan(f"{plain(self._advice)} ", "hang")]
        rule = ("─", "rule")
        rest = [rule] * max(0, width - width_of(title) - 1)
        if self._gains and len(rest) >= _LEAST_STRIP:
            title += [TextSpan("─ ", "rule"), TextSpan(self._gains_title, "muted")]
            del rest[-len("─ ") - len(self._gains_title) :]
            strip = heat_strip(*self._gains, len(rest))
            rest[: len(strip)] = [cell or rule for cell in strip]
        return [*title, *merged(rest)]

    def _line(self, row: EventRow, width: int, name: int, *, under: bool) -> Line:
        event = row.described
        mark = "▸" if under else "●" if row.pinned else " "
        instance = [TextSpan(fit(plain(event.instance), name) + "  ", "muted", str(row.seq))]
        head: Line = [
            TextSpan(mark, "bold primary" if under else event.style, str(row.seq)),
            TextSpan(f"{format.clock(row.t):>8}  ", "muted", str(row.seq)),
            TextSpan(fit(plain(event.label), 9), event.style, str(row.seq)),
            *(instance if name else ()),
        ]
        room = max(0, width - width_of(head) - 2)
        return [
            *head,
            TextSpan(fit(plain(event.text), room), "bold" if under else "", str(row.seq)),
        ]

    # ------------------------------------------------------------- actions

    def clicked(self, click: str, at: int) -> None:
        """Go to what the clicked row is about."""
        for n, row in enumerate(self._rows):
            if str(row.seq) == click:
                self._cursor = n
                self.do_table_select()
                return

    def do_table_select(self) -> None:
        """Go to the mutant, entry or finding of the row; else to its record in the log.

        In a replay, of a moment of the story: to its time.
        """
        if (row := self.current) is None:
            return
        if self.is_story and host(self).mode == "replay":
            host(self).seek(row.t)
        elif row.screen:
            host(self).go_to_row(row.screen, row.key)

    def do_table_rows(self, by: int) -> None:
        """Move the cursor."""
        self._move(by)

    def do_table_pages(self, by: int) -> None:
        """Move the cursor by pages."""
        self._move(by * max(1, self.size.height - 2))

    def do_table_first(self) -> None:
        """Go to the first row."""
        self._move(-len(self._rows))

    def do_table_last(self) -> None:
        """Go to the last row."""
        self._move(len(self._rows))

    def _move(self, by: int) -> None:
        self._cursor = max(0, min(len(self._rows) - 1, self._cursor + by))
        self.repaint()

    def _scroll(self, height: int) -> None:
        """Keep the cursor in view; without the focus show the start."""
        if self.screen.focused is not self:  # ``has_focus`` follows later
            self._cursor = self._top = 0
        self._top = max(min(self._top, self._cursor), self._cursor - max(1, height) + 1, 0)

    def watch_has_focus(self, focused: bool) -> None:
        """Draw the cursor, or none."""
        super().watch_has_focus(focused)
        self.repaint()
