"""A dialog with scrolling text over the campaign screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from fuzztui.tui.base.canvas import Line
from fuzztui.tui.base.dialogs import Dialog
from fuzztui.tui.base.pane import DetailPane


class BoxScreen(Dialog[None]):
    """Shows :meth:`lines` in a scrolling pane; escape, enter, ``?`` or ``q`` closes the dialog."""

    TITLE_OF_BOX: ClassVar[str]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q,enter", "dismiss", show=False)
    ]
    DEFAULT_CSS = """
    BoxScreen > Vertical { width: 96; height: 90%; padding: 0 1; }
    """

    def lines(self) -> Sequence[Line]:
        """Return the current text."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """Yield one pane in a box."""
        with Vertical() as box:
            box.border_title = self.TITLE_OF_BOX
            box.border_subtitle = "esc closes"
            yield DetailPane()

    def on_mount(self) -> None:
        """Fill the pane and focus it."""
        self.say()
        self.set_focus(self.query_one(DetailPane))

    def say(self) -> None:
        """Draw :meth:`lines` again."""
        self.query_one(DetailPane).show(list(self.lines()))
