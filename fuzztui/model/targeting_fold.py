"""Folding what spoton instances tell of types, and of goals that are left to cover."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from fuzztui.model.changes import ChangesBuilder, instance
from fuzztui.model.state import CommandStatus, State, UncoveredGoal
from fuzztui.model.stats import count, finite
from fuzztui.wire.codec import CodecError, decode_command
from fuzztui.wire.commands import (
    MAX_WEIGHT,
    TYPE_COMMANDS,
    IgnoreGoal,
    PinGoal,
    SetTargetedShare,
    WeighType,
)
from fuzztui.wire.events import GoalsUncovered, TargetingStats
from fuzztui.wire.targeting import MAX_LOCATION, MAX_NAME, MILLION

MAX_LEFT = 1000
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
"""Lists of :class:`TargetingStats`: from, to, and what stands for what is none of these."""

_REALS = ("weights", "factors")

Steering = WeighType | PinGoal | IgnoreGoal | SetTargetedShare

_NAMES = tuple(command.name for command in TYPE_COMMANDS)


def type_figures(state: State, e: TargetingStats, touched: ChangesBuilder) -> None:
    """An instance's figures, in place of its former ones; whatever is no figure is left out."""
    instance(state, e.instance, touched)
    named = {n: i for i, n in reversed([*enumerate(e.names[:MAX_TYPES])]) if _is_name(n)}
    names = sorted(named, key=named.__getitem__)
    lists: dict[str, Any] = {}
    for field, bounds in _FIGURES.items():
        told, kinds = getattr(e, field), (int, float) if field in _REALS else (int,)
        lists[field] = [
            _within(told[i] if (i := named[n]) < len(told) else None, bounds, kinds) for n in names
        ]
    state.types[e.instance] = TargetingStats(
        e.instance,
        targeted=min(1.0, max(0.0, finite(e.targeted))),
        pinned=e.pinned if len(e.pinned) <= MAX_LOCATION else "",
        targets=max(count(e.targets), 0),
        uncovered=max(count(e.uncovered), 0),
        frontier=max(count(e.frontier), 0),
        names=names,
        ignored=[at for at in e.ignored[:MAX_LEFT] if _is_name(at, MAX_LOCATION)],
        changed=[at for at in e.changed[:MAX_CHANGED] if _is_name(at, MAX_LOCATION)],
        analysis=e.analysis if len(e.analysis) <= MAX_NAME else "",
        **lists,
    )
    touched.campaign = True


def _is_name(name: Any, most: int = MAX_NAME) -> bool:
    return isinstance(name, str) and 0 < len(name) <= most


def _within(value: Any, bounds: tuple[float, float, float], kinds: tuple[type, ...]) -> Any:
    low, high, otherwise = bounds
    return value if type(value) in kinds and low <= value <= high else otherwise


def uncovered(state: State, e: GoalsUncovered, touched: ChangesBuilder) -> None:
    """What an instance has still to cover: what is gone, new or different."""
    instance(state, e.instance, touched)
    left = {} if e.anew else dict(state.left.get(e.instance, {}))
    gone = {location for location in e.gone if isinstance(location, str)}
    for location in gone & left.keys():
        del left[location]
    asked = state.asked[e.instance] = max(count(e.asked), 0)
    for location, told in e.left.items():
        if location in gone or not _is_name(location, MAX_LOCATION) or not isinstance(told, dict):
            continue
        if location in left or len(left) < MAX_LEFT:
            left[location] = _left(told, asked)
    state.left[e.instance] = left
    touched.campaign = True


def _left(told: Mapping[str, Any], asked: int) -> UncoveredGoal:
    reached = _within(told.get("reached"), (0, _LARGE, 0), (int,))
    return UncoveredGoal(
        told.get("frontier") is True, min(reached, asked), asked, tuple(_nearest(told.get("types")))
    )


def _nearest(told: Any) -> Iterable[tuple[str, int]]:
    """Types and distances, the nearest first, each once."""
    pairs = told[:MAX_NEAREST] if isinstance(told, list) else []
    found: dict[str, int] = {}
    for pair in pairs:
        if isinstance(pair, list) and len(pair) == 2 and _is_name(pair[0]):
            distance = _within(pair[1], _FIGURES["distances"], (int,))
            if distance >= 0:
                found[pair[0]] = min(distance, found.get(pair[0], distance))
    return sorted(found.items(), key=lambda pair: pair[1])


def steered(state: State, status: CommandStatus, name: str, touched: ChangesBuilder) -> None:
    """Instance ``name`` did what a command asked for: so it is before its next figures say it."""
    figures, command = state.types.get(name), steering_of(status)
    if figures is None or command is None:
        return
    match command:
        case SetTargetedShare():
            figures = replace(figures, targeted=command.share)
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
    return replace(figures, pinned=pinned, ignored=[*others, location][:MAX_LEFT])


def steering_of(status: CommandStatus) -> Steering | None:
    """The command about types that it is; None for any other, and for one that means nothing."""
    if status.command.get("c") not in _NAMES:
        return None
    try:
        command = decode_command(status.command)
    except CodecError:
        return None
    if isinstance(command, (WeighType, SetTargetedShare)):
        return None if command.problem else command
    return command if isinstance(command, (PinGoal, IgnoreGoal)) else None
