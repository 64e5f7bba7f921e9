"""Text about the worklist of mutants: budgets, turns, transferred inputs. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from fuzztui.features.fuzzfirst.screen.worklist import FuzzfirstSummary
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.progress import verdict as judgement
from fuzztui.kernel.model.state import Mutant
from fuzztui.kernel.wire.finding_kinds import UNDESCRIBED
from fuzztui.tui.base import format
from fuzztui.tui.labels.mutants import SIGNS

BROUGHT = (
    ("entries", "entry", "entries"),
    ("edges", "edge", "edges"),
    *((folder, kind.noun, kind.plural) for folder, kind in UNDESCRIBED.items()),
)
"""What a mutant's corpus can transfer to the target: key, singular, plural."""

SMALL_S = 10
"""Seconds; smaller budgets are shown with tenths of a second."""

STEP_S = 5
"""Step in seconds by which waiting times from one minute on are shown."""

BUDGET_ENDS, ROUND_ENDS = "▔ budget ends", "▔ round ends"
"""Shown at the first mutant that will not get a turn, or none in this round."""


def allowed(of: float, *, trials: bool) -> str:
    """Return a rounded budget: 119.9 s are two minutes. (The used part is not rounded.)"""
    if trials:
        return format.count(round(of))
    return format.span(round(of)) if round(of) >= SMALL_S else f"{of:.1f}s"


def spent_text(used: float, of: float, *, trials: bool) -> str:
    """Return the used part and the budget: ``12s of 2m``."""
    spent = format.count(round(used)) if trials else format.span(used)
    if not trials and round(of) < SMALL_S:
        spent = f"{used:.1f}s"
    return f"{spent} of {allowed(of, trials=trials)}"


def used_text(used: float, of: float, *, trials: bool) -> str:
    """Return the used part and the budget as a clock; only the used part without a budget."""
    if trials:
        spent = format.count(round(used))
        return f"{spent}/{format.count(round(of))}" if of > 0 else spent
    if of > 0 and round(of) < SMALL_S:
        return f"{used:.1f}/{of:.1f}s"
    return f"{_colon(used)}/{_colon(round(of))}" if of > 0 else _colon(used)


def _colon(seconds: float) -> str:
    text = format.clock(seconds)
    return text.removeprefix("0:") if seconds < 3600 else text


def turn_text(wait: float | None, number: int, first: FuzzfirstSummary) -> str:
    """Return when a waiting mutant gets its turn; an empty string if it gets none."""
    if first.between:
        return "when stuck"
    left = first.view.left if first.can_run else -1  # no mutant gets a turn any more
    trials = first.view.trials
    if wait is None:
        ends = BUDGET_ENDS if first.round < 0 else ROUND_ENDS
        return ends if number == left + 1 else ""
    if trials:
        return f"in {format.count(round(wait))}" if wait >= 1 else "next"
    return f"in {_coarse(wait)}" if wait >= 1 else "next"


def _coarse(seconds: float) -> str:
    """Exact enough to distinguish rows, coarse enough that a table needs few redraws."""
    if seconds >= 3600:
        return format.brief(seconds)
    return format.span(seconds if seconds < 60 else seconds // STEP_S * STEP_S)


def transferred_text(brought: Mapping[str, int]) -> str:
    """Return what was transferred to the target; an empty string if nothing."""
    parts = [
        several(brought[name], one, many) for name, one, many in BROUGHT if brought.get(name, 0) > 0
    ]
    return ", ".join(parts)


def roadblock_text(mutant: Mutant) -> str:
    """Return how much a mutant's roadblock hides; an empty string if it changes none."""
    if mutant.hides <= 0:
        return ""
    at = f" (line {mutant.roadblock})" if mutant.roadblock != mutant.line else ""
    hidden = several(mutant.hides, "line was", "lines were")
    return f"a roadblock{at}: when it was ranked, {hidden} never executed behind it"


def earlier_text(mutant: Mutant) -> str:
    """Return what a mutant transferred before it was requeued; an empty string if nothing."""
    parts = (
        [f"{words} to the target"] if (words := transferred_text(mutant.earlier_results)) else []
    )
    if kills := mutant.earlier_results.get("kills", 0):
        parts.append(f"{several(kills, 'input')} killed it")
    return "; ".join(parts)


def verdict(mutant: Mutant) -> tuple[str, str]:
    """Return text and style of the verdict; empty strings if there is none."""
    word = judgement(mutant)
    if not word and mutant.state == "equivalent" and mutant.stage == "done":
        word = "equivalent"
    return (f"{SIGNS[word].glyph} {word}", word) if word else ("", "")


def phase_text(first: FuzzfirstSummary) -> str:
    """Return which phase it is."""
    here = first.stage == "mutants"
    if first.round < 0:
        return f"phase {1 if here else 2} of 2"
    return f"round {first.round}" if here else f"after round {first.round}"


def eta_text(first: FuzzfirstSummary) -> str:
    """Return when the other phase begins; an empty string if unknown."""
    view = first.view
    if not first.can_run:
        return ""
    if first.between:
        return "mutants when stuck"
    if view.eta_s >= 0:
        return f"target in {format.span(view.eta_s)}"
    if view.trials:
        return f"target after {format.count(round(max(0.0, view.of - view.used)))} execs"
    return ""


def remaining_text(first: FuzzfirstSummary) -> str:
    """Return how many more mutants the budget allows."""
    view = first.view
    if not first.can_run:
        return f"{several(view.waiting, 'mutant')} got no turn" if view.waiting else ""
    if not view.waiting:
        return "no mutant is waiting"
    if first.between:
        return f"{several(view.waiting, 'mutant')} for the next rounds"
    what = "budget" if first.round < 0 else "round"
    if view.left >= view.waiting:
        return f"the {what} allows all {view.waiting:,} waiting mutants"
    return f"the {what} allows {view.left:,} of {view.waiting:,} waiting mutants"
