"""``fuzztui ctl``: what to aim at. Names are looked up in the log before anything is sent."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from fuzztui.base.suggest import meant, near_last
from fuzztui.campaign import CampaignError, load
from fuzztui.campaign.rundir import RunDir
from fuzztui.cli.output import USAGE, CliError, probability, say
from fuzztui.cli.runs import find_run, standing
from fuzztui.model.state import State
from fuzztui.model.targeting import aim, targets_left, types, weights
from fuzztui.targeting.analysis.document import DocumentError, TargetingAnalysis
from fuzztui.wire.commands import IgnoreGoal, PinGoal, SetTargetedShare, WeighType

__all__ = ["ban", "ignore", "pin", "targeted", "unban", "unignore", "unpin", "weigh"]

_NEAR = 3
"""Names that are offered for one that there is not."""


def weigh(options: argparse.Namespace) -> list[WeighType]:
    """``weigh TYPE 3``; ``x2`` and ``x0.5`` are times what each instance has now."""
    if not options.id or len(options.more) != 1:
        raise CliError("weigh needs a type and a weight: datetime.date 3, or x2, or x0.5", USAGE)
    text = options.more[0]
    factor = text.startswith(("x", "X", "*"))
    try:
        number = float(text[1:] if factor else text)
    except ValueError:
        raise CliError(f"{text!r} is no weight: write 3, or x2, or x0.5", USAGE) from None
    state = _state(options)
    name = _type(options, state)
    if not factor:
        return [_weighed(name, number, options.instance)]
    each = weights(state, name, options.instance) or {options.instance: 1.0}
    if not any(each.values()):
        raise CliError(f"{name} is banned, and {text} of nothing is nothing: unban it", USAGE)
    if len(set(each.values())) == 1:
        return [_weighed(name, next(iter(each.values())) * number, options.instance)]
    return [_weighed(name, weight * number, instance) for instance, weight in each.items()]


def ban(options: argparse.Namespace) -> WeighType:
    """Never aim at that type."""
    return _weighed(_type(options, _state(options)), 0.0, options.instance)


def unban(options: argparse.Namespace) -> WeighType:
    """Aim at it as often as its distance says."""
    return _weighed(_type(options, _state(options)), 1.0, options.instance)


def pin(options: argparse.Namespace) -> PinGoal:
    """Aim at one goal, of which a type is known."""
    return PinGoal(_target(options), options.instance)


def ignore(options: argparse.Namespace) -> IgnoreGoal:
    """Aim at one goal no more."""
    return IgnoreGoal(_target(options), True, options.instance)


def unignore(options: argparse.Namespace) -> IgnoreGoal:
    """Aim at it again, when its turn comes."""
    return IgnoreGoal(_target(options), False, options.instance)


def _target(options: argparse.Namespace) -> str:
    """The location that is meant: the whole of it, or the end."""
    if not options.id:
        raise CliError(
            f"{options.action} needs a goal's location: package/module.py:12:then", USAGE
        )
    state, run = _state(options), find_run(options.run)
    document = _document(run)
    known = {t.location: bool(t.types) for t in document.targets} if document else {}
    known |= {location: bool(row.types) for location, row in targets_left(state).items()}
    location = str(options.id)
    if known:
        location = _one_of(location, known, "/", f"{run}: there is no goal")
    if document and any(t.location == location and t.never for t in document.targets):
        raise CliError(f"{location} is never taken, as mypy proves by annotations")
    if not known.get(location, True):
        raise CliError(f"{location}: no type is known to decide about it")
    # One that is not told of may be covered, or of a module that is not loaded: engines know.
    return location


def unpin(options: argparse.Namespace) -> PinGoal:
    """Aim at all that is left again."""
    if options.id:
        raise CliError(f"unpin takes no location: {options.id!r}", USAGE)
    _state(options)
    return PinGoal("", options.instance)


def targeted(options: argparse.Namespace) -> SetTargetedShare:
    """How many of the mutations aim."""
    if not options.id:
        raise CliError("targeted needs the part of mutations that aim at types: 0.7 or 70%", USAGE)
    share = probability("targeted", options.id)
    _state(options)
    return SetTargetedShare(share, options.instance)


def _weighed(name: str, weight: float, instance: str) -> WeighType:
    command = WeighType(name, weight, instance)
    if wrong := command.problem:
        raise CliError(wrong, USAGE)
    return command


def _state(options: argparse.Namespace) -> State:
    """What is so now. Raises :class:`CliError` if nobody of the campaign aims."""
    run = options.run = find_run(options.run)  # once: it may tell which
    state = standing(run).state
    if aim(state) is None and state.engine not in ("", "spoton"):
        raise CliError(
            f"{options.action}: only spoton aims at types; the campaign is for {state.engine}",
            USAGE,
        )
    if options.instance and state.instances and options.instance not in state.instances:
        those = ", ".join(state.instances)
        raise CliError(f"{run}: there is no instance {options.instance!r}, but: {those}")
    return state


def _type(options: argparse.Namespace, state: State) -> str:
    """The type that is meant: its whole name, or the end of it.

    Of a type that generators make the one that it is an alias of (``[engine] aliases``): the
    application's types are what is weighed.
    """
    if not options.id:
        raise CliError(f"{options.action} needs a type: datetime.date", USAGE)
    run = find_run(options.run)
    known = dict.fromkeys(types(state))
    known |= dict.fromkeys(n for row in targets_left(state).values() for n, _ in row.types)
    if document := _document(run):
        known |= dict.fromkeys(t.name for t in document.types)
    if not known:  # it may be about to tell
        return str(options.id)
    given, made = str(options.id), _aliases(run)
    nothing = f"{run}: no target depends on a type"
    if any(_ends(name, given, ".") for name in known):
        return _one_of(given, known, ".", nothing)
    name = _one_of(given, [*known, *made], ".", nothing)  # near ones of both
    stand_for = [one for one in made[name] if one in known]
    if len(stand_for) == 1:
        say(f"{name} is what generators make for {stand_for[0]}: that is meant")
        return stand_for[0]
    if stand_for:
        those = " or ".join(stand_for)
        raise CliError(f"{name} is what generators make for several types: say {those}", USAGE)
    words = f"{name} is an alias of {', '.join(made[name])}, which no target depends on"
    raise CliError(f"{run}: {words} (engine.aliases)", USAGE)


def _aliases(run: Path) -> dict[str, list[str]]:
    """The application's types that each type of generators stands for, as the run has it."""
    try:
        aliases = load(RunDir(run).campaign).campaign.engine.get("aliases", {})
    except CampaignError:
        return {}
    made: dict[str, list[str]] = {}
    for name, makes in aliases.items():
        for one in makes if isinstance(makes, list) else [makes]:
            made.setdefault(one, []).append(name)
    return made


def _one_of(given: str, known: Iterable[str], before: str, nothing: str) -> str:
    """The name that is ``given``, or whose only end after ``before`` it is."""
    names = list(known)
    if given in names:
        return given
    ends = [name for name in names if _ends(name, given, before)]
    if len(ends) == 1:
        return ends[0]
    words = meant(ends[:_NEAR] or near_last(given, names, before, _NEAR))
    raise CliError(f"{nothing} {given!r}{words}", USAGE)


def _ends(name: str, given: str, before: str) -> bool:
    """Is it what was given, or does it end so?"""
    return f"{before}{name}".endswith(before + given)


def _document(run: Path) -> TargetingAnalysis | None:
    """What was found before the first start; None if that cannot be read."""
    try:
        return TargetingAnalysis.loads(RunDir(run).targets.read_bytes())
    except (OSError, DocumentError):
        return None
