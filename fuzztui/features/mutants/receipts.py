"""How the effects of commands about mutants are measured. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from fuzztui.features.fuzzfirst.fold import fuzzed_for
from fuzztui.kernel.model.progress import together
from fuzztui.kernel.model.receipts import ABOUT, AT_LEAST, Meter, ReceiptFigure
from fuzztui.kernel.model.selectors import running_time
from fuzztui.kernel.model.state import CommandEffect, State
from fuzztui.kernel.wire.commands import (
    Command,
    MarkEquivalent,
    MoveMutants,
    MutantCommand,
    PromoteMutants,
    RequeueMutants,
    RestoreMutants,
    SkipMutants,
)
from fuzztui.kernel.wire.selection import selection_of

_ROWS_A_RECORD: Final = 10
"""Mutants whose selection costs about as much as the fold of an ordinary record."""

_MAX_S: Final = 1e12
_DEAD: Final = ("killed", "invalid")
_OF_DEAD: Final = (RequeueMutants, RestoreMutants)
"""Commands of mu2 that change mutants in these states, too."""


def _selected(command: MutantCommand, state: State) -> list[str]:
    selection = selection_of({"select": command.select})
    if selection is None:
        return []
    if (named := selection.named) is not None:
        rows = [state.mutants[key] for key in named if key in state.mutants]
    else:
        state.cost += len(state.mutants) // _ROWS_A_RECORD
        rows = selection.of(state.mutants.values())
    return [m.id for m in rows if m.stage or isinstance(command, _OF_DEAD) or m.state not in _DEAD]


def _figures(state: State, key: str, effect: CommandEffect) -> list[float]:
    """Runs, time of the kill (-1: none), and of fuzz-first: when its turn began, seconds of
    fuzzing, and edges that it brought.
    """
    if (m := state.mutants.get(key)) is None:
        return []
    runs = sum(counts[2] for name, counts in m.counts.items() if name not in effect.awaited)
    killed = m.killed_t if m.state == "killed" else -1.0
    if not m.stage:
        return [runs, killed, -1.0, 0.0, 0]
    results = together(m.earlier_results, m.turn_results)
    return [runs, killed, m.turn_began_s, fuzzed_for(state, m), max(0, results.get("edges", 0))]


def _work(state: State) -> list[float]:
    """Seconds and number of all runs of mutants, and running time."""
    every = list(state.mutation.values())
    return [sum(f.mutants_s for f in every), sum(f.runs for f in every), running_time(state)]


def _bounded(seconds: float) -> float:
    """Return seconds within bounds, for any numbers of a log: in this order NaN is 0."""
    return min(max(0.0, seconds), _MAX_S)


def _since(
    then: Sequence[float], now: Sequence[float], before: Sequence[float], after: Sequence[float]
) -> list[float]:
    """Runs then and now, kills, seconds spent and saved; and turns, seconds, edges of fuzz-first.

    A run takes as long as all others do on average.
    """
    runs, killed, began, fuzzed, edges = then
    runs_now, killed_now, began_now, fuzzed_now, edges_now = now
    seconds, number, running = (b - a for a, b in zip(before, after, strict=True))
    spent = seconds / number * max(0.0, runs_now - runs) if number > 0 else 0.0
    rate = before[0] / before[1] * runs / before[2] if before[1] and before[2] > 0 else 0.0
    kill = int(killed_now >= 0 and killed_now != killed)
    turn = int(began_now >= 0 and began_now != began)
    fuzzing = fuzzed_now if turn else fuzzed_now - fuzzed
    return [
        runs, max(runs + kill, runs_now), kill, _bounded(spent), _bounded(rate * running), turn,
        _bounded(fuzzing), max(0, edges_now - edges),
    ]  # fmt: skip


def _spent(state: State, sums: Sequence[float]) -> list[ReceiptFigure]:
    runs, now, kills, spent, _, turns, fuzzing, edges = sums
    if state.stage:
        least = AT_LEAST if "round" in state.plan else ""  # a mutant may have several turns
        return [
            ReceiptFigure("turns", turns, how=least),
            ReceiptFigure("of fuzzing", fuzzing, how=least, unit="s"),
            ReceiptFigure("kills", kills),
            ReceiptFigure("edges brought", edges),
        ]
    return [
        # Engines report counts when they have doubled.
        ReceiptFigure("runs", now, runs, AT_LEAST if now != runs else ""),
        ReceiptFigure("kills", kills),
        ReceiptFigure("spent", spent, how=ABOUT, unit="s"),
    ]


def _saved(state: State, sums: Sequence[float]) -> list[ReceiptFigure]:
    """The figures of mutants that are not run any more; their kills are those of earlier runs."""
    if state.stage:
        return _spent(state, sums)
    return [*_spent(state, sums)[:2], ReceiptFigure("saved", sums[4], how=ABOUT, unit="s")]


_SPENT = Meter("mutant", _figures, _spent, _selected, _since, _work)
_SAVED = replace(_SPENT, show=_saved)
_AGAIN = replace(  # runs are counted from 0 again
    _SPENT, compare=lambda then, now, *around: _since([0.0, *then[1:]], now, *around)
)

RECEIPTS: Mapping[type[Command], Meter] = {
    **dict.fromkeys((PromoteMutants, MoveMutants, RestoreMutants), _SPENT),
    **dict.fromkeys((SkipMutants, MarkEquivalent), _SAVED),
    RequeueMutants: _AGAIN,
}
