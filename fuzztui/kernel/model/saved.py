"""Fold saved inputs: entries and findings, described before or after they are saved.

A resumed afl-fuzz gives new ids to the same inputs, while the ``src`` of earlier entries still
contains old ids. A file name keeps the original name (``id:N,time:0,execs:0,orig:FIRSTNAME``),
which is the identity of an input here. Before a renumbering takes effect, the parents of all
affected rows are stored as identities.
"""

from __future__ import annotations

from dataclasses import replace

from fuzztui.kernel.base.signals import is_by_signal
from fuzztui.kernel.model import groups
from fuzztui.kernel.model.changes import ChangesBuilder, instance
from fuzztui.kernel.model.folding import EventFold, never
from fuzztui.kernel.model.state import Entry, Finding, State
from fuzztui.kernel.model.stats import count, shift_own
from fuzztui.kernel.wire.events import (
    EntriesSeeded,
    EntryDescribed,
    EntrySaved,
    ExampleSaved,
    FindingDescribed,
    FindingSaved,
    InputShown,
)
from fuzztui.kernel.wire.finding_kinds import HANGS, kind_of

MAX_PREVIEW = 120
"""Characters of a generated input that the state contains."""

_MAX_DIGITS = 11

_ROWS_A_RECORD = 10
"""Rows whose inspection costs about as much as the fold of an ordinary record."""


def entry_or_new(state: State, name: str, number: int) -> Entry:
    """The entry with this id in the queue of an instance, or a new one."""
    key = f"{name}/{number}"
    return state.entries.get(key) or Entry(key, name, number, state.t, state.seq)


def entry_saved(state: State, e: EntrySaved, touched: ChangesBuilder) -> None:
    """Add or replace an entry whose file appeared in ``queue/``."""
    i = instance(state, e.instance, touched)
    entry = entry_or_new(state, e.instance, e.id)
    if entry.saved and entry.reported_seq >= i.renumbered_seq:
        # The same id again: a resumed afl-fuzz may have renumbered its queue.
        write_down(state, i.id)
        i.renumbered_seq = state.seq
    if not entry.saved:
        before = i.corpus
        i.entry_files += 1
        if i.corpus > before:
            shift_own(state, i, "corpus", before, i.corpus)
            touched.campaign = True
        if e.first < 0 and not e.sync:
            i.last_find_t = state.t
    elif entry.file != e.file:
        # The id now belongs to another input. Its name contains the time when it was found
        # (not the name of an import); its ``steer`` may have been reported already.
        state.children = None
        timeless = e.sync and not e.time_ms
        found = state.t if timeless else min(max(count(e.time_ms), 0) / 1000, state.t)
        entry = Entry(entry.key, entry.instance, entry.id, found, entry.seq, steer=entry.steer)
    saved = state.entries[entry.key] = replace(
        entry,
        saved=True,
        file=e.file,
        src=e.src,
        op=e.op,
        sync=e.sync,
        time_ms=e.time_ms,
        execs=e.execs,
        size=e.size,
        cov=e.cov,
        first=e.first,
        reported_seq=state.seq,
    )
    if e.first >= 0 and identity(saved) not in state.parents:
        i.unknown_original_seq = state.seq
        i.unknown_original_below = max(i.unknown_original_below, count(e.first) + 1)
    if i.origins.pop(str(e.id), None) is not None:
        state.children = None
    touched.entries.add(entry.key)


def entries_seeded(state: State, e: EntriesSeeded, touched: ChangesBuilder) -> None:
    """Add the seeds of an instance that fuzzes a mutant."""
    i = instance(state, e.instance, touched)
    if e.anew:
        write_down(state, i.id)
        i.renumbered_seq = state.seq
        i.origins = {}
    state.children = None
    origins = i.origins
    origins |= {str(k): v for k, v in e.origins.items() if isinstance(v, str)}


def entry_described(state: State, e: EntryDescribed, touched: ChangesBuilder) -> None:
    """Replace the engine's description of an entry."""
    instance(state, e.instance, touched)
    entry = entry_or_new(state, e.instance, e.id)
    state.entries[entry.key] = replace(
        entry,
        reasons=e.reasons,
        edges=e.edges,
        favored=e.favored,
        outcome=e.outcome,
        steer=e.steer,
        kills=e.kills,
    )
    touched.entries.add(entry.key)


def input_shown(state: State, e: InputShown, touched: ChangesBuilder) -> None:
    """Note the start of a generated input, and which record contains all of it."""
    instance(state, e.instance, touched)
    if e.row.isascii() and e.row.isdigit() and len(e.row) < _MAX_DIGITS:
        entry = entry_or_new(state, e.instance, int(e.row))
        preview = e.text[:MAX_PREVIEW]
        state.entries[entry.key] = replace(entry, preview=preview, shown_seq=state.seq)
        touched.entries.add(entry.key)
    elif (finding := state.findings.get(f"{e.instance}/{e.row}")) is not None:
        state.findings[finding.key] = replace(finding, shown_seq=state.seq)
        touched.findings.add(finding.key)


def _finding(state: State, e: FindingSaved | FindingDescribed) -> Finding:
    key = f"{e.instance}/{e.file}"
    found = state.findings.get(key)
    return found or Finding(key, e.instance, e.category, e.file, state.t, state.seq)


def finding_saved(state: State, e: FindingSaved, touched: ChangesBuilder) -> None:
    """Add or replace a finding whose file appeared in ``crashes/`` or ``hangs/``."""
    i = instance(state, e.instance, touched)
    finding = _finding(state, e)
    if not finding.saved:
        hangs, crashes = i.hangs, i.crashes
        if kind_of(e.category).folder == HANGS:
            i.hang_files += 1
        else:
            i.crash_files += 1
        if i.hangs > hangs:
            shift_own(state, i, "hangs", hangs, i.hangs)
        if i.crashes > crashes:
            shift_own(state, i, "crashes", crashes, i.crashes)
        state.latest[e.category] = state.t
        touched.campaign = True
    elif (finding.src, finding.sync) != (e.src, e.sync):  # it has another parent now
        state.children = None
    state.findings[finding.key] = replace(
        finding,
        # A description is more precise than the directory of the file.
        category=finding.category if finding.signature else e.category,
        saved=True,
        id=e.id,
        src=e.src,
        op=e.op,
        sig=e.sig,
        time_ms=e.time_ms,
        execs=e.execs,
        size=e.size,
        sync=e.sync,
    )
    touched.findings.add(finding.key)


def finding_described(state: State, e: FindingDescribed, touched: ChangesBuilder) -> None:
    """Replace the description of a finding and move it to the group of its signature."""
    instance(state, e.instance, touched)
    finding = replace(
        groups.described(_finding(state, e), e),
        category=e.category,
        title=e.title,
        plain_title=e.title,
        detail=e.detail,
        input=e.input,
        count=e.count,
        severity=e.severity,
        severity_class=e.severity_class,
        severity_reason=e.severity_reason,
    )
    groups.put(state, groups.under(finding, tuple(state.skipped_frames)), touched)
    touched.findings.add(finding.key)


def example_saved(state: State, e: ExampleSaved, touched: ChangesBuilder) -> None:
    """Note that the finding's input is saved for Hypothesis, so that pytest fails with it now."""
    instance(state, e.instance, touched)
    if (finding := state.findings.get(f"{e.instance}/{e.file}")) is not None:
        state.findings[finding.key] = replace(finding, example=True)
        touched.findings.add(finding.key)


# ------------------------------------------------------------------- lineage


def identity(row: Entry | Finding) -> str:
    """Return the name of a row that renumbering keeps: ``"instance/original file name"``."""
    if isinstance(row, Finding):
        return row.key
    name = row.file.removeprefix("queue/")
    return f"{row.instance}/{name.partition(',orig:')[2] or name or row.id}"


def parent_of(row: Entry | Finding) -> tuple[str, int] | None:
    """Return instance and id of the first parent (of an import: the peer and its id), or None."""
    if not row.src:
        return None
    return row.sync or row.instance, row.src[0]


def entry_of(state: State, instance: str, number: int) -> Entry | None:
    """Return the entry with this id in a queue, or None.

    If the id is that of a seed of an instance that fuzzes a mutant: the seed's origin.
    """
    key = f"{instance}/{number}"
    if (peer := state.instances.get(instance)) is not None:
        key = peer.origins.get(str(number), key)
    return state.entries.get(key)


def write_down(state: State, instance: str) -> None:
    """Store the parents of all rows that use ids of a queue that is about to be renumbered."""
    parents = state.parents
    rows: list[Entry | Finding] = [*state.entries.values(), *state.findings.values()]
    for row in rows:
        of = parent_of(row)
        if row.saved and (row.instance == instance or (of and of[0] == instance)):
            name = identity(row)
            if name not in parents:  # else stored at an earlier renumbering
                parent = None if of is None else entry_of(state, *of)
                parents[name] = "" if parent is None or not parent.saved else identity(parent)
    state.children = None
    state.cost += len(rows) // _ROWS_A_RECORD


def _is_new_entry(state: State, e: EntrySaved) -> bool:
    """Whether an entry is news: not reported again because afl-fuzz has renumbered its queue."""
    before = state.entries.get(f"{e.instance}/{e.id}")
    return e.first < 0 and (before is None or not before.saved)


def _is_examined(state: State, e: FindingDescribed) -> bool:
    """Whether a description is news: it contains more than the signal in the finding's name."""
    return not is_by_signal(e.signature)


FOLDS = (
    EventFold(EntrySaved, entry_saved, _is_new_entry),
    EventFold(EntriesSeeded, entries_seeded, rows=lambda e: e.origins),
    EventFold(EntryDescribed, entry_described),
    EventFold(InputShown, input_shown, never),
    EventFold(FindingSaved, finding_saved),
    EventFold(FindingDescribed, finding_described, _is_examined),
    EventFold(ExampleSaved, example_saved),
)
