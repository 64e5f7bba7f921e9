"""A table with the details of its current row beside it: all screens but the Overview."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import ClassVar, Generic, TypeVar

from textual import on
from textual.containers import Container
from textual.geometry import Size
from textual.widget import Widget
from textual.worker import WorkType

from fuzztui.model.state import Entry, Finding
from fuzztui.tui.base.background import in_thread
from fuzztui.tui.base.canvas import Line
from fuzztui.tui.base.filterbar import FilterBar
from fuzztui.tui.base.pane import DetailPane
from fuzztui.tui.base.table import BigTable
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.screen import CampaignScreen

T = TypeVar("T")
P = TypeVar("P")

SETTLE_S = 0.06
"""A cursor that runs through the table reads no files."""


class ListingScreen(CampaignScreen, Generic[T, P]):
    """Subclasses make the table and say what the details are.

    Details are drawn at once, without what must be read from a file (``P``), and again
    when a thread has read it. Side by side when there is room, one above the other when
    there is not.
    """

    SCOPES: ClassVar[tuple[str, ...]] = ("listing",)
    HINT: ClassVar[str] = "words that a row must hold"
    """What can be typed into the filter."""
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
        """Table and details."""
        yield Container(self.make_table(), DetailPane(id="detail"), id="listing")
        yield FilterBar(self.HINT, self.to_table)

    def make_table(self) -> BigTable[T]:
        """The table."""
        raise NotImplementedError

    def details(self, row: T, preview: P | None, size: Size) -> Sequence[Line]:
        """The details for a pane of that size; ``preview`` once it is read."""
        raise NotImplementedError

    def preview_of(self, row: T) -> tuple[str, Callable[[], P]] | None:
        """What is to be read for the row: a name for it, and how (it may block)."""
        return None

    def nothing(self) -> Sequence[Line]:
        """What to say when there is no row at all."""
        return ()

    @property
    def table(self) -> BigTable[T]:
        """The table."""
        return self.query_one(BigTable)

    @property
    def pane(self) -> DetailPane:
        """The details."""
        return self.query_one(DetailPane)

    def to_table(self) -> None:
        """The keys are the table's."""
        self.set_focus(self.table)

    # ------------------------------------------------------------- details

    def show_detail(self, *, top: bool = False) -> None:
        """Bring the details up to date with the row under the cursor."""
        if not self.app.is_running:
            return  # read too late: the widgets are being taken down
        row = self.table.current
        if row is None:
            self.pane.show(self.nothing(), top=True)
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
        """Another row is looked at: its details, from the top, and what must be read for them."""
        self.look_again(top=True)

    def look_again(self, *, top: bool = False) -> None:
        """The row under the cursor has changed, or what must be read for it."""
        self.show_detail(top=top)
        self.host.refresh_footer()
        row = self.table.current
        wanted = None if row is None else self.preview_of(row)
        if wanted is not None and (self._preview is None or self._preview[0] != wanted[0]):
            # Not begun yet: a coroutine that is cancelled before would never be awaited.
            load: WorkType[None] = partial(self._load_preview, *wanted)
            self.run_worker(load, group="preview", exclusive=True)

    async def _load_preview(self, name: str, load: Callable[[], P]) -> None:
        await asyncio.sleep(SETTLE_S)
        self._preview = (name, await in_thread(load))
        self.show_detail()

    def reveal(self, key: str) -> None:
        """Put the cursor on the row with ``key``, or say why not."""
        if not self.table.go_to(key):
            words = "is hidden by the filter" if key in self.table.rows else "is not known here"
            self.notify(plain(f"{key} {words}."), markup=False)

    def go_to_first(self, finds: Sequence[Entry | Finding], none: str) -> None:
        """To the screen and row of the first of ``finds``, or say that there is ``none``."""
        if not finds:
            self.notify(none, markup=False)
        else:
            is_finding = isinstance(finds[0], Finding)
            self.host.look_at("findings" if is_finding else "corpus", finds[0].key)

    @on(BigTable.Selected)
    def _opened(self) -> None:
        if self.at_hand:
            self.set_focus(self.pane)

    def on_resize(self) -> None:
        """The hexdump fits its width."""
        self.call_after_refresh(self.show_detail)

    # -------------------------------------------------------------- filter

    def do_table_filter(self) -> None:
        """Type to filter."""
        self.query_one(FilterBar).open()
        self._count()

    def do_table_unfilter(self) -> None:
        """Show everything; from the details, back to the table."""
        if self.focused is self.pane:
            self.to_table()
        else:
            self.query_one(FilterBar).close()

    @on(FilterBar.Changed)
    def _filtered(self, event: FilterBar.Changed) -> None:
        text = event.text
        self.host.when_free(lambda: self.narrow(text))

    def narrow(self, text: str) -> None:
        """Apply the filter; rows of our own know how."""
        self.table.narrow(text)
        self._count()

    def _count(self) -> None:
        self.query_one(FilterBar).count(len(self.table.rows), self.table.rows.total)
