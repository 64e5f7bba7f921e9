"""All that is known of one instance, over the Overview."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from fuzztui.tui.instances import Fact
from fuzztui.tui.widgets.canvas import Line, Span
from fuzztui.tui.widgets.pane import Pane


class InstanceScreen(ModalScreen[None]):
    """Follows the instance while it is open; escape, enter or ``q`` closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "dismiss", show=False)]
    DEFAULT_CSS = """
    InstanceScreen {
        align: center middle;
        & > Vertical {
            width: 84; max-width: 96%; height: 20; max-height: 90%;
            background: $surface; border: round $primary; padding: 0 1;
            border-title-color: $primary; border-subtitle-color: $muted;
        }
    }
    """

    def __init__(self, look: Callable[[], Sequence[Fact]]) -> None:
        super().__init__()
        self._look = look

    def compose(self) -> ComposeResult:
        """One pane."""
        with Vertical() as box:
            box.border_title = "Instance"
            box.border_subtitle = "esc closes"
            yield Pane()

    def on_mount(self) -> None:
        """Fill and focus it; ages go on."""
        self._show()
        self.query_one(Pane).focus()
        self.set_interval(1.0, self._show)

    def _show(self) -> None:
        self.query_one(Pane).show(lines_of(self._look()))


def lines_of(facts: Sequence[Fact]) -> list[Line]:
    """A line for each fact, the names in a column of their own."""
    label = max((len(f.name) for f in facts), default=0)
    return [[Span(f.name.rjust(label) + "  ", "muted"), *f.spans] for f in facts]
