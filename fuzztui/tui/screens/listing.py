"""A table with the details of its current row beside it: Corpus, Findings, Log."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from textual import on
from textual.containers import Container
from textual.widget import Widget

from fuzztui.tui.background import in_thread
from fuzztui.tui.hexview import Preview, load
from fuzztui.tui.screens.base import CampaignScreen
from fuzztui.tui.widgets.canvas import Line
from fuzztui.tui.widgets.filterbar import FilterBar
from fuzztui.tui.widgets.pane import Pane
from fuzztui.tui.widgets.table import BigTable

T = TypeVar("T")

SETTLE_S = 0.06
"""A cursor that runs through the table reads no files."""


class ListingScreen(CampaignScreen, Generic[T]):
    """Subclasses make the table and say what the details are.

    Side by side when there is room, one above the other when there is not.
    """

    SCOPES = ("listing",)
    DEFAULT_CSS = """
    ListingScreen {
        & #listing { height: 1fr; layout: horizontal; }
        & BigTable { width: 3fr; }
        & Pane { width: 2fr; border-left: vkey $rule; padding: 0 1; }
        & Pane:focus { border-left: vkey $primary; }
        &.-narrow, &.-medium {
            & #listing { layout: vertical; }
            & BigTable { width: 100%; height: 1fr; }
            & Pane {
                width: 100%; height: 45%;
                border-left: none; border-top: solid $rule;
            }
            & Pane:focus { border-left: none; border-top: solid $primary; height: 80%; }
        }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._preview: tuple[str, Preview] | None = None

    def body(self) -> Iterable[Widget]:
        """Table and details."""
        yield Container(self.make_table(), Pane(id="detail"), id="listing")
        yield FilterBar()

    def make_table(self) -> BigTable[T]:
        """The table."""
        raise NotImplementedError

    def detail(self, row: T) -> Sequence[Line]:
        """The details, without the input file."""
        raise NotImplementedError

    def preview_file(self, row: T) -> str:
        """The file that belongs to the row, relative to the run; "" for none."""
        return ""

    def preview_lines(self, preview: Preview, width: int) -> Sequence[Line]:
        """The file's bytes as lines."""
        return ()

    @property
    def table(self) -> BigTable[T]:
        """The table."""
        return self.query_one(BigTable)

    @property
    def pane(self) -> Pane:
        """The details."""
        return self.query_one(Pane)

    # ------------------------------------------------------------- details

    def show_detail(self, *, top: bool = False) -> None:
        """Bring the details up to date with the row under the cursor."""
        row = self.table.current
        if row is None:
            self.pane.show([], top=True)
            return
        lines = list(self.detail(row))
        file = self.preview_file(row)
        if self._preview is not None and self._preview[0] == file:
            lines += self.preview_lines(self._preview[1], self.pane.size.width)
        self.pane.show(lines, top=top)

    @on(BigTable.Highlighted)
    def _moved(self) -> None:
        self.show_detail(top=True)
        self.host.refresh_footer()
        row = self.table.current
        file = "" if row is None else self.preview_file(row)
        run = self.host.run_dir
        if file and run is not None and (self._preview is None or self._preview[0] != file):
            self.run_worker(self._load_preview(file), group="preview", exclusive=True)

    async def _load_preview(self, file: str) -> None:
        run = self.host.run_dir
        if run is None:
            return
        await asyncio.sleep(SETTLE_S)
        preview = await in_thread(lambda: load(run, file))
        self._preview = (file, preview)
        self.show_detail()

    @on(BigTable.Selected)
    def _opened(self) -> None:
        self.pane.focus()

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
            self.table.focus()
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

    @on(FilterBar.Done)
    def _back(self) -> None:
        self.table.focus()
