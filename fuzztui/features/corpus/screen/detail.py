"""Details of an entry, as lines of spans. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fuzztui.features.inputs.screen.lineage import credit_lines, lineage_lines, origin_text
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.saved import identity
from fuzztui.kernel.model.state import CommandStatus, Entry, Mutant, State
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.text import plain
from fuzztui.tui.labels.commands import command_lines, since_lines
from fuzztui.tui.labels.details import MEMBERS, listed, pair
from fuzztui.tui.labels.lineage import Lineage
from fuzztui.tui.labels.mutants import brief_change, place
from fuzztui.tui.labels.run_files import on_host, shown


def entry_lines(
    entry: Entry,
    state: State,
    lineage: Lineage,
    run: Path | None,
    *,
    pending: Sequence[str] = (),
    content: Sequence[Line] = (),
) -> list[Line]:
    """Return the details of an entry: its name, ``content`` (the input), properties, relatives."""
    lines: list[Line] = [[TextSpan(plain(entry.key), "bold corpus"), *_marks(entry, pending)]]
    lines += since_lines(state, identity(entry))
    lines += [*content, []] if content else []
    at = f", at {entry.execs:,} execs" if entry.execs else ""  # imports have none
    lines.append(pair("found", format.clock(entry.t) + at))
    if entry.reasons:
        lines.append(pair("kept for", " ".join(entry.reasons), "valid"))
    if entry.kills:
        lines.append(pair("kills", f"{several(entry.kills, 'mutant')} first", "killed"))
    if entry.outcome:
        lines.append(pair("outcome", entry.outcome))
    if entry.edges >= 0:
        lines.append(pair("edges", f"{entry.edges:,}", "edge"))
    lines.append(pair("made by", origin_text(entry, lineage.parent(entry))))
    if entry.compared_at:
        lines.append(pair("comparison", f"{entry.compared_at}, operand {entry.operand}"))
    lines += credit_lines(entry, lineage)
    if entry.file:
        file = f"{shown(entry, state, run)}  ({format.size(entry.size)})"
        lines.append(pair("file", file, "muted"))
    if there := on_host(entry, state):
        lines.append(pair("on host", there, "muted"))
    lines += command_lines(state, lambda status: _concerns(status, entry, state), identity(entry))
    return lines + _killed(entry, state) + lineage_lines(entry, lineage, state)


def _concerns(status: CommandStatus, entry: Entry, state: State) -> bool:
    name = status.command.get("instance") or next(iter(state.instances), "")
    return status.command.get("entry") == entry.id and name == entry.instance


def _killed(entry: Entry, state: State) -> list[Line]:
    """The mutants that the entry was the first to kill."""
    victims = [m for m in list(state.mutants.values()) if m.killer == entry.key]
    return listed("killed", map(_victim, victims), len(victims), MEMBERS)


def _victim(mutant: Mutant) -> Line:
    return [
        TextSpan("✓ ", "killed"),
        TextSpan(plain(place(mutant)) + "  ", "muted"),
        TextSpan(plain(brief_change(mutant.before, mutant.after))),
    ]


def _marks(entry: Entry, pending: Sequence[str]) -> list[TextSpan]:
    spans = []
    if entry.favored:
        spans.append(TextSpan("  ★ favored", "rate"))
    if entry.steer:
        spans.append(TextSpan(f"  {plain(entry.steer)}", entry.steer))
    spans += [TextSpan(f"  {plain(name)}…", "pending") for name in pending]
    return spans


def no_corpus_lines() -> list[Line]:
    """Return what an entry is, for a campaign without one."""
    return [
        [TextSpan("The corpus is empty.", "bold")],
        [],
        [TextSpan("Entries are the seeds, and inputs that cover something new or kill a mutant.")],
    ]
