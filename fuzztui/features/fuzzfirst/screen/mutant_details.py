"""What several screens show of a mutant, as lines and cells. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fuzztui.kernel.model.state import CommandStatus, Mutant, State
from fuzztui.kernel.wire.selection import selection_of
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.columns import Cell
from fuzztui.tui.base.text import plain
from fuzztui.tui.labels.commands import command_lines
from fuzztui.tui.labels.mutants import MutantGlyph, brief_change, place, steer_text

PLACE = 24
"""Maximal number of cells for file and line."""


def cut_place(text: str, width: int) -> str:
    """Cut a location at its start: the end of a name and the line identify it."""
    return text if len(text) <= width else "…" + text[1 - width :]


def change_cell(mutant: Mutant) -> Cell:
    """Return the cell of the mutant's change."""
    return brief_change(mutant.before, mutant.after), ""


ORACLES = {
    "value": "the mutant returns another value",
    "exception": "the mutant raises another exception",
    "timeout": "the mutant does not end in time",
    "died": "the mutant's process died",
    "crash": "the mutant crashes, the original does not",
    "hang": "the mutant hangs, the original does not",
    "output": "the mutant has another output or exit status",
}
"""Texts for how a mutant was killed."""


def head_line(mutant: Mutant, of: MutantGlyph, word: str, pending: Sequence[str]) -> Line:
    """Return state, location, operator and pending commands in one line."""
    head = [
        TextSpan(f"{of.glyph} {plain(word)}  ", f"bold {of.style}"),
        TextSpan(plain(place(mutant)), "bold"),
        TextSpan(f" in {plain(mutant.function)}" if mutant.function else ""),
        TextSpan(f"  {plain(mutant.operator)}", "edge"),
    ]
    if mutant.steer:
        head.append(TextSpan(f"  {plain(steer_text(mutant.steer))}", "promoted"))
    return [*head, *(TextSpan(f"  {plain(name)}…", "pending") for name in pending)]


def killed_text(mutant: Mutant) -> str:
    """Return when, by which entry and how the mutant was killed."""
    words = format.clock(mutant.killed_t) if mutant.killed_t >= 0 else ""
    if mutant.trial >= 0:
        words += f" at trial {mutant.trial:,}"
    words += f" by {mutant.killer}" if mutant.killer else ""
    return f"{words}: {ORACLES.get(mutant.oracle, mutant.oracle)}" if mutant.oracle else words


def commands_about(mutant: Mutant, state: State) -> list[Line]:
    """Return the commands about the mutant, with what came since."""
    return command_lines(state, lambda status: _concerns(status, mutant), mutant.id)


def _concerns(command: CommandStatus, mutant: Mutant) -> bool:
    selection = selection_of(command.command)
    if selection is None:
        return False
    # Its state may have been different when the command was sent.
    kept = tuple(c for c in selection.conditions if c.key not in ("state", "stage"))
    return replace(selection, conditions=kept).matches(mutant)
