"""Watching which mutants an input reaches and which it may infect, while P runs.

Reach, infect, propagate (the PIE model, paper section IV-B2): a mutant whose expression was
not evaluated, or whose mutated expression had the same value each time, cannot be killed.
Probes stand only where a wanted mutant is, so a campaign pays for its survivors. They are
put into the instrumented tree beside the program's own expressions, which stay where they
were and are evaluated once, by the program:

* ``a < b`` becomes ``watches.at[7] and watches.at[7](a, b) or a < b``, with operands that
  are more than a name kept in locals; a watch is gone (``None``) once it has seen infection;
* where no local can be kept, or there is no watch: ``hit(7) or a < b``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fuzztui.engines.core.markers import marker, placed
from fuzztui.engines.mutants.sites import Point
from fuzztui.engines.mutants.units import CannotSwap, Code, Unit
from fuzztui.engines.mutants.watches import Watch

if TYPE_CHECKING:
    from fuzztui.engines.mutants.program import Program

__all__ = ["Probing"]

_Watching = Watch | None


class _Watches:
    """Holds the list of watches by point. Hashable, as what is among a code's constants must be."""

    __slots__ = ("at",)

    def __init__(self) -> None:
        self.at: list[_Watching] = []


@dataclass(slots=True)
class _Probed:
    """A unit's probed code and which of its points have a probe."""

    unit: Unit
    code: Code
    points: frozenset[int]


class Probing:
    """A set of mutants that is watched while P runs."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._wanted: set[int] = set()
        self._by_point: dict[int, list[int]] = {}  # wanted mutants, by number of the point
        self._stale: set[int] = set()  # ids of units whose wanted points have changed
        self._probed: dict[int, _Probed] = {}  # by id of the unit
        self._watches = _Watches()
        self._fresh: list[_Watching] = []  # what the watches are before each run
        self._hits: set[int] = set()
        self._reached: list[int] = []  # points
        self._infected: list[int] = []  # mutants
        self.watched: set[int] = set()
        """Wanted mutants that have a probe: the others may be reached unseen."""

    # ------------------------------------------------------------------ choosing

    def want(self, mutants: Iterable[int]) -> None:
        """Watch these mutants (their indices) and no others."""
        program = self._program
        wanted = set(mutants)
        missing = len(program.points) - len(self._fresh)
        self._fresh += [None] * missing
        self._watches.at += [None] * missing
        changed = {program.mutants[i].point for i in wanted ^ self._wanted}
        self._wanted = wanted
        for point in changed:
            here = [i for i in program.points[point].mutants if i in wanted]
            if here:
                self._by_point[point] = here
            else:
                self._by_point.pop(point, None)
            self._watches.at[point] = self._fresh[point] = self._watch(point, here)
            unit = program.points[point].unit
            if unit is not None:
                self._stale.add(id(unit))
        self.watched = {i for i in self.watched if i in wanted}

    def cover(self, units: Iterable[Unit]) -> None:
        """See to it that the wanted mutants of these units have probes.

        A unit that cannot be probed stays as it is: its mutants are not ``watched``.
        """
        for unit in units:
            if id(unit) in self._stale:
                self._stale.discard(id(unit))
                self._build(unit)

    def _build(self, unit: Unit) -> None:
        wanted = frozenset(p for p in unit.points if p in self._by_point)
        built = self._probed.get(id(unit))
        # A probe that is not wanted any more costs little: not worth compiling for one.
        if built is None or not wanted <= built.points or 2 * len(wanted) < len(built.points):
            built = self._probed.pop(id(unit), None)
            code = unit.plain
            if wanted and unit.functions:
                try:
                    code = self._compile(unit, wanted)
                except CannotSwap:
                    self.watched.difference_update(*(self._by_point[p] for p in wanted))
                    wanted = frozenset()
                else:
                    self._probed[id(unit)] = _Probed(unit, code, wanted)
            self._program.rests(self, unit, code)
        for point in wanted:
            self.watched.update(self._by_point[point])

    def units(self) -> list[Unit]:
        """The units that have probes."""
        return [p.unit for p in self._probed.values()]

    def code_of(self, unit: Unit) -> Code:
        """What the unit runs while this probing is installed."""
        built = self._probed.get(id(unit))
        return unit.plain if built is None else built.code

    # ------------------------------------------------------------------- running

    def clear(self) -> None:
        """Before each run of P: forget the last one."""
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
        """Those of :meth:`reached` whose mutated expression may have had another value."""
        mutants = self._program.mutants
        found = {i for i in self._infected if i in self._wanted}
        for point in self._hits:
            found.update(self._by_point.get(point, ()))
        for point in self._reached:
            found.update(i for i in self._by_point.get(point, ()) if mutants[i].watch is None)
        return sorted(found)

    def _watch(self, point: int, wanted: list[int]) -> _Watching:
        """The point's watch before a run: notes that it is reached, then watches for infection."""
        if not wanted:
            return None
        at, reached, infected = self._watches.at, self._reached, self._infected
        mutants = self._program.mutants
        every: list[Watch] = []
        active: list[Watch] = []

        def infect_by(index: int, number: int) -> Callable[[], None]:
            def infect() -> None:
                infected.append(index)
                active.remove(every[number])
                if not active:
                    at[point] = None

            return infect

        for index in wanted:
            make = mutants[index].watch
            if make is not None:
                every.append(make(infect_by(index, len(every))))

        def several(*operands: object) -> None:
            for watch in tuple(active):
                watch(*operands)

        then = None if not every else every[0] if len(every) == 1 else several

        def first(*operands: object) -> None:
            reached.append(point)
            active[:] = every
            at[point] = then
            if then is not None:
                then(*operands)

        return first

    # ------------------------------------------------------------------ compiling

    def _compile(self, unit: Unit, wanted: frozenset[int]) -> Code:
        workshop, mutants = self._program.workshop, self._program.mutants
        prepared = workshop.for_probes(unit)
        for number, point in zip(unit.points, prepared.points, strict=True):
            if number in wanted:
                node = point.node
                watched = any(
                    mutants[i].watch is not None for i in self._program.points[number].mutants
                )
                if isinstance(node, ast.stmt):
                    _probe_statement(number, point, watched=watched)
                else:
                    value = prepared.slots.now(node)
                    probed = _probed_expression(number, point, value, watched=watched)
                    prepared.slots.put(node, probed)
        return workshop.compile(
            unit, prepared, {"watches": self._watches, "hit": self._hits.add, "nobody": _NOBODY}
        )


_NOBODY = object()


def _probe_statement(number: int, point: Point, *, watched: bool) -> None:
    """``return e``, ``x += e`` and ``f(e)``: the probe stands before or around ``e``."""
    node: Any = point.node
    value: ast.expr = node.value
    if watched and isinstance(node, ast.Return) and point.temporaries:
        keep, seen = _kept([value], number)
        node.value = _either([*keep, _call(number, seen)], seen[0], value)
    else:
        node.value = _either([_hit(number)], value, value)


def _probed_expression(number: int, point: Point, value: ast.expr, *, watched: bool) -> ast.expr:
    """``value`` is the point's node, or that with the probe of another point around it."""
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
    """Expressions (all false) that evaluate and keep the operands; how to read them then.

    A name may be read twice only if nothing else is evaluated in between.
    """
    keep: list[ast.expr] = []
    seen: list[ast.expr] = []
    for i, operand in enumerate(operands):
        if isinstance(operand, ast.Constant) or _all_simple(operands[i:]):
            seen.append(operand)
            continue
        name = f".{number}.{i}"  # not an identifier: cannot meet a name of the program
        stored = placed(ast.NamedExpr(ast.Name(name, ast.Store()), operand), operand)
        test = ast.Compare(stored, [ast.Is()], [marker("nobody")])
        keep.append(placed(test, operand))
        seen.append(placed(ast.Name(name, ast.Load()), operand))
    return keep, seen


def _either(before: list[ast.expr], value: ast.expr, at: ast.AST) -> ast.expr:
    """``before or value``, where all of ``before`` is false: the value."""
    return placed(ast.BoolOp(ast.Or(), [*(placed(b, at) for b in before), value]), at)


def _hit(number: int) -> ast.expr:
    return ast.Call(marker("hit"), [ast.Constant(number)], [])


def _call(number: int, operands: list[ast.expr]) -> ast.expr:
    """``watches.at[k] and watches.at[k](*operands)``."""
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
    return ast.BoolOp(ast.And(), [watch[0], ast.Call(watch[1], copies, [])])
