"""A program and its mutants, run in place by exchanging the code of live functions.

At any time each unit runs one of: *plain* P (as imported: coverage, fuel in loops that may
not end), P with *probes*, its *base* (as mutants are compiled, unmutated), or one *mutant*
of it (no coverage, fuel everywhere).
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import compress
from typing import Final

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.mutants.enumeration import Enumeration
from fuzztui.engines.mutants.infection import empty_of
from fuzztui.engines.mutants.mutant import PythonMutant, cuts, made
from fuzztui.engines.mutants.operators import OPERATORS, Mutation, MutationOperator
from fuzztui.engines.mutants.probe_recorder import Probing
from fuzztui.engines.mutants.sites import Point
from fuzztui.engines.mutants.units import CannotSwap, Code, Unit, UnitCompiler, size_of

__all__ = ["CannotSwap", "Probing", "Program", "PythonMutant", "Unit", "chosen"]

_KEEP_BYTES: Final = 64 << 20


def chosen(names: Sequence[str]) -> tuple[MutationOperator, ...]:
    """The operators of these names, in the table's order. Raises :class:`CannotStart`."""
    known = {o.name for o in OPERATORS}
    for name in names:
        if name not in known:
            raise CannotStart(
                f'engine.operators: "{name:.60}" is not an operator; choose from'
                f" {', '.join(o.name for o in OPERATORS)}"
            )
    return tuple(o for o in OPERATORS if o.name in names)


class Program:
    """The application's mutants. Make it before the target is loaded, :meth:`scan` after."""

    def __init__(
        self, application: Application, operators: Sequence[str], only: Sequence[str] = ()
    ) -> None:
        """``only``: the modules (or packages) to mutate; empty for all of the application.

        Raises :class:`CannotStart` for an operator that does not exist.
        """
        self.application = application
        self.operators = chosen(operators)
        self._census = census = Enumeration(application, self.operators, only)
        self.mutants = census.mutants
        self.by_id = census.by_id
        self.units = census.units
        self.points = census.points
        """By their numbers."""
        self.warnings = census.warnings
        """Modules that could not be mutated, in words."""
        self.keep_bytes = _KEEP_BYTES
        """How much memory compiled mutants may take, about."""
        self.workshop = UnitCompiler(
            self.operators,
            {**application.constants, "empty": empty_of},
            counting=application.coverage.counting,
        )
        self._probings: list[Probing] = []
        self._probing: Probing | None = None  # installed
        self._entered: Unit | None = None
        self._quiet: set[Unit] = set()
        self._kept: deque[tuple[PythonMutant, int]] = deque()  # compiled mutants and their size
        self._kept_bytes = 0
        census.on_grown = self._grown

    @property
    def compile_ns(self) -> int:
        """Time spent preparing and compiling units so far."""
        return self.workshop.compile_ns

    def scan(self) -> list[PythonMutant]:
        """Enumerate the mutants of modules loaded since the last time; returns the new ones.

        Finds the live functions of their units, so it must come before ``gc.freeze()``, and
        before the coverage of the import is cleared.
        """
        return self._census.scan()

    def _grown(self, unit: Unit) -> None:
        """A unit has more live functions: what was compiled for it does not know them."""
        self.leave()
        self.loud()
        unit.run(unit.plain)
        unit.rest, unit.base = unit.plain, None
        for number in unit.points:
            for index in self.points[number].mutants:
                self.mutants[index].code = None
        for probing in self._probings:
            probing.forget(unit)

    # ------------------------------------------------------------------ swapping

    def install(self, probing: Probing | None) -> None:
        """Have P run plainly (None) or with probes, until the next call."""
        if probing is self._probing:
            return
        self.leave()
        changed = [u for p in (self._probing, probing) if p is not None for u in p.units()]
        self._probing = probing
        for unit in dict.fromkeys(changed):
            self._rest(unit, unit.plain if probing is None else probing.code_of(unit))

    def rests(self, probing: Probing, unit: Unit, code: Code) -> None:
        """A probing has compiled a unit again."""
        if probing is self._probing:
            self._rest(unit, code)

    def _rest(self, unit: Unit, code: Code) -> None:
        if unit.rest is not code:
            unit.rest = code
            if unit not in self._quiet:
                unit.run(code)

    def enter(self, mutant: PythonMutant) -> None:
        """Swap the mutant in. Raises :class:`CannotSwap`; then P runs as before."""
        unit = mutant.unit
        if unit is None:
            raise CannotSwap("it is in code that runs at import")
        code = mutant.code
        if code is None:
            code = self._compile(unit, mutant)
            self._keep(mutant, code)
        if self._entered is not None:
            self.leave()
        self._entered = unit
        for function, body in code:
            function.__code__ = body
        if self._census.caches:
            self.clear_caches()

    def enter_base(self, mutant: PythonMutant) -> None:
        """Swap in the mutant's unit, compiled as the mutant is but unmutated."""
        unit = mutant.unit
        if unit is None:
            raise CannotSwap("it is in code that runs at import")
        code = self._base(unit)
        self.leave()
        self._entered = unit
        unit.run(code)
        self.clear_caches()

    def leave(self) -> None:
        """Put back what :meth:`enter` replaced."""
        unit = self._entered
        if unit is None:
            return
        self._entered = None
        for function, body in unit.base if unit in self._quiet and unit.base else unit.rest:
            function.__code__ = body
        if self._census.caches:
            self.clear_caches()

    def quiet(self, units: Iterable[Unit]) -> None:
        """While many mutants run on one input: these units run without coverage and probes."""
        self.leave()
        for unit in units:
            try:
                code = self._base(unit)
            except CannotSwap:
                continue
            self._quiet.add(unit)
            unit.run(code)

    def loud(self) -> None:
        """End :meth:`quiet`."""
        self.leave()
        quiet, self._quiet = self._quiet, set()
        for unit in quiet:
            unit.run(unit.rest)

    def clear_caches(self) -> None:
        """Empty the ``lru_cache``\\ s around the application's functions: a mutant's results
        must not be taken for P's, nor those of P for a mutant's."""
        for cache in self._census.caches:
            cache.cache_clear()

    def _keep(self, mutant: PythonMutant, code: Code) -> None:
        """Keep compiled code, and drop the oldest where there is too much of it."""
        mutant.code = code
        self._kept.append((mutant, size := size_of(code)))
        self._kept_bytes += size
        while self._kept_bytes > self.keep_bytes and len(self._kept) > 1:
            oldest, size = self._kept.popleft()
            oldest.code = None
            self._kept_bytes -= size

    def _base(self, unit: Unit) -> Code:
        if unit.base is None:
            unit.base = self.workshop.compile(unit, self.workshop.for_mutants(unit), {})
        return unit.base

    def _compile(self, unit: Unit, mutant: PythonMutant) -> Code:
        prepared = self.workshop.for_mutants(unit)
        point = prepared.points[mutant.point - unit.points[0]]
        node = point.node
        _, change = point.changes[mutant.change]
        prepared.slots.put(node, made(change, node))
        try:
            return self.workshop.compile(unit, prepared, {})
        finally:
            prepared.slots.put(node, node)

    # ------------------------------------------------------------------- looking

    def units_of(self, observed: int) -> list[Unit]:
        """The units of which a cell is covered in an observation of the coverage map."""
        data = observed.to_bytes(self.application.coverage.size, "little")
        return [u for u in dict.fromkeys(compress(self._census.owners, data)) if u is not None]

    def probing(self) -> Probing:
        """A new set of watched mutants, empty."""
        self._probings.append(Probing(self))
        return self._probings[-1]

    def diff(self, mutant: PythonMutant) -> str:
        """The mutant as a unified diff of its file, for users."""
        source = self._census.sources[mutant.module]
        _, change, point = self.locate(ast.parse(source.text.data), mutant)
        return source.text.diff(source.file, cuts(source.text, point, change))

    def locate(self, tree: ast.Module, mutant: PythonMutant) -> tuple[ast.AST, Mutation, Point]:
        """The mutant's node, change and point in a plain tree of its module."""
        return self._census.locate(tree, mutant)
