"""The input line of a table's filter; visible only while a filter is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static


class FilterBar(Horizontal):
    """An input and the number of matching rows. Enter returns to the table, escape clears it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "end", show=False),
        Binding("down", "done", show=False),
        Binding("enter", "done", show=False, priority=True),  # at once: the input posts a message
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
        """The filter's text changed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, placeholder: str, back: Callable[[], None]) -> None:
        """``back`` moves the focus to the table at once, so that the table gets the next key."""
        super().__init__()
        self._placeholder = placeholder
        self._back = back

    def compose(self) -> ComposeResult:
        """Yield prompt, input and count."""
        yield Static(" / ", markup=False)
        yield Input(placeholder=self._placeholder, select_on_focus=False)
        yield Static("", id="filter-count", markup=False)

    @property
    def text(self) -> str:
        """The current filter text."""
        return self.query_one(Input).value

    def open(self) -> None:
        """Show the line and focus the input."""
        self.display = True
        box = self.query_one(Input)
        box.cursor_blink = False
        self.screen.set_focus(box)  # at once: the input must get the next key

    def close(self) -> None:
        """Remove the filter."""
        self.query_one(Input).value = ""
        self.display = False

    def count(self, shown: int, total: int) -> None:
        """Show the number of matching rows."""
        self.query_one("#filter-count", Static).update(f" {shown:,} of {total:,} ")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Post :class:`Changed`."""
        event.stop()
        self.post_message(self.Changed(event.value))

    def action_done(self) -> None:
        """Keep the filter and return to the table."""
        if not self.text:
            self.display = False
        self._back()

    def action_end(self) -> None:
        """Remove the filter and return to the table."""
        self.close()
        self._back()
