"""Types that spoton instances aim at, and goals that are left: what it comes to over all.

Each instance has distances of its own, as it has covered what it has covered; what they did
adds up. A target is left where every instance that tells of it has still to cover it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import Any

from fuzztui.model.selectors import ENDED
from fuzztui.model.state import CommandStatus, State, UncoveredGoal
from fuzztui.model.targeting_fold import Steering, steering_of
from fuzztui.wire.codec import encode_command
from fuzztui.wire.events import TargetingStats
from fuzztui.wire.targeting import MILLION, stale_message


@dataclass(frozen=True, slots=True)
class TypeRow:
    """One type over all instances."""

    name: str
    distance: int = -1
    """The least over instances; -1: nothing that is left depends on it."""
    weight: float = 1.0
    """A person's, of the first instance; 0: banned."""
    differs: bool = False
    """Whether instances have different weights."""
    factor: float = 1.0
    """What misses divide its chance by; of several instances the mean."""
    probability: float = 0.0
    """Of being picked next, 0 to 1; the mean over the instances that live (all, if none does)."""
    picks: int = 0
    matches: int = 0
    misses: int = 0
    new_arms: int = 0
    """Cells first covered by a child that aimed at it."""


@dataclass(frozen=True, slots=True)
class TargetRow:
    """One goal that is left, over all instances."""

    location: str
    frontier: bool
    """In any instance."""
    reached: int
    """Of ``asked`` trials so many came to its decision."""
    asked: int
    types: tuple[tuple[str, int], ...]
    """Names and distances, nearest first; none: it cannot be pinned."""
    pinned: bool = False
    ignored: bool = False
    """Nothing aims at it, in any instance that lives (any at all, if none does)."""


@dataclass(frozen=True, slots=True)
class Aim:
    """What is aimed at, over all instances."""

    targeted: float
    """The part of mutations, 0 to 1, that aim: the mean."""
    pinned: str
    """The location that any instance aims at alone, or ""."""
    targets: int
    uncovered: int
    """Of the instance that has covered the most of all ``targets``; without what another has
    covered, where all that is left is told."""
    frontier: int
    """Of those."""
    ignored: tuple[str, ...] = ()
    """The locations that any instance does not aim at, sorted."""
    changed: tuple[str, ...] = ()
    """The files that are not what was analysed, in any instance that lives, sorted."""


def _living(state: State, instance: str = "") -> list[TargetingStats]:
    """Figures of those that still fuzz; of all when none does."""
    told = [f for f in list(state.types.values()) if not instance or f.instance == instance]
    return [f for f in told if state.instances[f.instance].state not in ENDED] or told


def types(state: State) -> dict[str, TypeRow]:
    """All types by name, the most likely first."""
    living = _living(state)
    told: dict[str, list[tuple[TargetingStats, int]]] = {}
    now: dict[str, list[tuple[TargetingStats, int]]] = {}
    for every, places in ((list(state.types.values()), told), (living, now)):
        for f in every:
            for i, name in enumerate(f.names):
                places.setdefault(name, []).append((f, i))
    rows = [_type_row(name, told[name], now.get(name, []), len(living)) for name in told]
    rows.sort(key=lambda r: (-r.probability, r.distance < 0, r.distance, r.name))
    return {row.name: row for row in rows}


def _type_row(
    name: str,
    told: list[tuple[TargetingStats, int]],
    now: list[tuple[TargetingStats, int]],
    living: int,
) -> TypeRow:
    """``told``: where each instance's figures of it stand; ``now``: of those that live."""
    now_or_last = now or told
    weights = [f.weights[i] for f, i in now_or_last]
    return TypeRow(
        name,
        min((f.distances[i] for f, i in now if f.distances[i] >= 0), default=-1),
        weights[0],
        any(weight != weights[0] for weight in weights),
        fsum(f.factors[i] for f, i in now_or_last) / len(now_or_last),
        fsum(f.probabilities[i] for f, i in now) / MILLION / living,
        sum(f.picks[i] for f, i in told),
        sum(f.matches[i] for f, i in told),
        sum(f.misses[i] for f, i in told),
        sum(f.new_arms[i] for f, i in told),
    )


def weights(state: State, name: str, instance: str = "") -> dict[str, float]:
    """What a type weighs in each instance that lives (in each, if none does)."""
    return {
        f.instance: f.weights[f.names.index(name)] if name in f.names else 1.0
        for f in _living(state, instance)
    }


def targets_left(state: State) -> dict[str, TargetRow]:
    """Targets by location that are left in every instance: the frontier first, ignored ones last.

    Engines tell of some hundreds: what is beyond those may be left, too, so of an instance that
    has more than it tells of only what it tells counts. So it does of one that has loaded less of
    the program than another.
    """
    living = _living(state)
    pinned, ignored = {f.pinned for f in living}, _ignored(living)
    whole = _whole(state).values()
    found: dict[str, list[tuple[int, UncoveredGoal]]] = {}
    for name, left in list(state.left.items()):
        for location, row in left.items():
            found.setdefault(location, []).append((state.asked[name], row))
    rows = [
        _target_row(location, each, location in pinned, location in ignored)
        for location, each in found.items()
        if all(location in left for left in whole)
    ]
    rows.sort(key=lambda row: (row.ignored, not row.frontier))
    return {row.location: row for row in rows}


def _whole(state: State) -> dict[str, dict[str, UncoveredGoal]]:
    """What instances have left that tell of all that they have not covered of all targets."""
    most = max((f.targets for f in list(state.types.values())), default=0)

    def is_whole(name: str, left: dict[str, UncoveredGoal]) -> bool:
        figures = state.types.get(name)
        return figures is None or (figures.targets >= most and figures.uncovered <= len(left))

    return {name: left for name, left in list(state.left.items()) if is_whole(name, left)}


def _ignored(living: list[TargetingStats]) -> set[str]:
    return {location for f in living for location in f.ignored}


def _target_row(
    location: str, each: list[tuple[int, UncoveredGoal]], pinned: bool, ignored: bool
) -> TargetRow:
    """``each``: the row of an instance, and of how many trials it could tell by now."""
    return TargetRow(
        location,
        any(row.frontier for _, row in each),
        sum(row.reached for _, row in each),
        # Had any of the trials since reached it for the first time, that would have been told.
        sum(row.asked if row.reached else asked for asked, row in each),
        each[0][1].types,
        pinned,
        ignored,
    )


def aim(state: State) -> Aim | None:
    """What is aimed at; None: no spoton instance has reported types."""
    living, every = _living(state), list(state.types.values())
    if not every:
        return None
    # Who has loaded the least of the program knows of the fewest targets.
    best = min(every, key=lambda f: (-f.targets, f.uncovered))
    uncovered, frontier, whole = best.uncovered, best.frontier, _whole(state)
    if best.instance in whole:
        left = set(whole[best.instance]).intersection(*whole.values())
        if len(left) < uncovered:
            near = {at for rows in list(state.left.values()) for at in left & rows.keys()
                    if rows[at].frontier}  # fmt: skip
            uncovered, frontier = len(left), len(near)
    return Aim(
        fsum(f.targeted for f in living) / len(living),
        next((f.pinned for f in living if f.pinned), ""),
        best.targets,
        uncovered,
        frontier,
        tuple(sorted(_ignored(living))),
        tuple(sorted({file for f in living for file in f.changed})),
    )


def stale(state: State) -> str:
    """What has changed since its types were analysed, and what helps; "" if nothing has."""
    now = aim(state)
    changed = now.changed if now else ()
    return stale_message(changed, over=state.state in ENDED) if changed else ""


def pending_types(state: State) -> list[tuple[CommandStatus, Steering]]:
    """What was asked for about types and is not answered yet, oldest first."""
    waiting = (c for c in list(state.commands.values()) if c.state == "pending")
    return [(status, command) for status in waiting if (command := steering_of(status))]


def reached_share(row: TargetRow) -> float:
    """How many of the trials that were asked came to the target's decision; -1 if none was."""
    return row.reached / row.asked if row.asked else -1.0


# ---------------------------------------------------------------------- JSON

LIKELIEST = 5
"""Types that the status names."""


def aim_dict(state: State) -> dict[str, Any] | None:
    """``types`` of ``fuzztui status --json``; None where no instance has reported types."""
    now = aim(state)
    if now is None:
        return None
    rows = list(types(state).values())
    return {
        "targeted": round(now.targeted, 6),
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
        "pending": [encode_command(command) for _, command in pending_types(state)],
    }


def types_dict(state: State) -> dict[str, Any] | None:
    """``fuzztui types --json``: the same, and all types and targets that are left."""
    now = aim_dict(state)
    if now is None:
        return None
    return {
        **now,
        "types": [_type_dict(row) for row in types(state).values()],
        "left": [_target_dict(row) for row in targets_left(state).values()],
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


def _target_dict(row: TargetRow) -> dict[str, Any]:
    return {
        "location": row.location,
        "frontier": row.frontier,
        "pinned": row.pinned,
        "ignored": row.ignored,
        "reached": row.reached,
        "asked": row.asked,
        "types": [{"name": name, "distance": distance} for name, distance in row.types],
    }
