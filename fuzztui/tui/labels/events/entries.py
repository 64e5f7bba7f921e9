"""Events about queue entries as text."""

from __future__ import annotations

from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.passive import MUTANT_INPUTS
from fuzztui.kernel.wire.events import (
    ComparisonsReported,
    EntriesSeeded,
    EntryDescribed,
    EntrySaved,
    InputShown,
)
from fuzztui.tui.base import format
from fuzztui.tui.labels.events.base import SAVED, STATS, Described, describe


@describe.register
def _saved(event: EntrySaved) -> Described:
    sync = "mutants" if event.sync == MUTANT_INPUTS else event.sync
    origin = f"from {sync}" if sync else event.op or "seed"
    parents = f" of {'+'.join(map(str, event.src))}" if event.src else ""
    new = "  +cov" if event.cov else ""
    text = f"#{event.id}  {origin}{parents}{new}  {format.size(event.size)}"
    style = "imported" if event.sync else "corpus"
    return Described("entry", text, style, event.instance, SAVED)


@describe.register
def _described(event: EntryDescribed) -> Described:
    words = [*event.reasons, event.outcome, event.steer]
    text = f"#{event.id}  {' '.join(w for w in words if w)}"
    group = SAVED if event.steer else STATS  # else an echo of a new entry
    return Described("entry", text, "muted", event.instance, group)


@describe.register
def _shown(event: InputShown) -> Described:
    text = f"#{event.row}  {event.form} of {several(event.length, 'character')}"
    return Described("input", text, "muted", event.instance, STATS)


@describe.register
def _seeded(event: EntriesSeeded) -> Described:
    text = f"starts with {several(len(event.origins), 'input')} of other instances"
    return Described("seeds", text, "muted", event.instance, STATS)


@describe.register
def _comparisons(event: ComparisonsReported) -> Described:
    brought = (
        several(len(event.entries), "entry", "entries"),
        several(len(event.tokens), "token"),
    )
    text = f"comparisons have brought {' and '.join(brought)}"
    return Described("compare", text, "muted", event.instance, STATS)
