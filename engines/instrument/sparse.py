"""Trials without the probes of covered cells (UnTracer, Nagy and Hicks 2019, for Python).

Nearly all trials cover nothing new, yet execute every probe on their way. So units are compiled
again without the probes of cells whose coverage is no news any more, and trials run this *sparse*
code. What a trial still records is all that can be new, so it is judged as under all probes; where
the complete coverage of an input is needed, the input runs under all probes.

What is compiled when depends on coverage and the number of trials only. Functions and generators
that are running keep their code, whose probes write to the same cells.
"""

from __future__ import annotations

import sys
import warnings
from operator import gt
from types import CodeType, FunctionType
from typing import Final
from weakref import WeakKeyDictionary

from fuzztui.engines.instrument.importer import Application, InstrumentedModule
from fuzztui.engines.instrument.instrument import Instrumenter
from fuzztui.engines.instrument.markers import compile_with
from fuzztui.engines.instrument.segments import ModuleLines, only_unit, shelled, unit_of
from fuzztui.engines.instrument.units import CannotSwap, Census, LiveUnit

FIRST_TRIALS: Final = 1000
"""Trials of a worker before units are compiled for the first time; again when they have doubled."""
_PAYS: Final = 2
"""Compiling a unit pays if its removed probes would cost more in the trials to come. It costs as
much as the probes of its cells in this many times :data:`FIRST_TRIALS` trials (html5lib: 0.25 ms
against 60 ns for each cell and trial)."""


class SparseProbes:
    """The sparse code of the application's units, and whether it runs now."""

    def __init__(
        self, application: Application, census: Census, first_trials: int = FIRST_TRIALS
    ) -> None:
        """``first_trials``: trials before units are compiled; 0: all units, after each trial."""
        self._application, self._census = application, census
        self._removed: dict[LiveUnit, frozenset[int]] = {}
        """The cells without a probe, of each unit that has sparse code."""
        self._inner: list[CodeType] = []
        """Sparse code of functions that trials create."""
        self._references: list[int] = []
        """Reference counts of the codes in :attr:`_inner` when trials began to run sparse code: a
        larger count shows that a trial has created a function with the code."""
        self._late: WeakKeyDictionary[FunctionType, tuple[LiveUnit, int]] = WeakKeyDictionary()
        """Functions that were created by trials. Their units do not refer to them: the target
        decides how long they live."""
        self._waiting: list[tuple[InstrumentedModule, dict[LiveUnit, frozenset[int]]]] = []
        """Modules to be compiled, and the cells whose probes are removed."""
        self._trials = 0
        self._due = self._first_trials = first_trials
        self._is_sparse = False

    @property
    def left(self) -> int:
        """The number of cells that have a probe in trials."""
        removed = sum(len(cells) for cells in self._removed.values())
        return self._application.table.reachable - removed

    def advance(self, covered: int) -> None:
        """Count a trial, and compile at most one module if it is time, as commands wait meanwhile.

        ``covered``: the cells, as of :meth:`CoverageMap.collect`, whose coverage can never be news
        again. Call this between trials: compiling may take longer than a trial's time limit.
        """
        self._trials += 1
        if self._trials >= self._due:
            self._due *= 2
            self._plan(covered)
        if self._waiting:
            self.use_all_probes()
            self._compile(*self._waiting.pop())
            if not self._waiting:
                self.find_late()

    def use_sparse(self) -> None:
        """Have the sparse code run."""
        if not self._is_sparse:
            self._references = [*map(sys.getrefcount, self._inner)]
            self._choose(sparse=True)

    def use_all_probes(self) -> None:
        """Have the code with all probes run."""
        if self._is_sparse:
            self._choose(sparse=False)
            # Looking for functions takes 10 ms in a large heap, and they are rarely created.
            if any(map(gt, map(sys.getrefcount, self._inner), self._references)):
                self.find_late()
                self._choose(sparse=False)

    def _choose(self, *, sparse: bool) -> None:
        self._is_sparse = sparse
        for unit in self._removed:
            unit.choose(sparse=sparse)
        for function, (unit, index) in list(self._late.items()):
            if self._census.knows(function):
                del self._late[function]
                continue
            codes = unit.sparse_codes if sparse and unit.sparse_codes else unit.codes
            function.__code__ = codes[index]

    def find_late(self) -> None:
        """Find the functions that trials have created. Needed before a ``gc.freeze()``."""
        for function, unit, index in self._census.others():
            self._late[function] = unit, index

    def _plan(self, covered: int) -> None:
        data = covered.to_bytes(self._application.coverage.size, "little")
        modules: dict[str, tuple[InstrumentedModule, dict[LiveUnit, frozenset[int]]]] = {}
        for unit in self._census.units.values():
            start, end = unit.span.cells
            cells = frozenset(cell for cell in range(start, end) if data[cell])
            new = len(cells) - len(self._removed.get(unit, ()))
            # Compiling must pay if as many trials follow as there have been.
            pays = _PAYS * self._first_trials * (end - start)
            if new and new * self._trials >= pays:
                _, units = modules.setdefault(unit.module.name, (unit.module, {}))
                units[unit] = cells
        self._waiting = [modules[name] for name in sorted(modules, reverse=True)]

    def _compile(self, module: InstrumentedModule, units: dict[LiveUnit, frozenset[int]]) -> None:
        text = ModuleLines(module.source)
        for unit, cells in units.items():
            try:
                codes = self._without(cells, unit, text)
                unit.set_sparse(codes)
            except (SyntaxError, ValueError, RecursionError, MemoryError, CannotSwap):
                continue  # the unit keeps its probes
            self._census.register(unit, codes)
            self._removed[unit] = cells
        self._inner = [code for unit in self._removed for code in unit.sparse_codes[1:]]

    def _without(self, cells: frozenset[int], unit: LiveUnit, text: ModuleLines) -> list[CodeType]:
        """The unit's code without the probes of these cells, flattened."""
        span, module = unit.span, unit.module
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # shown when the module was imported
            node = unit_of(text, span)
        Instrumenter(span.cells[0], removed=cells).visit(node)
        tree = shelled(node, span.classes, module.imports)
        return only_unit(compile_with(tree, module.file, self._application.constants, module.flags))
