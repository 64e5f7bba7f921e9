"""What a budget allows for mutants: how much for all, for one, and how many (issue: "Budget")."""

from __future__ import annotations

from fuzztui.campaign import Campaign

__all__ = ["LONGEST", "abreast", "plan_of"]

LONGEST = 3
"""An adaptive campaign lets a mutant have so many times the budget of one."""


def abreast(campaign: Campaign) -> int:
    """How many mutants are fuzzed at a time."""
    return campaign.instances if campaign.mutants["use"] == "parallel" else 1


def plan_of(campaign: Campaign) -> dict[str, float]:
    """The figures of :class:`~fuzztui.wire.events.StageStarted`, in seconds or trials."""
    mutants, many = campaign.mutants, abreast(campaign)
    if campaign.budget_trials:
        part = int(campaign.budget_trials * mutants["share"])
        each = mutants["each_trials"]
        return {
            "mutants_s": 0.0,
            "each_s": 0.0,
            "mutants_trials": part,
            "each_trials": each,
            "abreast": many,
            "count": part // each,
        }
    seconds = campaign.budget_s * mutants["share"]
    each_s = mutants["each_s"]
    return {
        "mutants_s": seconds,
        "each_s": each_s,
        "mutants_trials": 0,
        "each_trials": 0,
        "abreast": many,
        "count": int(seconds // each_s) * many,
    }
