"""The fuzzing loop that all in-process engines share.

The order of calls is a contract that parts may rely on:

1. *tick*, about every 50 ms by the clock and always between trials: fixture and guard are
   checked, commands are executed (:class:`ControlReader`), statistics are written to the
   journal, changed counts of findings are reported. While paused, the loop stays here.
2. The budget is checked.
3. *stages* are called in order; the first candidate is taken. (Choosing an entry and mutating
   it happens inside the stage.)
4. ``journal.begin``: from here on, a dying process leaves this input in the journal.
5. *execute*: fixture reset, observers cleared, guard started, input built, target called,
   guard stopped, observers read (:meth:`Executor.run`).
6. ``journal.judging``. SUCCESS or INVALID: every *feedback* judges. With at least one reason,
   the input goes to the corpus: it is run under all probes if the trial lacked some
   (:mod:`~fuzztui.engines.instrument.sparse`), trimmed if the engine wants this, run once more
   (do its edges vary?), saved to ``queue/``, learned by every feedback, then described in an
   event, and run with its lines recorded. FAILURE or TIMEOUT: with a new signature, the input
   is run once more (is it flaky?), described and saved. A second implementation, if any, runs on
   kept inputs or in each trial; a difference is saved in the same way.
7. ``journal.end``.

Before step 1, modules that were imported late are registered. ``RecycleWorker`` ends the loop
when the target has used up the memory: see :meth:`Loop._starved`. ``Limited`` ends the loop
when the target has lowered a hard resource limit that saving needs.

A trial is one candidate, however often it is run again. Random decisions do not depend on
time: with the same seed and instance, and without commands, trial N is the same in every run
(except for entries of peers, and for trials close to the time limit).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from fuzztui.base.text import several
from fuzztui.engines.base.errors import RecycleWorker, Stopping
from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.events import EventLog, ReportedEvents
from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.directory.rescue import Rescue
from fuzztui.engines.directory.store import QUEUE, Store, candidate_tail, entry_ids
from fuzztui.engines.execute.executor import FAILURE, TIMEOUT, Execution, Executor, Outcome
from fuzztui.engines.execute.failures import Failure
from fuzztui.engines.execute.limits import cpu_s, memory_used_up
from fuzztui.engines.execute.shown import input_text
from fuzztui.engines.findings.differential import DifferentialOracle
from fuzztui.engines.findings.findings import Description, Findings
from fuzztui.engines.findings.frame_rules import FrameRules
from fuzztui.engines.findings.triage import FLAKY, FailureTriage
from fuzztui.engines.inputs.candidate import NO_ENTRY, Candidate
from fuzztui.engines.inputs.reduce import shrink
from fuzztui.engines.instrument.edges import EdgeTable
from fuzztui.engines.instrument.sparse import SparseProbes
from fuzztui.engines.loop.control import ControlReader
from fuzztui.engines.loop.corpus import Corpus, CorpusEntry, Steerable
from fuzztui.engines.loop.feedback import CoverageFeedback, Feedback
from fuzztui.engines.loop.line_reports import LineReports
from fuzztui.engines.loop.stages import Stage
from fuzztui.wire.afl import entry_name
from fuzztui.wire.commands import Command
from fuzztui.wire.events import EntryDescribed, InputShown

_TICK_NS: Final = 50_000_000
_SLOW_REBUILD_S: Final = 5.0
"""Seconds between two progress messages while the queue is run again."""
_FRESH_TRIALS: Final = 100
"""Trials of a worker in which an input, and not a leak, is blamed for a lack of memory."""
_BLIND_TRIALS: Final = 300
"""Trials without executed application code after which a warning shows what is instrumented."""
_TALLY: Final = {
    Outcome.SUCCESS: j.VALID,
    Outcome.INVALID: j.INVALID,
    Outcome.FAILURE: j.FAILURES,
    Outcome.TIMEOUT: j.TIMEOUTS,
}


@dataclass(slots=True)
class Parts:
    """What an engine builds for the loop; the modules of this package describe each part."""

    executor: Executor
    corpus: Corpus
    scheduler: Steerable
    stages: Sequence[Stage]
    coverage: CoverageFeedback
    feedbacks: Sequence[Feedback]
    """All feedbacks, including ``coverage``."""
    sparse: SparseProbes | None = None
    """The code of trials. None: every feedback needs all covered cells of each trial."""
    shrink_runs: int = 0
    """Most runs to trim a new entry; 0: no trimming."""
    before: Callable[[Candidate], None] = lambda candidate: None
    """Called with each trial's candidate before it runs."""
    before_recall: Callable[[], None] = lambda: None
    """Called before an input runs again for its coverage: each queue entry after a restart."""
    tick: Callable[[], None] = lambda: None
    """Called between trials, about every 50 ms by the clock: for statistics, not for decisions."""
    finish: Callable[[], None] = lambda: None
    """Called when the budget is used up, for work that remains."""
    on_modules: Callable[[], object] = lambda: None
    """Called between trials when modules were imported late."""
    connect: Callable[[Callable[[CorpusEntry], None], Callable[[], bool]], None] = lambda *_: None
    """Called once with :meth:`Loop.describe`, to report a changed entry, and :meth:`Loop.pulse`."""
    saved: Callable[[Candidate, str], None] = lambda candidate, folder: None
    """Called when an input was saved, with the folder: ``queue``, ``crashes`` or ``hangs``."""
    found: Callable[[str, bytes], None] = lambda file, data: None
    """Called when a finding was saved, with its path in the instance directory and its input."""
    execute: Callable[[Command], str] | None = None
    """Executes commands that only this engine has; raises ``SteerError``. None: there are none."""


class Loop:
    """Runs trials until the budget is used up or a stop is requested."""

    def __init__(
        self,
        parts: Parts,
        *,
        journal: TrialJournal,
        store: Store,
        log: EventLog,
        findings: Findings,
        frame_rules: FrameRules,
        steering: ControlReader,
        rescue: Rescue,
        edges: EdgeTable,
        differential: DifferentialOracle | None = None,
        budget_trials: int = 0,
        budget_cpu_s: float = 0.0,
        confirm: float = 2.0,
        on_modules: Callable[[], None] = lambda: None,
        third_party: Callable[[], int] = lambda: 0,
        scope: Callable[[], str] = lambda: "",
        lines: LineReports | None = None,
    ) -> None:
        """``on_modules`` is called between trials when modules were imported late.

        ``confirm``: how many time limits an input has when a hang is confirmed.

        ``differential``: the differential oracle, if any. ``third_party`` returns the number of
        covered lines of libraries. ``scope`` returns the instrumentation scope, as text.
        ``lines`` reports which entries cover which lines first; None: it is not reported.
        """
        self.parts = parts
        self.journal, self.store, self.log = journal, store, log
        self.findings, self.steering, self.edges = findings, steering, edges
        self.rescue, self._differential = rescue, differential
        self.budget_trials = budget_trials or (1 << 62)
        self._budget_cpu_s = budget_cpu_s
        self._triage = FailureTriage(parts.executor, edges.files())
        self._triage.rules = frame_rules.rules
        self._frame_rules = frame_rules
        self._modules = len(edges.modules)
        self._on_modules, self._third_party, self._scope = on_modules, third_party, scope
        self._confirm, self._lines = confirm, lines
        self._timeouts: dict[str, int] = {}
        """Timeouts by signature that are not saved as a hang."""
        self._due = 0
        self._fresh_until = journal.counters[j.TRIAL] + _FRESH_TRIALS
        self._cycles_before = journal.counters[j.CYCLES]
        """Cycles of earlier workers of this instance."""
        self._cycle_of_find = self._cycles_before - journal.counters[j.CYCLES_WITHOUT_FINDS]
        self._variable = 0
        self._blind = True
        """Whether no trial has executed any application code."""
        parts.executor.sparse = parts.sparse
        parts.connect(self.describe, self.pulse)
        parts.scheduler.on_change = lambda entry: self.describe(parts.corpus.by_id[entry])

    # -------------------------------------------------------------------- trials

    def run(self) -> None:
        """Run trials; returns when the budget is used up or a stop is requested.

        Raises ``RecycleWorker`` when the target has used up the memory, ``Limited`` when it has
        lowered a limit that saving needs, and ``Stopping`` while waiting for a full disk.
        """
        counters, clock = self.journal.counters, time.monotonic_ns
        modules, sparse, coverage = self.edges.modules, self.parts.sparse, self.parts.coverage
        while counters[j.TRIAL] < self.budget_trials:
            if len(modules) != self._modules:  # not in the tick: trials must not depend on time
                self._imported_late()
            if sparse is not None:
                sparse.advance(coverage.seen_valid)
            now = clock()
            if now >= self._due:
                if not self._tick():
                    break
                now = clock()
                self._due = now + _TICK_NS
            try:
                self.trial(self._propose(), now)
            except MemoryError:  # raised in the engine, not in the target
                self.parts.executor.fixture.check_limits()
                raise
            if self._blind and counters[j.TRIAL] == _BLIND_TRIALS:
                self._warn_blind()
        self._tick()
        if counters[j.STOP] != j.STOP_NOW and not self.steering.stop:
            self.parts.finish()
            self._tick()
        self.findings.recount(final=True)

    def pulse(self) -> bool:
        """Run the tick if due, for parts that work long without a trial. False: stop at once."""
        if time.monotonic_ns() >= self._due:
            self._tick()
            self._due = time.monotonic_ns() + _TICK_NS
        return self.journal.counters[j.STOP] != j.STOP_NOW and not self.steering.stop

    def _propose(self) -> Candidate:
        for stage in self.parts.stages:
            candidate = stage.propose()
            if candidate is not None:
                return candidate
        raise AssertionError("the last stage must always propose a candidate")

    def trial(self, candidate: Candidate, now_ns: int) -> None:
        """Run steps 4 to 7 for one candidate. Raises as :meth:`run`."""
        journal, counters = self.journal, self.journal.counters
        journal.begin(now_ns, candidate, counts=not candidate.recovered)
        if candidate.begun is not None:
            candidate.begun()
        self.parts.before(candidate)
        execution = self.parts.executor.trial(candidate.data, self.parts.coverage.seen_valid)
        took = time.monotonic_ns() - now_ns
        if took > counters[j.SLOWEST_NS]:  # noqa: PLR1730 - max() would write in each trial
            counters[j.SLOWEST_NS] = took
        journal.judging()
        if counters[j.LIMITS_CHECKED]:
            self.parts.executor.fixture.check_limits()
        if execution.observed:
            self._blind = False
        outcome = execution.outcome
        if outcome is FAILURE:
            self._check_error(execution)
            if self._starved(execution):
                raise RecycleWorker
        if not (candidate.recovered and journal.is_counted):
            counters[_TALLY[outcome]] += 1
        if outcome is FAILURE or outcome is TIMEOUT:
            self._failed(candidate, execution)
            journal.end()
            if self._leaked(execution):
                raise RecycleWorker
            return
        reasons = self._judge(execution)
        whole = execution
        if reasons:
            self._complete(execution)
            shrinks = self.parts.shrink_runs > 0 and not candidate.recovered
            if shrinks:
                execution = self._shrink(candidate, execution)
            self._keep(candidate, execution, reasons)
            if shrinks:
                self.rescue.clear()
        if self._differential is not None and (reasons or self._differential.always):
            # The untrimmed input: trimming may have removed the difference.
            self._contrast(self._differential, candidate, whole)
        journal.end()

    def _judge(self, execution: Execution) -> tuple[str, ...]:
        reasons: tuple[str, ...] = ()
        for feedback in self.parts.feedbacks:
            reasons += feedback.judge(execution)
        return reasons

    def _complete(self, execution: Execution) -> None:
        """Observe all cells that a kept input covers."""
        if execution.lacks:
            self.parts.before_recall()
            self.journal.again(time.monotonic_ns())
            self.parts.executor.complete(execution)
            self.journal.judging()

    def _shrink(self, candidate: Candidate, execution: Execution) -> Execution:
        """Trim the input. Returns the execution of the smallest input that is as interesting."""
        best = execution

        def keeps(data: bytes) -> bool:
            nonlocal best
            self.journal.begin(time.monotonic_ns(), replace(candidate, data=data), counts=False)
            tried = self.parts.executor.run(data)
            self.journal.judging()
            same = tried.outcome is execution.outcome
            if same and all(f.keeps(execution, tried) for f in self.parts.feedbacks):
                best = tried
                return True
            return False

        try:
            # A smaller input may kill the process: then the next worker runs this one.
            self.rescue.save(candidate)
        except OSError:
            return execution
        shrink(execution.data, keeps, self.parts.shrink_runs)
        return best

    def _again(self, data: bytes, patience: float = 1.0) -> Execution:
        self.journal.again(time.monotonic_ns())
        execution = self.parts.executor.run(data, patience)
        self.journal.judging()
        self.parts.executor.fixture.check_limits()  # before it is saved
        self._check_error(execution)
        if self._starved(execution):
            raise RecycleWorker
        return execution

    def _check_error(self, execution: Execution) -> None:
        """Raise ``Limited`` if the failure comes from a resource limit that was lowered."""
        if execution.outcome is Outcome.FAILURE:
            self.parts.executor.fixture.check_error(execution.error)

    def _starved(self, execution: Execution) -> bool:
        """Whether a fresh worker must run the input: out of memory, perhaps by an earlier leak.

        False for known signatures: else every input that allocates too much would cost a worker.
        """
        if not self._out_of_memory(execution):
            return False
        return self._triage.classify(execution) not in self.findings

    def _leaked(self, execution: Execution) -> bool:
        """Whether memory ran out, and is still used up after the trial."""
        error = execution.error
        if error is None or not self._out_of_memory(execution):
            return False
        BaseException.with_traceback(error, None)  # its frames refer to the trial's memory
        return memory_used_up()

    def _out_of_memory(self, execution: Execution) -> bool:
        used = self.journal.counters[j.TRIAL] > self._fresh_until
        failed = execution.outcome is Outcome.FAILURE
        return used and failed and issubclass(type(execution.error), MemoryError)

    def _warn_blind(self) -> None:
        """Warn, once, that coverage cannot guide the fuzzing."""
        if self.parts.coverage.edges:
            return  # covered by an earlier worker
        why = "" if self.journal.counters[j.VALID] else " and none of their inputs was valid"
        self.log.message(
            "warning",
            f"{_BLIND_TRIALS} trials have executed no Python code of the application{why}, so"
            f" coverage guides nothing. Instrumented: {self._scope()}. Set target.include to the"
            " packages under test, and target.path to the directory of their Python source",
        )

    # -------------------------------------------------------------------- corpus

    def _keep(self, candidate: Candidate, execution: Execution, reasons: tuple[str, ...]) -> None:
        counters, corpus, coverage = self.journal.counters, self.parts.corpus, self.parts.coverage
        new_edges = "edge" in reasons
        number = self.store.next_id(QUEUE)
        tail = candidate_tail(candidate, counters[j.RUN_MS], counters[j.TRIAL], new=new_edges)
        name = entry_name(number, tail)
        again = self._again(execution.data)
        if again.outcome is Outcome.FAILURE or again.outcome is Outcome.TIMEOUT:
            self._failed(candidate, again)
        self.store.put(QUEUE, name, execution.data)
        self.parts.saved(candidate, QUEUE)
        parent = corpus.by_id.get(candidate.src) if not candidate.peer else None
        entry = CorpusEntry(
            id=number,
            name=name,
            data=execution.data,
            edges=self.parts.executor.coverage.count(execution.observed),
            favored=True,
            valid=execution.outcome is Outcome.SUCCESS,
            depth=1 if parent is None else parent.depth + 1,
            reasons=reasons,
        )
        for feedback in self.parts.feedbacks:
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
            self._cycle_of_find = self._cycles
        if again.observed != execution.observed:
            counters[j.CORPUS_VARIABLE] += 1
            self._variable |= again.observed ^ execution.observed
            counters[j.EDGES_VARIABLE] = self.parts.executor.coverage.count(self._variable)
        counters[j.EDGES], counters[j.EDGES_VALID] = coverage.edges, coverage.edges_valid
        self.describe(entry)
        self._show(str(number), execution.data)
        self._report_lines(number, execution)

    def _report_lines(self, entry: int, execution: Execution) -> None:
        """Run an entry once more, with its lines recorded, and report what is new."""
        lines = self._lines
        if lines is None:
            return
        self.journal.again(time.monotonic_ns())
        self.parts.executor.traced(execution.data, lines.recorder, max(1.0, self._confirm))
        self.journal.judging()
        self.parts.executor.fixture.check_limits()
        lines.report(entry, execution.observed)

    def describe(self, entry: CorpusEntry) -> None:
        """Report an entry as an event."""
        self.log.write(
            EntryDescribed(
                instance=self.log.instance,
                id=entry.id,
                reasons=list(entry.reasons),
                edges=entry.edges,
                favored=entry.favored,
                outcome=str(Outcome.SUCCESS if entry.valid else Outcome.INVALID),
                steer=self.parts.scheduler.steer_of(entry.id),
                kills=entry.kills,
            )
        )

    # ------------------------------------------------------------------- findings

    def _failed(self, candidate: Candidate, execution: Execution) -> None:
        failure = self._triage.classify(execution)
        if self.findings.count_known(failure):
            return
        if execution.outcome is Outcome.TIMEOUT:
            self._hung(candidate, execution, failure)
            return
        guard = self.parts.executor.guard
        stack, lasting = guard.where, guard.lasting
        second = self._again(execution.data)
        same = second.outcome is execution.outcome and self._triage.classify(second) == failure
        self._save(
            failure,
            candidate,
            execution.data,
            lambda: self._triage.describe(execution, stack, lasting, flaky=not same),
        )

    def _hung(self, candidate: Candidate, execution: Execution, failure: Failure) -> None:
        """Save a hang if the input does not end within a longer time limit either.

        At a place where inputs did end, ever fewer timeouts are confirmed: the first, second,
        fourth, eighth, ...
        """
        seen = self._timeouts[failure.signature] = self._timeouts.get(failure.signature, 0) + 1
        if seen & seen - 1:
            return
        guard = self.parts.executor.guard
        stack, lasting = guard.where, guard.lasting
        second = self._again(execution.data, self._confirm)
        if second.outcome is Outcome.TIMEOUT:
            self._save(
                failure,
                candidate,
                execution.data,
                lambda: self._triage.describe(execution, stack, lasting, flaky=False),
            )
        elif second.outcome is Outcome.FAILURE:
            self._failed(candidate, second)
        elif seen == 1:
            limit = self.parts.executor.guard.timeout_s
            self.log.message(
                "info",
                f"an input took longer than {limit:g} s in {failure.place}, and ended within"
                f" {self._confirm * limit:g} s: it is slow, and not saved as a hang. Raise"
                " target.timeout if such inputs are usual",
            )

    def _contrast(
        self, differential: DifferentialOracle, candidate: Candidate, execution: Execution
    ) -> None:
        """Run the second implementation on the input, and save a difference as a finding."""
        data = execution.data
        # The last run may have been an attempt to trim the input.
        self.journal.begin(time.monotonic_ns(), replace(candidate, data=data), counts=False)
        difference = differential.differs(execution)
        self.journal.judging()
        if difference is None or self.findings.count_known(difference.failure):
            return
        second = self._again(data)
        self.journal.again(time.monotonic_ns())
        again = differential.differs(second)
        self.journal.judging()
        detail = difference.detail
        if again is None or again.failure != difference.failure:
            detail = f"{FLAKY}\n{detail}"
        self._save(
            difference.failure,
            candidate,
            data,
            lambda: Description(difference.title, detail, self._triage.shown(data)),
        )

    def _save(
        self,
        failure: Failure,
        candidate: Candidate,
        data: bytes,
        describe: Callable[[], Description],
    ) -> None:
        counters = self.journal.counters
        tail = candidate_tail(candidate, counters[j.RUN_MS], counters[j.TRIAL])
        file = self.findings.save(failure, data, tail, describe)
        self.parts.saved(candidate, file.partition("/")[0])
        self.parts.found(file, data)  # with the bytes that the generator has drawn
        self._show(file, data)

    def _show(self, row: str, data: bytes) -> None:
        """Report what the generator makes of saved choices, which mean nothing to a user."""
        executor = self.parts.executor
        if not executor.form.choices:
            return
        shown = executor.guarded(lambda: input_text(executor.form.build(data)), None)
        if shown is not None:
            self.log.write(
                InputShown(
                    self.log.instance, row, shown.form, shown.text, shown.length, shown.picture
                )
            )

    # ----------------------------------------------------------------------- ticks

    def _tick(self) -> bool:
        """Run step 1. Returns False if the loop must stop."""
        executor, counters = self.parts.executor, self.journal.counters
        while True:
            executor.fixture.check()
            executor.guard.check()
            self.log.flush()
            self.steering.poll()
            self.findings.recount()
            if self._frame_rules.changed():
                self._triage.rules = self._frame_rules.rules
                self.findings.regroup(self._frame_rules.rules)
            self._write_stats()
            self.parts.tick()
            if self.steering.stop or counters[j.STOP]:
                return False
            if self._budget_cpu_s and cpu_s() >= self._budget_cpu_s:
                return False
            if not self.steering.paused:
                return True
            time.sleep(_TICK_NS / 1e9)

    def _write_stats(self) -> None:
        """Write the statistics that cost more than an increment to the journal."""
        counters, parts = self.journal.counters, self.parts
        corpus, table = parts.corpus, self.edges
        counters[j.CORPUS] = len(corpus)
        counters[j.MAX_DEPTH] = corpus.max_depth
        counters[j.FAVORED] = corpus.favored
        counters[j.PENDING], counters[j.PENDING_FAVORED] = corpus.pending, corpus.pending_favored
        counters[j.CUR_ITEM] = max(0, parts.scheduler.position)
        counters[j.CYCLES] = self._cycles
        counters[j.CYCLES_WITHOUT_FINDS] = self._cycles - self._cycle_of_find
        counters[j.EDGES_TOTAL] = table.reachable
        sparse = self.parts.sparse
        counters[j.PROBES_LEFT] = table.reachable if sparse is None else sparse.left
        counters[j.EDGES_THIRD_PARTY] = self._third_party()

    @property
    def _cycles(self) -> int:
        return self._cycles_before + self.parts.scheduler.cycles

    def _imported_late(self) -> None:
        self._modules = len(self.edges.modules)
        self._triage.files = self.edges.files()
        self.edges.save(self.store.write)
        if self._lines is not None:
            self._lines.on_modules()
        self._on_modules()

    # --------------------------------------------------------------------- restart

    def rebuild(self, reported: ReportedEvents, unsafe: set[int]) -> None:
        """Rebuild the corpus from ``queue/``: run each entry again for its coverage.

        Entries in ``unsafe``, which killed a worker, stay in the queue but are not run. Entries
        without an event are described now. Raises ``Stopping`` if a stop is requested, so that
        the statistics of half a queue are not written.
        """
        counters, corpus, coverage = self.journal.counters, self.parts.corpus, self.parts.coverage
        folder = self.store.directory / QUEUE
        names = sorted(entry_ids(folder).items())
        changed = 0
        began = reported_at = time.monotonic()
        for at, (number, name) in enumerate(names):
            try:
                data = (folder / name).read_bytes()
            except OSError as e:
                self.log.message("warning", f"queue/{name} cannot be read: {e.strerror or e}")
                continue
            entry = CorpusEntry(number, name, data, edges=0, favored=False)
            if number not in unsafe:
                self.parts.before_recall()
                self.journal.begin(
                    time.monotonic_ns(), Candidate(data, j.REBUILD, number), counts=False
                )
                execution = self.parts.executor.run(data)
                self.parts.executor.fixture.check_limits()
                self._check_error(execution)
                self.journal.end()
                if execution.outcome in (Outcome.SUCCESS, Outcome.INVALID):
                    firsts = [f.recall(execution, entry) for f in self.parts.feedbacks]
                    entry.favored = any(firsts)
                    entry.edges = self.parts.executor.coverage.count(execution.observed)
                    entry.valid = execution.outcome is Outcome.SUCCESS
                    if self._lines is not None and self._lines.must_rerun:
                        self._report_lines(number, execution)
                else:
                    changed += 1
            parent = corpus.by_id.get(_source_of(name))
            entry.depth = 1 if parent is None else parent.depth + 1
            corpus.add(entry)
            if number in reported.entries:
                entry.reasons = reported.entries[number]
            else:
                self.describe(entry)
            if time.monotonic() - reported_at > _SLOW_REBUILD_S:
                reported_at = time.monotonic()
                self.log.message("info", f"running the queue again: {at + 1} of {len(names)}")
            if counters[j.STOP] == j.STOP_NOW:
                raise Stopping
        if self.parts.sparse is not None:
            self.parts.sparse.find_late()
        if changed:
            entries = several(changed, "queue entry", "queue entries")
            self.log.message("warning", f"{entries} failed now, but not when saved")
        if names and time.monotonic() - began > _SLOW_REBUILD_S:
            self.log.message(
                "info",
                f"{several(len(names), 'queue entry', 'queue entries')} run again; continuing",
            )
        counters[j.EDGES], counters[j.EDGES_VALID] = coverage.edges, coverage.edges_valid


def _source_of(name: str) -> int:
    """The parent's id in an entry's file name; NO_ENTRY for seeds and imports."""
    _, _, rest = name.partition(",")
    return int(rest[4:10]) if rest.startswith("src:") and rest[4:10].isdecimal() else NO_ENTRY
