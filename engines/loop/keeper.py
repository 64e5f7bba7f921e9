"""Keeping inputs: an input that a feedback wants becomes an entry of the queue."""

from __future__ import annotations

import time

from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.store import QUEUE, candidate_tail
from fuzztui.engines.execute.executor import Execution, Outcome
from fuzztui.engines.findings.unrepeatable import MAX_RUNS
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.loop.context import Context
from fuzztui.engines.loop.corpus import WHOLE, CorpusEntry
from fuzztui.engines.loop.finding_saver import FindingSaver
from fuzztui.engines.loop.input_reports import InputReports
from fuzztui.engines.loop.parts import Parts
from fuzztui.engines.loop.reruns import Reruns
from fuzztui.engines.loop.varying import propose_clock
from fuzztui.kernel.wire.afl import entry_name

_ENOUGH = 3
"""Varying entries from which on the fixed clock is proposed."""


class Keeper:
    """Adds inputs to the corpus of one worker, and counts what it has kept."""

    def __init__(
        self,
        context: Context,
        parts: Parts,
        saver: FindingSaver,
        reruns: Reruns,
        reports: InputReports,
    ) -> None:
        self._parts, self._journal, self._store = parts, context.journal, context.store
        self._saver, self._reruns, self._reports = saver, reruns, reports
        self._cycles_before = self._journal.counters[j.CYCLES]
        """Cycles of earlier workers of this instance."""
        without_finds = self._journal.counters[j.CYCLES_WITHOUT_FINDS]
        self._cycle_of_find = self._cycles_before - without_finds
        self._variable = 0
        self._context, self._varying = context, list[bytes]()

    @property
    def cycles(self) -> int:
        """Cycles through the queue, those of earlier workers included."""
        return self._cycles_before + self._parts.scheduler.cycles

    @property
    def cycles_without_finds(self) -> int:
        """Cycles since the last entry that this instance has found itself."""
        return self.cycles - self._cycle_of_find

    def keep(self, candidate: Candidate, execution: Execution, reasons: tuple[str, ...]) -> None:
        """Put a trial's input into the queue, for these reasons. Raises as :meth:`Loop.run`."""
        counters = self._journal.counters
        corpus, coverage = self._parts.corpus, self._parts.coverage
        new_edges = "edge" in reasons
        number = self._store.next_id(QUEUE)
        tail = candidate_tail(candidate, counters[j.RUN_MS], counters[j.TRIAL], new=new_edges)
        name = entry_name(number, tail)
        again = self._reruns.again(execution.data)
        if again.outcome is Outcome.FAILURE or again.outcome is Outcome.TIMEOUT:
            self._saver.failed(candidate, again)
        self._store.put(QUEUE, name, execution.data)
        self._parts.saved(candidate, QUEUE)
        parent = corpus.by_id.get(candidate.src) if not candidate.peer else None
        entry = CorpusEntry(
            id=number,
            name=name,
            data=execution.data,
            edges=self._parts.executor.coverage.count(execution.observed),
            favored=WHOLE not in reasons,
            valid=execution.outcome is Outcome.SUCCESS,
            depth=1 if parent is None else parent.depth + 1,
            reasons=reasons,
            calls=self._reruns.calls(execution.data),
        )
        for feedback in self._parts.feedbacks:
            feedback.learn(execution, entry)
        corpus.add(entry)
        counters[j.CORPUS] = len(corpus)
        if candidate.op == "seed":
            entry.reasons = ("seed", *reasons)
        elif candidate.peer:
            entry.reasons = ("imported", *reasons)
            counters[j.CORPUS_IMPORTED] += 1
        else:
            counters[j.CORPUS_FOUND] += 1
            counters[j.LAST_FIND] = int(time.time())
            self._cycle_of_find = self.cycles
        if again.observed != execution.observed:
            counters[j.CORPUS_VARIABLE] += 1
            self._variable |= again.observed ^ execution.observed
            counters[j.EDGES_VARIABLE] = self._parts.executor.coverage.count(self._variable)
        counters[j.EDGES], counters[j.EDGES_VALID] = coverage.edges, coverage.edges_valid
        self._reports.describe(entry)
        self._reports.show(str(number), execution.data)
        self._reruns.lines.add(number, execution)
        if again.observed != execution.observed:
            self._varying.append(execution.data)
            if len(self._varying) in (_ENOUGH, MAX_RUNS):
                propose_clock(self._context, self._varying, f"{len(corpus):,} entries")
