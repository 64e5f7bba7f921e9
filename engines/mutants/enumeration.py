"""Enumerate the units of a program, their mutants, and the live function objects."""

from __future__ import annotations

import ast
import functools
import gc
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.instrument.importer import Application, InstrumentedModule
from fuzztui.engines.instrument.units import Census, LiveUnit
from fuzztui.engines.mutants.mutant import PointInfo, PythonMutant
from fuzztui.engines.mutants.operators import WATCHES, Mutation, MutationOperator
from fuzztui.engines.mutants.pragmas import PragmaError, python_reasons
from fuzztui.engines.mutants.rows import ScopeRow, find_rows
from fuzztui.engines.mutants.sites import Point, Shell, find_scopes
from fuzztui.engines.mutants.text import ModuleText
from fuzztui.engines.mutants.units import ModuleCode, Unit
from fuzztui.kernel.base.shards import ProgramSum, Shard

Cache = functools._lru_cache_wrapper


class Enumeration:
    """The units and mutants found yet. The lists only grow, except for ``units``."""

    def __init__(
        self,
        application: Application,
        operators: Sequence[MutationOperator],
        only: Sequence[str],
        shard: Shard | None,
        leave_out: Callable[[str], bool],
    ) -> None:
        self.shard, self.program_sum = shard, ProgramSum()
        self.mutants: list[PythonMutant] = []
        self.by_id: dict[str, PythonMutant] = {}
        self.excluded: list[PythonMutant] = []
        """Mutants that a pragma excludes; they are in no other list."""
        self.units: list[Unit] = []
        self.points: list[PointInfo] = []
        """The points by their numbers."""
        self.warnings: list[str] = []
        """Messages about modules that could not be mutated."""
        self.sources: dict[str, ModuleCode] = {}
        self.owners: list[Unit | None] = []
        """The unit of each cell of the coverage map."""
        self.caches: list[Cache[object]] = []
        """The ``lru_cache``\\ s around functions of the application."""
        self.application, self.operators = application, operators
        self._leave_out = leave_out
        self._only = [(name, scope) for name, _, scope in (text.partition(":") for text in only)]
        self.census = Census(application)
        self.census.on_grown = self._grown
        self._by_live: dict[LiveUnit, Unit] = {}
        self._running = False
        """Whether there was a scan."""

    def scan(self) -> list[PythonMutant]:
        """Enumerate and return the mutants of modules that were loaded since the last call.

        Must be called before ``gc.freeze()``, because it finds live functions, and before the
        coverage of the import is cleared. The first call raises :class:`CannotStart` if a pragma is
        wrong; later, in a campaign that runs, the module has no pragmas, and a warning.
        """
        first = len(self.mutants)
        new_units: list[Unit] = []
        for module in self.census.scan():
            if self._leave_out(module.file):
                continue
            if not self._only or any(_is_within(module.name, name) for name, _ in self._only):
                new_units += self._scan_module(module)
        self._running = True
        self._find_caches()
        ran = self.application.coverage.collect()
        for unit in new_units:
            start, end = unit.cells
            unit.ran_at_import = bool(ran >> 8 * start & ((1 << 8 * (end - start)) - 1))
            if not unit.live.functions and unit.ran_at_import:
                self._make_static(unit)
        return self.mutants[first:]

    def _scan_module(self, loaded: InstrumentedModule) -> list[Unit]:
        text = ModuleText(loaded.source)
        try:
            scopes = find_rows(loaded.file, text, self.operators, self.application.cache)
        except RecursionError:
            self.warnings.append(
                f"module {loaded.name} is nested too deeply to be mutated: it has no mutants"
            )
            return []
        parts = loaded.name.split(".")
        if loaded.file.endswith("/__init__.py"):
            parts.append("__init__")
        source = ModuleCode(
            module=loaded.name,
            file="/".join(parts) + ".py",
            path=loaded.file,
            text=text,
            flags=loaded.flags,
            first_point=len(self.points),
        )
        self.sources[loaded.name] = source
        try:
            reasons = python_reasons(loaded.source)
        except PragmaError as e:
            if not self._running:
                raise CannotStart(f"{loaded.file}:{e}") from None
            self.warnings.append(f"{loaded.file}:{e}; until then no pragma counts in this file")
            reasons = {}
        units = []
        for scope in scopes:
            unit = self._unit(scope, source) if scope.unit else None
            if unit is not None:
                units.append(unit)
            self._add_mutants(scope, unit, source, reasons)
        self.units += units
        return units

    def _is_wanted(self, module: str, scope: str) -> bool:
        """Whether a scope is mutated; the ids of its mutants do not depend on other scopes."""
        return not self._only or any(
            _is_within(module, name) and (not wanted or _is_within(scope, wanted, ".#"))
            for name, wanted in self._only
        )

    def _unit(self, scope: ScopeRow, source: ModuleCode) -> Unit | None:
        live = self.census.units.get((source.module, scope.line, scope.column))
        if live is None:
            return None
        shells = tuple(Shell(*shell) for shell in scope.shells)
        unit = Unit(live, source, scope.name, scope.hash, shells)
        self._by_live[live] = unit
        self._own(unit.cells, unit)
        return unit

    def _grown(self, live: LiveUnit) -> None:
        live.run(live.resting)
        if live in self._by_live:
            self.on_grown(self._by_live[live])

    def on_grown(self, unit: Unit) -> None:
        """Called when a known unit has more live functions."""

    def _own(self, cells: tuple[int, int], unit: Unit) -> None:
        start, end = cells
        if end > len(self.owners):
            self.owners += [None] * (end - len(self.owners))
        self.owners[start:end] = [unit] * (end - start)

    def _add_mutants(
        self, scope: ScopeRow, unit: Unit | None, source: ModuleCode, reasons: Mapping[int, str]
    ) -> None:
        wanted = self._is_wanted(source.module, scope.name)
        # Also without mutants: points are found by their numbers.
        for (line, column, end_line, end_column), function, changes in scope.points:
            number = len(self.points)
            info = PointInfo(unit, [])
            self.points.append(info)
            if unit is not None:
                unit.points.append(number)
            for i, change in enumerate(changes if wanted else ()):
                number_of, operator, before, after, watch = change
                id_ = f"{source.module}:{scope.name}:{operator}:{number_of}"
                excluded = reasons.get(line, "")
                if not excluded:
                    self.program_sum.add(id_, scope.hash)
                if self.shard is not None and not self.shard.has(id_):
                    continue
                mutant = PythonMutant(
                    index=len(self.mutants),
                    id=id_,
                    module=source.module,
                    file=source.file,
                    path=source.path,
                    line=line,
                    column=column,
                    end_line=end_line,
                    end_column=end_column,
                    function=function,
                    operator=operator,
                    before=before,
                    after=after,
                    hash=scope.hash,
                    static=unit is None,
                    unit=unit,
                    point=number,
                    change=i,
                    watch=WATCHES.get(watch),
                    excluded=excluded,
                )
                if excluded:
                    self.excluded.append(mutant)
                    continue
                info.mutants.append(mutant.index)
                self.mutants.append(mutant)
                self.by_id[mutant.id] = mutant

    def _make_static(self, unit: Unit) -> None:
        """Mark the unit's mutants as static: it ran at import and no live function has its code."""
        for number in unit.points:
            self.points[number].unit = None
            for index in self.points[number].mutants:
                mutant = self.mutants[index]
                mutant.static, mutant.unit = True, None
        self.units.remove(unit)
        start, end = unit.cells
        self.owners[start:end] = [None] * (end - start)

    def _find_caches(self) -> None:
        """Find the caches around functions."""
        caches: list[Cache[object]] = [t for t in gc.get_objects() if type(t) is Cache]
        known = {id(c) for c in self.caches}
        self.caches += [c for c in caches if id(c) not in known and self._in_application(c)]

    def _in_application(self, cache: Cache[object]) -> bool:
        wrapped = getattr(cache, "__wrapped__", None)
        return type(wrapped) is FunctionType and self.application.has(str(wrapped.__module__))

    def locate(self, tree: ast.Module, mutant: PythonMutant) -> tuple[ast.AST, Mutation, Point]:
        """The mutant's node, change and point in a plain tree of its module."""
        points = [p for scope in find_scopes(tree, self.operators) for p in scope.points]
        point = points[mutant.point - self.sources[mutant.module].first_point]
        return point.node, point.changes[mutant.change][1], point


def _is_within(name: str, outer: str, ends: str = ".") -> bool:
    """Whether a dotted name is another one, or begins with it and one of the characters."""
    return name == outer or (name.startswith(outer) and name[len(outer)] in ends)
