"""KILLS(P', x): one mutant on one input (section IV-A of the Mu2 paper).

The mutant is swapped into the loaded program, run under the guard, and removed. Its fuel is 3 times
the fuel of the original, so a timeout is deterministic. A kill counts only when it is *confirmed*:
it happens again (a timeout with ten times the fuel, or :data:`_AGAIN_PLUS` more if that is less),
and the original still behaves as before.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from fuzztui.engines.execute.executor import Execution, Executor, Outcome
from fuzztui.engines.instrument.fuel import FUEL_PERIOD
from fuzztui.engines.mu2.kill_criterion import TIMEOUT, KillCriterion, KillEvidence
from fuzztui.engines.mutants.program import Program, PythonMutant

_FUEL_TIMES: Final = 3
_AGAIN_TIMES: Final = 10
_AGAIN_PLUS: Final = 200
"""Periods of fuel; about 50,000 iterations and calls."""
_FUEL_PLUS: Final = 4
_STABILITY_RUNS: Final = 4
_FUEL_BLIND: Final = 16
"""Periods of fuel added to an estimate: the original counts only few of its iterations."""


class Unstable(Exception):
    """The original behaved differently: the input is flaky, or a mutant changed some state."""


class MutantExecutor:
    """Runs mutants and counts the cost."""

    def __init__(
        self,
        executor: Executor,
        program: Program,
        criterion: KillCriterion,
        begin: Callable[[int], None] = lambda index: None,
        end: Callable[[], None] = lambda: None,
    ) -> None:
        """``begin(index)`` and ``end()`` are called around each run; index -1: the original."""
        self.executor, self.program, self.criterion = executor, program, criterion
        self._begin, self._end = begin, end
        self.runs = 0
        self.fuel = 0
        """Periods of fuel that timeouts have used."""

    def verdict(
        self, original: Execution, mutant: PythonMutant, turns: int = 0
    ) -> KillEvidence | None:
        """Run a mutant. Returns the kill, which happened twice, or None.

        ``turns``: cost of the original on this input (:meth:`measure`); 0: unknown. The caller must
        check afterwards that the original :meth:`repeats`. Raises ``CannotSwap``,
        :class:`Unstable`.
        """
        self.executor.prepare(original.data)  # not with the mutant
        taken = _periods(turns)
        fuel = taken * _FUEL_TIMES + _FUEL_PLUS
        if not turns:
            fuel = allowance(_periods(original.turns))
        self.program.enter(mutant)
        mutated, first = self._run(original, mutant.index, fuel)
        if first is None:
            return None
        if mutated.outcome is Outcome.TIMEOUT:
            # With ten times the fuel for all iterations and calls of the original.
            if not turns:
                self.program.enter_base(mutant)
                base, other = self._run(original, mutant.index, 0)
                if other is not None:
                    raise Unstable
                taken = _periods(base.turns)
            fuel = _more(taken * _FUEL_TIMES + _FUEL_PLUS)
        self.program.enter(mutant)
        _, second = self._run(original, mutant.index, fuel)
        if second is not None and first.oracle == TIMEOUT != second.oracle:
            # The mutant is slow, not endless, and differs from the original at its end.
            self.program.enter(mutant)
            first, (_, second) = second, self._run(original, mutant.index, fuel)
        return first if second is not None and second.oracle == first.oracle else None

    def once(self, original: Execution, mutant: PythonMutant) -> KillEvidence | None:
        """Run a mutant once. The caller must confirm a kill. Raises ``CannotSwap``."""
        self.executor.prepare(original.data)
        self.program.enter_base(mutant)
        base, _ = self._run(original, mutant.index, 0)
        fuel = _more(_periods(base.turns) * _FUEL_TIMES + _FUEL_PLUS)
        self.program.enter(mutant)
        return self._run(original, mutant.index, fuel)[1]

    def measure(self, original: Execution, *, cold: bool = True) -> int:
        """The iterations and calls of the original on this input, all of them counted.

        A deterministic measure of the cost of a run. ``cold``: whether ``original`` began with the
        state of a fresh process; if not, its value may be another one. Raises :class:`Unstable`.
        """
        self.executor.prepare(original.data)
        if not cold:
            original = self._cold(original)
        with self._quiet(original):
            self.program.clear_caches()  # as before each mutant: cached results cost nothing
            measured, other = self._run(original, -1, 0)
        if other is not None:
            raise Unstable
        return max(1, measured.turns)

    def varies(self, original: Execution) -> bool:
        """Whether consecutive runs of the original differ.

        Every second one begins with the state of a fresh process. The last one counts all
        iterations, which is slower: it differs for inputs near the time limit.
        """
        self.executor.prepare(original.data)
        try:
            self._begin(-1)
            runs = []
            for number in range(_STABILITY_RUNS):
                if number % 2 == 0:
                    self.program.clear_caches()
                runs.append(self.executor.call(original.data))
            with self._quiet(original):
                runs.append(self.executor.call(original.data))
            return any(self.criterion.difference(runs[0], run) is not None for run in runs[1:])
        finally:
            self._end()

    @contextlib.contextmanager
    def _quiet(self, original: Execution) -> Iterator[None]:
        """Run the original in the same form as mutants, where all iterations are counted."""
        if original.lacks:
            try:
                self._begin(-1)
                self.executor.complete(original)
            finally:
                self._end()
        self.program.quiet(self.program.units_of(original.observed))
        try:
            yield
        finally:
            self.program.end_quiet()

    def _cold(self, original: Execution) -> Execution:
        """Run the original with the state of a fresh process."""
        try:
            self._begin(-1)
            self.program.clear_caches()
            again = self.executor.call(original.data)
        finally:
            self._end()
        return replace(again, observed=original.observed, lacks=original.lacks)

    def repeats(self, original: Execution) -> bool:
        """Whether the original still behaves on this input as before."""
        self.runs += 1
        try:
            self._begin(-1)
            self.program.clear_caches()
            again = self.executor.call(original.data)
            return self.criterion.difference(original, again) is None
        finally:
            self._end()

    def _run(
        self, original: Execution, index: int, fuel: int
    ) -> tuple[Execution, KillEvidence | None]:
        """One run of the swapped-in mutant, which is removed afterwards."""
        self.runs += 1
        try:
            self._begin(index)
            try:
                mutated = self.executor.call(original.data, fuel)
            finally:
                self.program.leave()
            if mutated.outcome is Outcome.TIMEOUT:
                self.fuel += _periods(mutated.turns)
            # The comparison may run the target's code, so it is between begin and end too.
            compare = self.criterion.difference if index < 0 else self.criterion.verdict
            return mutated, compare(original, mutated)
        finally:
            self._end()


def allowance(periods: int, *, again: bool = False) -> int:
    """Fuel for a mutant if the original, which counts few iterations, used this many periods."""
    fuel = periods * _FUEL_TIMES + _FUEL_BLIND
    return _more(fuel) if again else fuel


def _more(fuel: int) -> int:
    return min(fuel * _AGAIN_TIMES, fuel + _AGAIN_PLUS)


def _periods(turns: int) -> int:
    return -(-turns // FUEL_PERIOD)
