"""The line about type targeting on the Overview."""

from __future__ import annotations

from fuzztui.tui.base.canvas import Line, TextSpan, width_of
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.strip import StatusCanvas
from fuzztui.tui.labels.status import Status
from fuzztui.tui.labels.targeting import brief_location
from fuzztui.tui.screens.targeting.columns import PINNED
from fuzztui.tui.screens.targeting.strip import fitting, targeted_spans, uncovered_spans


class AimLine(StatusCanvas):
    """Uncovered goals, the pin, the targeted share. Hidden until an engine has reported types."""

    DEFAULT_CSS = "AimLine { height: 1; display: none; }"

    def show(self, status: Status) -> None:
        """Draw ``status``; hide the line if there are no types."""
        self.display = status.aim is not None
        super().show(status)

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw one line."""
        aim = self._status.aim
        if aim is None:
            return []
        left = uncovered_spans(aim)
        if aim.pinned:
            room = width - width_of(left) - 16
            where = plain(brief_location(aim.pinned, max(8, room)))
            left += [TextSpan(f"   {PINNED.glyph} {where}", PINNED.style)]
        return [fitting(left, targeted_spans(aim), width)]
