"""Fold the worklist and the phases of a fuzz-first campaign."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fuzztui.model.changes import ChangesBuilder
from fuzztui.model.mutants import bare, changed, put
from fuzztui.model.mutators import turn_over
from fuzztui.model.progress import together
from fuzztui.model.state import State
from fuzztui.model.stats import count, finite
from fuzztui.wire.events import MutantPositions, MutantProgress, PhaseStarted

_FUZZING = "fuzzing"
_OVER = ("done", "refused")

_MAX_NAMES = 50
"""Maximum number of named values of one mutant, or of the plan."""


def stage_started(state: State, e: PhaseStarted, touched: ChangesBuilder) -> None:
    """Set the phase and the budget plan."""
    if e.stage != state.stage:
        state.stage, state.stage_t = e.stage, state.t
    if e.plan:
        state.plan = _reals(e.plan)
    touched.campaign = True


def mutant_stage(state: State, e: MutantProgress, touched: ChangesBuilder) -> None:
    """Set the progress, costs and results of a mutant."""
    before = state.mutants.get(e.id)
    row = before or bare(state, e.id)
    now = _running(state)
    changes: dict[str, Any] = {
        "stage": e.stage,
        "slot": e.slot or row.slot,
        "reason": e.reason or ("" if e.stage == "queued" else row.reason),
        "costs": {**row.costs, **_reals(e.costs)},
        "brought": {**row.brought, **_wholes(e.brought)},
    }
    if e.stage == _FUZZING and row.stage != _FUZZING:
        changes["begun"] = now
    elif e.stage == "queued":  # a new turn; the original keeps what was transferred
        earlier = together(row.earlier, row.brought)
        changes |= {"begun": -1.0, "fuzzed_s": 0.0, "slot": "", "brought": {}, "earlier": earlier}
    elif row.stage == _FUZZING and e.stage != _FUZZING and row.begun >= 0:
        changes["fuzzed_s"] = row.fuzzed_s + max(0.0, now - row.begun)
    put(state, changed(row, changes), before, touched)
    touched.campaign = True
    if e.stage in _OVER:
        _forget_seeds(state, e.id)
        turn_over(state, e.id)


def _forget_seeds(state: State, key: str) -> None:
    """Keep only those seeds of a turn that are parents: a campaign has thousands of turns."""
    for instance in [i for i in state.instances.values() if i.mutant == key and i.origins]:
        rows = state.entries.values()
        made_of = {str(n) for row in rows if row.instance == instance.id for n in row.src}
        instance.origins = {k: v for k, v in instance.origins.items() if k in made_of}


def mutant_places(state: State, e: MutantPositions, touched: ChangesBuilder) -> None:
    """Set positions in the worklist; ids of unknown mutants are ignored."""
    for key, place in e.places.items():
        before = state.mutants.get(key)
        if before is not None and type(place) in (int, float):
            put(state, changed(before, {"place": finite(place)}), before, touched)


def _running(state: State) -> float:
    """Running time, as in :func:`fuzztui.model.selectors.running_time`."""
    return (state.t if state.paused_at < 0 else state.paused_at) - state.paused_s


def _reals(figures: Mapping[str, Any]) -> dict[str, float]:
    items = list(figures.items())[:_MAX_NAMES]
    return {name: finite(value) for name, value in items if type(value) in (int, float)}


def _wholes(figures: Mapping[str, Any]) -> dict[str, int]:
    items = list(figures.items())[:_MAX_NAMES]
    return {name: count(value) for name, value in items if type(value) is int}
