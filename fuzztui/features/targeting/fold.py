"""Types that spoton instances target, and uncovered goals: fold, selectors and JSON.

Each instance has distances of its own, because each has covered other branches; counts are added
up. A goal is uncovered if every instance that reports it has not covered it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import fsum
from typing import Any

from fuzztui.kernel.model.changes import ChangesBuilder, instance
from fuzztui.kernel.model.commands import applied, unanswered
from fuzztui.kernel.model.folding import EventFold
from fuzztui.kernel.model.receipts import Meter, gauges, summed
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.model.stall import Advice
from fuzztui.kernel.model.state import CommandEffect, State, UncoveredGoal
from fuzztui.kernel.model.stats import count, finite
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import (
    MAX_WEIGHT,
    Command,
    IgnoreGoal,
    PinGoal,
    SetTargetedShare,
    TypeCommand,
    WeighType,
)
from fuzztui.kernel.wire.events import CommandApplied, GoalsUncovered, TargetingStats
from fuzztui.kernel.wire.mixture import percentage
from fuzztui.kernel.wire.targeting import MAX_LOCATION, MAX_NAME, MILLION, stale_message

SPOTON = "spoton"
"""The engine kind that targets types."""

MAX_GOALS = 1000
"""Targets of one instance that are kept."""

MAX_TYPES = 1000
"""Types of one instance that are kept."""

MAX_NEAREST = 32
"""Types of one target that are kept."""

MAX_CHANGED = 100
"""Files of one instance that have changed and are kept."""

_LARGE = 2**62

_FIGURES: dict[str, tuple[float, float, float]] = {
    "distances": (0, _LARGE, -1),
    "weights": (0, MAX_WEIGHT, 1),
    "factors": (1, MILLION, 1),
    "probabilities": (0, MILLION, 0),
    "picks": (0, _LARGE, 0),
    "matches": (0, _LARGE, 0),
    "misses": (0, _LARGE, 0),
    "new_arms": (0, _LARGE, 0),
}
"""For each list of :class:`TargetingStats`: the least and the largest valid number, and the number
that replaces an invalid one."""

_REALS = ("weights", "factors")


def fold_stats(state: State, e: TargetingStats, touched: ChangesBuilder) -> None:
    """Replace an instance's figures; invalid names, and all beyond the limits, are left out."""
    instance(state, e.instance, touched)
    named = {n: i for i, n in reversed([*enumerate(e.names[:MAX_TYPES])]) if _is_name(n)}
    names = sorted(named, key=named.__getitem__)
    lists: dict[str, Any] = {}
    for field, bounds in _FIGURES.items():
        values, kinds = getattr(e, field), (int, float) if field in _REALS else (int,)
        lists[field] = [
            _within(values[i] if (i := named[n]) < len(values) else None, bounds, kinds)
            for n in names
        ]
    state.types[e.instance] = TargetingStats(
        e.instance,
        targeted=min(1.0, max(0.0, finite(e.targeted))),
        pinned=e.pinned if len(e.pinned) <= MAX_LOCATION else "",
        targets=max(count(e.targets), 0),
        uncovered=max(count(e.uncovered), 0),
        frontier=max(count(e.frontier), 0),
        names=names,
        ignored=[at for at in e.ignored[:MAX_GOALS] if _is_name(at, MAX_LOCATION)],
        changed=[at for at in e.changed[:MAX_CHANGED] if _is_name(at, MAX_LOCATION)],
        analysis=e.analysis if len(e.analysis) <= MAX_NAME else "",
        adaptive=e.adaptive is True,
        **lists,
    )
    touched.campaign = True


def _is_name(name: Any, most: int = MAX_NAME) -> bool:
    return isinstance(name, str) and 0 < len(name) <= most


def _within(value: Any, bounds: tuple[float, float, float], kinds: tuple[type, ...]) -> Any:
    low, high, otherwise = bounds
    return value if type(value) in kinds and low <= value <= high else otherwise


def fold_goals(state: State, e: GoalsUncovered, touched: ChangesBuilder) -> None:
    """Update an instance's uncovered goals: the event has those that are gone, new or different.

    With ``anew`` the event has all of them.
    """
    instance(state, e.instance, touched)
    left = {} if e.anew else dict(state.uncovered_goals.get(e.instance, {}))
    gone = {location for location in e.gone if isinstance(location, str)}
    for location in gone & left.keys():
        del left[location]
    asked = state.checked_trials[e.instance] = max(count(e.asked), 0)
    for location, values in e.left.items():
        if location in gone or not _is_name(location, MAX_LOCATION) or not isinstance(values, dict):
            continue
        if location in left or len(left) < MAX_GOALS:
            left[location] = _goal(values, asked)
    state.uncovered_goals[e.instance] = left
    touched.campaign = True


def _goal(values: Mapping[str, Any], asked: int) -> UncoveredGoal:
    reached = _within(values.get("reached"), (0, _LARGE, 0), (int,))
    return UncoveredGoal(
        values.get("frontier") is True,
        min(reached, asked),
        asked,
        tuple(_nearest(values.get("types"))),
    )


def _nearest(values: Any) -> Iterable[tuple[str, int]]:
    """Types and distances, the nearest first, each once."""
    pairs = values[:MAX_NEAREST] if isinstance(values, list) else []
    found: dict[str, int] = {}
    for pair in pairs:
        if isinstance(pair, list) and len(pair) == 2 and _is_name(pair[0]):
            distance = _within(pair[1], _FIGURES["distances"], (int,))
            if distance >= 0:
                found[pair[0]] = min(distance, found.get(pair[0], distance))
    return sorted(found.items(), key=lambda pair: pair[1])


def fold_command(state: State, command: TypeCommand, name: str, touched: ChangesBuilder) -> None:
    """Fold that instance ``name`` applied a command, before the next statistics show it."""
    figures = state.types.get(name)
    if figures is None:
        return
    match command:
        case SetTargetedShare():
            share = figures.targeted if command.adaptive else command.share
            figures = replace(figures, targeted=share, adaptive=command.adaptive)
        case PinGoal(location=location) if len(location) <= MAX_LOCATION:
            ignored = [at for at in figures.ignored if at != location]
            figures = replace(figures, pinned=location, ignored=ignored)
        case IgnoreGoal(location=location) if len(location) <= MAX_LOCATION:
            figures = _ignoring(figures, location, command.ignored)
        case WeighType() if command.type in figures.names:
            weights = list(figures.weights)
            weights[figures.names.index(command.type)] = command.weight
            figures = replace(figures, weights=weights)
    state.types[name] = figures
    touched.campaign = True


def _ignoring(figures: TargetingStats, location: str, ignored: bool) -> TargetingStats:
    others = [at for at in figures.ignored if at != location]
    if not ignored:
        return replace(figures, ignored=others)
    pinned = "" if figures.pinned == location else figures.pinned
    return replace(figures, pinned=pinned, ignored=[*others, location][:MAX_GOALS])


# ----------------------------------------------------------------- selectors


@dataclass(frozen=True, slots=True)
class TypeRow:
    """One type over all instances."""

    name: str
    distance: int = -1
    """The smallest over running instances; -1: the type influences no uncovered goal there."""
    weight: float = 1.0
    """The weight that a user has set, 1 by default, in the first instance; 0: banned."""
    differs: bool = False
    """Whether instances have different weights."""
    factor: float = 1.0
    """The probability is divided by this factor, which grows with each input that lacks the type;
    the mean over instances."""
    probability: float = 0.0
    """Of being picked next, 0 to 1; the mean over running instances (if none runs, over all)."""
    picks: int = 0
    matches: int = 0
    misses: int = 0
    new_arms: int = 0
    """Cells that were first covered by a mutation targeted at this type."""


@dataclass(frozen=True, slots=True)
class GoalRow:
    """One uncovered goal, over all instances."""

    location: str
    frontier: bool
    """Whether the goal is on the frontier in any instance."""
    reached: int
    """Number of the ``checked_trials`` that reached the goal's decision."""
    checked_trials: int
    types: tuple[tuple[str, int], ...]
    """Names and distances of influencing types, nearest first; empty: cannot be pinned."""
    pinned: bool = False
    ignored: bool = False
    """Whether a user's command excludes the goal from targeting in some running instance (if none
    runs, in some instance)."""


@dataclass(frozen=True, slots=True)
class TargetingSummary:
    """The targeted mutation over all instances."""

    targeted: float
    """Share of mutations, 0 to 1, that are targeted: the mean."""
    pinned: str
    """The goal that an instance has pinned; an empty string: none."""
    targets: int
    uncovered: int
    """Uncovered goals of the instance that has covered the most; without those that another
    instance has covered, if the instances report all of theirs."""
    frontier: int
    """The uncovered goals whose decision a trial has reached."""
    ignored: tuple[str, ...] = ()
    """The goals that any instance ignores, sorted."""
    changed: tuple[str, ...] = ()
    """The files that were edited since the analysis, in any running instance, sorted."""
    adaptive: bool = False
    """Whether ``targeted`` follows from what such mutations bring, in all running instances."""
    is_over: bool = False
    """Whether each running instance has covered all its goals, so that no mutation is targeted."""

    @property
    def share_text(self) -> str:
        """``55% of mutations are targeted, adaptive``; another text once there are no goals."""
        if self.is_over:
            return "no mutation is targeted any more"
        return (
            f"{percentage(self.targeted)} of mutations are targeted{', adaptive' * self.adaptive}"
        )


def _living(state: State, instance: str = "") -> list[TargetingStats]:
    """Figures of the instances that still fuzz; if none does, of all."""
    every = [f for f in list(state.types.values()) if not instance or f.instance == instance]
    return [f for f in every if state.instances[f.instance].state not in ENDED] or every


def type_rows(state: State) -> dict[str, TypeRow]:
    """All types by name, the most likely first."""
    living = _living(state)
    ever: dict[str, list[tuple[TargetingStats, int]]] = {}
    now: dict[str, list[tuple[TargetingStats, int]]] = {}
    for every, places in ((list(state.types.values()), ever), (living, now)):
        for f in every:
            for i, name in enumerate(f.names):
                places.setdefault(name, []).append((f, i))
    rows = [_type_row(name, ever[name], now.get(name, []), len(living)) for name in ever]
    rows.sort(key=lambda r: (-r.probability, r.distance < 0, r.distance, r.name))
    return {row.name: row for row in rows}


def _type_row(
    name: str,
    ever: list[tuple[TargetingStats, int]],
    now: list[tuple[TargetingStats, int]],
    living: int,
) -> TypeRow:
    """Return the row of a type.

    ``ever``: the figures of each instance that has reported the type, with the type's index in
    them. ``now``: those of running instances, of which there are ``living``.
    """
    now_or_last = now or ever
    weights = [f.weights[i] for f, i in now_or_last]
    return TypeRow(
        name,
        min((f.distances[i] for f, i in now if f.distances[i] >= 0), default=-1),
        weights[0],
        any(weight != weights[0] for weight in weights),
        fsum(f.factors[i] for f, i in now_or_last) / len(now_or_last),
        fsum(f.probabilities[i] for f, i in now) / MILLION / living,
        sum(f.picks[i] for f, i in ever),
        sum(f.matches[i] for f, i in ever),
        sum(f.misses[i] for f, i in ever),
        sum(f.new_arms[i] for f, i in ever),
    )


def weights(state: State, name: str, instance: str = "") -> dict[str, float]:
    """A type's weight in each running instance (if none runs, in each instance)."""
    return {
        f.instance: f.weights[f.names.index(name)] if name in f.names else 1.0
        for f in _living(state, instance)
    }


def goal_rows(state: State) -> dict[str, GoalRow]:
    """The goals, by location, that no instance has covered: the frontier first, ignored ones last.

    An engine reports some hundreds of its uncovered goals. An instance that has more, or that has
    loaded less of the program than another, excludes no goal: a goal that is missing from its
    report may be uncovered.
    """
    living = _living(state)
    pinned, ignored = {f.pinned for f in living}, _ignored(living)
    whole = _whole(state).values()
    found: dict[str, list[tuple[int, UncoveredGoal]]] = {}
    for name, left in list(state.uncovered_goals.items()):
        for location, row in left.items():
            found.setdefault(location, []).append((state.checked_trials[name], row))
    rows = [
        _goal_row(location, each, location in pinned, location in ignored)
        for location, each in found.items()
        if all(location in left for left in whole)
    ]
    rows.sort(key=lambda row: (row.ignored, not row.frontier))
    return {row.location: row for row in rows}


def _whole(state: State) -> dict[str, dict[str, UncoveredGoal]]:
    """The uncovered goals of the instances that report all of theirs and know all goals."""
    most = max((f.targets for f in list(state.types.values())), default=0)

    def is_whole(name: str, left: dict[str, UncoveredGoal]) -> bool:
        figures = state.types.get(name)
        return figures is None or (figures.targets >= most and figures.uncovered <= len(left))

    return {
        name: left for name, left in list(state.uncovered_goals.items()) if is_whole(name, left)
    }


def _ignored(living: list[TargetingStats]) -> set[str]:
    return {location for f in living for location in f.ignored}


def _goal_row(
    location: str, each: list[tuple[int, UncoveredGoal]], pinned: bool, ignored: bool
) -> GoalRow:
    """Return the row of a goal. ``each``: an instance's number of checked trials, and its row."""
    return GoalRow(
        location,
        any(row.frontier for _, row in each),
        sum(row.reached for _, row in each),
        # A row is reported again when a trial reaches it for the first time: until then, none has.
        sum(row.checked_trials if row.reached else checked for checked, row in each),
        each[0][1].types,
        pinned,
        ignored,
    )


def targeting_summary(state: State) -> TargetingSummary | None:
    """The targeted mutation now; None: no spoton instance has reported types."""
    living, every = _living(state), list(state.types.values())
    if not every:
        return None
    # An instance that has loaded less of the program knows fewer goals.
    best = min(every, key=lambda f: (-f.targets, f.uncovered))
    uncovered, frontier, whole = best.uncovered, best.frontier, _whole(state)
    if best.instance in whole:
        left = set(whole[best.instance]).intersection(*whole.values())
        if len(left) < uncovered:
            near = {at for rows in list(state.uncovered_goals.values()) for at in left & rows.keys()
                    if rows[at].frontier}  # fmt: skip
            uncovered, frontier = len(left), len(near)
    return TargetingSummary(
        fsum(f.targeted for f in living) / len(living),
        next((f.pinned for f in living if f.pinned), ""),
        best.targets,
        uncovered,
        frontier,
        tuple(sorted(_ignored(living))),
        tuple(sorted({file for f in living for file in f.changed})),
        all(f.adaptive for f in living),
        all(f.targets and not f.uncovered for f in living),
    )


def stale(state: State) -> str:
    """A message about files that were edited since the analysis; an empty string: none was."""
    now = targeting_summary(state)
    changed = now.changed if now else ()
    return stale_message(changed, over=state.state in ENDED) if changed else ""


def reached_share(row: GoalRow) -> float:
    """Share of the checked trials that reached the goal's decision; -1: none was checked."""
    return row.reached / row.checked_trials if row.checked_trials else -1.0


def goal_line(location: str) -> tuple[str, int] | None:
    """Return file and line of a goal's location, ``package/module.py:12:then``."""
    name, _, rest = location.partition(":")
    line = rest.partition(":")[0]
    return (name, int(line)) if name and line.isdecimal() and len(line) < 8 else None


def goal_place(location: str, state: State) -> tuple[str, int] | None:
    """Return path and line of a goal; None if the log has no such file."""
    if (at := goal_line(location)) is None:
        return None
    ending = f"/{at[0]}"
    path = next((p for p in state.sources if p.endswith(ending) or p == at[0]), "")
    return (path, at[1]) if path else None


def has_types(state: State) -> bool:
    """Whether the campaign targets types, or will."""
    return bool(state.types) or state.engine == SPOTON


def advice(state: State) -> Iterator[Advice]:
    """Yield what may help a campaign that finds nothing new."""
    now = targeting_summary(state)
    if now is None:
        return
    if now.targets and not now.uncovered:
        yield Advice("every goal is covered", is_certain=True)
    for row in type_rows(state).values():
        if row.distance >= 0 and not row.picks:
            yield Advice(f"the type {row.name} is never drawn: raise its weight")


# ---------------------------------------------------------------------- JSON

LIKELIEST = 5
"""Number of types in ``status --json``."""


def targeting_dict(state: State) -> dict[str, Any] | None:
    """Return ``types`` of ``status --json``; None if no instance has reported types."""
    now = targeting_summary(state)
    if now is None:
        return None
    rows = list(type_rows(state).values())
    return {
        "targeted": round(now.targeted, 6),
        "adaptive": now.adaptive,
        "pinned": now.pinned or None,
        "ignored": list(now.ignored),
        "targets": now.targets,
        "uncovered": now.uncovered,
        "frontier": now.frontier,
        "changed": list(now.changed),
        "likeliest": [
            {"name": row.name, "probability": round(row.probability, 6)}
            for row in rows[:LIKELIEST]
            if row.probability
        ],
        "banned": [row.name for row in rows if not row.weight],
        "pending": [encode_command(command) for _, command in unanswered(state, TypeCommand)],
    }


def figures(state: State) -> dict[str, Any]:
    """Return what this feature adds to the object of ``fuzztui status --json``."""
    return {"types": targeting_dict(state)}


def types_dict(state: State) -> dict[str, Any] | None:
    """Return the object of ``fuzztui types --json``.

    That is :func:`targeting_dict` with all types and all uncovered goals; None as there.
    """
    now = targeting_dict(state)
    if now is None:
        return None
    return {
        **now,
        "types": [_type_dict(row) for row in type_rows(state).values()],
        "left": [_goal_dict(row) for row in goal_rows(state).values()],
    }


def _type_dict(row: TypeRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "probability": round(row.probability, 6),
        "weight": row.weight,
        "differs": row.differs,
        "distance": row.distance if row.distance >= 0 else None,
        "factor": round(row.factor, 6),
        "picks": row.picks,
        "matches": row.matches,
        "misses": row.misses,
        "new_arms": row.new_arms,
    }


def _goal_dict(row: GoalRow) -> dict[str, Any]:
    return {
        "location": row.location,
        "frontier": row.frontier,
        "pinned": row.pinned,
        "ignored": row.ignored,
        "reached": row.reached,
        "asked": row.checked_trials,
        "types": [{"name": name, "distance": distance} for name, distance in row.types],
    }


def _type_command_applied(state: State, e: CommandApplied, touched: ChangesBuilder) -> None:
    if isinstance(command := applied(state, e), TypeCommand):
        fold_command(state, command, e.instance, touched)


def _draws(state: State, instance: str, name: str) -> Iterator[tuple[int, int]]:
    """How often a type was drawn, and the branches first covered by that; no name: all types."""
    for f in list(state.types.values()):
        if instance in ("", f.instance):
            rows = zip(f.names, f.picks, f.new_arms, strict=True)
            yield from ((picks, arms) for one, picks, arms in rows if name in ("", one))


def _goals(command: PinGoal | IgnoreGoal, state: State) -> list[str]:
    """The goal of a command; of one that removes a pin the goals that are pinned."""
    pinned = {f.pinned for f in state.types.values() if command.instance in ("", f.instance)}
    return [command.location] if command.location else sorted(pinned - {""})


def _covered(state: State, location: str, effect: CommandEffect) -> list[int]:
    """1 if an instance has covered the goal, else 0; nothing if no report names the goal."""
    if any(location not in left for left in _whole(state).values()):
        return [1]
    return [0] if any(location in left for left in list(state.uncovered_goals.values())) else []


_DRAWN = "drawn", "branches first covered"
_GOAL = Meter("goal", _covered, gauges("covered"), _goals)
_PIN = replace(_GOAL, ends=lambda command, pin: command.instance in ("", pin.instance))

RECEIPTS: Mapping[type[Command], Meter] = {
    WeighType: summed("type", _draws, *_DRAWN),
    SetTargetedShare: summed("share", _draws, *_DRAWN),
    PinGoal: _PIN,
    IgnoreGoal: _GOAL,
}

FOLDS = (
    EventFold(CommandApplied, _type_command_applied),
    EventFold(TargetingStats, fold_stats, rows=lambda e: e.names),
    EventFold(GoalsUncovered, fold_goals, rows=lambda e: e.left),
)
