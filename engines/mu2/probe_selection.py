"""Choose the probes that the program runs with: none, some or all."""

from __future__ import annotations

import sys
import time
from typing import Final

from fuzztui.engines.execute.executor import Execution, Observer
from fuzztui.engines.mu2.table import MutantTable
from fuzztui.engines.mutants.program import Probing, Program

_STALE: Final = 4
_STALE_PART: Final = 8
_COLD: Final = 24
"""Survived runs after which a mutant no longer has probes in every trial."""
_UNITS: Final = 4
"""Units that are compiled in one step, which bounds the time for which commands wait."""


class ProbeSelection(Observer):
    """Keeps two sets of probes, compiled for the units that the corpus has entered: for *all*
    survivors, and for *some*, which have run on few inputs or are promoted.

    Probes of killed mutants cost a little time, compiling costs more: a set is recompiled only when
    many of its mutants are gone. The set of *all* is recompiled at once when a survivor is not in
    it, since kills would be missed.
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
        """Whether the next run is a trial, not another run of a kept input."""
        self.original_ns = 0
        """Nanoseconds that trials took to run the original."""
        self._began = 0

    def clear(self) -> None:
        """Clear the probes before a run; called as an observer of the executor."""
        if self.installed is not None:
            self.installed.clear()
        self._began = time.perf_counter_ns()

    def finish(self, execution: Execution) -> None:
        """Stop timing after a run; the probes keep their results."""
        if self.in_trial:
            self.in_trial = False
            self.original_ns += time.perf_counter_ns() - self._began

    def entered(self, observed: int) -> None:
        """Add an entry's observation of the coverage map to the units that are entered."""
        self._entered |= observed

    def install(self, probing: Probing | None) -> None:
        """Use these probes from the next run on; None: no probes."""
        if probing is not self.installed:
            self._program.install(probing)
            self.installed = probing

    def ready(self) -> bool:
        """Compile a part of what :meth:`watch_all` needs. Returns whether all is compiled."""
        return self._all_covered(_UNITS)

    def watch_all(self) -> Probing:
        """Install probes for every survivor in the units that the corpus enters."""
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
        """Install probes for the survivors that have run on few inputs, which are rarely infected.

        The probes of other survivors are expensive, because they are in code that every input runs,
        and useless, because these mutants are rarely run any more. ``renew``: check whether the set
        is stale. A new set is compiled in steps, while trials run without probes.
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
        """Mark the set as stale, after mutants were promoted or requeued."""
        self._some_of = -1

    def _cover(self, probing: Probing, at_most: int) -> bool:
        if self._covered[id(probing)] != self._entered:
            if not probing.cover(self._program.units_of(self._entered), at_most):
                return False
            self._covered[id(probing)] = self._entered
        return True
