"""The uncovered goals, in the right part of the Overview."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fuzztui.features.targeting.fold import GoalRow, goal_rows, reached_share
from fuzztui.features.targeting.screen.labels import brief_location, sign_of
from fuzztui.kernel.model.state import State
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import TextSpan
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.aside_list import MAX_LISTED, AsideList, AsideRow


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
