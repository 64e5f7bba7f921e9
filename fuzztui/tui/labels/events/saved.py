"""Events about queue entries and findings, and about verdicts of users, as text."""

from __future__ import annotations

from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.passive import MUTANT_INPUTS
from fuzztui.kernel.wire import events as ev
from fuzztui.tui.base import format
from fuzztui.tui.labels.events.base import COMMANDS, SAVED, STATS, Described, describe


@describe.register
def _saved(event: ev.EntrySaved) -> Described:
    sync = "mutants" if event.sync == MUTANT_INPUTS else event.sync
    origin = f"from {sync}" if sync else event.op or "seed"
    parents = f" of {'+'.join(map(str, event.src))}" if event.src else ""
    new = "  +cov" if event.cov else ""
    text = f"#{event.id}  {origin}{parents}{new}  {format.size(event.size)}"
    style = "imported" if event.sync else "corpus"
    return Described("entry", text, style, event.instance, SAVED)


@describe.register
def _described(event: ev.EntryDescribed) -> Described:
    words = [*event.reasons, event.outcome, event.steer]
    text = f"#{event.id}  {' '.join(w for w in words if w)}"
    group = SAVED if event.steer else STATS  # else an echo of a new entry
    return Described("entry", text, "muted", event.instance, group)


@describe.register
def _shown(event: ev.InputShown) -> Described:
    text = f"#{event.row}  {event.form} of {several(event.length, 'character')}"
    return Described("input", text, "muted", event.instance, STATS)


@describe.register
def _seeded(event: ev.EntriesSeeded) -> Described:
    text = f"starts with {several(len(event.origins), 'input')} of other instances"
    return Described("seeds", text, "muted", event.instance, STATS)


@describe.register
def _comparisons(event: ev.ComparisonsReported) -> Described:
    brought = (
        several(len(event.entries), "entry", "entries"),
        several(len(event.tokens), "token"),
    )
    text = f"comparisons have brought {' and '.join(brought)}"
    return Described("compare", text, "muted", event.instance, STATS)


@describe.register
def _finding(event: ev.FindingSaved) -> Described:
    return Described(event.category, event.file, event.category, event.instance, SAVED)


@describe.register
def _explained(event: ev.FindingDescribed) -> Described:
    place = f"  at {event.place}" if event.place else ""
    text = f"{event.title or event.signature or event.file}{place}"
    return Described(event.category, text, event.category, event.instance, STATS)


@describe.register
def _example(event: ev.ExampleSaved) -> Described:
    return Described("example", f"{event.file} for pytest", "muted", event.instance, STATS)


@describe.register
def _verdicts(event: ev.VerdictsChanged) -> Described:
    rows = [f"{row.get('verdict')} {row.get('signature')}" for row in event.findings[:3]]
    rows = rows or [
        f"{row.get('verdict') or 'not accepted'} {row.get('id')}" for row in event.mutants[:3]
    ]
    more = max(len(event.findings), len(event.mutants)) - len(rows)
    text = ", ".join(rows) + (f" and {more:,} more" if more > 0 else "")
    return Described("verdict", text, "muted", "", COMMANDS)


@describe.register
def _frames(event: ev.SkippedFrames) -> Described:
    text = f"not counted: {', '.join(event.rules)}" if event.rules else "all frames count"
    return Described("frames", text, "muted", "", COMMANDS)
