"""The budget: how much of it all mutants get, and each one; when a turn ends.

Mutants get their share of the budget that was left when the mutant phase first started: a campaign
may have fuzzed its target alone before. The phase can start again when the budget is raised. With
``when = "stuck"`` the target comes first, and mutants get their share in rounds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from fuzztui.features.fuzzfirst.fold import (
    MIN_LEFT,
    UNWANTED,
    best,
    budget,
    fuzzed_for,
    has_begun,
    in_rounds,
    most_of,
    queue,
    share_of,
    spent_on_mutants,
)
from fuzztui.kernel.model.selectors import running_time
from fuzztui.kernel.model.stall import stuck_reason
from fuzztui.kernel.model.state import Mutant, State
from fuzztui.run.campaign import Campaign
from fuzztui.run.instances.phase import PhaseContext

ADAPTIVE_FACTOR = 3
"""In an adaptive campaign a mutant may use this many times its budget while it finds something: its
turn ends if it found nothing for the budget divided by this factor."""


def is_parallel(campaign: Campaign, plan: Mapping[str, float]) -> bool:
    """Whether each instance fuzzes a mutant of its own: as a command says, else ``mutants.use``."""
    if plan.get("switched"):
        return bool(plan.get("parallel"))
    return bool(campaign.table("mutants")["use"] == "parallel")


def switched(campaign: Campaign, plan: Mapping[str, float], use: str) -> dict[str, float]:
    """Return the plan after a command that says how instances share mutants."""
    new = {**plan, "switched": 1, "parallel": int(use == "parallel")}
    return _shared(campaign, new) if "abreast" in plan else new


def _shared(campaign: Campaign, plan: Mapping[str, float]) -> dict[str, float]:
    """Return the plan with the number of mutants at a time, and for how many it suffices."""
    many = campaign.instances if is_parallel(campaign, plan) else 1
    whole = (plan["mutants_trials"] or plan["mutants_s"]) - plan.get("round_began", 0.0)
    each = plan["each_trials"]
    count = int(whole // each) if each else int(whole / plan["each_s"] + 0.01) * many
    return {**plan, "abreast": many, "count": count}


def plan_of(campaign: Campaign, state: State) -> dict[str, float]:
    """Return the plan of :class:`~fuzztui.kernel.wire.events.PhaseStarted`, in seconds or trials.

    Besides the budget it contains ``first_s`` and ``first_trials``: the campaign's budget used
    before the mutant phase first started; ``began_s``: the running time at the phase's last start;
    ``before_s``: what mutants had used by then; ``stretch``: how many times its budget a turn may
    use; ``placed``: 1 if turns run on a cluster; ``parallel``: 1 if each instance fuzzes a mutant
    of its own; ``switched``: 1 if a command has set that, not the campaign.
    """
    mutants, now = campaign.table("mutants"), running_time(state)
    plan = _kept(campaign, state.plan)
    if state.stage != "mutants":
        plan |= {"began_s": now, "before_s": plan.get("before_s", 0.0)}
    if "first_s" not in plan:
        executed = sum(i.stats.execs for i in state.instances.values() if not i.mutant)
        # Before the first execution, running time is not charged to the target.
        plan |= {"first_s": now if executed else 0.0, "first_trials": executed}
    seconds = max(0.0, campaign.budget_s - plan["first_s"]) * mutants["share"]
    if plan["before_s"]:  # a later start: the target may have used a part of the mutants' budget
        seconds = max(0.0, min(seconds, plan["before_s"] + campaign.budget_s - plan["began_s"]))
    trials = int(max(0.0, campaign.budget_trials - plan["first_trials"]) * mutants["share"])
    each_s, each_trials = mutants["each_s"], mutants["each_trials"]
    if campaign.budget_trials:
        seconds = each_s = 0.0
    if mutants["when"] == "stuck":
        if state.stage == "mutants":  # the round goes on
            return _shared(campaign, plan)
        used, size = budget(state)[0], next_round(campaign, state)
        plan |= {"round": plan.get("round", 0) + 1, "round_began": used}
        trials, seconds = (int(used + size), 0.0) if campaign.budget_trials else (0, used + size)
    plan |= {
        "mutants_s": seconds,
        "each_s": each_s,
        "mutants_trials": trials if campaign.budget_trials else 0,
        "each_trials": each_trials,
        "stretch": ADAPTIVE_FACTOR if mutants["adaptive"] else 1,
        "placed": int(bool(mutants["cluster"])),
    }
    return _shared(campaign, plan)


def next_round(campaign: Campaign, state: State, later: float = 0.0) -> float:
    """Return the budget of the next round of mutants; 0: the budget allows none, or none waits.

    As long as the target has found nothing, at least one turn, at most what the share allows; and
    the target gets half of what is left. ``later``: what the target uses until then.
    """
    mutants, trials = campaign.table("mutants"), campaign.budget_trials
    whole = trials or campaign.budget_s
    spent = sum(i.stats.execs for i in state.instances.values()) if trials else running_time(state)
    each = mutants["each_trials"] or mutants["each_s"]
    size = min(
        max(each, _patience(campaign)),
        whole * mutants["share"] - budget(state)[0],
        (whole - spent - later) / 2,
    )
    known = state.mutants.values()
    return size if size >= each and (not known or queue(state) or best(known)) else 0.0


def _kept(campaign: Campaign, plan: Mapping[str, float]) -> dict[str, float]:
    """Return a plan of the log, without rounds if the campaign has none any more."""
    rounds = campaign.table("mutants")["when"] == "stuck"
    kept = {k: n for k, n in plan.items() if rounds or not k.startswith(("round", "stuck"))}
    return kept | {"parallel": int(is_parallel(campaign, plan))}


def _patience(campaign: Campaign) -> float:
    """Return after how much without a new edge the target is stuck, in trials or seconds."""
    whole: float = campaign.budget_trials or campaign.budget_s
    return whole * float(campaign.table("mutants")["stuck_after"])


def target_plan(campaign: Campaign, state: State, now: float) -> dict[str, float]:
    """Return the plan of the target's phase; ``now``: campaign time."""
    plan, trials = _kept(campaign, spent_on_mutants(state, now)), campaign.budget_trials
    if campaign.table("mutants")["when"] == "first":
        return plan
    patience = _patience(campaign)
    own = sum(i.stats.execs for i in state.instances.values() if not i.mutant)
    return {
        **plan,
        "round": plan.get("round", 0),
        "stuck_trials" if trials else "stuck_s": int(patience) if trials else patience,
        "stuck_from": own,
    } | ({} if next_round(campaign, state, patience) else {"stuck_trials": 0, "stuck_s": 0})


def wants_mutants(campaign: Campaign, state: State) -> bool:
    """Whether mutants have their turns now.

    In the target phase that is so if the target is stuck, or if mutants wait and have budget: the
    budget was raised, or a user has requeued mutants.
    """
    if campaign.table("mutants")["when"] == "stuck" and state.stage != "mutants":
        return bool(stuck_reason(state)) and next_round(campaign, state) > 0
    if state.stage != "target":
        return True
    plan = plan_of(campaign, state)
    left = (plan["mutants_trials"] or plan["mutants_s"]) - budget(state)[0]
    return bool(queue(state)) and left >= MIN_LEFT


def plans_target(campaign: Campaign, state: State) -> bool:
    """Whether the target comes first, and the log does not have the plan for that yet.

    It also needs another plan if no round followed, and one does now: the budget was raised.
    """
    if campaign.table("mutants")["when"] == "first" or state.stage == "mutants":
        return False
    limited = state.plan.get("stuck_s") or state.plan.get("stuck_trials")
    return not in_rounds(state) or (
        not limited and next_round(campaign, state, _patience(campaign)) > 0
    )


IDLE_S = 300.0
"""Seconds without enough executions after which a turn ends, if the budget counts executions."""

HANGING = 0.8
"""The part of its timeout that an execution takes on average if almost all of them time out. Such a
mutant, a loop without an end, would use up its executions in hours."""


class TurnBudget:
    """The budget of the mutant ``key``, which the instances ``names`` fuzz."""

    def __init__(
        self, campaign: Campaign, context: PhaseContext, key: str, names: Sequence[str]
    ) -> None:
        self._context = context
        self._key = key
        self._names = names
        self._adaptive: bool = campaign.table("mutants")["adaptive"]
        self.in_trials = bool(campaign.budget_trials)
        """Whether the budget counts executions; if not, it counts seconds."""
        self._news_at = 0.0
        self._last_find = -1.0
        self._moved = (-1.0, 0.0)
        self._enough = len(names) * IDLE_S / (HANGING * (campaign.target["timeout_s"] or 1.0))

    @property
    def _mutant(self) -> Mutant:
        return self._context.state.mutants[self._key]

    @property
    def has_begun(self) -> bool:
        """Whether an engine of the turn has started: on a cluster it may wait for a worker."""
        return has_begun(self._context.state, self._mutant)

    def begin(self) -> None:
        """Called when fuzzing starts or continues."""
        self._news_at = self.used()
        self._moved = (-1.0, 0.0)

    def used(self) -> float:
        """Return the used part of the budget, in seconds or executions."""
        if self.in_trials:
            return float(self.executed())
        return fuzzed_for(self._context.state, self._mutant, self._context.now())

    def executed(self) -> int:
        """Return the number of executions of the turn."""
        known = self._context.state.instances
        return sum(known[name].stats.execs for name in self._names if name in known)

    def limit(self) -> float:
        """Return the turn's maximum budget, in seconds or executions.

        Executions are also limited by what is left for all mutants.
        """
        most = most_of(self._context.state, self._mutant)
        if self.in_trials:
            used, of = budget(self._context.state)
            most = min(most, self.used() + max(1.0, of - used))
        return most

    def end_reason(self) -> str:
        """Return why the turn is over; "" if it is not."""
        mutant, context = self._mutant, self._context
        if mutant.state in UNWANTED:
            return mutant.state
        used, of = budget(context.state, context.now())
        if used >= of:
            return "the mutants' budget is used up"
        used = self.used()
        if used >= self.limit():
            return "the turn's budget is used up"
        return self._idle(used) or (self._no_longer_pays(used) if self._adaptive else "")

    def _idle(self, used: float) -> str:
        """Return a reason if the budget counts executions and too few happen; "" otherwise."""
        now, (before, since) = time.monotonic(), self._moved
        is_paused = self._context.state.state == "paused"
        if before < 0 or used < before or used - before >= self._enough or is_paused:
            self._moved = (used, now)
        elif self.in_trials and now - since >= IDLE_S:
            if used == before:
                return f"nothing was executed for {IDLE_S:.0f} s"
            few = f"only {used - before:,.0f} executions in {IDLE_S:.0f} s"
            return f"{few}: most of them time out"
        return ""

    def _no_longer_pays(self, used: float) -> str:
        """Return a reason if the turn found nothing for a third of its budget; "" otherwise."""
        known = self._context.state.instances
        finds = [known[name].last_find_t for name in self._names if name in known]
        if (last := max(finds, default=-1.0)) > self._last_find:
            self._last_find, self._news_at = last, used
        if used - self._news_at >= share_of(self._context.state, self._mutant) / ADAPTIVE_FACTOR:
            return "nothing was found for a third of the turn's budget"
        return ""
