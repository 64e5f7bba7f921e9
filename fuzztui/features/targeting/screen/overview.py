"""The Overview's line about type targeting, and its list of uncovered goals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fuzztui.features.targeting.fold import GoalRow, goal_rows, reached_share, targeting_summary
from fuzztui.features.targeting.screen.labels import PINNED, brief_location, sign_of
from fuzztui.features.targeting.screen.strip import fitting, targeted_spans, uncovered_spans
from fuzztui.kernel.model.state import State
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Line, TextSpan, width_of
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.host import host
from fuzztui.tui.frame.overview_line import MAX_LISTED, AsideList, AsideRow, OverviewLine


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


class UncoveredGoals(AsideList):
    """A row for each goal, the frontier first."""

    TAB = "types"
    TITLE = "Uncovered goals"
    RIGHT = "reached by"

    def __init__(self) -> None:
        self._goals: Sequence[GoalRow] = ()

    def look(self, state: State) -> bool:
        """Take the goals."""
        self._goals = [*goal_rows(state).values()][:MAX_LISTED]
        return bool(self._goals)

    def rows(self, width: int) -> Iterator[AsideRow]:
        """Yield sign and location of each goal, and the share of trials that reached it."""
        for goal in self._goals:
            sign, share = sign_of(goal), reached_share(goal)
            reached = format.percent(share, 1.0) if share > 0 else "no input"
            where = plain(brief_location(goal.location, max(8, width - 16)))
            left = [TextSpan(f" {sign.glyph} ", sign.style), TextSpan(where)]
            yield AsideRow(goal.location, left, TextSpan(f"  {reached} ", "muted"))


def lists() -> list[AsideList]:
    """The lists that the feature adds to the Overview."""
    return [UncoveredGoals()]
