"""What comparisons and mutators have brought: a strip above the corpus, and a dialog."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fuzztui.features.comparisons.fold import COMPARE, OperationYield
from fuzztui.features.corpus.screen.yield_labels import yield_spans
from fuzztui.tui.base.canvas import Canvas, Line
from fuzztui.tui.frame.box import BoxScreen
from fuzztui.tui.frame.host import host


class YieldStrip(Canvas):
    """Each operation's shares of entries and trials. Hidden without comparisons."""

    DEFAULT_CSS = "YieldStrip { height: 1; display: none; }"

    def __init__(self) -> None:
        super().__init__()
        self._yields: Sequence[OperationYield] = ()

    def show(self, yields: Sequence[OperationYield]) -> None:
        """Draw ``yields``, or hide the strip."""
        if yields != self._yields:
            self._yields = yields
            self.display = any(y.name == COMPARE for y in yields)
            self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw one line."""
        return [yield_spans(self._yields, width)]


class YieldScreen(BoxScreen):
    """Shows operations and places of comparisons while it is open."""

    TITLE_OF_BOX = "Yield"

    def __init__(self, look: Callable[[], Sequence[Line]]) -> None:
        super().__init__()
        self._look = look

    def on_mount(self) -> None:
        """Update every two seconds."""
        super().on_mount()
        self.set_interval(2.0, lambda: host(self).when_free(self.say))

    def lines(self) -> Sequence[Line]:
        """Return the current tables."""
        return self._look()
