"""The fuzzing loop that all in-process engines share.

The order of calls is a contract that parts may rely on:

1. *tick*, about every 50 ms by the clock and always between trials: fixture and guard are
   checked, commands are executed (:class:`ControlReader`), statistics are written to the
   journal, changed counts of findings are reported. While paused, the loop stays here.
2. The budget is checked, and whether the engine is stuck (``spec.stuck_trials``).
3. *stages* are called in order; the first candidate is taken. (Choosing an entry and mutating
   it happens inside the stage.)
4. ``journal.begin``: from here on, a dying process leaves this input in the journal.
5. *execute*: fixture reset, observers cleared, guard started, input built, target called,
   guard stopped, observers read (:meth:`Executor.run`).
6. ``journal.judging``. SUCCESS or INVALID: every *feedback* judges. With at least one reason,
   the input goes to the corpus: it is run under all probes if the trial lacked some
   (:mod:`~fuzztui.engines.instrument.sparse`), trimmed if the engine wants this, run once more
   (do its edges vary?), saved to ``queue/``, learned by every feedback, then described in an
   event; its lines are recorded later. FAILURE or TIMEOUT: with a new signature, the input
   is run once more (is it flaky?), described and saved. A second implementation, if any, runs on
   kept inputs or in each trial; a difference is saved in the same way.
7. ``journal.end``.

Step 6 is in :mod:`~fuzztui.engines.loop.keeper` (entries), ``finding_saver`` (failures) and
``reruns`` (whatever runs an input again, also when a worker starts).

Before step 1, modules that were imported late are registered, and the lines of a waiting entry
are recorded if the work of the trials allows it (``line_runs``). ``RecycleWorker`` ends the loop
when the target has used up the memory: see :meth:`AfterEffects.starved`. ``Limited`` ends the loop
when the target has lowered a hard resource limit that saving needs.

A trial is one candidate, however often it is run again. Random decisions do not depend on
time: with the same seed and instance, and without commands, trial N is the same in every run
(except for entries of peers, and for trials close to the time limit).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from fuzztui.engines.base.errors import RecycleWorker
from fuzztui.engines.directory import journal as j
from fuzztui.engines.execute.elsewhere import unguided_text
from fuzztui.engines.execute.executor import FAILURE, TIMEOUT, Execution, Outcome
from fuzztui.engines.execute.limits import cpu_s
from fuzztui.engines.findings.differential import DifferentialOracle
from fuzztui.engines.findings.findings import Findings
from fuzztui.engines.findings.triage import FailureTriage, FrameRules
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.loop.after_effects import AfterEffects
from fuzztui.engines.loop.context import Context
from fuzztui.engines.loop.control import ControlReader
from fuzztui.engines.loop.corpus import WHOLE
from fuzztui.engines.loop.finding_saver import FindingSaver
from fuzztui.engines.loop.input_reports import InputReports
from fuzztui.engines.loop.keeper import Keeper
from fuzztui.engines.loop.line_reports import LineReports
from fuzztui.engines.loop.line_runs import LineRuns
from fuzztui.engines.loop.parts import Parts
from fuzztui.engines.loop.reruns import Reruns
from fuzztui.kernel.wire.events import UNGUIDED

_TICK_NS: Final = 50_000_000
_BLIND_TRIALS: Final = 300
"""Trials without executed application code after which a warning shows what is executed."""
_TALLY: Final = {
    Outcome.SUCCESS: j.VALID,
    Outcome.INVALID: j.INVALID,
    Outcome.FAILURE: j.FAILURES,
    Outcome.TIMEOUT: j.TIMEOUTS,
}


class Loop:
    """Runs trials until the budget is used up, a stop is requested, or the engine is stuck."""

    def __init__(
        self,
        context: Context,
        parts: Parts,
        lines: LineReports,
        *,
        on_modules: Callable[[], None],
        third_party: Callable[[], int],
    ) -> None:
        """``lines`` reports which entries cover which lines first.

        ``on_modules`` is called between trials when modules were imported late. ``third_party``
        returns the number of covered lines of libraries.
        """
        spec, executor, log = context.spec, context.executor, context.log
        self.parts, self._context = parts, context
        self.journal, self.log, self._work = context.journal, log, context.work
        self.edges = edges = context.application.table
        self._frame_rules = rules = FrameRules(spec.sync_dir)
        suite = context.target.suite
        self.findings = Findings(
            context.store,
            log,
            context.journal,
            context.reported,
            most=spec.engine.max_findings,
            rules=rules.rules,
            of_property=str if suite is None else suite.current_name,
        )
        self.steering = ControlReader(context, parts)
        self._differential = DifferentialOracle.of(
            context.target, spec.target, executor, log.message
        )
        self.budget_trials = spec.budget_trials or (1 << 62)
        self._triage = FailureTriage(executor, edges.files())
        self._triage.rules = rules.rules
        self._modules = len(edges.modules)
        self._on_modules, self._third_party, self._lines = on_modules, third_party, lines
        self._due = 0
        self._blind = True
        """Whether no trial has executed any application code."""
        self._tried: bytes | None = None
        """The last input, as long as :attr:`_blind`."""
        self._after_effects = AfterEffects(context, self._triage, self.findings)
        reports = InputReports(context, parts.scheduler)
        self._line_runs = line_runs = LineRuns(context, lines)
        self.reruns = Reruns(context, parts, self._after_effects, line_runs, reports)
        self._saver = FindingSaver(
            context, parts, self.findings, self._triage, reruns=self.reruns, reports=reports
        )
        self._keeper = Keeper(context, parts, self._saver, self.reruns, reports)
        executor.sparse = parts.sparse
        parts.connect(reports.describe, self.pulse)
        parts.scheduler.on_change = lambda entry: reports.describe(parts.corpus.by_id[entry])

    # -------------------------------------------------------------------- trials

    def run(self) -> None:
        """Run trials; returns when the budget is used up, a stop is requested, or when stuck.

        Raises ``RecycleWorker`` when the target has used up the memory, ``Limited`` when it has
        lowered a limit that saving needs, and ``Stopping`` while waiting for a full disk.
        """
        counters, clock = self.journal.counters, time.monotonic_ns
        modules, sparse, coverage = self.edges.modules, self.parts.sparse, self.parts.coverage
        patience, since = self._context.spec.stuck_trials, self._context.spec.stuck_from
        while counters[j.TRIAL] < self.budget_trials:
            if patience and self.journal.is_stuck(patience, since):
                break
            if len(modules) != self._modules:  # not in the tick: trials must not depend on time
                self._imported_late()
            if sparse is not None:
                sparse.advance(coverage.seen_valid)
            if self._line_runs.waiting:
                self._line_runs.advance()
            now = clock()
            if now >= self._due:
                if not self._tick():
                    break
                now = clock()
                self._due = now + _TICK_NS
            try:
                candidate = self._propose()
                self.trial(candidate, now)
            except MemoryError:  # raised in the engine, not in the target
                self.parts.executor.fixture.check_limits()
                raise
            if self._blind:
                self._tried = candidate.data
                if counters[j.TRIAL] == _BLIND_TRIALS:
                    self._warn_blind()
        self._tick()
        if self._blind and counters[j.TRIAL] < _BLIND_TRIALS and self._tried is not None:
            self._warn_blind()
        if counters[j.STOP] != j.STOP_NOW and not self.steering.stop:
            self.parts.finish()
            self._tick()
        self._line_runs.finish(self.pulse)
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
        self._work.add(execution.turns)
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
            self._after_effects.check_error(execution)
            if self._after_effects.starved(execution):
                raise RecycleWorker
        if not (candidate.recovered and journal.is_counted):
            counters[_TALLY[outcome]] += 1
        if outcome is FAILURE or outcome is TIMEOUT:
            self._saver.failed(candidate, execution)
            journal.end()
            if self._after_effects.leaked(execution):
                raise RecycleWorker
            return
        reasons = self._judge(execution)
        whole = execution
        if reasons:
            if "edge" in reasons:
                counters[j.EDGE_TRIAL] = counters[j.TRIAL]
            self.reruns.complete(execution)
            trims = self.parts.shrink_runs > 0 and WHOLE not in reasons
            shrinks = trims and not candidate.recovered
            if shrinks:
                execution = self.reruns.shrink(candidate, execution)
            self._keeper.keep(candidate, execution, reasons)
            if execution.data != whole.data and (also := self.parts.whole()):
                self._keeper.keep(candidate, whole, also)
            if shrinks:
                journal.release()
        if self._differential is not None and (reasons or self._differential.always):
            # The untrimmed input: trimming may have removed the difference.
            self._saver.contrast(self._differential, candidate, whole)
        journal.end()

    def _judge(self, execution: Execution) -> tuple[str, ...]:
        reasons: tuple[str, ...] = ()
        for feedback in self.parts.feedbacks:
            reasons += feedback.judge(execution)
        return reasons

    def _warn_blind(self) -> None:
        """Warn that coverage cannot guide the fuzzing."""
        if self.parts.coverage.edges:
            return  # covered by an earlier worker
        counters, tried = self.journal.counters, self._tried or b""
        why = "" if counters[j.VALID] else " and none of their inputs was valid"
        context, executor = self._context, self.parts.executor
        scope = unguided_text(
            lambda: executor.call(tried), context.spec.target, context.application
        )
        self.log.message(
            "warning",
            f"{counters[j.TRIAL]} trials have executed no instrumented code{why}, so coverage"
            f" guides nothing. {scope}",
            UNGUIDED,
        )

    # ----------------------------------------------------------------------- ticks

    def _tick(self) -> bool:
        """Run step 1. Returns False if the loop must stop."""
        executor, counters = self.parts.executor, self.journal.counters
        budget_cpu_s = self._context.spec.budget_cpu_s
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
            if budget_cpu_s and cpu_s() >= budget_cpu_s:
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
        counters[j.CYCLES] = self._keeper.cycles
        counters[j.CYCLES_WITHOUT_FINDS] = self._keeper.cycles_without_finds
        counters[j.EDGES_TOTAL] = table.reachable
        sparse = self.parts.sparse
        counters[j.PROBES_LEFT] = table.reachable if sparse is None else sparse.left
        counters[j.EDGES_THIRD_PARTY] = self._third_party()

    def _imported_late(self) -> None:
        self._modules = len(self.edges.modules)
        self._triage.files = self.edges.files()
        self.edges.save(self._context.store.write)
        self._lines.on_modules()
        self._on_modules()
