"""The tabs of two tables of which one is shown at a time."""

from __future__ import annotations

from fuzztui.tui.base.canvas import Canvas, Line, TextSpan
from fuzztui.tui.base.painter import painter
from fuzztui.tui.frame.actions import BY_ID
from fuzztui.tui.frame.host import host

OTHER = "types.other"
"""The action that switches between the tables."""


class TableTabs(Canvas):
    """One line above the table of types or of uncovered goals."""

    DEFAULT_CSS = "TableTabs { height: 1; display: none; }"

    def __init__(self) -> None:
        super().__init__()
        self._counts = (0, 0)
        self._on_targets = False

    def count(self, types: int, left: int) -> None:
        """Set the numbers of rows."""
        if (types, left) != self._counts:
            self._counts = types, left
            self.repaint()

    def turn(self, *, to_targets: bool) -> None:
        """Set which table is shown."""
        self._on_targets = to_targets
        self.repaint()

    def clicked(self, click: str, at: int) -> None:
        """Switch to the other table."""
        painter(self).perform(click)

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw both titles; the hidden table's key is in front of its title."""
        line, key = [TextSpan(" ")], BY_ID[OTHER].key_label(host(self).action_context())
        for title, n, here in zip(
            ("types", "uncovered goals"),
            self._counts,
            (not self._on_targets, self._on_targets),
            strict=True,
        ):
            if here:
                line += [TextSpan(title, "bold underline"), TextSpan(f" {n:,}    ", "bold")]
            else:
                line.append(TextSpan(f"{key} ", "bold primary", OTHER))
                line.append(TextSpan(f"{title} {n:,}", "muted", OTHER))
                line.append(TextSpan("    "))
        return [line]
