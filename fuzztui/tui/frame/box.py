"""A text in a box over the campaign screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from fuzztui.tui.base.canvas import Line
from fuzztui.tui.base.pane import DetailPane


class BoxScreen(ModalScreen[None]):
    """Says :meth:`lines` in a pane that scrolls; escape, enter, ``?`` or ``q`` closes it."""

    TITLE_OF_BOX: ClassVar[str]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q,enter", "dismiss", show=False)
    ]
    DEFAULT_CSS = """
    BoxScreen {
        align: center middle;
        & > Vertical {
            width: 96; max-width: 96%; height: 90%;
            background: $surface; border: round $primary; padding: 0 1;
            border-title-color: $primary; border-subtitle-color: $muted;
        }
    }
    """

    def lines(self) -> Sequence[Line]:
        """What it says now."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """One pane."""
        with Vertical() as box:
            box.border_title = self.TITLE_OF_BOX
            box.border_subtitle = "esc closes"
            yield DetailPane()

    def on_mount(self) -> None:
        """Fill and focus it."""
        self.say()
        self.set_focus(self.query_one(DetailPane))

    def say(self) -> None:
        """Say it again."""
        self.query_one(DetailPane).show(list(self.lines()))
