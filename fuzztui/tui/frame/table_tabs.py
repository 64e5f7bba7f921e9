"""The tabs of two tables of which one is shown at a time."""

from __future__ import annotations

from fuzztui.tui.base.canvas import Canvas, Line, TextSpan, painter
from fuzztui.tui.frame.actions import BY_ID
from fuzztui.tui.frame.host import host


class TableTabs(Canvas):
    """One line above two tables, with the titles and the numbers of rows of both.

    ``action``: the action that switches between the tables; ``titles``: of the first and the
    second one.
    """

    DEFAULT_CSS = "TableTabs { height: 1; display: none; }"

    def __init__(self, action: str, titles: tuple[str, str]) -> None:
        super().__init__()
        self._action = action
        self._titles = titles
        self._counts = (0, 0)
        self._on_second = False

    def set_titles(self, first: str, second: str) -> None:
        """Set the titles."""
        self._titles = first, second
        self.repaint()

    def count(self, first: int, second: int) -> None:
        """Set the numbers of rows."""
        self._counts = first, second
        self.repaint()

    def turn(self, *, to_second: bool) -> None:
        """Set which table is shown."""
        self._on_second = to_second
        self.repaint()

    def clicked(self, click: str, at: int) -> None:
        """Switch to the other table."""
        painter(self).perform(click)

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw both titles; the hidden table's key is in front of its title."""
        key = BY_ID[self._action].key_label(host(self).action_context())
        line = [TextSpan(" ")]
        shown = (not self._on_second, self._on_second)
        for title, n, here in zip(self._titles, self._counts, shown, strict=True):
            if here:
                line += [TextSpan(title, "bold underline"), TextSpan(f" {n:,}    ", "bold")]
            else:
                line.append(TextSpan(f"{key} ", "bold primary", self._action))
                line.append(TextSpan(f"{title} {n:,}", "muted", self._action))
                line.append(TextSpan("    "))
        return [line]
