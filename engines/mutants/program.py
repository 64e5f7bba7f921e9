"""A program and its mutants, run in place by exchanging the code of live functions.

At any time each unit runs one of: *plain* P (as imported: coverage, fuel in loops that may
not end), P with *probes*, its *base* (as mutants are compiled, unmutated), or one *mutant*
of it (no coverage, fuel everywhere).
"""

from __future__ import annotations

import ast
import functools
import gc
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import compress
from types import CodeType, FunctionType

from fuzztui.engines.core.errors import Refusal
from fuzztui.engines.core.importer import Application, Loaded
from fuzztui.engines.core.markers import placed
from fuzztui.engines.mutants.operators import OPERATORS, Change, Operator
from fuzztui.engines.mutants.probing import Probing
from fuzztui.engines.mutants.recompile import Place, Slots, flatten, future_flags, outermost
from fuzztui.engines.mutants.sites import Point, Scope, find_scopes
from fuzztui.engines.mutants.text import Cut, Text, one_line
from fuzztui.engines.mutants.units import CannotSwap, Code, Source, Unit, Workshop
from fuzztui.engines.mutants.watches import WatchMaker, empty_of

__all__ = ["CannotSwap", "Mutant", "Probing", "Program", "Unit", "chosen"]

_Cache = functools._lru_cache_wrapper


@dataclass(slots=True, eq=False)
class Mutant:
    """``<P, e, e', n>`` of the paper."""

    index: int
    """Dense, in this process only: its place in :attr:`Program.mutants`."""
    id: str
    """``module:scope:operator:ordinal:variant``: lasts while unrelated code changes."""
    module: str
    file: str
    """As people see it: ``package/module.py``."""
    path: str
    line: int
    function: str
    """The innermost function or class that it is in, or ``<module>``."""
    operator: str
    before: str
    after: str
    hash: str
    """12 hex digits of its scope's tree: what was found out of another version is stale."""
    static: bool
    """It is in code that runs at import, so it cannot be swapped in."""
    unit: Unit | None
    point: int = -1
    """Number of its point, the same for all changes of one node."""
    change: int = 0
    """Which of the changes of its point it is."""
    watch: WatchMaker | None = None
    code: Code | None = field(default=None, repr=False)
    """Compiled, once it was entered."""


@dataclass(slots=True)
class PointInfo:
    """A point's unit (None: code that runs at import) and its mutants' indices."""

    unit: Unit | None
    mutants: list[int]


def chosen(names: Sequence[str]) -> tuple[Operator, ...]:
    """The operators of these names, in the table's order. Raises :class:`Refusal`."""
    known = {o.name for o in OPERATORS}
    for name in names:
        if name not in known:
            raise Refusal(
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

        Raises :class:`Refusal` for an operator that does not exist.
        """
        self.application = application
        self.operators = chosen(operators)
        self.mutants: list[Mutant] = []
        self.by_id: dict[str, Mutant] = {}
        self.units: list[Unit] = []
        self.points: list[PointInfo] = []
        self.warnings: list[str] = []
        """Modules that could not be mutated, in words; in the order in which they were met."""
        self.workshop = Workshop(
            self.operators,
            {**application.constants, "empty": empty_of},
            counting=application.coverage.counting,
        )
        self._only = tuple(only)
        self._loaded: list[Loaded] = []  # not scanned yet
        self._sources: dict[str, Source] = {}
        self._codes: dict[int, tuple[Unit, int]] = {}  # imported code, by id
        self._alive: list[CodeType] = []  # keeps the ids above taken
        self._owners: list[Unit | None] = []  # of each cell
        self._known: set[int] = set()  # ids of functions
        self._caches: list[_Cache[object]] = []
        self._probing: Probing | None = None
        self._entered: Unit | None = None
        self._quiet: set[Unit] = set()
        application.on_module = self._loaded.append

    @property
    def compile_ns(self) -> int:
        """Time spent preparing and compiling units so far."""
        return self.workshop.compile_ns

    # ------------------------------------------------------------------ scanning

    def scan(self) -> list[Mutant]:
        """Enumerate the mutants of modules loaded since the last time; returns the new ones.

        Finds the live functions of their units, so it must come before ``gc.freeze()``, and
        before the coverage of the import is cleared.
        """
        loaded, self._loaded[:] = list(self._loaded), []
        first = len(self.mutants)
        new_units: list[Unit] = []
        for module in sorted(loaded, key=lambda m: m.name):
            if self._only and not any(
                module.name == o or module.name.startswith(o + ".") for o in self._only
            ):
                continue
            if module.name in self._sources:
                continue  # loaded a second time: the mutants are those of the first
            new_units += self._scan_module(module)
        self._find_functions()
        ran = self.application.coverage.collect()
        for unit in new_units:
            start, end = unit.cells
            unit.ran_at_import = bool(ran >> 8 * start & ((1 << 8 * (end - start)) - 1))
            if not unit.functions and unit.ran_at_import:
                self._make_static(unit)
        return self.mutants[first:]

    def _scan_module(self, loaded: Loaded) -> list[Unit]:
        try:
            text = Text(loaded.source)
            scopes = find_scopes(ast.parse(loaded.source, loaded.file), self.operators)
        except RecursionError:
            self.warnings.append(
                f"module {loaded.name} is nested too deeply to be mutated: it has no mutants"
            )
            return []
        parts = loaded.name.split(".")
        if loaded.file.endswith("/__init__.py"):
            parts.append("__init__")
        source = Source(
            module=loaded.name,
            file="/".join(parts) + ".py",
            path=loaded.file,
            text=text,
            flags=future_flags(loaded.code),
            first_point=len(self.points),
        )
        self._sources[loaded.name] = source
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
        scope: Scope,
        source: Source,
        loaded: Loaded,
        roots: dict[tuple[str, int], list[CodeType]],
    ) -> Unit | None:
        node = scope.node
        decorators = getattr(node, "decorator_list", ())
        place = Place(
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
        codes = roots.get((name, place.first_line), [])
        if len(codes) > 1:
            codes = [c for c in codes if _within(c, place)]
        if cells is None or not codes:
            return None
        unit = Unit(source, scope.name, scope.hash, place, cells)
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
        if end > len(self._owners):
            self._owners += [None] * (end - len(self._owners))
        self._owners[start:end] = [unit] * (end - start)

    def _add_mutants(self, scope: Scope, unit: Unit | None, source: Source) -> None:
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
                before, after = _words(source.text, point, change)
                mutant = Mutant(
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
        """It ran while being imported and is gone."""
        for number in unit.points:
            self.points[number].unit = None
            for index in self.points[number].mutants:
                mutant = self.mutants[index]
                mutant.static, mutant.unit = True, None
        self.units.remove(unit)
        start, end = unit.cells
        self._owners[start:end] = [None] * (end - start)

    def _find_functions(self) -> None:
        """The live function objects that run the code of our units, and caches around any."""
        caches: list[_Cache[object]] = []
        for thing in gc.get_objects():
            kind = type(thing)
            if kind is FunctionType:
                found = self._codes.get(id(thing.__code__))
                if found is not None and id(thing) not in self._known:
                    unit, index = found
                    self._known.add(id(thing))
                    unit.functions.append((thing, index))
                    unit.plain.append((thing, thing.__code__))
                    unit.rest = unit.plain
                    unit.base = None
            elif kind is _Cache:
                caches.append(thing)
        known = {id(c) for c in self._caches}
        self._caches += [c for c in caches if id(c) not in known and self._is_ours(c)]

    def _is_ours(self, cache: _Cache[object]) -> bool:
        wrapped = getattr(cache, "__wrapped__", None)
        return type(wrapped) is FunctionType and self.application.has(wrapped.__module__ or "")

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
        """A probing has compiled a unit anew."""
        if probing is self._probing:
            self._rest(unit, code)

    def _rest(self, unit: Unit, code: Code) -> None:
        if unit.rest is not code:
            unit.rest = code
            if unit not in self._quiet:
                unit.run(code)

    def enter(self, mutant: Mutant) -> None:
        """Swap the mutant in. Raises :class:`CannotSwap`; then P runs as before."""
        unit = mutant.unit
        if unit is None:
            raise CannotSwap("it is in code that runs at import")
        code = mutant.code
        if code is None:
            code = mutant.code = self._compile(unit, mutant)
        if self._entered is not None:
            self.leave()
        self._entered = unit
        for function, body in code:
            function.__code__ = body
        if self._caches:
            self.clear_caches()

    def enter_base(self, mutant: Mutant) -> None:
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
        if self._caches:
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
        for cache in self._caches:
            cache.cache_clear()

    def forget(self, mutants: Iterable[Mutant]) -> None:
        """Drop compiled code (of mutants that are dead, say)."""
        for mutant in mutants:
            mutant.code = None

    def _base(self, unit: Unit) -> Code:
        if unit.base is None:
            unit.base = self.workshop.compile(unit, self.workshop.for_mutants(unit), {})
        return unit.base

    def _compile(self, unit: Unit, mutant: Mutant) -> Code:
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
        return [u for u in dict.fromkeys(compress(self._owners, data)) if u is not None]

    def probing(self) -> Probing:
        """A new set of watched mutants, empty."""
        return Probing(self)

    def diff(self, mutant: Mutant) -> str:
        """The mutant as a unified diff of its file, for people."""
        source = self._sources[mutant.module]
        _, change, point = self.locate(ast.parse(source.text.data), mutant)
        if point.text is not None and sys.version_info < (3, 12):
            new = Cut(*source.text.span(point.text), _unparsed_within(point, change))
            return source.text.diff(source.file, [new])
        return source.text.diff(source.file, change.cuts(source.text))

    def locate(self, tree: ast.Module, mutant: Mutant) -> tuple[ast.AST, Change, Point]:
        """The mutant's node, change and point in a plain tree of its module."""
        points = [p for scope in find_scopes(tree, self.operators) for p in scope.points]
        point = points[mutant.point - self._sources[mutant.module].first_point]
        return point.node, point.changes[mutant.change][1], point


def made(change: Change, node: ast.AST) -> ast.AST:
    """The mutated node, at the place of the original."""
    return placed(change.make(), node)


def _words(text: Text, point: Point, change: Change) -> tuple[str, str]:
    node = point.node
    if point.text is not None and sys.version_info < (3, 12):
        # Positions inside an f-string are not to be relied on.
        return one_line(ast.unparse(node)), one_line(ast.unparse(made(change, node)))
    return one_line(text.of(node)), one_line(text.changed(node, change.cuts(text)))


def _unparsed_within(point: Point, change: Change) -> str:
    """The f-string that the point is in, with the change made."""
    assert point.text is not None
    Slots(point.text).put(point.node, made(change, point.node))
    return ast.unparse(point.text)


def _within(code: CodeType, place: Place) -> bool:
    """Does the code come from this place? Told by columns: there are others on its line."""
    first, last = (place.line, place.column), (place.end_line, place.end_column)
    found = False
    for line, end_line, column, end_column in code.co_positions():
        if line is None or end_line is None or column is None or end_column is None:
            continue
        if (line, column) == (end_line, end_column):
            continue  # the function's beginning, which is given no more than a line
        if not (first <= (line, column) and (end_line, end_column) <= last):
            return False
        found = True
    return found
