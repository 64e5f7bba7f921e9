"""What is aimed at in one line, for the Overview."""

from __future__ import annotations

from fuzztui.tui.status import Status
from fuzztui.tui.text import plain
from fuzztui.tui.typecolumns import PINNED
from fuzztui.tui.typewords import brief_location
from fuzztui.tui.widgets.aimstrip import aim_words, fitting, left_words
from fuzztui.tui.widgets.canvas import Line, Span, width_of
from fuzztui.tui.widgets.strip import StatusCanvas


class AimLine(StatusCanvas):
    """What is left, what is pinned, how much aims. There only when an engine has told of it."""

    DEFAULT_CSS = "AimLine { height: 1; display: none; }"

    def show(self, status: Status) -> None:
        """Draw ``status``, if it has types."""
        self.display = status.aim is not None
        super().show(status)

    def paint(self, width: int, height: int) -> list[Line]:
        """One line."""
        aim = self._status.aim
        if aim is None:
            return []
        left = left_words(aim)
        if aim.pinned:
            room = width - width_of(left) - 16
            where = plain(brief_location(aim.pinned, max(8, room)))
            left += [Span(f"   {PINNED.glyph} {where}", PINNED.style)]
        return [fitting(left, aim_words(aim), width)]
