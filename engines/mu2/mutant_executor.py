"""KILLS(P', x): one mutant on one input (section IV-A of the Mu2 paper).

The mutant is swapped into the running program, run under the guard with fuel of its
own (3 times what the program took: the verdict "timeout" is deterministic), and taken
out again. A kill counts when it is *confirmed*: it happens again, a timeout with ten
times the fuel (or :data:`_AGAIN_PLUS` more: nobody waits for minutes), and the program
still does what it did.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Final

from fuzztui.engines.execute.executor import Execution, Executor, Outcome
from fuzztui.engines.instrument.instrument import FUEL_PERIOD
from fuzztui.engines.mu2.kill_criterion import TIMEOUT, KillCriterion, KillEvidence
from fuzztui.engines.mutants.program import Program, PythonMutant

__all__ = ["MutantExecutor", "Unstable", "allowance"]

_FUEL_TIMES: Final = 3
_AGAIN_TIMES: Final = 10
_AGAIN_PLUS: Final = 200
"""In periods, about 50,000 turns."""
_FUEL_PLUS: Final = 4
_STABILITY_RUNS: Final = 4
_FUEL_BLIND: Final = 16
"""Periods on top: what short runs spend is not counted fully, still less by the plain program."""


class Unstable(Exception):
    """The program did not repeat itself: a flaky input, or something that a mutant left behind."""


class MutantExecutor:
    """Runs mutants; keeps count of what that costs."""

    def __init__(
        self,
        executor: Executor,
        program: Program,
        criterion: KillCriterion,
        begin: Callable[[int], None] = lambda index: None,
        end: Callable[[], None] = lambda: None,
    ) -> None:
        """``begin(index)`` and ``end()`` frame each run of a mutant, or of the program (-1)."""
        self._executor, self._program, self._criterion = executor, program, criterion
        self._begin, self._end = begin, end
        self.runs = 0
        self.fuel = 0
        """Periods that timeouts have burnt."""

    def verdict(
        self, original: Execution, mutant: PythonMutant, turns: int = 0
    ) -> KillEvidence | None:
        """The kill, which happened twice, or None. Raises ``CannotSwap``, :class:`Unstable`.

        ``turns``: what the program takes for this input (:meth:`measure`), if known. The
        caller must make sure that the program still :meth:`repeats` itself.
        """
        taken = _periods(turns)
        fuel = taken * _FUEL_TIMES + _FUEL_PLUS
        if not turns:
            fuel = allowance(_periods(original.turns))
        self._program.enter(mutant)
        mutated, first = self._run(original, mutant.index, fuel)
        if first is None:
            return None
        if mutated.outcome is Outcome.TIMEOUT:
            # With ten times the fuel that all its loops and calls deserve.
            if not turns:
                self._program.enter_base(mutant)
                base, other = self._run(original, mutant.index, 0)
                if other is not None:
                    raise Unstable
                taken = _periods(base.turns)
            fuel = _more(taken * _FUEL_TIMES + _FUEL_PLUS)
        self._program.enter(mutant)
        _, second = self._run(original, mutant.index, fuel)
        if second is not None and first.oracle == TIMEOUT != second.oracle:
            # Slow, not endless, and at its end something else than the program.
            self._program.enter(mutant)
            first, (_, second) = second, self._run(original, mutant.index, fuel)
        return first if second is not None and second.oracle == first.oracle else None

    def once(self, original: Execution, mutant: PythonMutant) -> KillEvidence | None:
        """A verdict that someone else must confirm. Raises ``CannotSwap``."""
        self._program.enter_base(mutant)
        base, _ = self._run(original, mutant.index, 0)
        fuel = _more(_periods(base.turns) * _FUEL_TIMES + _FUEL_PLUS)
        self._program.enter(mutant)
        return self._run(original, mutant.index, fuel)[1]

    def measure(self, original: Execution) -> int:
        """How many turns of loops and calls the program takes for this input, all counted.

        A deterministic measure of what running it costs. Raises :class:`Unstable`.
        """
        with self._quiet(original):
            self._program.clear_caches()  # as before each mutant: what is cached takes no turns
            measured, other = self._run(original, -1, 0)
        if other is not None:
            raise Unstable
        return max(1, measured.turns)

    def varies(self, original: Execution) -> bool:
        """Does the program differ between runs that follow each other at once?

        Also if it does only with all turns counted: an input near the time limit.
        """
        try:
            self._begin(-1)
            runs = [self._executor.call(original.data) for _ in range(_STABILITY_RUNS)]
            with self._quiet(original):
                runs.append(self._executor.call(original.data))
            return any(self._criterion.verdict(runs[0], run) is not None for run in runs[1:])
        finally:
            self._end()

    @contextlib.contextmanager
    def _quiet(self, original: Execution) -> Iterator[None]:
        """The program runs as its mutants do, unmutated."""
        self._program.quiet(self._program.units_of(original.observed))
        try:
            yield
        finally:
            self._program.loud()

    def repeats(self, original: Execution) -> bool:
        """Does the program still do on this input what it did?"""
        self.runs += 1
        try:
            self._begin(-1)
            again = self._executor.call(original.data)
            return self._criterion.verdict(original, again) is None
        finally:
            self._end()

    def _run(
        self, original: Execution, index: int, fuel: int
    ) -> tuple[Execution, KillEvidence | None]:
        """One run; what is in place is taken out."""
        self.runs += 1
        try:
            self._begin(index)
            try:
                mutated = self._executor.call(original.data, fuel)
            finally:
                self._program.leave()
            if mutated.outcome is Outcome.TIMEOUT:
                self.fuel += _periods(mutated.turns)
            # Comparing may run the target's code: still within begin and end.
            return mutated, self._criterion.verdict(original, mutated)
        finally:
            self._end()


def allowance(periods: int, *, again: bool = False) -> int:
    """Fuel for a mutant where the plain program, which counts few loops, has spent so much."""
    fuel = periods * _FUEL_TIMES + _FUEL_BLIND
    return _more(fuel) if again else fuel


def _more(fuel: int) -> int:
    return min(fuel * _AGAIN_TIMES, fuel + _AGAIN_PLUS)


def _periods(turns: int) -> int:
    return -(-turns // FUEL_PERIOD)
