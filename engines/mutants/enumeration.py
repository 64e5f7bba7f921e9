"""Enumerate the units of a program, their mutants, and the live function objects."""

from __future__ import annotations

import ast
import functools
import gc
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType

from fuzztui.engines.instrument.importer import Application, InstrumentedModule
from fuzztui.engines.mutants.mutant import PointInfo, PythonMutant, before_and_after
from fuzztui.engines.mutants.operators import Mutation, MutationOperator
from fuzztui.engines.mutants.recompile import UnitPosition, flatten, future_flags, outermost
from fuzztui.engines.mutants.sites import MutationScope, Point, find_scopes
from fuzztui.engines.mutants.text import ModuleText
from fuzztui.engines.mutants.units import ModuleCode, Unit

Cache = functools._lru_cache_wrapper


class Enumeration:
    """The units and mutants found yet. The lists only grow, except for ``units``."""

    def __init__(
        self, application: Application, operators: Sequence[MutationOperator], only: Sequence[str]
    ) -> None:
        self.mutants: list[PythonMutant] = []
        self.by_id: dict[str, PythonMutant] = {}
        self.units: list[Unit] = []
        self.points: list[PointInfo] = []
        self.warnings: list[str] = []
        self.sources: dict[str, ModuleCode] = {}
        self.owners: list[Unit | None] = []
        """The unit of each cell of the coverage map."""
        self.caches: list[Cache[object]] = []
        """The ``lru_cache``\\ s around functions of the application."""
        self.on_grown: Callable[[Unit], None] = lambda unit: None
        """Called when a known unit has more live functions."""
        self._application, self._operators, self._only = application, operators, tuple(only)
        self._loaded: list[InstrumentedModule] = []  # not scanned yet
        self._codes: dict[int, tuple[Unit, int]] = {}  # imported code, by id
        self._alive: list[CodeType] = []  # keeps the ids above taken
        self._known: set[int] = set()  # ids of functions
        application.on_module = self._loaded.append

    def scan(self) -> list[PythonMutant]:
        """See :meth:`Program.scan`."""
        loaded, self._loaded[:] = list(self._loaded), []
        first = len(self.mutants)
        new_units: list[Unit] = []
        for module in sorted(loaded, key=lambda m: m.name):
            if self._only and not any(
                module.name == o or module.name.startswith(o + ".") for o in self._only
            ):
                continue
            if module.name in self.sources:
                continue  # loaded a second time: the first load's mutants are used
            new_units += self._scan_module(module)
        self._find_functions()
        ran = self._application.coverage.collect()
        for unit in new_units:
            start, end = unit.cells
            unit.ran_at_import = bool(ran >> 8 * start & ((1 << 8 * (end - start)) - 1))
            if not unit.functions and unit.ran_at_import:
                self._make_static(unit)
        return self.mutants[first:]

    def _scan_module(self, loaded: InstrumentedModule) -> list[Unit]:
        try:
            text = ModuleText(loaded.source)
            scopes = find_scopes(ast.parse(loaded.source, loaded.file), self._operators)
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
            flags=future_flags(loaded.code),
            first_point=len(self.points),
        )
        self.sources[loaded.name] = source
        roots: dict[tuple[str, int], list[CodeType]] = {}
        for code in outermost(loaded.code):
            roots.setdefault((code.co_name, code.co_firstlineno), []).append(code)
        units = []
        for scope in scopes:
            unit = self._unit(scope, source, loaded, roots) if scope.unit else None
            if unit is not None:
                units.append(unit)
            self._add_mutants(scope, unit, source)
        self.units += units
        return units

    def _unit(
        self,
        scope: MutationScope,
        source: ModuleCode,
        loaded: InstrumentedModule,
        roots: dict[tuple[str, int], list[CodeType]],
    ) -> Unit | None:
        node = scope.node
        decorators = getattr(node, "decorator_list", ())
        position = UnitPosition(
            line=node.lineno,
            column=node.col_offset,
            end_line=node.end_lineno,
            end_column=node.end_col_offset,
            first_line=min([node.lineno, *(d.lineno for d in decorators)]),
            is_lambda=not hasattr(node, "name"),
            shells=scope.shells,
        )
        cells = loaded.spans.get((node.lineno, node.col_offset))
        name = getattr(node, "name", "<lambda>")
        codes = roots.get((name, position.first_line), [])
        if len(codes) > 1:
            codes = [c for c in codes if _within(c, position)]
        if cells is None or not codes:
            return None
        unit = Unit(source, scope.name, scope.hash, position, cells)
        self._own(cells, unit)
        for root in codes:
            every = flatten(root)
            unit.shape = [c.co_name for c in every]
            self._alive.append(root)
            for i, code in enumerate(every):
                self._codes[id(code)] = unit, i
        return unit

    def _own(self, cells: tuple[int, int], unit: Unit) -> None:
        start, end = cells
        if end > len(self.owners):
            self.owners += [None] * (end - len(self.owners))
        self.owners[start:end] = [unit] * (end - start)

    def _add_mutants(self, scope: MutationScope, unit: Unit | None, source: ModuleCode) -> None:
        ordinals: dict[str, int] = {}
        for point in scope.points:
            number = len(self.points)
            info = PointInfo(unit, [])
            self.points.append(info)
            if unit is not None:
                unit.points.append(number)
            sites: dict[str, int] = {}
            for i, (operator, change) in enumerate(point.changes):
                first = ordinals.get(operator.name, 0)
                sites[operator.name] = max(sites.get(operator.name, 0), change.site + 1)
                before, after = before_and_after(source.text, point, change)
                mutant = PythonMutant(
                    index=len(self.mutants),
                    id=f"{source.module}:{scope.name}:{operator.name}"
                    f":{first + change.site}:{change.variant}",
                    module=source.module,
                    file=source.file,
                    path=source.path,
                    line=point.node.lineno,
                    function=point.function,
                    operator=operator.name,
                    before=before,
                    after=after,
                    hash=scope.hash,
                    static=unit is None,
                    unit=unit,
                    point=number,
                    change=i,
                    watch=change.watch,
                )
                info.mutants.append(mutant.index)
                self.mutants.append(mutant)
                self.by_id[mutant.id] = mutant
            for name, count in sites.items():
                ordinals[name] = ordinals.get(name, 0) + count

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

    def _find_functions(self) -> None:
        """Find the live function objects of all units, and the caches around functions."""
        caches: list[Cache[object]] = []
        grown: dict[Unit, None] = {}
        old = {unit for unit in self.units if unit.functions}
        for thing in gc.get_objects():
            kind = type(thing)
            if kind is FunctionType:
                found = self._codes.get(id(thing.__code__))
                if found is not None and id(thing) not in self._known:
                    unit, index = found
                    self._known.add(id(thing))
                    unit.functions.append((thing, index))
                    unit.plain.append((thing, thing.__code__))
                    if unit in old:
                        grown[unit] = None
            elif kind is Cache:
                caches.append(thing)
        for unit in grown:
            self.on_grown(unit)
        known = {id(c) for c in self.caches}
        self.caches += [c for c in caches if id(c) not in known and self._in_application(c)]

    def _in_application(self, cache: Cache[object]) -> bool:
        wrapped = getattr(cache, "__wrapped__", None)
        return type(wrapped) is FunctionType and self._application.has(str(wrapped.__module__))

    def locate(self, tree: ast.Module, mutant: PythonMutant) -> tuple[ast.AST, Mutation, Point]:
        """The mutant's node, change and point in a plain tree of its module."""
        points = [p for scope in find_scopes(tree, self._operators) for p in scope.points]
        point = points[mutant.point - self.sources[mutant.module].first_point]
        return point.node, point.changes[mutant.change][1], point


def _within(code: CodeType, position: UnitPosition) -> bool:
    """Whether the code comes from this position. Compares columns: a line may have several
    units.
    """
    first, last = (position.line, position.column), (position.end_line, position.end_column)
    found = False
    for line, end_line, column, end_column in code.co_positions():
        if line is None or end_line is None or column is None or end_column is None:
            continue
        if (line, column) == (end_line, end_column):
            continue  # the function's start, which has no column
        if not (first <= (line, column) and (end_line, end_column) <= last):
            return False
        found = True
    return found
