"""Which probes the program runs with: none, some or all."""

from __future__ import annotations

import sys
import time
from typing import Final

from fuzztui.engines.execute.executor import Execution
from fuzztui.engines.mu2.table import MutantTable
from fuzztui.engines.mutants.program import Probing, Program

__all__ = ["ProbeSelection"]

_STALE: Final = 4
_STALE_PART: Final = 8
_COLD: Final = 24
"""Runs that a mutant has survived when it is no longer watched in every trial."""
_UNITS: Final = 4
"""Units that are compiled at a time: commands wait no longer."""


class ProbeSelection:
    """Keeps two sets of probes, compiled for the units that the corpus has entered.

    The dead among the watched cost a little time, compiling costs more: a set is
    renewed only when many of it are gone. A survivor that is not in the set of *all*
    would cost a kill: then it is renewed at once.
    """

    def __init__(self, program: Program, table: MutantTable) -> None:
        self._program, self._table = program, table
        self._all, self._some = program.probing(), program.probing()
        self._all_wanted: frozenset[int] = frozenset()
        self._some_wanted: frozenset[int] = frozenset()
        self._run_all = self._some_of = -1
        self._entered = 0
        self._covered = {id(self._all): -1, id(self._some): -1}
        self.installed: Probing | None = None
        self.in_trial = False
        """Is the next run a trial's, and not one more of an input that was kept?"""
        self.original_ns = 0
        """Time that trials took to run the program, in nanoseconds."""
        self._began = 0

    def clear(self) -> None:
        """As an observer of the executor: a run is about to begin."""
        if self.installed is not None:
            self.installed.clear()
        self._began = time.perf_counter_ns()

    def finish(self, execution: Execution) -> None:
        """The run has ended; the probes keep what they saw."""
        if self.in_trial:
            self.in_trial = False
            self.original_ns += time.perf_counter_ns() - self._began

    def entered(self, observed: int) -> None:
        """The corpus covers this (an observation of the coverage map)."""
        self._entered |= observed

    def install(self, probing: Probing | None) -> None:
        """Run the program with these probes from now on."""
        if probing is not self.installed:
            self._program.install(probing)
            self.installed = probing

    def ready(self) -> bool:
        """Compile some of what :meth:`everyone` needs; is all of it there?"""
        return self._all_covered(_UNITS)

    def watch_all(self) -> Probing:
        """Watch every survivor in the units that the corpus enters."""
        self._all_covered(sys.maxsize)
        self.install(self._all)
        return self._all

    def _all_covered(self, at_most: int) -> bool:
        survivors = self._table.survivors
        if self._run_all != self._table.changes:
            self._run_all = self._table.changes
            gone = len(self._all_wanted) - len(survivors)
            if not survivors <= self._all_wanted or gone > len(survivors) // 2:
                self._all_wanted = frozenset(survivors)
                self._all.want(self._all_wanted)
                self._covered[id(self._all)] = -1
        return self._cover(self._all, at_most)

    def watch_fresh(self, *, renew: bool) -> None:
        """Watch the survivors that have not survived much yet: those are rarely infected.

        The others' probes are the expensive ones, in code that every input runs, and
        tell that yet another input infects what is hardly ever run any more. ``renew``:
        this is a moment to look whether the set has become stale. A new set is compiled
        bit by bit, while trials run without probes.
        """
        table = self._table
        if self._some_of < 0 or (renew and self._stale()):
            self._some_of = table.changes
            self._some_wanted = frozenset(self._fresh())
            self._some.want(self._some_wanted)
            self._covered[id(self._some)] = -1
        self.install(self._some if self._cover(self._some, _UNITS) else None)

    def _fresh(self) -> set[int]:
        table, rows = self._table, self._table.rows
        watch_fresh = {at for at in table.survivors if rows[at].runs < _COLD}
        return watch_fresh | (table.promoted & table.survivors)

    def _stale(self) -> bool:
        watch_fresh = self._fresh()
        off = len(watch_fresh ^ self._some_wanted)
        return off > max(_STALE, len(self._some_wanted) // _STALE_PART)

    def forget(self) -> None:
        """Somebody was promoted or queued again: the set is stale."""
        self._some_of = -1

    def _cover(self, probing: Probing, at_most: int) -> bool:
        if self._covered[id(probing)] != self._entered:
            if not probing.cover(self._program.units_of(self._entered), at_most):
                return False
            self._covered[id(probing)] = self._entered
        return True
