"""Rebuilding the corpus when a worker starts: each queue entry is run again."""

from __future__ import annotations

import time
from typing import Final

from fuzztui.engines.base.errors import Stopping
from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.events import EventLog, ReportedEvents
from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.directory.store import QUEUE, Store, entry_ids
from fuzztui.engines.execute.executor import Outcome
from fuzztui.engines.inputs.candidate import NO_ENTRY, Candidate
from fuzztui.engines.loop.after_effects import AfterEffects
from fuzztui.engines.loop.corpus import CorpusEntry
from fuzztui.engines.loop.input_reports import InputReports
from fuzztui.engines.loop.parts import Parts
from fuzztui.engines.loop.reruns import Reruns
from fuzztui.kernel.base.text import several

_SLOW_REBUILD_S: Final = 5.0
"""Seconds between two progress messages while the queue is run again."""


def rebuild(
    parts: Parts,
    journal: TrialJournal,
    store: Store,
    log: EventLog,
    *,
    after_effects: AfterEffects,
    reruns: Reruns,
    reports: InputReports,
    reported: ReportedEvents,
    unsafe: set[int],
) -> None:
    """Rebuild the corpus from ``queue/``: run each entry again for its coverage.

    Entries in ``unsafe``, which killed a worker, stay in the queue but are not run. Entries
    without an event are described now. Raises ``Stopping`` if a stop is requested, so that
    the statistics of half a queue are not written.
    """
    counters, corpus, coverage = journal.counters, parts.corpus, parts.coverage
    folder = store.directory / QUEUE
    names = sorted(entry_ids(folder).items())
    changed = 0
    began = reported_at = time.monotonic()
    for at, (number, name) in enumerate(names):
        try:
            data = (folder / name).read_bytes()
        except OSError as e:
            log.message("warning", f"queue/{name} cannot be read: {e.strerror or e}")
            continue
        entry = CorpusEntry(number, name, data, edges=0, favored=False)
        if number not in unsafe:
            parts.before_recall()
            journal.begin(time.monotonic_ns(), Candidate(data, j.REBUILD, number), counts=False)
            execution = parts.executor.run(data)
            parts.executor.fixture.check_limits()
            after_effects.check_error(execution)
            journal.end()
            if execution.outcome in (Outcome.SUCCESS, Outcome.INVALID):
                firsts = [f.recall(execution, entry) for f in parts.feedbacks]
                entry.favored = any(firsts)
                entry.edges = parts.executor.coverage.count(execution.observed)
                entry.valid = execution.outcome is Outcome.SUCCESS
                if reruns.lines_must_rerun:
                    reruns.report_lines(number, execution)
            else:
                changed += 1
        parent = corpus.by_id.get(_source_of(name))
        entry.depth = 1 if parent is None else parent.depth + 1
        corpus.add(entry)
        if number in reported.entries:
            entry.reasons = reported.entries[number]
        else:
            reports.describe(entry)
        if time.monotonic() - reported_at > _SLOW_REBUILD_S:
            reported_at = time.monotonic()
            log.message("info", f"running the queue again: {at + 1} of {len(names)}")
        if counters[j.STOP] == j.STOP_NOW:
            raise Stopping
    if parts.sparse is not None:
        parts.sparse.find_late()
    if changed:
        entries = several(changed, "queue entry", "queue entries")
        log.message("warning", f"{entries} failed now, but not when saved")
    if names and time.monotonic() - began > _SLOW_REBUILD_S:
        log.message(
            "info",
            f"{several(len(names), 'queue entry', 'queue entries')} run again; continuing",
        )
    counters[j.EDGES], counters[j.EDGES_VALID] = coverage.edges, coverage.edges_valid


def _source_of(name: str) -> int:
    """The parent's id in an entry's file name; NO_ENTRY for seeds and imports."""
    _, _, rest = name.partition(",")
    return int(rest[4:10]) if rest.startswith("src:") and rest[4:10].isdecimal() else NO_ENTRY
