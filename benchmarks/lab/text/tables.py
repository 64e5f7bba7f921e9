"""The tables of the evaluation of text mutators, made of the rows of its runs.

A row has ``subject``, ``arm``, ``edges`` (of the seeds, after each early point, at the end),
``inputs`` (executed) and ``valid`` (accepted by the parser), ``execs`` and ``mutators`` (how many
inputs each changed, and in how many queue entries each had a part).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from typing import Any

from fuzztui.tools.report.two_samples import rank_p
from lab.figures import median, ratio, table

Row = Mapping[str, Any]

STOCK = "stock"
CHANCE = 0.05
"""The p below which a difference is said to be beyond chance."""
GOAL_EDGES, GOAL_VALID, GOAL_SUBJECTS, GOAL_RUNS = 1.05, 3.0, 8, 5
MIN_INPUTS = 200
"""Inputs that a mutator must have changed on a subject for its rate there to be compared."""


@dataclass(frozen=True)
class ArmFigures:
    """The runs of one arm on one subject, against those of stock there."""

    runs: Sequence[Row]
    stock: Sequence[Row]

    @property
    def edges(self) -> list[int]:
        return [row["edges"][-1] for row in self.runs]

    @property
    def shares(self) -> list[float]:
        """The shares of the executed inputs that the parser accepts."""
        return [ratio(row["valid"], row["inputs"]) for row in self.runs]

    def gain(self, point: int = -1) -> float:
        """The ratio of the median edges at a point to stock's."""
        ours, theirs = (median(r["edges"][point] for r in rows) for rows in (self.runs, self.stock))
        return ratio(ours, theirs)

    @property
    def valid_gain(self) -> float:
        return ratio(median(self.shares), median(ArmFigures(self.stock, ()).shares))

    @property
    def p(self) -> float:
        return rank_p(self.edges, [row["edges"][-1] for row in self.stock])

    @property
    def fewer(self) -> bool:
        """Whether there are fewer edges than with stock, beyond chance."""
        return self.p < CHANCE and self.gain() < 1

    @property
    def more(self) -> bool:
        return self.p < CHANCE and self.gain() > 1


def by_subject(rows: Sequence[Row], arm: str) -> dict[str, ArmFigures]:
    """What there is of an arm, by subject; subjects without runs of stock are left out."""
    found: dict[str, ArmFigures] = {}
    for subject in dict.fromkeys(row["subject"] for row in rows):
        runs, stock = (
            [r for r in rows if (r["subject"], r["arm"]) == (subject, name)]
            for name in (arm, STOCK)
        )
        if runs and stock:
            found[subject] = ArmFigures(runs, stock)
    return found


def subjects(rows: Sequence[Row], arms: Sequence[str], new: set[str], early: Sequence[str]) -> str:
    """One line for each subject and arm. ``early``: what the early points are called."""
    lines = []
    for subject in dict.fromkeys(row["subject"] for row in rows):
        kind = "new" if subject in new else "seen"
        for arm in arms:
            figures = by_subject(rows, arm).get(subject)
            if figures is None:
                continue
            compared = arm != STOCK
            lines.append([
                f"{subject} ({kind})", arm, len(figures.runs), _spread(figures.edges, ",.0f"),
                f"{figures.gain() - 1:+.1%}" if compared else "",
                f"{figures.p:.3f}" if compared else "",
                *(_early(figures, point, compared) for point in range(1, len(early) + 1)),
                _spread([100 * share for share in figures.shares], ".1f"),
                f"{figures.valid_gain:.1f}" if compared else "",
                f"{median(row['execs'] for row in figures.runs) / 1000:,.0f}",
            ])  # fmt: skip
    heads = ["subject", "arm", "n", "edges", "to stock", "p", *early, "valid, %", "times",
             "1,000 execs"]  # fmt: skip
    return table(heads, lines)


def _early(figures: ArmFigures, point: int, compared: bool) -> str:
    if compared:
        return f"{figures.gain(point) - 1:+.1%}"
    return f"{median(row['edges'][point] for row in figures.runs):,.0f}"


def means(rows: Sequence[Row], arms: Sequence[str], new: set[str], early: Sequence[str]) -> str:
    """Of each arm the geometric means over all subjects, over those seen, and over new ones."""
    lines = []
    for arm in arms:
        found = by_subject(rows, arm)
        for kind in ("all", "seen", "new"):
            chosen = [f for s, f in found.items() if kind == "all" or (s in new) == (kind == "new")]
            if arm == STOCK or not chosen:
                continue
            lines.append([
                arm, kind, len(chosen), f"{_mean(f.gain() for f in chosen) - 1:+.1%}",
                *(f"{_mean(f.gain(point) for f in chosen) - 1:+.1%}"
                  for point in range(1, len(early) + 1)),
                f"{_mean(f.valid_gain for f in chosen):.1f}",
                sum(f.more for f in chosen), sum(f.fewer for f in chosen),
            ])  # fmt: skip
    heads = ["arm", "set", "subjects", "edges", *early, "valid, times", "more", "fewer"]
    return table(heads, lines)


def goal(rows: Sequence[Row], arm: str) -> str:
    """Whether an arm meets the goal, in words."""
    found = by_subject(rows, arm)
    fewer = [subject for subject, figures in found.items() if figures.fewer]
    edges = _mean(figures.gain() for figures in found.values())
    valid = _mean(figures.valid_gain for figures in found.values())
    least = min((min(len(f.runs), len(f.stock)) for f in found.values()), default=0)
    parts = [
        f"never fewer edges than stock beyond chance: {_met(not fewer)}"
        + (f" ({', '.join(fewer)})" if fewer else ""),
        f"edges {edges - 1:+.1%} for {GOAL_EDGES - 1:+.0%}: {_met(edges >= GOAL_EDGES)}",
        f"valid inputs x{valid:.1f} for x{GOAL_VALID:.0f}: {_met(valid >= GOAL_VALID)}",
    ]
    whole = len(found) >= GOAL_SUBJECTS and least >= GOAL_RUNS
    part = "" if whole else f" (incomplete: {len(found)} subjects, {least} runs or more)"
    return f"goal, {arm}: {'; '.join(parts)}{part}"


def _met(met: bool) -> str:
    return "met" if met else "missed"


def mutators(rows: Iterable[Row]) -> str:
    """Which mutators pay: queue entries per 1,000 inputs, summed, and against the other mutators.

    The last two columns compare a mutator's rate on a subject with that of all mutators there: the
    median of the ratios, and on how many subjects it is above 1. Subjects on which the mutator
    changed fewer than ``MIN_INPUTS`` inputs are left out.
    """
    applied: dict[str, Counter[str]] = {}
    saved: dict[str, Counter[str]] = {}
    for row in rows:
        for name, (inputs, entries) in row["mutators"].items():
            applied.setdefault(row["subject"], Counter())[name] += inputs
            saved.setdefault(row["subject"], Counter())[name] += entries
    lines = []
    for name in sorted({name for counts in applied.values() for name in counts}):
        inputs = sum(counts[name] for counts in applied.values())
        if not inputs:
            continue
        entries = sum(counts[name] for counts in saved.values())
        rate = ratio(entries, inputs)
        to_mean = [
            ratio(saved[s][name] / counts[name], saved[s].total() / counts.total())
            for s, counts in applied.items()
            if counts[name] >= MIN_INPUTS
        ]
        lines.append((
            (not to_mean, -median(to_mean or [rate])),
            [name, f"{inputs:,}", f"{entries:,}", f"{1000 * rate:.1f}",
             f"{median(to_mean):.2f}" if to_mean else "",
             f"{sum(r > 1 for r in to_mean)} of {len(to_mean)}"],
        ))  # fmt: skip
    heads = ["mutator", "inputs", "entries", "per 1,000", "of the mean", "above it on"]
    return table(heads, [line for _, line in sorted(lines)])


def _spread(values: Sequence[float], form: str) -> str:
    return f"{median(values):{form}} ({min(values):{form}}-{max(values):{form}})"


def _mean(ratios: Iterable[float]) -> float:
    """The geometric mean, without ratios to nothing, which a smoke run may have."""
    good = [value for value in ratios if 0 < value < math.inf]
    return geometric_mean(good) if good else math.nan
