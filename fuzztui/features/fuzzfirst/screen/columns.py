"""The columns of the worklist: the mutants table of a fuzz-first campaign."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from fuzztui.features.fuzzfirst.fold import order
from fuzztui.features.fuzzfirst.screen.mutant_details import PLACE, change_cell, cut_place
from fuzztui.features.fuzzfirst.screen.worklist import progress_glyph, progress_label
from fuzztui.features.fuzzfirst.screen.worklist_text import verdict
from fuzztui.kernel.model.progress import AT_WORK
from fuzztui.kernel.model.state import Mutant
from fuzztui.tui.base import format
from fuzztui.tui.base.columns import NARROW, NEVER, Cell, Column
from fuzztui.tui.labels.mutants import brief_place


class WorklistColumnContext(Protocol):
    """What the columns need from the screen, which knows the time and the whole worklist."""

    @property
    def mutants_phase(self) -> bool:
        """Whether waiting mutants can still have a turn."""

    def number(self, mutant: Mutant) -> int:
        """Return the mutant's position among the waiting ones, from 1; 0 if not waiting."""

    def within(self, mutant: Mutant) -> bool:
        """Return whether the mutant has had its turn, or will get one."""

    def turn(self, mutant: Mutant) -> str:
        """Return when the turn starts, how far it is, or how long it took."""

    def pending(self, mutant: Mutant) -> str:
        """Return the pending command about the mutant; an empty string if there is none."""


def worklist_columns(context: WorklistColumnContext) -> Sequence[Column[Mutant]]:
    """Return the columns of the worklist."""

    def number(mutant: Mutant) -> Cell:
        n = context.number(mutant)
        if n:
            return f"{n:,}", "bold" if context.within(mutant) else "muted"
        return ("▶", "running") if mutant.stage in AT_WORK else ("", "")

    def placed(mutant: Mutant) -> tuple[int, float, int]:
        return order(mutant, can_run=context.mutants_phase)

    def turn(mutant: Mutant) -> Cell:
        if pending := context.pending(mutant):
            return pending, "pending"
        text = context.turn(mutant)
        if mutant.steer == "promoted" and context.number(mutant):
            return f"▲ {text}", "promoted"
        style = "bold running" if mutant.stage in AT_WORK else "muted"
        return text, style if context.within(mutant) else "pending"

    def status(mutant: Mutant) -> Cell:
        sign = progress_glyph(mutant, mutants_phase=context.mutants_phase)
        return f"{sign.glyph} {progress_label(sign.state)}", sign.style

    def dimmed(cell: Callable[[Mutant], Cell]) -> Callable[[Mutant], Cell]:
        """Draw a mutant without a turn in a muted style."""

        def drawn(mutant: Mutant) -> Cell:
            text, style = cell(mutant)
            return text, style if context.within(mutant) else "muted"

        return drawn

    return (
        Column("number", "#", number, placed, "right", min=3, max=7),
        Column("stage", "status", status, lambda m: (m.stage, m.state), min=10, max=14),
        # As wide as pending commands and the end of the budget: commands move no column.
        Column("turn", "turn", turn, None, min=13, max=16, needs=50, spare_below=NARROW,
               stays=True),
        Column("place", "where", dimmed(_place), lambda m: (m.file, m.line), max=PLACE),
        Column("change", "change", dimmed(change_cell), lambda m: (m.before, m.after), min=18,
               max=120, flex=True),
        Column("slot", "id", _slot, lambda m: (len(m.slot), m.slot), max=8, needs=100,
               spare=True),
        Column("build", "build", _build, lambda m: m.costs.get("build", 0.0), "right",
               needs=110, spare=True, descending=True),
        Column("hides", "hides", _hides, lambda m: m.hides, "right", max=7, needs=105,
               descending=True, spare=True, drop=True),
        _brought("entries", "+entries", "corpus", needs=100),
        _brought("edges", "+edges", "edge", needs=90),
        _brought("crashes", "+crash", "crash", needs=90),
        _brought("kills", "kills", "killed", needs=130),
        Column("verdict", "verdict", verdict, _by_verdict, max=12, spare=True, descending=True,
               drop=True),
        Column("text", "", _text, None, needs=NEVER),
    )  # fmt: skip


def _place(mutant: Mutant) -> Cell:
    """The location without the folder, which the details show."""
    return cut_place(brief_place(mutant), PLACE), ""


def _slot(mutant: Mutant) -> Cell:
    return mutant.slot, "muted"


def _hides(mutant: Mutant) -> Cell:
    return (format.count(mutant.hides), "edge") if mutant.hides > 0 else ("", "")


def _build(mutant: Mutant) -> Cell:
    seconds = mutant.costs.get("build", -1.0)
    if seconds < 0:
        return "", ""
    return f"{seconds:.1f}s" if seconds < 100 else format.span(seconds), "muted"


def _brought(name: str, title: str, style: str, *, needs: int = 0) -> Column[Mutant]:
    def cell(mutant: Mutant) -> Cell:
        n = mutant.turn_results.get(name, 0)
        return (format.count(n), f"bold {style}") if n > 0 else ("", "")

    return Column(
        name, title, cell, lambda m: m.turn_results.get(name, 0), "right",
        needs=needs, spare=True, descending=True,
    )  # fmt: skip


def _by_verdict(mutant: Mutant) -> tuple[bool, int]:
    return mutant.state == "killed", mutant.turn_results.get("kills", 0)


def _text(mutant: Mutant) -> Cell:
    parts = (mutant.id, mutant.file, mutant.operator, mutant.before, mutant.after, mutant.reason)
    return " ".join(parts), ""
