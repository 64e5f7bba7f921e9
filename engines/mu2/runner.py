"""Running many mutants on an input, in this process, under the journal."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from fuzztui.engines.base.errors import RecycleWorker
from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.execute import memory
from fuzztui.engines.execute.executor import Execution, Executor
from fuzztui.engines.execute.isolation import Isolation
from fuzztui.engines.instrument.instrument import FUEL_PERIOD
from fuzztui.engines.mu2.kill_criterion import KillCriterion, KillEvidence
from fuzztui.engines.mu2.mutant_executor import MutantExecutor, Unstable
from fuzztui.engines.mu2.table import MutantTable
from fuzztui.engines.mutants.program import CannotSwap, Program

__all__ = ["Kill", "Runner"]

Kill = tuple[int, KillEvidence]
"""A mutant's index and how its death showed."""

_VERIFY_EVERY: Final = 64
_BESIDES: Final = 2
"""A run of a mutant takes so many times what the program takes: it is compiled, swapped
in, compared."""


class Runner:
    """Should the process die, the journal tells of which mutant."""

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
        """Mutants that ran since the program was last seen to be as it should."""
        self._before: Execution | None = None
        """A run of the program from before the first of those."""
        self._unverified = 0
        self._ns = self._compile_ns = 0
        self._timing: tuple[int, int] | None = None
        """When the current work began, and the time spent on compiling by then, in nanoseconds."""
        self.runs = 0
        self.cost = 0
        """What was spent so far, in turns of loops and calls: deterministic, unlike time."""

    @property
    def ns(self) -> int:
        """Time spent in here by now, in nanoseconds."""
        return self._ns + (time.perf_counter_ns() - self._timing[0] if self._timing else 0)

    @property
    def compile_ns(self) -> int:
        """The part of :attr:`ns` that was compiling."""
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
        """Run those mutants on the input of ``original``, which has just run; confirmed kills.

        ``turns``: what a run of it costs, by estimate unless ``known``. ``audits``: those
        among the mutants that run only to check the pruning. ``verify``: look in any case
        whether the program is still as it was, not only every so often and after kills.
        If it is not, raises ``Afresh``: a clean worker must go on.
        """
        with self.timed():
            return self._kills(original, todo, turns, audits, known=known, verify=verify)

    def _kills(
        self,
        original: Execution,
        todo: Sequence[int],
        turns: int,
        audits: Collection[int],
        *,
        known: bool,
        verify: bool,
    ) -> list[Kill]:
        found: list[Kill] = []
        runs, fuel = self._mutant_executor.runs, self._mutant_executor.fuel
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
                self._verify(original)
        except Unstable:
            self._examine_change(original)
            found = []
        finally:
            self._journal.judging()
            self.cost += (self._mutant_executor.runs - runs) * turns * _BESIDES
            self.cost += (self._mutant_executor.fuel - fuel) * FUEL_PERIOD
        return found

    def measure(self, original: Execution) -> int:
        """What a run of this input costs, in turns; 0 for a flaky one. Raises ``Afresh``."""
        turns = 0
        with self.timed():
            try:
                turns = self._mutant_executor.measure(original)
            except Unstable:
                self._examine_change(original)
            finally:
                self._journal.judging()
        self.cost += 2 * turns
        return turns

    @contextlib.contextmanager
    def timed(self) -> Iterator[None]:
        """What is done meanwhile is work on mutants; may be nested."""
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
        """The program did not repeat itself: is it flaky, or has it changed permanently?"""
        if memory.used_up():
            raise RecycleWorker  # what it did without memory says nothing
        if not self._mutant_executor.varies(original):
            rows = self._table.rows
            self._isolation.accuse(original.data, [rows[at].id for at in sorted(self.since)])
        self._isolation.distrust(original.data)

    def _verify(self, original: Execution) -> None:
        """This input alone would not show what a mutant had left behind before it ran."""
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
