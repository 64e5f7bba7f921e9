"""Run many mutants on an input, in this process, recorded in the journal."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final

from fuzztui.engines.base.errors import RecycleWorker
from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.execute.executor import Execution, Executor
from fuzztui.engines.execute.isolation import Isolation
from fuzztui.engines.execute.limits import memory_used_up
from fuzztui.engines.instrument.fuel import FUEL_PERIOD
from fuzztui.engines.mu2.kill_criterion import KillCriterion, KillEvidence
from fuzztui.engines.mu2.mutant_executor import MutantExecutor, Unstable
from fuzztui.engines.mu2.table import MutantTable
from fuzztui.engines.mutants.program import CannotSwap, Program

Kill = tuple[int, KillEvidence]
"""A mutant's index and how it was killed."""

_VERIFY_EVERY: Final = 64
_BESIDES: Final = 2
"""Cost of a mutant's run in runs of the original: the mutant is also compiled, swapped in and
compared."""


class Runner:
    """Runs mutants; if the process dies, the journal contains the mutant that was running."""

    def __init__(
        self,
        *,
        executor: Executor,
        program: Program,
        criterion: KillCriterion,
        journal: TrialJournal,
        table: MutantTable,
        isolation: Isolation,
    ) -> None:
        self._program, self._journal, self._table = program, journal, table
        self._isolation = isolation
        self._mutant_executor = MutantExecutor(
            executor,
            program,
            criterion,
            lambda index: journal.again(time.monotonic_ns(), index),
            journal.judging,
        )
        self.since: set[int] = set()
        """Mutants that ran since the original's behaviour was last verified."""
        self.on_void: Callable[[Iterable[int]], None] = lambda mutants: None
        """Called with mutants that must run again on inputs on which they have run."""
        self._before: Execution | None = None
        """A run of the original before the first mutant in ``since``."""
        self._unverified = 0
        self._ns = self._compile_ns = 0
        self._timing: tuple[int, int] | None = None
        """Start of the current work, and the compile time by then, in nanoseconds."""
        self.runs = 0
        self.cost = 0
        """Total cost in iterations and calls, which is deterministic, unlike time."""

    @property
    def ns(self) -> int:
        """Nanoseconds spent on mutants."""
        return self._ns + (time.perf_counter_ns() - self._timing[0] if self._timing else 0)

    @property
    def compile_ns(self) -> int:
        """Nanoseconds of :attr:`ns` that were spent on compiling."""
        compiled = self._program.compile_ns
        return self._compile_ns + (compiled - self._timing[1] if self._timing else 0)

    def kills(
        self,
        original: Execution,
        todo: Sequence[int],
        *,
        turns: int,
        audits: Collection[int] = (),
        known: bool = False,
        verify: bool = False,
    ) -> list[Kill]:
        """Run mutants on the input of ``original``, which has just run. Returns confirmed kills.

        ``turns``: cost of a run, an estimate unless ``known``. ``audits``: the mutants that run
        only to check the pruning. ``verify``: always verify the original's behaviour at the end,
        not only after kills and every 64 mutants. Raises ``RestartWorker`` if the behaviour has
        changed.
        """
        runs, fuel = self._mutant_executor.runs, self._mutant_executor.fuel
        found: list[Kill] | None = None
        with self.timed():
            try:
                while found is None:
                    found = self._run(original, todo, turns, audits, known=known, verify=verify)
            except Unstable:
                self._examine_change(original)
                found = []
            finally:
                self._journal.judging()
                self.cost += (self._mutant_executor.runs - runs) * turns * _BESIDES
                self.cost += (self._mutant_executor.fuel - fuel) * FUEL_PERIOD
        return found

    def _run(
        self,
        original: Execution,
        todo: Sequence[int],
        turns: int,
        audits: Collection[int],
        *,
        known: bool,
        verify: bool,
    ) -> list[Kill] | None:
        """The confirmed kills; None if the runs are void and must be repeated."""
        found: list[Kill] = []
        if not self.since:
            self._before = original
        try:
            for at in todo:
                self.runs += 1
                self._unverified += 1
                self.since.add(at)
                try:
                    verdict = self._mutant_executor.verdict(
                        original, self._table.rows[at].mutant, turns if known else 0
                    )
                except CannotSwap as e:
                    self._table.invalidate(at, str(e))
                    continue
                if at not in audits:
                    self._table.ran(at)
                if verdict is not None:
                    found.append((at, verdict))
            due = verify or found or self._unverified >= _VERIFY_EVERY
            if due and self._unverified:
                if self.put_back(todo):
                    return None
                self._verify(original)
        except Unstable:
            if self.put_back(todo):
                return None
            raise
        return found

    def put_back(self, running: Collection[int] = ()) -> bool:
        """Restore lasting state that was not known to change. Returns whether any has changed.

        All mutants that ran since the behaviour was last verified may have run with that state, so
        they must run again. The caller repeats those in ``running``; :attr:`on_void` is called with
        the others.
        """
        if not self._program.changed():
            return False
        void = self.since.difference(running)
        self.since.clear()
        self._unverified = 0
        if void:
            self.on_void(void)
        return True

    def measure(self, original: Execution, *, cold: bool = True) -> int:
        """The cost of a run in iterations and calls; 0 if flaky. Raises ``RestartWorker``.

        ``cold``: whether ``original`` began with the state of a fresh process.
        """
        turns = 0
        with self.timed():
            try:
                turns = self._mutant_executor.measure(original, cold=cold)
            except Unstable:
                if self.put_back():
                    return self.measure(original, cold=cold)
                self._examine_change(original)
            finally:
                self._journal.judging()
        self.cost += 2 * turns
        return turns

    @contextlib.contextmanager
    def timed(self) -> Iterator[None]:
        """Count the time in this context as work on mutants. May be nested."""
        if self._timing:
            yield
            return
        self._timing = time.perf_counter_ns(), self._program.compile_ns
        try:
            yield
        finally:
            spent, compiled = self.ns, self.compile_ns
            self._timing = None
            self._ns, self._compile_ns = spent, compiled

    def _examine_change(self, original: Execution) -> None:
        """Handle a change of the original's behaviour: mark the input as flaky, or, if the change
        is permanent, let a fresh worker examine the mutants that ran.
        """
        if memory_used_up():
            raise RecycleWorker  # behaviour without free memory proves nothing
        if not self._mutant_executor.varies(original):
            rows = self._table.rows
            self._isolation.check_suspects(
                original.data, [rows[at].id for at in sorted(self.since)]
            )
        self._isolation.mark_flaky(original.data)

    def _verify(self, original: Execution) -> None:
        """Verify that the original behaves as before, on this input and on an earlier one: this
        input alone would not show a change made before its first run.
        """
        before = self._before
        if (
            before is not None
            and before is not original
            and not self._mutant_executor.repeats(before)
        ):
            self._examine_change(before)
        if not self._mutant_executor.repeats(original):
            raise Unstable
        self.since.clear()
        self._unverified = 0
