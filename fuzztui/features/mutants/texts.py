"""Mutants, their kills and the statistics of mutation analysis, as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuzztui.kernel.base.text import several
from fuzztui.kernel.wire.events import Event, MutantRuns, MutantsFound, MutantState, MutationStats
from fuzztui.tui.base.themes import SEMANTIC
from fuzztui.tui.labels.events import MUTANTS, STATS, Described


def _found(event: MutantsFound) -> Described:
    text = f"{len(event.mutants):,} in {event.file or event.module}"
    return Described("mutants", text, "muted", event.instance, MUTANTS)


def _state(event: MutantState) -> Described:
    text = event.id
    if event.state == "killed":
        text += f"  by {event.killer}" if event.killer else ""
        text += f"  ({event.oracle})" if event.oracle else ""
        text += f"  {event.detail}" if event.detail else ""
    else:
        text += f"  {event.state}" + (f": {event.reason}" if event.reason else "")
        text += f"  {event.steer}" if event.steer else ""
    style = event.state if event.state in SEMANTIC else "muted"
    label = "kill" if event.state == "killed" else "mutant"
    return Described(label, text, style, event.instance, MUTANTS)


def _runs(event: MutantRuns) -> Described:
    text = f"runs of {several(len(event.runs), 'mutant')}"
    return Described("mutants", text, "muted", event.instance, STATS)


def _analysis(event: MutationStats) -> Described:
    text = (
        f"{several(event.runs, 'run')}  program {event.original_s:.1f}s  mutants "
        f"{event.mutants_s:.1f}s  compiling {event.compile_s:.1f}s  "
        f"rest {event.rest_s:.1f}s"
    )
    return Described("analysis", text, "muted", event.instance, STATS)


def texts() -> dict[type[Event], Callable[[Any], Described]]:
    """Return the functions that describe events as text, by class of event."""
    return {
        MutantsFound: _found,
        MutantState: _state,
        MutantRuns: _runs,
        MutationStats: _analysis,
    }
