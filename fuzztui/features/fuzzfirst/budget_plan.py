"""The budget plan: how much of the budget all mutants get, and each one (issue: "Budget").

Mutants get their share of the budget that was left when the mutant phase first started: a campaign
may have fuzzed its target alone before. The phase can start again when the budget is raised.
"""

from __future__ import annotations

from fuzztui.features.fuzzfirst.fold import MIN_LEFT, queue
from fuzztui.kernel.model.selectors import running_time
from fuzztui.kernel.model.state import State
from fuzztui.run.campaign import Campaign

ADAPTIVE_FACTOR = 3
"""An adaptive campaign allows a mutant this many times the budget of one mutant."""


def parallel_mutants(campaign: Campaign) -> int:
    """Return the number of mutants that are fuzzed at the same time."""
    return campaign.instances if campaign.mutants["use"] == "parallel" else 1


def plan_of(campaign: Campaign, state: State) -> dict[str, float]:
    """Return the plan of :class:`~fuzztui.kernel.wire.events.PhaseStarted`, in seconds or trials.

    Besides the budget it contains ``first_s`` and ``first_trials``: the campaign's budget used
    before the mutant phase first started; ``began_s``: the running time at the phase's last start;
    ``before_s``: what mutants had used by then.
    """
    mutants, many, now = campaign.mutants, parallel_mutants(campaign), running_time(state)
    plan = dict(state.plan)
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


def wants_mutants(campaign: Campaign, state: State) -> bool:
    """Whether mutants wait and their budget is not used up.

    In the target phase that is so if the budget was raised, or if a user has requeued mutants.
    """
    if state.stage != "target":
        return True
    plan = plan_of(campaign, state)
    used = plan.get("before_s", 0.0)
    if campaign.budget_trials:
        used = float(sum(i.stats.execs for i in state.instances.values() if i.mutant))
    left = (plan["mutants_trials"] or plan["mutants_s"]) - used
    return bool(queue(state)) and left >= MIN_LEFT
