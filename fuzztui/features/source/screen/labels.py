"""Text and glyphs for lines of source code: coverage, mutants, findings, goals. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fuzztui.features.source.fold import COVERED, FINDING, FRONTIER, NEVER, PARTLY
from fuzztui.features.targeting.fold import GoalRow
from fuzztui.kernel.model.state import Finding, Mutant
from fuzztui.tui.base.columns import Cell
from fuzztui.tui.labels.mutants import SIGNS
from fuzztui.tui.labels.states import finding_sign

GUTTER: Final[dict[str, Cell]] = {
    COVERED: ("█", "valid"),
    PARTLY: ("▒", "pending"),
    FINDING: ("╳", "bold crash"),
    FRONTIER: ("◆", "bold alive"),
    NEVER: ("░", "muted"),
}
"""Glyph and style by the state of a line. Colour is never the only difference."""

MEANINGS: Final[dict[str, str]] = {
    COVERED: "executed, and every branch that begins here was taken",
    PARTLY: "executed, but a branch that begins here was never taken",
    FINDING: "reached by a finding only: executed by no queue entry, so not covered",
    FRONTIER: "never executed, but the decision before it was",
    NEVER: "never executed",
}


def mutants_cell(mutants: Iterable[Mutant]) -> Cell:
    """Return the numbers of mutants by state, survivors first: ``●1 ◌2 ✓3``."""
    counts: dict[str, int] = {}
    for mutant in mutants:
        counts[mutant.state] = counts.get(mutant.state, 0) + 1
    order = ("alive", "pending", "killed", *SIGNS)
    parts = [f"{SIGNS[s].glyph}{counts[s]}" for s in dict.fromkeys(order) if s in counts]
    left = next((s for s in ("alive", "pending") if s in counts), "")
    return " ".join(parts), left or "killed"


def findings_cell(findings: Iterable[Finding]) -> Cell:
    """Return the signs of findings, with their numbers."""
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding.category] = counts.get(finding.category, 0) + 1
    text = " ".join(f"{finding_sign(c)}{n}" for c, n in counts.items())
    return text, f"bold {next(iter(counts), '')}"


def types_cell(goals: Iterable[GoalRow]) -> Cell:
    """Return the type that decides the first of these goals; more goals: their number."""
    every = list(goals)
    nearest = [goal.types[0] for goal in every if goal.types]
    if not nearest:
        return ("no type", "muted") if every else ("", "")
    name, _ = min(nearest, key=lambda pair: pair[1])
    return name.rpartition(".")[2] or name, "alive"
