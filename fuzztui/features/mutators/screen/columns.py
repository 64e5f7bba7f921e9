"""The columns of the table of text mutators."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fuzztui.features.mutators.fold import MutatorRow
from fuzztui.features.mutators.screen.labels import SIGNS, effect_of
from fuzztui.kernel.model.yields import Yields
from fuzztui.kernel.wire.commands import weight_text
from fuzztui.tui.base import format
from fuzztui.tui.base.braille import gauge
from fuzztui.tui.base.columns import Cell, Column, count_column
from fuzztui.tui.labels.instance_columns import yield_cell
from fuzztui.tui.labels.legend import Legend

BAR = 6
"""Cells of the bar of weights."""

PAYS = "pays"
"""The column by which the table is sorted at first."""


def columns(
    alike: Callable[[str], bool], yields: Callable[[MutatorRow], Yields] = lambda _: Yields()
) -> Sequence[Column[MutatorRow]]:
    """Return the columns; ``alike`` returns whether all weights of a class are equal.

    Equal bars would only repeat the share of the class. ``yields`` returns a mutator's.
    """

    def weight(arm: MutatorRow) -> Cell:
        if arm.wish != 1:
            return weight_text(arm.wish), "bold"
        return ("", "") if alike(arm.cls) else _weight(arm)

    return (
        Column("operator", "mutator", _operator, lambda a: a.name, min=12, max=44, give=20,
               value=lambda a: a.name),
        Column("class", "class", lambda a: (a.cls, "muted"), lambda a: a.cls, needs=96),
        count_column("tried", "tried", lambda a: a.tried, zero="0", needs=88),
        count_column("applied", "applied", lambda a: a.applied, zero="0", drop=True),
        Column("hits", "hits", _hits, lambda a: _part(a.applied, a.tried), "right", min=5,
               descending=True, drop=True),
        count_column("found", "found", lambda a: a.found, "corpus", zero="0"),
        count_column("crashes", "crash", lambda a: a.crashes, "crash", spare=True, drop=True),
        Column(PAYS, "per million", rate_cell, lambda a: a.order, "right", min=11, descending=True),
        Column("weight", "weight", weight, lambda a: a.share, min=BAR, descending=True,
               spare=True, drop=True),
        Column("share", "share", _share, lambda a: a.share, "right", min=5, needs=96,
               descending=True),
        Column("yield", "edges/CPU h", lambda a: yield_cell(yields(a)), lambda a: yields(a).order,
               "right", descending=True, spare=True, drop=True),
        Column("does", "does", lambda a: (effect_of(a.name).does, "muted"),
               lambda a: effect_of(a.name).does, min=20, max=60,
               needs=126),
    )  # fmt: skip


def _operator(arm: MutatorRow) -> Cell:
    fill, style = SIGNS[arm.cls]
    return f"{fill} {arm.name}", style


def _part(part: int, whole: int) -> float:
    return part / whole if whole else -1.0


def _hits(arm: MutatorRow) -> Cell:
    return format.percent(arm.applied, arm.tried), "muted"


def rate_text(arm: MutatorRow) -> str:
    """Return the findings and entries per million applications."""
    return format.NONE if arm.pays < 0 else format.count(round(arm.pays)) if (
        arm.pays >= 100 or not arm.pays) else f"{arm.pays:.1f}"  # fmt: skip


def rate_cell(arm: MutatorRow) -> Cell:
    """Return the rate; muted and in brackets if its numbers are too small, then sorted last."""
    words = rate_text(arm)
    if arm.significant:
        return words, "bold valid"
    return f"({words})" if arm.found else words, "muted"


def _weight(arm: MutatorRow) -> Cell:
    """The weight relative to the most probable mutator of the class."""
    return gauge(arm.bar, BAR)[0], SIGNS[arm.cls][1]


def _share(arm: MutatorRow) -> Cell:
    return format.share(arm.share), "muted"


LEGEND = Legend({
    "mutators": {
        "yield": "New edges of its finds for each hour of CPU time of all instances, lately",
        "operator": "The text mutator", "class": "text, template or splice",
        "tried": "Attempts", "applied": "Attempts that changed the input",
        "hits": "Applied of tried", "found": "New entries made by it",
        "crashes": "Crashes found by it",
        "pays": "New entries (found) per million uses (applied); in brackets: too few "
        "uses or entries to compare, sorted below", "weight": "Its weight among all, as a bar; ×2: "
        "as a user has set it",
        "share": "Its part of all attempts", "does": "What it does",
    },
}, {
    "mutators": {
        "havoc": "Random edits of bytes", "text": "Text mutators: edits of syntax",
        "splice": "A part of another input is put into this one",
        "adaptive": "Mutators with more new entries become more probable; fixed: as set",
        "( )": "In brackets: too few uses or entries to compare; sorted below the others",
    },
})  # fmt: skip
"""What the columns mean, and the words above them."""
