"""The columns of the tables of types and of uncovered goals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from fuzztui.features.targeting.fold import GoalRow, TypeRow, goal_line, reached_share
from fuzztui.features.targeting.screen.labels import brief_location, brief_type, fewer, sign_of
from fuzztui.kernel.wire.commands import weight_text
from fuzztui.tui.base import format
from fuzztui.tui.base.braille import gauge
from fuzztui.tui.base.columns import NEVER, Cell, Column, count_column
from fuzztui.tui.labels.legend import Legend

BAR = 5
"""Cells of the bar of a probability."""

CHANCE, LEFT = "chance", "left"
"""The columns by which the tables are sorted at first."""


class TypeColumnContext(NamedTuple):
    """What the columns need from the screen."""

    name: Callable[[str], str]
    """Returns the short name of a type."""
    weight: Callable[[str], str]
    """Returns the pending weight of a type; an empty string if there is none."""
    pin: Callable[[str], str]
    """Returns the pending pin or ignore of a goal; an empty string if there is none."""


def type_columns(context: TypeColumnContext) -> Sequence[Column[TypeRow]]:
    """Return the columns of types, the dispensable ones last."""

    def name(row: TypeRow) -> Cell:
        style = "skipped" if not row.weight else "" if row.probability else "muted"
        return context.name(row.name), style

    def weight(row: TypeRow) -> Cell:
        if pending := context.weight(row.name):
            return f"→ {pending}", "bold pending"
        words = weight_text(row.weight) + (" ≠" if row.differs else "")
        if row.weight == 1:
            return words, "pending" if row.differs else "muted"
        return words, "bold promoted" if row.weight > 1 else "skipped"

    return (
        Column("type", "type", name, lambda r: context.name(r.name), min=12, max=60, give=16,
               cut=brief_type),
        Column(CHANCE, "chance", _chance, lambda r: r.probability, min=BAR + 6, descending=True,
               number=lambda r: r.probability),
        Column("weight", "weight", weight, lambda r: r.weight, min=6, max=12, descending=True,
               number=lambda r: r.weight),
        Column("distance", "steps", _distance, lambda r: (r.distance < 0, r.distance), "right",
               number=lambda r: r.distance,
               drop=True),
        count_column("arms", "+branch", lambda r: r.new_arms, "bold valid", zero="0", drop=True),
        Column("match", "match", _match, _match_share, "right", descending=True, drop=True),
        count_column("picks", "drawn", lambda r: r.picks, zero="0", drop=True),
        Column("factor", "misses", _factor, lambda r: r.factor, "right", descending=True,
               drop=True),
        Column("text", "", lambda r: (r.name, ""), None, needs=NEVER),
    )  # fmt: skip


def _chance(row: TypeRow) -> Cell:
    if not row.probability:
        return f"{'':{BAR}} {'0%':>5}", "muted"
    bar = gauge(row.probability, BAR)[0]
    return f"{bar:{BAR}} {format.share(row.probability):>5}", "edge"


def _distance(row: TypeRow) -> Cell:
    return (format.count(row.distance), "") if row.distance >= 0 else (format.NONE, "muted")


def _match_share(row: TypeRow) -> float:
    return row.matches / row.picks if row.picks else -1.0


def _match(row: TypeRow) -> Cell:
    if not row.picks:
        return format.NONE, "muted"
    return format.share(_match_share(row)), "" if row.matches else "hang"


def _factor(row: TypeRow) -> Cell:
    return (f"÷{row.factor:.1f}", "hang") if row.factor >= 1.05 else ("none", "muted")


def goal_columns(context: TypeColumnContext) -> Sequence[Column[GoalRow]]:
    """Return the columns of uncovered goals."""

    def left(row: GoalRow) -> Cell:
        if pending := context.pin(row.location):
            return f"→ {pending}", "bold pending"
        sign = sign_of(row)
        return f"{sign.glyph} {sign.word}", sign.style

    def where(row: GoalRow) -> Cell:
        style = "bold" if row.pinned else "" if row.types and not row.ignored else "muted"
        return row.location, style

    def decided(row: GoalRow) -> Cell:
        if not row.types:
            return "no known type", "muted"
        return ", ".join(f"{context.name(name)} {steps}" for name, steps in row.types), "muted"

    return (
        Column(LEFT, "goal", left, _urgency, min=10, max=10, value=lambda r: sign_of(r).word),
        Column("where", "where", where, _place, min=16, max=30, more=90,
               give=18, cut=brief_location),
        Column("reached", "reached", _reached, reached_share, "right", descending=True),
        Column("types", "decided by (steps)", decided, lambda r: r.types[:1], min=14, flex=True,
               cut=fewer),
        Column("text", "", lambda r: (f"{r.location} {r.types}", ""), None, needs=NEVER),
    )  # fmt: skip


def _place(row: GoalRow) -> tuple[str, int]:
    return goal_line(row.location) or (row.location, 0)


def _urgency(row: GoalRow) -> tuple[bool, bool, bool, bool, float]:
    """Sort key: pinned goals, the frontier, other goals, ignored goals.

    Within each, goals that a type influences come first, then those that more trials reached.
    """
    return row.ignored, not row.pinned, not row.frontier, not row.types, -reached_share(row)


def _reached(row: GoalRow) -> Cell:
    share = reached_share(row)
    if share < 0:
        return format.NONE, "muted"
    if share:
        return format.share(share), ""
    return f"<{format.share(1 / row.checked_trials)}", "muted"  # the corpus may have reached it


LEGEND = Legend({
    "types": {
        "type": "A type of the target's parameters and attributes",
        "chance": "Probability of being drawn next", "weight": "Your weight; 0 is banned",
        "distance": "Steps of data flow from the type to the nearest uncovered goal; 0 is nearest",
        "arms": "Edges first covered by an input targeted at the type",
        "match": "Part of the draws for which the input had choices of the type; else a miss",
        "picks": "Times it was drawn",
        "factor": "Misses divide its probability by this",
        "left": "Ignored, pinned, or on the frontier (an input has reached its decision)",
        "goal": "Ignored, pinned, or on the frontier (an input has reached its decision)",
        "where": "File, line and branch of the uncovered goal",
        "reached": "Checked trials that reached its decision",
        "types": "The types that decide it, nearest first, each with its distance: steps of data "
        "flow; 0 is nearest",
    },
}, {
    "types": {
        "covered": "Goals whose branch an input has taken",
        "frontier": "Uncovered goals whose decision an input has reached",
        "further off": "Uncovered goals whose decision no input has reached",
        "targeted": "Part of the mutations that are directed at types",
        "next": "The types that are drawn next most probably",
        "pinned": "The only goal that is targeted, until it is covered",
        "ignored": "Goals that are not targeted, as a user has set",
    },
})  # fmt: skip
"""What the columns mean, and the words above them."""
