"""The banner above all screens: problems that last, each until it is over."""

from __future__ import annotations

from collections.abc import Sequence

from fuzztui.tui.base.canvas import Canvas, Line, TextSpan, width_of
from fuzztui.tui.base.text import fit, plain
from fuzztui.tui.base.wrap import wrap

MOST = 3
"""Lines per problem. A longer text is cut in its last line."""


class Banner(Canvas):
    """Shows up to three lines for each problem; hidden if there is no problem."""

    # With the terminal's own colours there are no shades: the sign would not be seen.
    DEFAULT_CSS = """
    Banner { height: auto; display: none; background: $failed 18%; }
    Banner:ansi { background: ansi_default; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.troubles: Sequence[str] = ()

    def show(self, troubles: Sequence[str]) -> None:
        """Show these problems (untrusted texts)."""
        if list(troubles) == list(self.troubles):
            return
        self.troubles = troubles
        self.display = bool(troubles)
        self._fit()

    def on_resize(self) -> None:
        """Wrap the texts to the new width."""
        self._fit()

    def _fit(self) -> None:
        # Before the first layout the banner has no width; it will get its screen's.
        self.styles.height = len(self.paint(self.size.width or self.screen.size.width, 0))
        self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw the problems one below the other."""
        return [line for text in self.troubles for line in _lines(plain(text), width)]


def _lines(text: str, width: int) -> list[Line]:
    lines = list(wrap([TextSpan(" ! ", "bold failed"), TextSpan(text, "bold")], width))
    if len(lines) > MOST:
        *start, end = lines[MOST - 1]
        room = width - width_of(start)
        cut = fit(end.text + " " * room, room)  # longer than there is room: it gets an ellipsis
        lines[MOST - 1 :] = [[*start, end._replace(text=cut)]]
    return lines
