"""Something is wrong and stays wrong: said above everything until it is over."""

from __future__ import annotations

from collections.abc import Sequence

from fuzztui.tui.base.canvas import Canvas, Line, TextSpan, width_of
from fuzztui.tui.base.text import fit, plain
from fuzztui.tui.base.wrap import wrap

MOST = 3
"""Lines of one trouble: its remedy comes last, and is what has to be read."""


class Banner(Canvas):
    """Up to three lines for each trouble; not there when there is none."""

    DEFAULT_CSS = "Banner { height: auto; display: none; background: $failed 18%; }"

    def __init__(self) -> None:
        super().__init__()
        self.troubles: Sequence[str] = ()

    def show(self, troubles: Sequence[str]) -> None:
        """Show these troubles (untrusted words), and nothing when there are none."""
        if list(troubles) == list(self.troubles):
            return
        self.troubles = troubles
        self.display = bool(troubles)
        self._fit()

    def on_resize(self) -> None:
        """More or fewer lines."""
        self._fit()

    def _fit(self) -> None:
        # Until it is laid out it has no width; it will have its screen's.
        self.styles.height = len(self.paint(self.size.width or self.screen.size.width, 0))
        self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """The troubles one below the other."""
        return [line for text in self.troubles for line in _lines(plain(text), width)]


def _lines(text: str, width: int) -> list[Line]:
    lines = list(wrap([TextSpan(" ! ", "bold failed"), TextSpan(text, "bold")], width))
    if len(lines) > MOST:
        *start, end = lines[MOST - 1]
        room = width - width_of(start)
        cut = fit(end.text + " " * room, room)  # longer than there is room: it gets an ellipsis
        lines[MOST - 1 :] = [[*start, end._replace(text=cut)]]
    return lines
