"""The columns of the mutants table of mutation analysis."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fuzztui.kernel.model.mutants import Knowledge
from fuzztui.kernel.model.state import Mutant
from fuzztui.tui.base import format
from fuzztui.tui.base.columns import NEVER, Cell, Column, count_column
from fuzztui.tui.labels.mutant_details import PLACE, change_cell, cut_place
from fuzztui.tui.labels.mutants import GROUP_LABELS, group_rank, place, rank, state_sign

STEER = 10
"""Cells for a command about a mutant: a glyph and a word."""


def columns(
    steer: Callable[[Mutant], Cell],
    group: Callable[[Mutant], str],
    known: Callable[[], Knowledge],
) -> Sequence[Column[Mutant]]:
    """Return the columns; ``steer`` returns what a user did to the mutant's position, ``group`` the
    group of a survivor, ``known`` what is known of mutants that have not run.
    """

    def state(mutant: Mutant) -> Cell:
        glyph, word = state_sign(mutant, known())
        return f"{glyph.glyph} {word}", glyph.style

    def order(mutant: Mutant) -> tuple[int, int]:
        return rank(state_sign(mutant, known())[1]), group_rank(mutant)

    def survivor(mutant: Mutant) -> Cell:
        return GROUP_LABELS.get(group(mutant), ""), "muted"

    return (
        Column(
            # The groups of survivors in their order, the most interesting first.
            "state", "state", state, order, min=9, max=15,
        ),
        Column(
            # Always shown, with a fixed width: a command moves no other column.
            "steer", "steer", steer, lambda m: m.steer, min=STEER, max=STEER, needs=50,
            descending=True
        ),
        Column("operator", "operator", _operator, lambda m: m.operator, max=12, needs=50),
        Column(
            "place", "where", _place, lambda m: (m.file, m.line), max=PLACE, give=13, cut=cut_place
        ),
        Column("function", "function", _function, lambda m: m.function, max=30, needs=130,
               yields=14),
        Column("change", "change", change_cell, lambda m: (m.before, m.after), min=18, max=120,
               flex=True),
        Column("group", "survivor", survivor, group_rank, max=13, needs=140, spare=True),
        count_column("runs", "runs", lambda m: m.runs, zero="0", needs=70),
        count_column("infected", "infected", lambda m: m.infected, zero="0", needs=150),
        Column("killer", "killed by", _killer, lambda m: m.killer, max=12, needs=110, spare=True),
        Column("oracle", "how", _oracle, lambda m: m.oracle, max=9, needs=100, spare=True),
        Column("t", "killed", _killed, _kill_order, "right", min=7, max=12, needs=100,
               spare=True),
        Column("text", "", _text, None, needs=NEVER),
    )  # fmt: skip


def _operator(mutant: Mutant) -> Cell:
    return mutant.operator, "muted" if mutant.static else ""


def _place(mutant: Mutant) -> Cell:
    return cut_place(place(mutant), PLACE), ""


def _function(mutant: Mutant) -> Cell:
    return mutant.function, "muted"


def _killer(mutant: Mutant) -> Cell:
    return mutant.killer, "corpus"


def _oracle(mutant: Mutant) -> Cell:
    return mutant.oracle, "muted"


def _killed(mutant: Mutant) -> Cell:
    return (format.clock(mutant.killed_t), "muted") if mutant.killed_t >= 0 else ("", "")


def _kill_order(mutant: Mutant) -> tuple[bool, float]:
    """Killed mutants come first."""
    return mutant.killed_t < 0, mutant.killed_t


def _text(mutant: Mutant) -> Cell:
    static = "static" if mutant.static else ""
    parts = (mutant.id, mutant.file, mutant.before, mutant.after, mutant.reason, mutant.detail)
    return " ".join((*parts, static)), ""
