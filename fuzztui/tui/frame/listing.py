"""A screen with a table and the details of its current row: all screens but the Overview."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import ClassVar, Generic, TypeVar

from textual import on
from textual.containers import Container
from textual.geometry import Size
from textual.widget import Widget
from textual.worker import WorkType

from fuzztui.kernel.model.state import Entry, Finding
from fuzztui.kernel.wire.conditions import FilterKey
from fuzztui.tui.base.background import in_thread
from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.columns import column_keys
from fuzztui.tui.base.filterbar import FilterBar
from fuzztui.tui.base.pane import DetailPane
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame import filtering
from fuzztui.tui.frame.screen import CampaignScreen
from fuzztui.tui.frame.table import LOADING, BigTable
from fuzztui.tui.labels.mutants import with_places
from fuzztui.tui.labels.status import Status

T = TypeVar("T")
P = TypeVar("P")

SETTLE_S = 0.06
"""Seconds that the cursor must rest on a row before the row's file is read."""


class ListingScreen(CampaignScreen, Generic[T, P]):
    """A table and a details pane. Subclasses make the table and the details.

    Details are drawn at once without their preview (``P``, content of a file), and again when a
    thread has read the preview. The pane is next to the table, or below in a narrow terminal.
    """

    SCOPES: ClassVar[tuple[str, ...]] = ("listing",)
    HINT: ClassVar[str] = "words that a row must contain, or conditions such as size>100"
    """Placeholder of the filter's input."""
    DEFAULT_CSS = """
    ListingScreen {
        & #listing { height: 1fr; layout: horizontal; }
        & BigTable { width: 3fr; }
        & DetailPane { width: 2fr; border-left: vkey $rule; padding: 0 1; }
        & DetailPane:focus { border-left: vkey $primary; }
        &.-narrow, &.-medium {
            & #listing { layout: vertical; }
            & BigTable { width: 100%; height: 1fr; }
            & DetailPane {
                width: 100%; height: 45%;
                border-left: none; border-top: solid $rule;
            }
            & DetailPane:focus { border-left: none; border-top: solid $primary; height: 80%; }
        }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._preview: tuple[str, P] | None = None

    def body(self) -> Iterable[Widget]:
        """Yield the table, the details pane and the filter."""
        yield Container(self.make_table(), DetailPane(id="detail"), id="listing")
        yield self.filter_bar()

    def filter_bar(self) -> FilterBar:
        """Return a new input for the filter."""
        return FilterBar(self.HINT, self.to_table, lambda: [*self.keys()], self.values_of)

    def make_table(self) -> BigTable[T]:
        """Return a new table."""
        raise NotImplementedError

    def details(self, row: T, preview: P | None, size: Size) -> Sequence[Line]:
        """Return the details for a pane of ``size``; ``preview`` is None until it was read."""
        raise NotImplementedError

    def preview_of(self, row: T) -> tuple[str, Callable[[], P]] | None:
        """Return the name and the (blocking) reader of the row's preview; None: no preview."""
        return None

    def nothing(self) -> Sequence[Line]:
        """Return the details if the table has no row."""
        return ()

    @property
    def table(self) -> BigTable[T]:
        """The table."""
        return self.query_one(BigTable)

    @property
    def pane(self) -> DetailPane:
        """The details pane."""
        return self.query_one(DetailPane)

    def to_table(self) -> None:
        """Move the focus to the table."""
        self.set_focus(self.table)

    # --------------------------------------------------------------- marks

    @property
    def marked(self) -> int:
        """Number of marked rows."""
        return len(self.table.marks)

    def chosen(self) -> list[T]:
        """Return the rows that a command is for: the marked ones, else the one at the cursor.

        The caller must call :meth:`unmark` after sending a command: the next one must not act on
        marks that the user has forgotten.
        """
        if self.table.marks:
            return self.table.marked_rows()
        row = self.table.current
        return [] if row is None else [row]

    def unmark(self) -> bool:
        """Unmark all rows. Returns False if none was marked."""
        return self.table.clear_marks()

    @on(BigTable.Marked)
    def _show_marks(self) -> None:
        self.host.refresh_footer()

    # ------------------------------------------------------------- details

    def show_detail(self, *, top: bool = False) -> None:
        """Draw the details of the row under the cursor."""
        if not self.app.is_running:
            return  # called too late: the app is removing the widgets
        row = self.table.current
        if row is None:
            loading = self.host.status.caught_up < 1
            self.pane.show([[TextSpan(LOADING, "muted")]] if loading else self.nothing(), top=True)
            return
        wanted = self.preview_of(row)
        known = wanted is not None and self._preview is not None and self._preview[0] == wanted[0]
        preview = self._preview[1] if known and self._preview is not None else None
        self.pane.show(self.details(row, preview, self.pane.size), top=top)

    @on(BigTable.Highlighted)
    def _moved(self, event: BigTable.Highlighted) -> None:
        if event.table is self.table:
            self.look()

    def look(self) -> None:
        """Show the details of a new current row from the top, and start to read its preview."""
        self.refresh_row(top=True)

    def refresh_row(self, *, top: bool = False) -> None:
        """Draw the details again, and read the preview again if it changed."""
        self.show_detail(top=top)
        self.host.refresh_footer()
        row = self.table.current
        wanted = None if row is None else self.preview_of(row)
        if wanted is not None and (self._preview is None or self._preview[0] != wanted[0]):
            # A coroutine is made by the worker: one that is cancelled unstarted is never awaited.
            load: WorkType[None] = partial(self._load_preview, *wanted)
            self.run_worker(load, group="preview", exclusive=True)

    async def _load_preview(self, name: str, load: Callable[[], P]) -> None:
        await asyncio.sleep(SETTLE_S)
        self._preview = (name, await in_thread(load))
        self.show_detail()

    def reveal(self, key: str) -> None:
        """Put the cursor on the row with ``key``, or notify the user of the reason why not."""
        if not self.table.go_to(key):
            words = "is hidden by the filter" if key in self.table.rows else "is not in this table"
            name = with_places(key, self.campaign.mutants)
            self.notify(plain(f"{name} {words}."))

    def go_to_latest(self, finds: Sequence[Entry | Finding], none: str) -> None:
        """Go to the screen and row of the first of ``finds``; without any, notify with ``none``."""
        if not finds:
            self.notify(none)
        else:
            is_finding = isinstance(finds[0], Finding)
            self.host.go_to_row("findings" if is_finding else "corpus", finds[0].key)

    @on(BigTable.Selected)
    def _opened(self, event: BigTable.Selected) -> None:
        if self.may_take_focus and event.table is self.table:
            self.set_focus(self.pane)

    def on_resize(self) -> None:
        """Fit the hexdump to the new width."""
        self.call_after_refresh(self.show_detail)

    def tick(self, status: Status) -> None:
        """Show the reason of an empty table once the log was read."""
        super().tick(status)
        if self.table.current is None:
            self.show_detail()

    # -------------------------------------------------------------- filter

    def do_table_filter(self) -> None:
        """Open the filter's input."""
        self.query_one(FilterBar).open()
        self._count()

    def do_table_unfilter(self) -> None:
        """Unmark all rows, else remove the filter; from the details: go to the table."""
        if self.focused is self.pane:
            self.to_table()
        elif not self.unmark():
            self.query_one(FilterBar).close()

    @on(FilterBar.Changed)
    def _filtered(self, event: FilterBar.Changed) -> None:
        text = event.text
        self.host.when_free(lambda: self.narrow(text))

    def narrow(self, text: str) -> None:
        """Apply the filter to the table."""
        self.apply(text)

    def apply(self, text: str, also: Callable[[T], bool] | None = None) -> None:
        """Filter the table by ``text``; rows must also pass ``also``."""
        filtering.narrow(self.query_one(FilterBar), self.table, text, self.keys(), also)

    def keys(self) -> Mapping[str, FilterKey[T]]:
        """Return the keys of the filter's conditions, by name."""
        return column_keys(self.table.columns)

    def values_of(self, key: str) -> Iterable[str]:
        """Return the values of some rows, to complete a condition."""
        return filtering.values_of(self.table, self.keys(), key)

    @on(BigTable.Worked)
    def _count_more(self) -> None:
        self._count()
        self.show_detail()

    def _count(self) -> None:
        filtering.count(self.query_one(FilterBar), self.table)
