"""Folding mutants: found once, judged by every instance, counted by each for itself.

Each instance has its own corpus, and so its own opinion of a mutant; a row shows one
word for all of them:

* killed by one stays killed, whatever others, who have not got there, say of it; who
  killed it first keeps the honour;
* an instance may always take back its own word (after a requeue, say);
* skipped and equivalent are a user's word: they replace any other, and any other
  replaces them.
"""

from __future__ import annotations

from dataclasses import fields, replace
from operator import attrgetter
from typing import Any, Final

from fuzztui.model.changes import ChangesBuilder, instance
from fuzztui.model.state import MUTANT_STATES, Mutant, State
from fuzztui.model.stats import count, finite, series
from fuzztui.wire.events import MutantRuns, MutantsFound, MutantState, MutationStats

__all__ = [
    "bare",
    "changed",
    "mutant_runs",
    "mutant_state",
    "mutants_found",
    "mutation_stats",
    "put",
]

_names = tuple(f.name for f in fields(Mutant))
_values = attrgetter(*_names)
_index = {name: i for i, name in enumerate(_names)}

_KILLED: Final = "killed"
_NO_NEWS: Final = frozenset({"pending", "alive", "invalid", _KILLED})
"""What others say of a mutant that one instance killed changes nothing."""


def changed(row: Mutant, changes: dict[str, Any]) -> Mutant:
    """The row with some fields replaced, three times as fast as ``dataclasses.replace``."""
    values = list(_values(row))
    for name, value in changes.items():
        values[_index[name]] = value
    return Mutant(*values)


def put(state: State, row: Mutant, before: Mutant | None, touched: ChangesBuilder) -> None:
    """Make ``row`` the row of its id; counts and the series of kills go along."""
    state.mutants[row.id] = row
    touched.mutants.add(row.id)
    state.static_mutants += row.static - (before is not None and before.static)
    if before is not None and before.state == row.state:
        return
    touched.campaign = True
    counts = state.mutant_counts
    counts[row.state] = counts.get(row.state, 0) + 1
    if before is not None:
        counts[before.state] -= 1
    kills = series(state, "killed")
    killed = counts.get(_KILLED, 0)
    if not kills.values or killed != kills.last:
        kills.add(state.t, killed)


def bare(state: State, key: str) -> Mutant:
    """A mutant of which nothing is known but its id."""
    return Mutant(key, "", "", "", -1, "", "", "", "", state.t, state.seq)


def _text(item: dict[str, Any], name: str) -> str:
    value = item.get(name)
    return value if isinstance(value, str) else ""


def mutants_found(state: State, e: MutantsFound, touched: ChangesBuilder) -> None:
    """Where mutants are. Told again (the program was edited meanwhile) they may have moved."""
    if e.instance:
        instance(state, e.instance, touched)
    for item in e.mutants:
        key = item.get("id") if isinstance(item, dict) else None
        if not isinstance(key, str) or not key:
            continue
        before = state.mutants.get(key)
        line = item.get("line")
        place = {
            "module": e.module,
            "file": e.file,
            "path": e.path,
            "line": count(line) if type(line) is int else -1,
            "function": _text(item, "function"),
            "operator": _text(item, "operator"),
            "before": _text(item, "before"),
            "after": _text(item, "after"),
            "static": item.get("static") is True,
        }
        if "place" in item:
            spot = item["place"]
            place |= {"place": finite(spot) if type(spot) in (int, float) else 0.0}
            place["stage"] = (before.stage if before else "") or "queued"
        row = changed(before or bare(state, key), place)
        if row != before:
            put(state, row, before, touched)


def mutant_state(state: State, e: MutantState, touched: ChangesBuilder) -> None:
    """An instance's word on a mutant; the rules are above."""
    if e.instance:
        instance(state, e.instance, touched)
    before = state.mutants.get(e.id)
    row = before or bare(state, e.id)
    word = e.state if e.state in MUTANT_STATES else "pending"
    if row.state == _KILLED and row.instance != e.instance and word in _NO_NEWS:
        return
    killed_t = -1.0
    if word == _KILLED:
        killed_t = row.killed_t if row.state == _KILLED else state.t
    row = replace(
        row,
        state=word,
        instance=e.instance,
        killer=e.killer,
        oracle=e.oracle,
        trial=count(e.trial),
        killed_t=killed_t,
        detail=e.detail,
        # What became of its turn stays said when it is judged.
        reason=e.reason or (row.reason if row.stage and word in ("alive", _KILLED) else ""),
        steer=e.steer,
    )
    put(state, row, before, touched)


def mutant_runs(state: State, e: MutantRuns, touched: ChangesBuilder) -> None:
    """How often an instance has met mutants so far."""
    instance(state, e.instance, touched)
    for key, figures in e.runs.items():
        if not isinstance(figures, list) or len(figures) != 3 or not key:
            continue
        if not all(type(figure) is int for figure in figures):
            continue
        before = state.mutants.get(key)
        row = before or bare(state, key)
        known = [max(count(figure), 0) for figure in figures]
        row = changed(row, {"counts": {**row.counts, e.instance: known}})
        put(state, row, before, touched)


_reals = [f.name for f in fields(MutationStats) if f.type == "float"]
_whole = [f.name for f in fields(MutationStats) if f.type == "Count"]


def mutation_stats(state: State, e: MutationStats, touched: ChangesBuilder) -> None:
    """An instance's figures of mutation analysis, in place of its former ones."""
    instance(state, e.instance, touched)
    figures: dict[str, Any] = {name: finite(getattr(e, name)) for name in _reals}
    figures |= {name: max(count(getattr(e, name)), 0) for name in _whole}
    figures["share"] = finite(e.share, -1.0)
    state.mutation[e.instance] = replace(e, **figures)
    touched.campaign = True
