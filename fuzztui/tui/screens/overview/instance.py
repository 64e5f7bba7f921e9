"""The dialog with all details of one instance, over the Overview."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.frame.box import BoxScreen
from fuzztui.tui.labels.instances import Fact


class InstanceScreen(BoxScreen):
    """Shows an instance's current details while it is open."""

    TITLE_OF_BOX = "Instance"
    DEFAULT_CSS = """
    InstanceScreen > Vertical { width: 84; height: 20; max-height: 90%; }
    """

    def __init__(self, look: Callable[[], Sequence[Fact]]) -> None:
        super().__init__()
        self._look = look

    def on_mount(self) -> None:
        """Update once per second."""
        super().on_mount()
        self.set_interval(1.0, self.say)

    def lines(self) -> list[Line]:
        """Return a line for each fact."""
        return lines_of(self._look())


def lines_of(facts: Sequence[Fact]) -> list[Line]:
    """Return a line for each fact, with the names in a separate column."""
    label = max((len(f.name) for f in facts), default=0)
    return [[TextSpan(f.name.rjust(label) + "  ", "muted"), *f.spans] for f in facts]
