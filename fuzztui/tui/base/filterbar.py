"""The line in which a table is filtered; there only while it filters."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static


class FilterBar(Horizontal):
    """An input and how many rows pass. Enter goes back to the table, escape ends it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "end", show=False),
        Binding("down", "done", show=False),
        Binding("enter", "done", show=False, priority=True),  # at once: the input would send word
    ]
    DEFAULT_CSS = """
    FilterBar {
        height: 1;
        display: none;
        background: $surface;
        & > Static { width: auto; height: 1; color: $muted; }
        & > Input { width: 1fr; height: 1; border: none; padding: 0; background: $surface; }
        & > Input:focus { border: none; }
    }
    """

    class Changed(Message):
        """Show what holds ``text``."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, placeholder: str, back: Callable[[], None]) -> None:
        """``back`` gives the focus to the table, at once: the next key is meant for that."""
        super().__init__()
        self._placeholder = placeholder
        self._back = back

    def compose(self) -> ComposeResult:
        """Prompt, input, count."""
        yield Static(" / ", markup=False)
        yield Input(placeholder=self._placeholder, select_on_focus=False)
        yield Static("", id="filter-count", markup=False)

    @property
    def text(self) -> str:
        """The filter as it stands."""
        return self.query_one(Input).value

    def open(self) -> None:
        """Show the line and type into it."""
        self.display = True
        box = self.query_one(Input)
        box.cursor_blink = False
        self.screen.set_focus(box)  # at once: the next key is meant for it

    def close(self) -> None:
        """Show everything again."""
        self.query_one(Input).value = ""
        self.display = False

    def count(self, shown: int, total: int) -> None:
        """How many rows pass."""
        self.query_one("#filter-count", Static).update(f" {shown:,} of {total:,} ")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Pass it on as our own message."""
        event.stop()
        self.post_message(self.Changed(event.value))

    def action_done(self) -> None:
        """Keep the filter, leave the input."""
        if not self.text:
            self.display = False
        self._back()

    def action_end(self) -> None:
        """Drop the filter."""
        self.close()
        self._back()
