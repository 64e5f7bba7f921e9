"""Two tables of which there is room for one: which is shown, and the key to the other."""

from __future__ import annotations

from fuzztui.tui.base.canvas import Canvas, Line, TextSpan
from fuzztui.tui.base.keynames import key_name
from fuzztui.tui.base.painter import painter
from fuzztui.tui.frame.actions import BY_ID

__all__ = ["TableTabs"]

OTHER = "types.other"
"""The action that goes from one table to the other."""


class TableTabs(Canvas):
    """One line above the table of types, or of goals that are left."""

    DEFAULT_CSS = "TableTabs { height: 1; display: none; }"

    def __init__(self) -> None:
        super().__init__()
        self._counts = (0, 0)
        self._on_targets = False

    def count(self, types: int, left: int) -> None:
        """How many there are of each."""
        if (types, left) != self._counts:
            self._counts = types, left
            self.repaint()

    def turn(self, *, to_targets: bool) -> None:
        """Which ones are shown."""
        self._on_targets = to_targets
        self.repaint()

    def clicked(self, click: str, at: int) -> None:
        """The other one."""
        painter(self).perform(click)

    def paint(self, width: int, height: int) -> list[Line]:
        """Both titles; before the one that is not shown, its key."""
        line, key = [TextSpan(" ")], key_name(BY_ID[OTHER].keys[0])
        for title, n, here in zip(
            ("types", "code targets left"),
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
