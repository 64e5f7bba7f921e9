"""A dialog that asks for a line of text."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from fuzztui.tui.base.text import plain

MOST = 400
"""Maximal length of an answer that is not a path."""


class AskScreen(ModalScreen[str | None]):
    """Returns the text (never empty), or None after escape."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", show=False)]
    DEFAULT_CSS = """
    AskScreen {
        align: center middle;
        & > Vertical {
            width: 76; max-width: 92%; height: auto;
            background: $surface; border: round $primary; padding: 1 2;
            border-title-color: $primary; border-subtitle-color: $muted;
        }
        & Static { margin-bottom: 1; }
        & Input { border: none; height: 1; padding: 0; background: $panel; }
        & Input:focus { border: none; }
    }
    """

    def __init__(self, title: str, question: str, placeholder: str, most: int = MOST) -> None:
        super().__init__()
        self._title = title
        self._question = question
        self._placeholder = placeholder
        self._most = most

    def compose(self) -> ComposeResult:
        """Yield question and input."""
        with Vertical() as box:
            box.border_title = self._title
            box.border_subtitle = "⏎ sends, esc cancels"
            yield Static(plain(self._question), markup=False)
            yield Input(placeholder=self._placeholder, select_on_focus=False, max_length=self._most)

    def on_mount(self) -> None:
        """Focus the input."""
        box = self.query_one(Input)
        box.cursor_blink = False
        self.set_focus(box)

    @on(Input.Submitted)
    def _answered(self, event: Input.Submitted) -> None:
        if text := event.value.strip():
            self.dismiss(text)
