"""The queue of mutants in words: budgets, turns, what one brought. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from fuzztui.base.text import several
from fuzztui.model.fuzzfirst import verdict as judgement
from fuzztui.model.state import Mutant
from fuzztui.tui.base import format
from fuzztui.tui.labels.mutants import SIGNS
from fuzztui.tui.labels.worklist import FuzzfirstSummary

__all__ = [
    "BROUGHT",
    "allowed",
    "brought_words",
    "earlier_words",
    "eta_words",
    "left_words",
    "spent_words",
    "turn_words",
    "used_words",
    "verdict",
]

BROUGHT = (
    ("entries", "entry", "entries"),
    ("edges", "edge", "edges"),
    ("crashes", "crash", "crashes"),
    ("hangs", "hang", "hangs"),
)
"""What a mutant's corpus can bring to the target: name, and the words for one and for many."""

SMALL_S = 10
"""Of budgets below, tenths of a second are told."""

STEP_S = 5
"""Between two waits of a minute and more that are told."""

BUDGET_ENDS = "▔ budget ends"
"""Of the first mutant that will not have its turn."""


def allowed(of: float, *, trials: bool) -> str:
    """A budget, rounded: 119.9 s are two minutes. (What is used of one is not.)"""
    if trials:
        return format.count(round(of))
    return format.span(round(of)) if round(of) >= SMALL_S else f"{of:.1f}s"


def spent_words(used: float, of: float, *, trials: bool) -> str:
    """How much of a budget is used, in words."""
    spent = format.count(round(used)) if trials else format.span(used)
    if not trials and round(of) < SMALL_S:
        spent = f"{used:.1f}s"
    return f"{spent} of {allowed(of, trials=trials)}"


def used_words(used: float, of: float, *, trials: bool) -> str:
    """How much of its budget one has used, as a clock; without a budget just that."""
    if trials:
        spent = format.count(round(used))
        return f"{spent}/{format.count(round(of))}" if of > 0 else spent
    if of > 0 and round(of) < SMALL_S:
        return f"{used:.1f}/{of:.1f}s"
    return f"{_colon(used)}/{_colon(round(of))}" if of > 0 else _colon(used)


def _colon(seconds: float) -> str:
    text = format.clock(seconds)
    return text.removeprefix("0:") if seconds < 3600 else text


def turn_words(wait: float | None, number: int, left: int, *, trials: bool) -> str:
    """When a waiting mutant has its turn, if it will have one."""
    if wait is None:
        return BUDGET_ENDS if number == left + 1 else ""
    if trials:
        return f"in {format.count(round(wait))}" if wait >= 1 else "next"
    return f"in {_coarse(wait)}" if wait >= 1 else "next"


def _coarse(seconds: float) -> str:
    """So exact that rows differ, in steps so coarse that a table of them costs little to redraw."""
    if seconds >= 3600:
        return format.brief(seconds)
    return format.span(seconds if seconds < 60 else seconds // STEP_S * STEP_S)


def brought_words(brought: Mapping[str, int]) -> str:
    """What came to the target, "" for nothing."""
    parts = [
        several(brought[name], one, many) for name, one, many in BROUGHT if brought.get(name, 0) > 0
    ]
    return ", ".join(parts)


def earlier_words(mutant: Mutant) -> str:
    """What it came to before it was queued again, "" for nothing."""
    parts = [f"{words} to the target"] if (words := brought_words(mutant.earlier)) else []
    if kills := mutant.earlier.get("kills", 0):
        parts.append(f"{several(kills, 'input')} killed it")
    return "; ".join(parts)


def verdict(mutant: Mutant) -> tuple[str, str]:
    """Whether it was killed, if there is anything to say: (words, style)."""
    word = judgement(mutant)
    if not word and mutant.state == "equivalent" and mutant.stage == "done":
        word = "equivalent"
    return (f"{SIGNS[word].glyph} {word}", word) if word else ("", "")


def eta_words(first: FuzzfirstSummary) -> str:
    """When the target's turn comes, in words; "" where nobody can tell."""
    view = first.view
    if first.stage != "mutants":
        return ""
    if view.eta_s >= 0:
        return f"target in {format.span(view.eta_s)}"
    if view.trials:
        return f"target after {format.count(round(max(0.0, view.of - view.used)))} execs"
    return ""


def left_words(first: FuzzfirstSummary) -> str:
    """How many more mutants the budget allows."""
    view = first.view
    if first.stage != "mutants":
        return f"{several(view.waiting, 'mutant')} had no turn" if view.waiting else ""
    if not view.waiting:
        return "no mutant waits"
    if view.left >= view.waiting:
        return f"the budget allows all {view.waiting:,} that wait"
    return f"the budget allows {view.left:,} of {view.waiting:,} that wait"
