"""Dialogs that ask for a text, for a row of a list, or for a confirmation; their base class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Input, OptionList, Static
from textual.widgets.option_list import Option

from fuzztui.tui.base.text import plain

MOST = 400
"""Maximal length of an answer that is not a path."""


LEAVES = Binding("ctrl+c,ctrl+q", "app.help_quit", show=False)
"""Leave the app, whose own keys have no effect while a dialog is open."""

T = TypeVar("T")


class Dialog(ModalScreen[T]):
    """A box over the campaign screen; its first answer counts.

    Keys may be in the queue before the dialog has gone: typed ahead, repeated by a key that is
    held, or late over a slow link. None of them answers again.
    """

    DEFAULT_CSS = """
    Dialog {
        align: center middle;
        & > * {
            max-width: 96%; height: auto; max-height: 96%;
            background: $surface; border: round $primary; padding: 1 2;
            border-title-color: $primary; border-subtitle-color: $muted;
        }
        & Input { border: none; height: 1; padding: 0; background: $panel; }
        & Input:focus { border: none; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [LEAVES]
    _answered = False

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """Close the dialog with ``result``; without an effect if it was closed before."""
        if self._answered:
            return AwaitComplete()
        self._answered = True
        return super().dismiss(result)

    def focus_input(self) -> None:
        """Focus the dialog's input."""
        box = self.query_one(Input)
        box.cursor_blink = False
        self.set_focus(box)


class AskScreen(Dialog[str | None]):
    """Asks for a text. Returns the text, which is never empty; None after escape."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", show=False)]
    DEFAULT_CSS = """
    AskScreen {
        & > Vertical { width: 76; height: auto; }
        & Static { margin-bottom: 1; }
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
        self.focus_input()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        if text := event.value.strip():
            self.dismiss(text)


class ConfirmScreen(Dialog[bool]):
    """Asks for a yes. ``y`` confirms; ``n`` and escape cancel. The focus is on cancel at first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", show=False),
        Binding("n,escape,q", "answer(False)", show=False),
        Binding("left,right,up,down", "app.focus_next", show=False),
    ]
    DEFAULT_CSS = """
    ConfirmScreen {
        & > Vertical {
            width: 60; height: auto; border: round $warning; border-title-color: $warning;
        }
        & Static { margin-bottom: 1; }
        & Horizontal { height: auto; align-horizontal: right; }
        & Button { margin-left: 2; }
    }
    """

    def __init__(self, title: str, question: str, yes: str, no: str) -> None:
        super().__init__()
        self._title = title
        self._question = question
        self._yes = yes
        self._no = no

    def compose(self) -> ComposeResult:
        """Yield the question and two buttons."""
        with Vertical() as box:
            box.border_title = self._title
            yield Static(plain(self._question), markup=False)
            with Horizontal():
                yield Button(f"y  {self._yes}", id="yes", variant="warning", compact=True)
                yield Button(f"n  {self._no}", id="no", compact=True)

    def on_mount(self) -> None:
        """Focus the harmless answer."""
        self.set_focus(self.query_one("#no"))

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")

    def action_answer(self, yes: bool) -> None:
        """Close the dialog with the answer of a key."""
        self.dismiss(yes)


MOST_OF_ROW = 200
"""Maximal length of a row's text."""


class ListScreen(Dialog[str | None]):
    """Asks for a row of a list. Returns the name of the row; None after escape."""

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
            options = [
                Option(plain(text, MOST_OF_ROW), id=name) for name, text in self._rows.items()
            ]
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
