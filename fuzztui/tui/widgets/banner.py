"""Something is wrong and stays wrong: said above everything until it is over."""

from __future__ import annotations

from collections.abc import Sequence

from fuzztui.tui.text import plain
from fuzztui.tui.widgets.canvas import Canvas, Line, Span


class Banner(Canvas):
    """A line for each trouble; not there when there is none."""

    DEFAULT_CSS = "Banner { height: auto; display: none; background: $failed 18%; }"

    def __init__(self) -> None:
        super().__init__()
        self.troubles: Sequence[str] = ()

    def show(self, troubles: Sequence[str]) -> None:
        """Show these troubles (untrusted words), and nothing when there are none."""
        if list(troubles) == list(self.troubles):
            return
        self.troubles = troubles
        self.styles.height = len(troubles)
        self.display = bool(troubles)
        self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """One line each."""
        return [[Span(" ! ", "bold failed"), Span(plain(text), "bold")] for text in self.troubles]
