"""How a campaign ends: on request, by a budget or stop condition, or with its last instance.

And how the target's phase ends, if mutants have turns when the target is stuck.
"""

from __future__ import annotations

import asyncio
from asyncio import FIRST_COMPLETED
from collections.abc import Awaitable, Mapping

from fuzztui.engines.base.spec import LOAD_LIMIT_S
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.measured import may_still_start
from fuzztui.kernel.model.passive import SEEDS
from fuzztui.kernel.model.selectors import last_news_t, totals
from fuzztui.kernel.model.stall import stuck_text
from fuzztui.kernel.model.state import State
from fuzztui.run.campaign import Campaign
from fuzztui.run.instances.life import EndReason, InstanceLife
from fuzztui.run.instances.phase import CampaignStopping


class StopRequest:
    """Whether the campaign is being ended. Belongs to the running event loop."""

    def __init__(self) -> None:
        self.end_reason: EndReason | None = None
        """Why the campaign is being ended; None while it continues."""
        self._stopping = asyncio.Event()

    def set(self, end_reason: EndReason) -> None:
        """End the campaign: cancels every :meth:`wait`."""
        self.end_reason = end_reason
        self._stopping.set()

    async def wait(self, job: Awaitable[None]) -> None:
        """Wait for ``job``. When the campaign is ended: cancel it, raise ``CampaignStopping``."""
        task = asyncio.ensure_future(job)
        if self.end_reason:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            raise CampaignStopping
        halt = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({task, halt}, return_when=FIRST_COMPLETED)
            if not task.done():
                raise CampaignStopping
            await task
        finally:
            for one in (task, halt):
                one.cancel()
            await asyncio.gather(task, halt, return_exceptions=True)


def natural_end(state: State, lives: Mapping[str, InstanceLife]) -> EndReason:
    """Return the end reason of a campaign whose instances all ended without a stop request."""
    if not lives:
        return EndReason("stopped", "")
    states = {life.state for life in lives.values()}
    reasons = [state.instances[name].reason for name in lives]
    for end in ("finished", "stopped", "failed"):
        if end in states:
            return EndReason(end, next((r for r in reasons if r), ""))
    return EndReason("failed", "no instance could be kept alive")


LATE_S = 60.0
"""Seconds by which the mutant phase may exceed the campaign's budget, for its last transfer."""


def spent(campaign: Campaign, state: State, running_s: float) -> str:
    """Return which budget is used up, as text; an empty string while there is some left."""
    if campaign.budget_s and running_s >= campaign.budget_s:
        return f"the budget of {_seconds(campaign.budget_s)} is used up"
    executed = sum(instance.stats.execs for instance in state.instances.values())
    if campaign.budget_trials and executed >= campaign.budget_trials:
        return f"the budget of {several(campaign.budget_trials, 'trial')} is used up"
    return _crashed(campaign, state)


def counted_crashes(campaign: Campaign, state: State) -> int:
    """Return the crashes that count for ``stop.crashes``: those of seeds and siblings do not."""
    known = {SEEDS, *(campaign.table("siblings") or ())}  # the user has them already
    return sum(i.crash_files for i in list(state.instances.values()) if i.id not in known)


def _crashed(campaign: Campaign, state: State) -> str:
    """Return that ``stop.crashes`` is reached, as text; an empty string if it is not."""
    crashes = counted_crashes(campaign, state)
    if campaign.stop_crashes and crashes >= campaign.stop_crashes:
        found = "1 crash was" if crashes == 1 else f"{crashes} crashes were"
        return f"{found} found (stop.crashes = {campaign.stop_crashes})"
    return ""


class CampaignLimits:
    """The budgets and the stop conditions of a running campaign.

    Times are running time: campaign time without pauses.
    """

    def __init__(self, campaign: Campaign, running_s: float) -> None:
        self._campaign = campaign
        self._news_at = self._edges_at = running_s
        self._news = 0.0
        self._edges = 0

    def reached(self, state: State, running_s: float) -> EndReason | None:
        """Return why the campaign must end now; None if it continues."""
        sums = totals(state)
        # Imported and renumbered inputs are not new.
        if (news := last_news_t(state)) > self._news:
            self._news, self._news_at = news, running_s
        if sums.stats.edges > self._edges:
            self._edges, self._edges_at = sums.stats.edges, running_s
        if state.stage == "mutants":  # the mutant phase has a budget of its own
            self._news_at = self._edges_at = running_s
            reason = _crashed(self._campaign, state)
            late = running_s - self._campaign.budget_s > LATE_S
            if not reason and self._campaign.budget_s and late:  # the phase should have ended
                reason = spent(self._campaign, state, running_s)
            return EndReason("finished", reason) if reason else None
        # An error of the start is worth more than the message that the time is over.
        waits = running_s - self._campaign.budget_s < LOAD_LIMIT_S and may_still_start(state)
        if reason := spent(self._campaign, state, 0.0 if waits else running_s):
            return EndReason("finished", reason)
        idle = self._campaign.stop_idle_s
        if idle and running_s - self._news_at >= idle:
            return EndReason("finished", f"nothing new for {_seconds(idle)} (stop.idle)")
        standing = self._campaign.stop_edges_s
        if standing and running_s - self._edges_at >= standing:
            return EndReason("finished", f"no new edge for {_seconds(standing)} (stop.edges)")
        return None


class StuckWatch:
    """Whether the target covered no new edge for as long as the plan of its phase says."""

    def __init__(self) -> None:
        self._edges = -1
        self._edges_at = 0.0
        self._phase_t = -1.0

    def reached(self, state: State, running_s: float) -> str:
        """Return the reason with which the target's instances end; an empty string: none."""
        plan, edges = state.plan, totals(state).stats.edges
        trials = plan.get("stuck_trials", 0.0)
        executed = sum(i.stats.execs for i in state.instances.values() if not i.mutant)
        now = executed if trials else running_s
        starts = executed <= plan.get("stuck_from", 0.0)  # afl-fuzz runs its queue again, for long
        if edges > self._edges or state.stage_t != self._phase_t or starts:
            self._edges, self._edges_at, self._phase_t = edges, now, state.stage_t
        limit = trials or plan.get("stuck_s", 0.0)
        if not 0 < limit <= now - self._edges_at:
            return ""
        return stuck_text(several(int(limit), "execution") if trials else _seconds(limit))


def _seconds(seconds: float) -> str:
    return f"{seconds:g} s" if seconds < 120 else f"{seconds / 60:g} min"
