"""The closing card: what a campaign that has ended leaves, and what to do next.

A click on a row goes to the screen that shows more, or copies the command line.
"""

from __future__ import annotations

from collections.abc import Sequence

from fuzztui.tui.base.canvas import Canvas, Line, TextSpan
from fuzztui.tui.base.text import fit, plain
from fuzztui.tui.base.wrap import wrap
from fuzztui.tui.frame.host import host
from fuzztui.tui.labels.closing import NAME_CELLS, ClosingRow


class ClosingCard(Canvas):
    """A title with the end reason and a row each; hidden while the campaign runs."""

    DEFAULT_CSS = "ClosingCard { height: auto; display: none; }"

    def __init__(self) -> None:
        super().__init__()
        self._title = ""
        self._copied = self._high = 0
        self._rows: Sequence[ClosingRow] = ()

    def show(self, title: str, rows: Sequence[ClosingRow]) -> None:
        """Show ``rows``; hidden if there are none. Texts are untrusted."""
        if (title, rows) == (self._title, self._rows):
            return
        self._title, self._rows = title, rows
        self.display = bool(rows)
        self._fit()

    def on_resize(self) -> None:
        """Wrap command lines to the new width."""
        self._fit()

    def _fit(self) -> None:
        # Before the first layout the card has no width; it will get its neighbours'.
        width = self.size.width or self.screen.size.width
        height = len(self.paint(width, 0))
        if height != self._high:
            self.styles.height = self._high = height
        self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw the title and the rows."""
        title = f" {fit(plain(self._title), min(len(self._title), max(0, width - 6)))} "
        lines: list[Line] = [
            [TextSpan(title, "bold"), TextSpan("─" * max(0, width - len(title) - 1), "rule")]
        ]
        room = max(0, width - NAME_CELLS - 2)
        for n, row in enumerate(self._rows):
            click = str(n)
            name = TextSpan(f" {row.name:<{NAME_CELLS}} ", "muted", click)
            text = plain(row.text) if not row.screen else fit(plain(row.text), room)
            lines += wrap([name, TextSpan(text, row.style, click)], width)
        return lines

    def next_command(self) -> str:
        """Return the next of the card's command lines, in turns; "" if the card has none."""
        lines = [row.copied for row in self._rows if not row.screen]
        self._copied += 1
        return lines[(self._copied - 1) % len(lines)] if lines else ""

    def clicked(self, click: str, at: int) -> None:
        """Go to the screen that shows more; copy a command line."""
        row = self._rows[int(click)]
        if row.screen:
            host(self).go_to_row(row.screen, row.key)
        else:
            host(self).copy(row.copied, "command")
