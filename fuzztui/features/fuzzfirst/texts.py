"""The phases and turns of a fuzz-first campaign, as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuzztui.features.fuzzfirst.screen.worklist_text import transferred_text
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.stats import finite
from fuzztui.kernel.wire.events import Event, MutantPositions, MutantProgress, PhaseStarted
from fuzztui.tui.labels.events import MUTANTS, Described

TURNS = {
    "queued": "waits for its turn",
    "building": "is being built",
    "built": "is built and waits for its turn",
    "pruning": "starts its turn: inputs on which it fails are pruned",
    "fuzzing": "is being fuzzed",
    "collecting": "has ended its turn: its inputs are being transferred",
    "done": "is done",
    "failed": "does not build",
    "dropped": "is a duplicate",
    "refused": "is rejected",
}
"""Text for each progress of a mutant."""

_TURN_STYLES = {
    "fuzzing": "running", "done": "finished", "failed": "failed", "refused": "hang",
}  # fmt: skip


def _phase(event: PhaseStarted) -> Described:
    text, why = "the target is being fuzzed", event.reason
    if event.stage == "mutants":
        text, why = "mutants are being fuzzed", event.reason or _plan(event.plan)
    number = event.plan.get("round")
    if event.stage == "mutants" and event.reason and isinstance(number, int | float):
        text = f"{text}, round {finite(number):.0f} ({why})"
    else:
        text += f": {why}" if why else ""
    return Described("phase", text, "running")


def _plan(plan: dict[str, Any]) -> str:
    """What the budget allows, as far as the plan contains it."""
    known = {name: finite(n) for name, n in plan.items() if type(n) in (int, float)}
    words = []
    if "count" in known:
        words.append(f"the budget allows about {several(int(known['count']), 'mutant')}")
    if "listed" in known and "made" in known:
        words.append(f"{int(known['listed']):,} of {int(known['made']):,} are listed")
    if known.get("messages"):
        words.append(f"{int(known['messages']):,} in docstrings and messages are left out")
    return "; ".join(words)


def _progress(event: MutantProgress) -> Described:
    style = _TURN_STYLES.get(event.stage, "muted")
    text = f"{event.id}  {progress_text(event)}"
    return Described("mutant", text, style, event.slot, MUTANTS)


def progress_text(event: MutantProgress) -> str:
    """Return the progress of a mutant, as text that follows its id."""
    text = TURNS.get(event.stage, event.stage)
    if event.stage == "done":
        reported = {k: v for k, v in event.brought.items() if type(v) is int}
        text += f": {transferred_text(reported) or 'nothing new'} for the target"
        text += f", {several(reported['kills'], 'kill')}" if reported.get("kills", 0) > 0 else ""
    elif event.reason:
        text += f": {event.reason.strip().partition(chr(10))[0]}"
    return text


def _positions(event: MutantPositions) -> Described:
    text = f"{several(len(event.places), 'mutant')} moved in the worklist"
    return Described("worklist", text, "muted", "", MUTANTS)


def texts() -> dict[type[Event], Callable[[Any], Described]]:
    """Return the functions that describe events as text, by class of event."""
    return {PhaseStarted: _phase, MutantProgress: _progress, MutantPositions: _positions}
