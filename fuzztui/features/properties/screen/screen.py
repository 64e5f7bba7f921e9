"""The Properties screen: the properties of a suite with their shares, which keys change."""

from __future__ import annotations

from collections.abc import Sequence

from textual.geometry import Size

from fuzztui.features.properties.fold import PropertyRow, has_properties, property_rows
from fuzztui.features.properties.screen.actions import PropertyContext
from fuzztui.features.properties.screen.columns import columns, shared_start
from fuzztui.features.properties.screen.detail import (
    findings_of,
    no_properties_lines,
    property_lines,
)
from fuzztui.kernel.model.state import State
from fuzztui.tui.base import shell
from fuzztui.tui.base.canvas import Line
from fuzztui.tui.frame.table import BigTable
from fuzztui.tui.frame.weighed import WeighedScreen


class PropertiesScreen(WeighedScreen[PropertyRow]):
    """A row for each property, and the details of one."""

    TAB = "properties"
    CONTEXT = PropertyContext
    ABSENT = "this campaign has one target, not a suite"
    SCOPES = ("listing", "marking")
    # Names are long: only a very wide terminal has room for the details next to the table.
    DEFAULT_CSS = """
    PropertiesScreen.-wide {
        & #listing { layout: vertical; }
        & BigTable { width: 100%; height: 1fr; }
        & DetailPane, & DetailPane:focus {
            width: 100%; height: 45%; border-left: none; border-top: solid $rule;
        }
        & DetailPane:focus { height: 80%; border-top: solid $primary; }
    }
    """
    HINT = "words: test_shop, or conditions such as state=failed"

    def __init__(self) -> None:
        super().__init__()
        self._shared = ""
        """The start of all names, which the table leaves out."""

    @classmethod
    def is_present(cls, state: State) -> bool:
        """Whether the campaign has properties."""
        return has_properties(state)

    def make_table(self) -> BigTable[PropertyRow]:
        """Return the table, failed properties first, then the largest shares."""
        table = BigTable(
            columns(self._weight_asked, lambda: self._shared),
            empty="no properties yet",
            rank=lambda row: (row.state != "failed", -row.share),
        )
        table.own_order = "failed first"
        return table

    def sources(self) -> Sequence[object]:
        """Return figures, and the states of the instances and the campaign."""
        state = self.campaign
        lives = [state.instances[name].state for name in list(state.properties)]
        figures = [*state.properties.values(), state.property_kills]
        return [*figures, *state.property_reasons.values(), *lives, state.state]

    def rebuild(self, *, reset: bool) -> None:
        """Update the rows."""
        now = property_rows(self.campaign)
        if (shared := shared_start(now)) != self._shared:
            self._shared = shared
            self.table.invalidate()
        self.table.replace_rows(self._rows, now, reset=reset)

    def nothing(self) -> Sequence[Line]:
        """Return why there are no properties."""
        return () if self._rows else no_properties_lines()

    def details(self, row: PropertyRow, preview: None, size: Size) -> Sequence[Line]:
        """Return the details of a property."""
        return property_lines(row, self.campaign)

    # -------------------------------------------------------------- looking

    def do_properties_find(self) -> None:
        """Go to the latest finding of this property."""
        row = self.table.current
        if row is not None:
            found = findings_of(self.campaign, row.name)
            self.go_to_latest([*found], "This property has no findings.")

    def do_properties_copy(self) -> None:
        """Copy the property's name, for pytest."""
        row = self.table.current
        if row is not None:
            self.host.copy(shell.word(row.name), "name")

    # ------------------------------------------------------------- steering

    do_properties_command = WeighedScreen.send_weights

    def _why_no_weight(self, row: PropertyRow) -> str:
        return f"the property is not run: {row.reason}" if row.reason else ""
