"""The line of the Overview about type targeting."""

from __future__ import annotations

from fuzztui.features.targeting.fold import targeting_summary
from fuzztui.features.targeting.screen.labels import PINNED, brief_location
from fuzztui.features.targeting.screen.strip import fitting, targeted_spans, uncovered_spans
from fuzztui.tui.base.canvas import Line, TextSpan, width_of
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.host import host
from fuzztui.tui.frame.overview_line import OverviewLine


class TargetingLine(OverviewLine):
    """Uncovered goals, the pin, the targeted share. Hidden until an engine has reported types."""

    def content(self, width: int) -> list[Line]:
        """Draw one line."""
        aim = targeting_summary(host(self).campaign)
        if aim is None:
            return []
        left = uncovered_spans(aim)
        if aim.pinned:
            room = width - width_of(left) - 16
            where = plain(brief_location(aim.pinned, max(8, room)))
            left += [TextSpan(f"   {PINNED.glyph} {where}", PINNED.style)]
        return [fitting(left, targeted_spans(aim), width)]


def lines() -> list[OverviewLine]:
    """The lines that the feature adds to the Overview."""
    return [TargetingLine()]
