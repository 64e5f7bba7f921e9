"""Fold saved inputs: entries and findings, described before or after they are saved."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace

from fuzztui.model.changes import ChangesBuilder, instance
from fuzztui.model.lineage import identity, write_down
from fuzztui.model.state import Entry, Finding, State
from fuzztui.model.stats import count, shift_own
from fuzztui.wire.events import (
    EntriesSeeded,
    EntryDescribed,
    EntrySaved,
    FindingDescribed,
    FindingSaved,
)
from fuzztui.wire.finding_kinds import HANGS, kind_of


def _entry(state: State, name: str, number: int) -> Entry:
    key = f"{name}/{number}"
    return state.entries.get(key) or Entry(key, name, number, state.t, state.seq)


def entry_saved(state: State, e: EntrySaved, touched: ChangesBuilder) -> None:
    """Add or replace an entry whose file appeared in ``queue/``."""
    i = instance(state, e.instance, touched)
    entry = _entry(state, e.instance, e.id)
    if entry.saved and entry.told >= i.numbered:
        # The same id again: a resumed afl-fuzz may have renumbered its queue.
        write_down(state, i.id)
        i.numbered = state.seq
    if not entry.saved:
        i.entry_files += 1
        if i.entry_files > i.corpus:
            shift_own(state, i, "corpus", i.corpus, i.entry_files)
            i.corpus = i.entry_files
            touched.campaign = True
        if e.first < 0 and not e.sync:
            i.last_find_t = state.t
    elif entry.file != e.file:
        # The id now belongs to another input. Its name contains the time when it was found
        # (not the name of an import); its ``steer`` may have been reported already.
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
        told=state.seq,
    )
    if e.first >= 0 and identity(saved) not in state.parents:
        i.strange = state.seq
        i.unclear = max(i.unclear, count(e.first) + 1)
    i.origins.pop(str(e.id), None)
    touched.entries.add(entry.key)


def entries_seeded(state: State, e: EntriesSeeded, touched: ChangesBuilder) -> None:
    """Add the seeds of an instance that fuzzes a mutant."""
    i = instance(state, e.instance, touched)
    if e.anew:
        write_down(state, i.id)
        i.numbered = state.seq
        i.origins = {}
    origins = i.origins
    origins |= {str(k): v for k, v in e.origins.items() if isinstance(v, str)}


def entry_described(state: State, e: EntryDescribed, touched: ChangesBuilder) -> None:
    """Replace the engine's description of an entry."""
    instance(state, e.instance, touched)
    entry = _entry(state, e.instance, e.id)
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


def _finding(state: State, e: FindingSaved | FindingDescribed) -> Finding:
    key = f"{e.instance}/{e.file}"
    found = state.findings.get(key)
    return found or Finding(key, e.instance, e.category, e.file, state.t, state.seq)


def finding_saved(state: State, e: FindingSaved, touched: ChangesBuilder) -> None:
    """Add or replace a finding whose file appeared in ``crashes/`` or ``hangs/``."""
    i = instance(state, e.instance, touched)
    finding = _finding(state, e)
    if not finding.saved:
        if kind_of(e.category).folder == HANGS:
            i.hang_files += 1
            if i.hang_files > i.hangs:
                shift_own(state, i, "hangs", i.hangs, i.hang_files)
                i.hangs = i.hang_files
        else:
            i.crash_files += 1
            if i.crash_files > i.crashes:
                shift_own(state, i, "crashes", i.crashes, i.crash_files)
                i.crashes = i.crash_files
        state.latest[e.category] = state.t
        touched.campaign = True
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
    finding = _finding(state, e)
    if finding.signature != e.signature:
        _leave_group(state, finding, touched)
    state.findings[finding.key] = replace(
        finding,
        category=e.category,
        signature=e.signature,
        title=e.title,
        place=e.place,
        detail=e.detail,
        input=e.input,
        count=e.count,
    )
    if e.signature and finding.signature != e.signature:
        _join_group(state, finding.key, e.signature, touched)
    touched.findings.add(finding.key)


def _mark_first(state: State, key: str, first: bool, touched: ChangesBuilder) -> None:
    if state.findings[key].first != first:
        state.findings[key] = replace(state.findings[key], first=first)
        touched.findings.add(key)


def _join_group(state: State, key: str, signature: str, touched: ChangesBuilder) -> None:
    """Insert a finding into the group of its signature, in the order of the log."""
    group = state.groups.setdefault(signature, [])
    at = bisect_left(group, state.findings[key].seq, key=lambda k: state.findings[k].seq)
    group.insert(at, key)
    _mark_first(state, key, at == 0, touched)
    if at == 0 and len(group) > 1:
        _mark_first(state, group[1], False, touched)


def _leave_group(state: State, finding: Finding, touched: ChangesBuilder) -> None:
    group = state.groups.get(finding.signature)
    if not group:
        return
    group.remove(finding.key)
    if group:
        _mark_first(state, group[0], True, touched)
    else:
        del state.groups[finding.signature]
