"""When a campaign has had enough: its budgets and its stop conditions."""

from __future__ import annotations

from fuzztui.campaign import Campaign
from fuzztui.model.state import State
from fuzztui.supervise.life import Ending
from fuzztui.wire.events import EntrySaved, Event, FindingSaved, Stats

__all__ = ["Limits", "spent"]


def spent(campaign: Campaign, state: State, running_s: float) -> str:
    """Which budget is used up, in words; "" while there is some left."""
    if campaign.budget_s and running_s >= campaign.budget_s:
        return f"the budget of {_seconds(campaign.budget_s)} is used up"
    executed = sum(instance.execs for instance in state.instances.values())
    if campaign.budget_trials and executed >= campaign.budget_trials:
        return f"the budget of {campaign.budget_trials} trials is used up"
    crashes = sum(instance.crash_files for instance in state.instances.values())
    if campaign.stop_crashes and crashes >= campaign.stop_crashes:
        found = "1 crash was" if crashes == 1 else f"{crashes} crashes were"
        return f"{found} found (stop.crashes = {campaign.stop_crashes})"
    return ""


class Limits:
    """Watches the budgets and the stop conditions of a running campaign.

    Times are running time: what was not spent in a pause.
    """

    def __init__(self, campaign: Campaign, running_s: float) -> None:
        self._campaign = campaign
        self._news_at = self._edges_at = running_s
        self._edges = 0

    def saw(self, event: Event, running_s: float) -> None:
        """Something new was found? What was imported, or only got another number, is not new."""
        fresh = isinstance(event, EntrySaved) and not event.sync and event.first < 0
        if fresh or isinstance(event, FindingSaved):
            self._news_at = running_s
        if isinstance(event, Stats) and event.edges > self._edges:
            self._edges, self._edges_at = event.edges, running_s

    def reached(self, state: State, running_s: float) -> Ending | None:
        """Why to end the campaign now, or None."""
        if words := spent(self._campaign, state, running_s):
            return Ending("finished", words)
        idle = self._campaign.stop_idle_s
        if idle and running_s - self._news_at >= idle:
            return Ending("finished", f"nothing new for {_seconds(idle)} (stop.idle)")
        standing = self._campaign.stop_edges_s
        if standing and running_s - self._edges_at >= standing:
            return Ending("finished", f"no new edge for {_seconds(standing)} (stop.edges)")
        return None


def _seconds(seconds: float) -> str:
    return f"{seconds:g} s" if seconds < 120 else f"{seconds / 60:g} min"
