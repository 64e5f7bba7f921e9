"""Why a command about mutants is impossible: in mu2 campaigns, and in a worklist."""

from __future__ import annotations

from fuzztui.features.mutants.screen.context import about, judges_ended
from fuzztui.tui.frame.action_context import ActionContext, why_no_row, why_not_steer


def why_killed(now: ActionContext) -> str:
    """Why a command for mutants that are not killed is impossible."""
    killed = about(now).state == "killed"
    return why_not_steer_mutants(now) or (
        "the mutant is already killed; press {mutant.requeue:r} to requeue it" if killed else ""
    )


def why_not_select_mutants(now: ActionContext) -> str:
    """Why no command about several mutants is possible."""
    return why_no_row(now) if judges_ended(now) else why_not_steer_mutants(now)


def _why_not_judge(now: ActionContext) -> str:
    """Why a mutant that is not in a worklist cannot get a verdict."""
    if not judges_ended(now):
        return why_killed(now)
    open_ = about(now).state in ("", "alive", "pending", "skipped", "equivalent")
    return why_no_row(now) or ("" if open_ else f"the mutant is {about(now).state}")


def why_not_steer_mutants(now: ActionContext) -> str:
    """Why mutants cannot be steered; in fuzz-first: only during the mutant phase they can."""
    reason = why_not_steer(now) or ("" if now.row else "no mutant under the cursor")
    if not reason and now.stage and now.stage != "mutants" and not about(now).go_on:
        return "the mutant phase is over: its budget is used up, the target is being fuzzed"
    return reason


_OVER = {
    "done": "its turn is over; press {mutant.requeue:r} to give it another turn",
    "refused": "the mutant was rejected; press {mutant.requeue:r} to give it another turn",
    "skipped": "the mutant is skipped; press {mutant.requeue:r} to give it a turn",
    "equivalent": "the mutant is marked equivalent; press {mutant.requeue:r} to give it a turn",
}
_AT_WORK = {
    "pruning": "the mutant is being fuzzed; press {mutant.skip:d} to end its turn",
    "fuzzing": "the mutant is being fuzzed; press {mutant.skip:d} to end its turn",
    "collecting": "its turn has just ended; its inputs are being transferred",
}
_NEVER = {
    "failed": "the mutant does not build; press {mutant.requeue:r} to build it again",
    "dropped": "a duplicate of another mutant or of the original",
}


def why_not_move(now: ActionContext) -> str:
    """Why the mutant cannot get another position: in a worklist it must be waiting."""
    if not now.stage:
        return why_killed(now)
    return why_not_steer_mutants(now) or (_AT_WORK | _OVER | _NEVER).get(about(now).progress, "")


def why_not_move_step(now: ActionContext) -> str:
    """Why the mutant cannot move up or down in the worklist."""
    return why_not_move(now) or why_not_use(now)


def why_not_use(now: ActionContext) -> str:
    """Why the use of mutants cannot be changed."""
    none = "" if now.stage else "this campaign has no worklist of mutants"
    return why_not_steer_mutants(now) or none


def why_not_skip(now: ActionContext) -> str:
    """Why the mutant cannot be skipped. A mutant that is being fuzzed can be."""
    if not now.stage:
        return _why_not_judge(now)
    ending = {"collecting": _AT_WORK["collecting"]}
    return why_not_steer_mutants(now) or (ending | _OVER | _NEVER).get(about(now).progress, "")


def why_not_promote(now: ActionContext) -> str:
    """Why the mutant cannot be promoted. A mutant that is being fuzzed gets more time."""
    return (
        ""
        if now.stage and about(now).progress == "fuzzing" and not why_not_steer_mutants(now)
        else why_not_move(now)
    )


def why_not_equivalent(now: ActionContext) -> str:
    """Why the mutant cannot be marked equivalent."""
    if not now.stage:
        return _why_not_judge(now)
    dropped = {"dropped": _NEVER["dropped"]}
    return why_not_steer_mutants(now) or why_killed(now) or dropped.get(about(now).progress, "")


def why_not_accept(now: ActionContext) -> str:
    """Why the mutant cannot be accepted as a survivor."""
    if now.engine not in ("", "mu2"):
        return "survivors are accepted with engine mu2"
    reason = why_no_row(now) if judges_ended(now) else why_not_steer_mutants(now)
    survives = about(now).state in ("", "alive", "pending")
    return reason or ("" if survives else f"the mutant is {about(now).state}")


def why_not_requeue(now: ActionContext) -> str:
    """Why the mutant cannot be requeued. After the campaign's end this takes back a verdict."""
    if not now.stage and judges_ended(now):
        excluded = about(now).state in ("", "skipped", "equivalent")
        return why_no_row(now) or ("" if excluded else "the mutant is not skipped or equivalent")
    if reason := why_not_steer_mutants(now):
        return reason
    known = {"waiting": "the mutant is already waiting for its turn", "dropped": _NEVER["dropped"]}
    return (_AT_WORK | known).get(about(now).progress, "") if now.stage else ""
