"""Running inputs again: after a trial (complete, trimmed, confirmed), and each queue entry when a
worker starts.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Final

from fuzztui.engines.base.errors import RecycleWorker, Stopping
from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.store import QUEUE, entry_ids
from fuzztui.engines.execute.executor import Execution, Outcome
from fuzztui.engines.inputs import reduce
from fuzztui.engines.inputs.candidate import NO_ENTRY, Candidate
from fuzztui.engines.loop.after_effects import AfterEffects
from fuzztui.engines.loop.context import Context
from fuzztui.engines.loop.corpus import CorpusEntry
from fuzztui.engines.loop.input_reports import InputReports
from fuzztui.engines.loop.line_runs import LineRuns
from fuzztui.engines.loop.parts import Parts
from fuzztui.kernel.base.text import several

_SLOW_REBUILD_S: Final = 5.0
"""Seconds between two progress messages while the queue is run again."""


class Reruns:
    """Runs inputs again, each time with the input in the journal in case the process dies."""

    def __init__(
        self,
        context: Context,
        parts: Parts,
        after_effects: AfterEffects,
        lines: LineRuns,
        reports: InputReports,
    ) -> None:
        self._parts, self._journal = parts, context.journal
        self._after_effects, self.lines, self._reports = after_effects, lines, reports
        self._context = context

    def complete(self, execution: Execution) -> None:
        """Run a kept input again under all probes, if its trial lacked some."""
        if execution.lacks:
            self._parts.before_recall()
            self._journal.again(time.monotonic_ns())
            self._parts.executor.complete(execution)
            self._journal.judging()

    def shrink(self, candidate: Candidate, execution: Execution) -> Execution:
        """Trim the trial's input. Returns the execution of the smallest that is as interesting.

        The journal holds the input; the caller releases it when the result is saved.
        """
        best = execution

        def keeps(data: bytes) -> bool:
            nonlocal best
            self._journal.begin(time.monotonic_ns(), replace(candidate, data=data), counts=False)
            tried = self._parts.executor.run(data)
            self._journal.judging()
            same = tried.outcome is execution.outcome
            if same and all(f.keeps(execution, tried) for f in self._parts.feedbacks):
                best = tried
                return True
            return False

        # A smaller input may kill the process: then the next worker runs this one.
        self._journal.hold()
        reduce.shrink(execution.data, keeps, self._parts.shrink_runs)
        return best

    def again(self, data: bytes, patience: float = 1.0) -> Execution:
        """Run an input again, within ``patience`` time limits. Raises as :meth:`Loop.run`."""
        self._journal.again(time.monotonic_ns())
        execution = self._parts.executor.run(data, patience)
        self._journal.judging()
        self._parts.executor.fixture.check_limits()  # saving the input, which is next, needs them
        self._after_effects.check_error(execution)
        if self._after_effects.starved(execution):
            raise RecycleWorker
        return execution

    def calls(self, data: bytes) -> int:
        """Count the calls of an input in one more run (:meth:`Executor.calls`)."""
        self._journal.again(time.monotonic_ns())
        calls = self._parts.executor.calls(data)
        self._journal.judging()
        self._parts.executor.fixture.check_limits()
        return calls

    def rebuild(self) -> None:
        """Rebuild the corpus from ``queue/``: run each entry again for its coverage.

        Entries that killed a worker stay in the queue but are not run. Entries
        without an event are described now. Raises ``Stopping`` if a stop is requested, so that
        the statistics of half a queue are not written.
        """
        journal, log, parts = self._journal, self._context.log, self._parts
        counters, corpus, coverage = journal.counters, parts.corpus, parts.coverage
        reported, unsafe = self._context.reported, self._context.unsafe
        folder = self._context.store.directory / QUEUE
        names = sorted(entry_ids(folder).items())
        self.lines.begin(fresh=not names)
        changed = 0
        began = reported_at = time.monotonic()
        for at, (number, name) in enumerate(names):
            try:
                data = (folder / name).read_bytes()
            except OSError as e:
                log.message("warning", f"queue/{name} cannot be read: {e.strerror or e}")
                continue
            reasons = reported.entries.get(number, ())
            entry = CorpusEntry(number, name, data, edges=0, reasons=reasons)
            entry.calls = reported.calls.get(number, -1)
            if number not in unsafe:
                parts.before_recall()
                journal.begin(time.monotonic_ns(), Candidate(data, j.REBUILD, number), counts=False)
                execution = parts.executor.run(data)
                parts.executor.fixture.check_limits()
                self._after_effects.check_error(execution)
                journal.end()
                if execution.outcome in (Outcome.SUCCESS, Outcome.INVALID):
                    entry.edges = parts.executor.coverage.count(execution.observed)
                    entry.valid = execution.outcome is Outcome.SUCCESS
                    # The feedback of a suite adds the entry to the corpus of its property.
                    firsts = [f.recall(execution, entry) for f in parts.feedbacks]
                    entry.favored = any(firsts)
                    if self.lines.lacks(number):
                        self.lines.add(number, execution, at_once=True)
                else:
                    changed += 1
            parent = corpus.by_id.get(_source_of(name))
            entry.depth = 1 if parent is None else parent.depth + 1
            corpus.add(entry)
            if number not in reported.entries:
                self._reports.describe(entry)
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
