"""The queue of mutants in words: budgets, turns, what one brought. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from fuzztui.model.first import WAITING
from fuzztui.model.state import Mutant
from fuzztui.tui import figures
from fuzztui.tui.mutants import SIGNS
from fuzztui.tui.turns import First
from fuzztui.wire.text import several

__all__ = [
    "BROUGHT",
    "amount",
    "brought_words",
    "count_words",
    "eta_words",
    "left_words",
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

BUDGET_ENDS = "▔ budget ends"
"""Of the first mutant that will not have its turn."""


def amount(n: float, *, trials: bool) -> str:
    """So much of a budget."""
    return f"{figures.count(round(n))}" if trials else figures.span(n)


def used_words(used: float, of: float, *, trials: bool) -> str:
    """How much of its budget one has used; without a budget just that."""
    if trials:
        spent = figures.count(round(used))
        return f"{spent}/{figures.count(round(of))}" if of > 0 else spent
    return f"{_colon(used)}/{_colon(of)}" if of > 0 else _colon(used)


def _colon(seconds: float) -> str:
    text = figures.clock(seconds)
    return text.removeprefix("0:") if seconds < 3600 else text


def turn_words(wait: float | None, number: int, left: int, *, trials: bool) -> str:
    """When a waiting mutant has its turn, if it will have one."""
    if wait is None:
        return BUDGET_ENDS if number == left + 1 else ""
    if trials:
        return f"in {figures.count(round(wait))}" if wait >= 1 else "next"
    return f"in {figures.brief(wait)}" if wait >= 1 else "next"


def brought_words(brought: Mapping[str, int]) -> str:
    """What came to the target, "" for nothing."""
    parts = [
        several(brought[name], one, many) for name, one, many in BROUGHT if brought.get(name, 0) > 0
    ]
    return ", ".join(parts)


def verdict(mutant: Mutant) -> tuple[str, str]:
    """Whether it was killed; nothing of one that was not tried: (words, style)."""
    if mutant.state == "killed":
        return f"{SIGNS['killed'].glyph} killed", "killed"
    if mutant.state in ("skipped", "equivalent") and mutant.stage not in WAITING:
        return f"{SIGNS[mutant.state].glyph} {mutant.state}", mutant.state
    if mutant.state == "alive" or (mutant.stage == "done" and mutant.state == "pending"):
        return f"{SIGNS['alive'].glyph} alive", "alive"
    return "", ""


def eta_words(first: First) -> str:
    """When the target's turn comes, in words; "" where nobody can tell."""
    view = first.view
    if first.stage != "mutants":
        return ""
    if view.eta_s >= 0:
        return f"target in {figures.span(view.eta_s)}"
    if view.trials:
        return f"target after {figures.count(round(max(0.0, view.of - view.used)))} execs"
    return ""


def left_words(first: First) -> str:
    """How many more mutants the budget allows."""
    view = first.view
    if first.stage != "mutants":
        return f"{several(view.waiting, 'mutant')} had no turn" if view.waiting else ""
    if not view.waiting:
        return "no mutant waits"
    if view.left >= view.waiting:
        return f"the budget allows all {view.waiting:,} that wait"
    return f"the budget allows {view.left:,} of {view.waiting:,} that wait"


def count_words(first: First) -> str:
    """How many had their turn, in a few words."""
    return f"{several(first.phases['done'], 'mutant')} fuzzed"
