"""Actions of the home screen.

Its table has the scope ``runs``, the runs side by side have ``beside``, and both have ``home``.
"""

from __future__ import annotations

from collections.abc import Callable

from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.action_context import ActionContext, WhyNot
from fuzztui.tui.frame.home_context import MAX_PANES, HomeContext


def _at_home(against: Callable[[HomeContext], str]) -> WhyNot:
    """Return the check of an action of the home screen; ``against``: why not there."""

    def why_not(now: ActionContext) -> str:
        if isinstance(now.about, HomeContext):
            return against(now.about)
        return "only on the home screen"

    return why_not


HOME = (
    Action("home.beside", ("v",), "Side by side",
        "Show up to four running campaigns, or the marked ones; again: the table", "Home",
        scope="home", check=_at_home(HomeContext.showing_beside), footer=10),
    Action("home.new", ("n",), "New", "Start a sample, or make a campaign of your own", "Home",
        scope="home", footer=11),
    Action("home.stop", ("x",), "Stop",
        "Stop the campaign of the run, or of the marked ones; everything is saved first", "Home",
        scope="runs", check=_at_home(HomeContext.stopping), footer=12),
    Action("home.resume", ("r",), "Resume", "Resume the run, or the marked ones", "Home",
        scope="runs", check=_at_home(HomeContext.resuming), footer=13),
    *(
        Action(
            f"home.run_{n}", (str(n),), f"Run {n}", f"Side by side: open run {n}", "Home",
            scope="beside", footer=1, run="home.run", args=(n,),
        )
        for n in range(1, MAX_PANES + 1)
    ),
    Action("home.table", ("escape",), "Table", "Side by side: return to the table", "Home",
        scope="beside", run="home.beside"),
)  # fmt: skip

HOME_SCREENS = (
    ("home", "runs", "table", "sorting", "marking", "listing", "always"),
    ("home", "beside", "always"),
)
"""The scopes of the table of runs, and of the runs side by side."""
