"""A dialog with a list, of which one row is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from fuzztui.tui.base.dialogs import Dialog
from fuzztui.tui.base.text import plain

MOST = 200
"""Maximal length of a row's text."""


class ListScreen(Dialog[str | None]):
    """Returns the name of a row; None after escape."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", show=False),
        Binding("j", "move(1)", show=False),
        Binding("k", "move(-1)", show=False),
        # At once: a key that is typed ahead would come before the list's own message.
        Binding("enter", "choose", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    ListScreen {
        &.-wide-list > Vertical { width: 110; }
        & > Vertical { height: auto; max-height: 80%; padding: 0 1; }
        & OptionList {
            height: auto; max-height: 100%; border: none; padding: 0; background: $surface;
            text-wrap: nowrap; text-overflow: ellipsis; scrollbar-size-vertical: 1;
        }
        & OptionList:focus { border: none; background-tint: transparent; }
    }
    """

    def __init__(
        self, title: str, keys: str, rows: Mapping[str, str], current: str = "", classes: str = ""
    ) -> None:
        """``keys``: what the keys do. ``rows``: texts by name. ``current``: the cursor's row."""
        super().__init__(classes=classes)
        self._title, self._keys = title, keys
        self._rows = rows
        self._current = current

    def compose(self) -> ComposeResult:
        """Yield the list in a box."""
        with Vertical() as box:
            box.border_title, box.border_subtitle = self._title, self._keys
            options = [Option(plain(text, MOST), id=name) for name, text in self._rows.items()]
            yield OptionList(*options, markup=False)

    def on_mount(self) -> None:
        """Focus the list, with the cursor on the current row."""
        rows = self.query_one(OptionList)
        if self._current:
            rows.highlighted = [*self._rows].index(self._current)
        self.set_focus(rows)

    def action_move(self, by: int) -> None:
        """Move the cursor to the next or previous row, around the ends."""
        rows = self.query_one(OptionList)
        (rows.action_cursor_down if by > 0 else rows.action_cursor_up)()

    def action_choose(self) -> None:
        """Answer with the row under the cursor."""
        option = self.query_one(OptionList).highlighted_option
        self.dismiss(option.id if option else None)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)
