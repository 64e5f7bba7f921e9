"""A dialog with scrolling text over the campaign screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from fuzztui.tui.base.canvas import Line
from fuzztui.tui.base.dialogs import Dialog
from fuzztui.tui.base.pane import DetailPane
from fuzztui.tui.frame.host import host


class BoxScreen(Dialog[None]):
    """Shows lines in a scrolling pane; escape, enter, ``?`` or ``q`` closes the dialog."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q,enter", "dismiss", show=False)
    ]
    DEFAULT_CSS = """
    BoxScreen > Vertical { width: 96; height: 90%; padding: 0 1; }
    BoxScreen.-low > Vertical { width: 84; height: 20; max-height: 90%; }
    """

    def __init__(
        self, title: str, look: Callable[[], Sequence[Line]], every: float = 0.0, classes: str = ""
    ) -> None:
        """``look`` returns the current lines; again each ``every`` seconds, if that is not 0."""
        super().__init__(classes=classes)
        self._title, self._look, self._every = title, look, every

    def compose(self) -> ComposeResult:
        """Yield one pane in a box."""
        with Vertical() as box:
            box.border_title = self._title
            box.border_subtitle = "esc closes"
            yield DetailPane()

    def on_mount(self) -> None:
        """Fill the pane and focus it."""
        self.say()
        self.set_focus(self.query_one(DetailPane))
        if self._every:
            self.set_interval(self._every, lambda: host(self).when_free(self._say_again))

    def _say_again(self) -> None:
        if self.is_current:  # not closed meanwhile
            self.say()

    def say(self) -> None:
        """Draw the current lines."""
        self.query_one(DetailPane).show(list(self._look()))
