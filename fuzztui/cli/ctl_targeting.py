"""``fuzztui ctl``: commands for type targeting; names are checked against the log first."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from fuzztui.cli.ctl_action import CtlAction, one_of, weights_of
from fuzztui.cli.output import CliError, UsageError, probability, say, weight_or_factor
from fuzztui.cli.runs import standing
from fuzztui.cli.target_runs import find_one_target
from fuzztui.features.targeting.analysis.document import DocumentError, TargetingAnalysis
from fuzztui.features.targeting.fold import goal_rows, targeting_summary, type_rows, weights
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.commands import Command, IgnoreGoal, PinGoal, SetTargetedShare, WeighType
from fuzztui.run.campaign import CampaignError, load
from fuzztui.run.campaign.rundir import RunDir


def _weigh(options: argparse.Namespace) -> list[WeighType]:
    """``weigh-type TYPE 3``; ``x2`` and ``x0.5`` multiply each instance's present weight."""
    if not options.id or len(options.more) != 1:
        raise UsageError(
            "weigh-type needs a type and a weight; for example datetime.date 3, or x2, or x0.5"
        )
    text = options.more[0]
    state = _state(options)
    name = _type(options, state)
    present = weights(state, name, options.instance)
    each = weights_of(text, options.instance, present)
    if weight_or_factor(text)[1] and present and not any(present.values()):
        raise UsageError(f"{name} is banned, so {text} has no effect; unban the type first")
    return [_weighed(name, weight, instance) for instance, weight in each.items()]


def _of_type(weight: float) -> Callable[[argparse.Namespace], WeighType]:
    return lambda options: _weighed(_type(options, _state(options)), weight, options.instance)


def _of_goal(make: Callable[[str, str], Command]) -> Callable[[argparse.Namespace], Command]:
    return lambda options: make(_goal(options), options.instance)


def _goal(options: argparse.Namespace) -> str:
    """Return the location of the goal that ``options.id`` names, in full or by its end."""
    if not options.id:
        raise UsageError(
            f"{options.action} needs a goal's location; for example package/module.py:12:then"
        )
    state, run = _state(options), find_one_target(options.run)
    document = _document(run)
    known = {t.location: bool(t.types) for t in document.targets} if document else {}
    known |= {location: bool(row.types) for location, row in goal_rows(state).items()}
    location = str(options.id)
    if known:
        location = one_of(location, known, f"{run}: there is no goal", "/")
    if document and any(t.location == location and t.never for t in document.targets):
        raise CliError(f"{location} is never taken, as mypy infers from annotations")
    if not known.get(location, True):
        raise CliError(f"{location}: no type is known to decide this branch")
    # An unknown goal may be covered, or in a module that is not loaded: the engines check it.
    return location


def _unpin(options: argparse.Namespace) -> PinGoal:
    if options.id:
        raise UsageError(f"unpin takes no location; remove {options.id!r}")
    _state(options)
    return PinGoal("", options.instance)


def _targeted(options: argparse.Namespace) -> SetTargetedShare:
    if bool(options.id) == options.adaptive:
        raise UsageError(
            "targeted needs either the share of mutations to target at types, for example 0.7 or"
            " 70%, or --adaptive"
        )
    share = probability("targeted", options.id) if options.id else -1.0
    _state(options)
    return SetTargetedShare(share, options.instance, adaptive=options.adaptive)


def _weighed(name: str, weight: float, instance: str) -> WeighType:
    command = WeighType(name, weight, instance)
    if wrong := command.problem:
        raise UsageError(wrong)
    return command


def _state(options: argparse.Namespace) -> State:
    """Return the present state. Raises :class:`CliError` if the campaign's engine is not spoton."""
    run = options.run = find_one_target(options.run)  # once: find_run may print the choice
    state = standing(run).state
    if targeting_summary(state) is None and state.engine not in ("", "spoton"):
        raise UsageError(
            f"{options.action} is for engine spoton; the campaign's engine is {state.engine}"
        )
    if options.instance and state.instances and options.instance not in state.instances:
        known = ", ".join(state.instances)
        raise CliError(f"{run}: there is no instance {options.instance!r}; choose from {known}")
    return state


def _type(options: argparse.Namespace, state: State) -> str:
    """Return the name of the type that ``options.id`` names, in full or by its end.

    For a type that generators make as an alias (``[engine] aliases``), return the application's
    type: only the application's types have weights.
    """
    if not options.id:
        raise UsageError(f"{options.action} needs a type; for example datetime.date")
    run = find_one_target(options.run)
    known = dict.fromkeys(type_rows(state))
    known |= dict.fromkeys(n for row in goal_rows(state).values() for n, _ in row.types)
    if document := _document(run):
        known |= dict.fromkeys(t.name for t in document.types)
    if not known:  # the engine may not have reported types yet
        return str(options.id)
    given, made = str(options.id), _aliases(run)
    nothing = f"{run}: no goal depends on a type"
    if any(f".{name}".endswith(f".{given}") for name in known):
        return one_of(given, known, nothing, ".")
    name = one_of(given, [*known, *made], nothing, ".")  # suggests names from both
    stand_for = [one for one in made[name] if one in known]
    if len(stand_for) == 1:
        say(f"generators make {name} in place of {stand_for[0]}: using {stand_for[0]}")
        return stand_for[0]
    if stand_for:
        choices = " or ".join(stand_for)
        raise UsageError(f"generators make {name} in place of several types; name {choices}")
    message = f"{name} is an alias of {', '.join(made[name])}, on which no goal depends"
    raise UsageError(f"{run}: {message} (engine.aliases)")


def _aliases(run: Path) -> dict[str, list[str]]:
    """Return, by type that generators make, the application's types for which it is an alias."""
    try:
        aliases = load(RunDir(run).campaign).campaign.engine.get("aliases", {})
    except CampaignError:
        return {}
    made: dict[str, list[str]] = {}
    for name, makes in aliases.items():
        for one in makes if isinstance(makes, list) else [makes]:
            made.setdefault(one, []).append(name)
    return made


def _document(run: Path) -> TargetingAnalysis | None:
    """Return the static analysis made before the first start; None if it cannot be read."""
    try:
        return TargetingAnalysis.loads(RunDir(run).targets.read_bytes())
    except (OSError, DocumentError):
        return None


_TYPE = "a type, such as datetime.date"
_BRANCH = "a branch, package/module.py:12:then"

ACTIONS: dict[str, CtlAction] = {
    "weigh-type": CtlAction(_weigh, _TYPE, "3, x2 or x0.5"),
    "ban": CtlAction(_of_type(0.0), _TYPE),
    "unban": CtlAction(_of_type(1.0), _TYPE),
    "pin": CtlAction(_of_goal(PinGoal), _BRANCH),
    "unpin": CtlAction(_unpin),
    "ignore": CtlAction(_of_goal(lambda goal, instance: IgnoreGoal(goal, True, instance)), _BRANCH),
    "unignore": CtlAction(
        _of_goal(lambda goal, instance: IgnoreGoal(goal, False, instance)), _BRANCH
    ),
    "targeted": CtlAction(_targeted, "a share, 70%%"),
}
"""The actions about types and goals, by name."""
