"""The banner above all screens: problems that last, and what runs, each until it is over."""

from __future__ import annotations

from collections.abc import Sequence

from fuzztui.tui.base.canvas import Canvas, Line, TextSpan, width_of
from fuzztui.tui.base.text import fit, plain
from fuzztui.tui.base.wrap import wrap

MOST = 3
"""Lines per problem. A longer text is cut in its last line."""


class Banner(Canvas):
    """Shows up to three lines for each text; hidden if there is none."""

    # With the terminal's own colours there are no shades: the sign would not be seen.
    DEFAULT_CSS = """
    Banner { height: auto; display: none; background: $failed 18%; }
    Banner:ansi { background: ansi_default; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.troubles: Sequence[str] = ()
        self._works: Sequence[str] = ()

    def show(self, troubles: Sequence[str], running: Sequence[str] = ()) -> None:
        """Show these problems, and commands that are running (untrusted texts)."""
        if [*troubles, *running] == [*self.troubles, *self._works]:
            return
        self.troubles, self._works = troubles, running
        self.display = bool(troubles or running)
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
        signs = [*(("!", text) for text in self.troubles), *(("▶", text) for text in self._works)]
        return [line for sign, text in signs for line in _lines(sign, plain(text), width)]


def _lines(sign: str, text: str, width: int) -> list[Line]:
    style = "bold failed" if sign == "!" else "running"
    lines = list(wrap([TextSpan(f" {sign} ", style), TextSpan(text, "bold")], width))
    if len(lines) > MOST:
        *start, end = lines[MOST - 1]
        room = width - width_of(start)
        cut = fit(end.text + " " * room, room)  # longer than there is room: it gets an ellipsis
        lines[MOST - 1 :] = [[*start, end._replace(text=cut)]]
    return lines
