"""What a budget allows for mutants: how much for all, for one, and how many (issue: "Budget").

Mutants get their share of what was left of the campaign's budget when they came first: a campaign
may have fuzzed its target alone before. Stages may come more than once, when the budget is raised.
"""

from __future__ import annotations

from fuzztui.campaign import Campaign
from fuzztui.model.fuzzfirst import MIN_LEFT, budget, queue
from fuzztui.model.selectors import running_time
from fuzztui.model.state import State

__all__ = ["LONGEST", "abreast", "plan_of", "spent_on_mutants", "wants_mutants"]

LONGEST = 3
"""An adaptive campaign lets a mutant have so many times the budget of one."""


def abreast(campaign: Campaign) -> int:
    """How many mutants are fuzzed at a time."""
    return campaign.instances if campaign.mutants["use"] == "parallel" else 1


def plan_of(campaign: Campaign, state: State) -> dict[str, float]:
    """The figures of :class:`~fuzztui.wire.events.PhaseStarted`, in seconds or trials.

    Beside the budget: ``first_s`` and ``first_trials``, what had been used of the campaign's when
    mutants came first; ``began_s``, its running time when they came last; ``before_s``, what
    they had used until then.
    """
    mutants, many, now = campaign.mutants, abreast(campaign), running_time(state)
    plan = dict(state.plan)
    if state.stage != "mutants":
        plan |= {"began_s": now, "before_s": plan.get("before_s", 0.0)}
    if "first_s" not in plan:
        executed = sum(i.execs for i in state.instances.values() if not i.mutant)
        # The moment before anything was executed has cost the target nothing.
        plan |= {"first_s": now if executed else 0.0, "first_trials": executed}
    seconds = max(0.0, campaign.budget_s - plan["first_s"]) * mutants["share"]
    if plan["before_s"]:  # they come again: the target may have used a part of theirs
        seconds = max(0.0, min(seconds, plan["before_s"] + campaign.budget_s - plan["began_s"]))
    trials = int(max(0.0, campaign.budget_trials - plan["first_trials"]) * mutants["share"])
    each_s, each_trials = mutants["each_s"], mutants["each_trials"]
    if campaign.budget_trials:
        seconds = each_s = 0.0
    count = trials // each_trials if each_trials else int(seconds / each_s + 0.01) * many
    return {
        **plan,
        "mutants_s": seconds,
        "each_s": each_s,
        "mutants_trials": trials if campaign.budget_trials else 0,
        "each_trials": each_trials,
        "abreast": many,
        "count": count,
    }


def spent_on_mutants(state: State, now: float) -> dict[str, float]:
    """The plan when the target's turn comes: mutants have used so much of their budget."""
    used, _ = budget(state, now)
    return {**state.plan, "before_s": 0.0 if state.plan.get("mutants_trials") else used}


def wants_mutants(campaign: Campaign, state: State) -> bool:
    """Whether mutants are to be fuzzed: not once they have used their budget, unless it grew.

    They have not where all were skipped, and a user has queued some again.
    """
    if state.stage != "target":
        return True
    plan = plan_of(campaign, state)
    used = plan.get("before_s", 0.0)
    if campaign.budget_trials:
        used = float(sum(i.execs for i in state.instances.values() if i.mutant))
    left = (plan["mutants_trials"] or plan["mutants_s"]) - used
    return bool(queue(state)) and left >= MIN_LEFT
