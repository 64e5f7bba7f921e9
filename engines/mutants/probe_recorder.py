"""Record which mutants an input reaches and may infect, while the original runs.

Reach, infect, propagate (the PIE model, paper section IV-B2): a mutant cannot be killed if its
expression was not evaluated, or if the mutated expression had the same value each time. Only points
with wanted mutants have probes, so killed mutants cost nothing.

A probe stands in front of the original expression, which remains and is evaluated once:

* ``a < b`` becomes ``watches.at[7] and watches.at[7](a, b) or a < b``; operands that are not just a
  name or a constant are kept in local variables. A watch is ``None`` after it has seen infection.
* if local variables cannot be used or there is no watch: ``hit(7) or a < b``.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from fuzztui.engines.instrument.markers import marker, placed
from fuzztui.engines.instrument.units import CannotSwap, Code
from fuzztui.engines.mutants.infection import Watch
from fuzztui.engines.mutants.mutant import PointInfo, PythonMutant
from fuzztui.engines.mutants.recompile import Slots
from fuzztui.engines.mutants.sites import Point
from fuzztui.engines.mutants.units import Unit, UnitCompiler

NO_OPERAND = object()
"""An object that is no operand (the marker ``nobody``)."""


def put_probe(slots: Slots, number: int, point: Point, *, watched: bool) -> None:
    """Insert the probe of point ``number``; ``watched``: with a watch, if one is possible.

    Must be called for the points of a unit in their order: inner points first.
    """
    node = point.node
    if isinstance(node, ast.stmt):
        _probe_statement(number, point, watched=watched)
    else:
        slots.put(node, _probed_expression(number, point, slots.now(node), watched=watched))


def _probe_statement(number: int, point: Point, *, watched: bool) -> None:
    """``return e``, ``x += e`` and ``f(e)``: insert the probe before or around ``e``."""
    node: Any = point.node
    value: ast.expr = node.value
    if watched and isinstance(node, ast.Return) and point.temporaries:
        keep, seen = _kept([value], number)
        node.value = _either([*keep, _call(number, seen)], seen[0], value)
    else:
        node.value = _either([_hit(number)], value, value)


def _probed_expression(number: int, point: Point, value: ast.expr, *, watched: bool) -> ast.expr:
    """``value``: the point's node, maybe already inside the probe of another point."""
    node: Any = point.node
    if not watched:
        return _either([_hit(number)], value, node)
    fields = {ast.Compare: ("left",), ast.BinOp: ("left", "right"), ast.UnaryOp: ("operand",)}
    names = fields[type(node)]
    operands = [getattr(node, name) for name in names]
    if isinstance(node, ast.Compare):
        operands.append(node.comparators[0])
    if not point.temporaries and not _all_simple(operands):
        return _either([_hit(number)], value, node)
    keep, seen = _kept(operands, number)
    for name, operand in zip(names, seen, strict=False):
        setattr(node, name, operand)
    if isinstance(node, ast.Compare):
        node.comparators = [seen[1]]
    return _either([*keep, _call(number, seen)], value, node)


def _all_simple(operands: list[ast.expr]) -> bool:
    return all(isinstance(o, ast.Constant | ast.Name) for o in operands)


def _kept(operands: list[ast.expr], number: int) -> tuple[list[ast.expr], list[ast.expr]]:
    """Expressions (all false) that evaluate and store the operands, and expressions to read them.

    A name may be read twice only if nothing else is evaluated in between.
    """
    keep: list[ast.expr] = []
    seen: list[ast.expr] = []
    for i, operand in enumerate(operands):
        if isinstance(operand, ast.Constant) or _all_simple(operands[i:]):
            seen.append(operand)
            continue
        name = f".{number}.{i}"  # not an identifier, so not a name of the program
        stored = placed(ast.NamedExpr(ast.Name(name, ast.Store()), operand), operand)
        test = ast.Compare(stored, [ast.Is()], [marker("nobody")])
        keep.append(placed(test, operand))
        seen.append(placed(ast.Name(name, ast.Load()), operand))
    return keep, seen


def _either(before: list[ast.expr], value: ast.expr, at: ast.AST) -> ast.expr:
    """``before or value``; all of ``before`` are false, so the result is ``value``."""
    return placed(ast.BoolOp(ast.Or(), [*(placed(b, at) for b in before), value]), at)


def _hit(number: int) -> ast.expr:
    return ast.Call(marker("hit"), [ast.Constant(number)], [])


def _call(number: int, operands: list[ast.expr]) -> ast.expr:
    """``watches.at[k] and watches.at[k](a, b)``; ``b`` is None if there is one operand."""
    watch: list[ast.expr] = [
        ast.Subscript(
            ast.Attribute(marker("watches"), "at", ast.Load()),
            ast.Constant(number),
            ast.Load(),
        )
        for _ in range(2)
    ]
    copies: list[ast.expr] = [
        ast.Constant(o.value) if isinstance(o, ast.Constant) else ast.Name(o.id, ast.Load())  # type: ignore[attr-defined]
        for o in operands
    ]
    if len(copies) == 1:
        copies.append(ast.Constant(None))
    return ast.BoolOp(ast.And(), [watch[0], ast.Call(watch[1], copies, [])])


_Watching = Callable[[Any, Any], None] | None
"""Called with the operands of a point; None when all mutants of the point are infected."""


class _Watches:
    """The list of watches by point. It is a constant of code objects, so it must be hashable."""

    __slots__ = ("at",)

    def __init__(self) -> None:
        self.at: list[_Watching] = []


@dataclass(slots=True)
class _Probed:
    """A unit's probed code and which of its points have a probe."""

    unit: Unit
    code: Code
    points: frozenset[int]


class ProbedProgram(Protocol):
    """The part of :class:`~fuzztui.engines.mutants.program.Program` that probes need."""

    points: list[PointInfo]
    mutants: list[PythonMutant]
    compiler: UnitCompiler

    def on_compiled(self, probing: Probing, unit: Unit, code: Code | None) -> None:
        """Called when a unit was compiled again; ``code`` is None if it has no probes now."""

    def clear_caches(self) -> None:
        """Empty the program's caches before a run."""


class Probing:
    """A set of mutants whose reach and infection are recorded while the original runs."""

    def __init__(self, program: ProbedProgram) -> None:
        self._program = program
        self._wanted: set[int] = set()
        self._by_point: dict[int, list[int]] = {}  # wanted mutants, by number of the point
        self._blind: dict[int, list[int]] = {}  # of those: without a watch
        self._stale: set[int] = set()  # ids of units whose wanted points have changed
        self._probed: dict[int, _Probed] = {}  # by id of the unit
        self._watches = _Watches()
        self._fresh: list[_Watching] = []  # what the watches are before each run
        self._hits: set[int] = set()
        self._reached: list[int] = []  # points
        self._infected: list[int] = []  # mutants
        self.watched: set[int] = set()
        """Wanted mutants that have a probe; whether the others are reached is unknown."""

    # ------------------------------------------------------------------ choosing

    def want(self, mutants: Iterable[int]) -> None:
        """Set the wanted mutants, by their indices."""
        program = self._program
        wanted = set(mutants)
        missing = len(program.points) - len(self._fresh)
        self._fresh += [None] * missing
        self._watches.at += [None] * missing
        changed = {program.mutants[i].point for i in wanted ^ self._wanted}
        self._wanted = wanted
        for point in changed:
            here = [i for i in program.points[point].mutants if i in wanted]
            self._by_point[point] = here
            self._blind[point] = [i for i in here if program.mutants[i].watch is None]
            if not here:
                del self._by_point[point], self._blind[point]
            self._watches.at[point] = self._fresh[point] = self._watch(point, here)
            unit = program.points[point].unit
            if unit is not None:
                self._stale.add(id(unit))
        self.watched = {i for i in self.watched if i in wanted}

    def cover(self, units: Iterable[Unit], at_most: int = sys.maxsize) -> bool:
        """Compile probes for the wanted mutants of these units, for ``at_most`` units.

        Returns False if more units remain. A unit that cannot be compiled with probes is unchanged,
        and its mutants are not ``watched``.
        """
        for unit in units:
            if id(unit) in self._stale:
                if at_most <= 0:
                    return False
                at_most -= 1
                self._stale.discard(id(unit))
                self._build(unit)
        return True

    def _build(self, unit: Unit) -> None:
        wanted = frozenset(p for p in unit.points if p in self._by_point)
        built = self._probed.get(id(unit))
        # An unwanted probe costs less than compiling the unit again.
        if built is None or not wanted <= built.points or 2 * len(wanted) < len(built.points):
            built = self._probed.pop(id(unit), None)
            code: Code | None = None
            if wanted and unit.live.functions:
                try:
                    code = self._compile(unit, wanted)
                except CannotSwap:
                    self.watched.difference_update(*(self._by_point[p] for p in wanted))
                    wanted = frozenset()
                else:
                    self._probed[id(unit)] = _Probed(unit, code, wanted)
            self._program.on_compiled(self, unit, code)
        for point in wanted:
            self.watched.update(self._by_point[point])

    def forget(self, unit: Unit) -> None:
        """Drop the code compiled for a unit, which then runs without probes."""
        self._probed.pop(id(unit), None)
        self._stale.add(id(unit))
        for point in unit.points:
            self.watched.difference_update(self._by_point.get(point, ()))

    def units(self) -> list[Unit]:
        """The units that have probes."""
        return [p.unit for p in self._probed.values()]

    def code_of(self, unit: Unit) -> Code | None:
        """The code that the unit runs while these probes are installed; None: it has none."""
        built = self._probed.get(id(unit))
        return None if built is None else built.code

    # ------------------------------------------------------------------- running

    def clear(self) -> None:
        """Clear the results. Must be called before each run of the original."""
        at, fresh = self._watches.at, self._fresh
        for point in self._reached:
            at[point] = fresh[point]
        self._reached.clear()
        self._infected.clear()
        self._hits.clear()
        self._program.clear_caches()

    def reached(self) -> list[int]:
        """Wanted mutants whose expression was evaluated since :meth:`clear`."""
        found: set[int] = set()
        for point in (*self._reached, *self._hits):
            found.update(self._by_point.get(point, ()))
        return sorted(found)

    def infected(self) -> list[int]:
        """Reached mutants whose mutated expression may have had another value."""
        found = {i for i in self._infected if i in self._wanted}
        for point in self._hits:
            found.update(self._by_point.get(point, ()))
        for point in self._reached:
            found.update(self._blind.get(point, ()))
        return sorted(found)

    def _watch(self, point: int, wanted: list[int]) -> _Watching:
        """The watch of a point at the start of a run: records the reach, then checks infection.

        Most evaluations infect the mutants of a point at once; this is the fast path.
        """
        if not wanted:
            return None
        at, reached, infected = self._watches.at, self._reached, self._infected
        mutants = self._program.mutants
        watches = [(i, watch) for i in wanted if (watch := mutants[i].watch) is not None]
        if not watches:

            def touch(a: object, b: object) -> None:
                reached.append(point)
                at[point] = None

            return touch
        if len(watches) == 1:
            ((index, differs),) = watches

            def again(a: object, b: object) -> None:
                if differs(a, b):
                    infected.append(index)
                    at[point] = None

            def first(a: object, b: object) -> None:
                reached.append(point)
                if differs(a, b):
                    infected.append(index)
                    at[point] = None
                else:
                    at[point] = again

            return first
        left: list[tuple[int, Watch]] = []

        def look(a: object, b: object, at_these: list[tuple[int, Watch]]) -> None:
            left.clear()
            for each in at_these:
                if each[1](a, b):
                    infected.append(each[0])
                else:
                    left.append(each)
            at[point] = several if left else None

        def several(a: object, b: object) -> None:
            look(a, b, left.copy())

        def first_of_several(a: object, b: object) -> None:
            reached.append(point)
            look(a, b, watches)

        return first_of_several

    # ------------------------------------------------------------------ compiling

    def _compile(self, unit: Unit, wanted: frozenset[int]) -> Code:
        program = self._program
        prepared = program.compiler.for_probes(unit)
        for number, point in zip(unit.points, prepared.points, strict=True):
            if number in wanted:
                here = program.points[number].mutants
                watched = any(program.mutants[i].watch is not None for i in here)
                put_probe(prepared.slots, number, point, watched=watched)
        constants = {"watches": self._watches, "hit": self._hits.add, "nobody": NO_OPERAND}
        return program.compiler.compile(unit, prepared, constants)
