"""How the effects of commands about types and goals are measured. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from fuzztui.features.targeting.fold import is_covered
from fuzztui.kernel.model.receipts import Meter, Moment, at, gauges
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.commands import Command, IgnoreGoal, PinGoal, SetTargetedShare, WeighType
from fuzztui.kernel.wire.events import TargetingStats


def _of(state: State, instance: str) -> Iterable[TargetingStats]:
    return [f for f in state.types.values() if instance in ("", f.instance)]


def _types(state: State, keys: Collection[str], since: Moment) -> dict[str, list[float]]:
    """By type: how often it was drawn, and branches first covered by that; without a name: all."""
    found: dict[str, list[float]] = {}
    for key in keys:
        instance, _, name = key.partition("/")
        rows = [
            (f.picks[n], f.new_arms[n])
            for f in _of(state, instance)
            for n, one in enumerate(f.names)
            if name in ("", one)
        ]
        if rows:
            found[key] = [sum(column) for column in zip(*rows, strict=True)]
    return found


def _goals(command: PinGoal | IgnoreGoal, state: State) -> list[str]:
    """The goal; of a command that removes a pin the pinned goals."""
    pinned = {f.pinned for f in _of(state, command.instance) if f.pinned}
    return [command.location] if command.location else sorted(pinned)


def _covered(state: State, keys: Collection[str], since: Moment) -> dict[str, list[float]]:
    """By goal: 1 if it is covered, else 0."""
    known = {key: is_covered(state, key) for key in keys}
    return {key: [float(covered)] for key, covered in known.items() if covered is not None}


_SHOWN = gauges("drawn", "branches first covered")
_GOAL = Meter("goal", _goals, _covered, gauges("covered"))

RECEIPTS: Mapping[type[Command], Meter] = {
    WeighType: Meter("type", lambda c, _: [at(c.instance, c.type)], _types, _SHOWN),
    SetTargetedShare: Meter("share", lambda c, _: [at(c.instance, "")], _types, _SHOWN),
    PinGoal: _GOAL,
    IgnoreGoal: _GOAL,
}
