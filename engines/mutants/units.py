"""A unit and its mutants: what is needed to compile them, and its compiler."""

from __future__ import annotations

import ast
import contextlib
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Final

from fuzztui.engines.instrument.fuel import add_fuel
from fuzztui.engines.instrument.instrument import Instrumenter
from fuzztui.engines.instrument.markers import compile_with
from fuzztui.engines.instrument.segments import only_unit, parse_unit, shelled, strip
from fuzztui.engines.instrument.units import CannotSwap, Code, LiveUnit
from fuzztui.engines.mutants.operators import MutationOperator
from fuzztui.engines.mutants.recompile import Nested, Slots, functions_around, nested_in
from fuzztui.engines.mutants.sites import Point, Shell, find_unit
from fuzztui.engines.mutants.text import ModuleText

_MAX_PREPARED: Final = 64


@dataclass(frozen=True, slots=True)
class ModuleCode:
    """A module's text and how it was compiled."""

    module: str
    file: str
    """The file as shown to users: ``package/module.py``."""
    path: str
    text: ModuleText
    flags: int
    first_point: int
    """Number of the module's first point."""


@dataclass(slots=True, eq=False)
class Unit:
    """An outermost function or lambda."""

    live: LiveUnit
    source: ModuleCode
    name: str
    hash: str
    shells: tuple[Shell, ...]
    """The classes around it."""
    points: list[int] = field(default_factory=list)
    """Numbers of its points, in source order."""
    base: Code | None = None
    """The code compiled like a mutant, but unmutated; None: not compiled yet."""
    base_codes: list[CodeType] = field(default_factory=list)
    """The base and all codes nested in it; empty: not compiled yet."""
    ran_at_import: bool = False
    unrestored: bool = False
    """Whether it runs only once in a process: what it makes cannot be put back."""
    unjudged: bool = False
    """Whether it is ``unrestored`` and importing the program again does not change that."""

    @property
    def cells(self) -> tuple[int, int]:
        """The unit's first cell, and the one after its last."""
        return self.live.span.cells


@dataclass(slots=True)
class Prepared:
    """A unit's syntax tree, ready to be compiled; ``points`` in source order."""

    module: ast.Module
    points: list[Point]
    slots: Slots
    nested: dict[int, Nested | None] = field(default_factory=dict)
    """By id of a point's node: the function inside the unit that is compiled alone."""


def size_of(codes: Iterable[CodeType]) -> int:
    """The approximate size of codes, in bytes."""
    return sum(
        sys.getsizeof(c) + len(c.co_linetable) + 8 * (len(c.co_consts) + len(c.co_names))
        for c in codes
    )


class UnitCompiler:
    """Prepares and compiles units, and measures the time."""

    def __init__(
        self, operators: Sequence[MutationOperator], constants: Mapping[str, Any], *, counting: bool
    ) -> None:
        self._operators, self._constants = operators, constants
        self._counting = counting
        self._ready: OrderedDict[int, Prepared] = OrderedDict()  # for mutants, by id of the unit
        self.compile_ns = 0

    def points(self, unit: Unit) -> list[Point]:
        """The unit's points in a fresh plain tree."""
        return self._parse(unit)[1]

    def for_mutants(self, unit: Unit) -> Prepared:
        """The unit with fuel everywhere and no coverage. Shared: callers must undo their
        changes.
        """
        found = self._ready.get(id(unit))
        if found is None:
            found = self._prepare(unit, add_fuel)
            self._ready[id(unit)] = found
            if len(self._ready) > _MAX_PREPARED:
                self._ready.popitem(last=False)
        else:
            self._ready.move_to_end(id(unit))
        return found

    def for_probes(self, unit: Unit) -> Prepared:
        """The unit instrumented as at import, with the same cells. A new tree for each call."""

        def instrument(node: Any) -> None:
            Instrumenter(unit.cells[0], counting=self._counting).visit(node)

        return self._prepare(unit, instrument)

    def _parse(self, unit: Unit) -> tuple[Any, list[Point]]:
        node = parse_unit(unit.source.text, unit.live.span)
        points = find_unit(node, self._operators).points
        if len(points) != len(unit.points):
            raise CannotSwap("its source cannot be separated from the surrounding code")
        return node, points

    def _prepare(self, unit: Unit, instrument: Callable[[Any], None]) -> Prepared:
        began = time.perf_counter_ns()
        try:
            node, points = self._parse(unit)
            strip(node, unit.live.span)
            instrument(node)
            module = shelled(node, unit.shells)
            return Prepared(module, points, Slots(module))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
            raise CannotSwap(f"its function cannot be compiled on its own: {e}") from None
        finally:
            self.compile_ns += time.perf_counter_ns() - began

    def compile(self, unit: Unit, prepared: Prepared, constants: Mapping[str, Any]) -> Code:
        """Compile the prepared tree in its current state. Raises :class:`CannotSwap`."""
        with self._compiling():
            return unit.live.fit(self._codes(unit, prepared.module, constants))

    def base(self, unit: Unit) -> Code:
        """The unit compiled like a mutant, but unmutated. Raises :class:`CannotSwap`."""
        if unit.base is None:
            prepared = self.for_mutants(unit)
            with self._compiling():
                codes = self._codes(unit, prepared.module, {})
                unit.base, unit.base_codes = unit.live.fit(codes), codes
        return unit.base

    def mutant(
        self, unit: Unit, prepared: Prepared, node: ast.AST, mutated: ast.AST
    ) -> tuple[Code, int]:
        """Compile the unit with ``mutated`` in place of ``node``, or the function inside it alone.

        Returns the code, and the size in bytes of what the base does not share. Raises
        :class:`CannotSwap`.
        """
        if id(node) not in prepared.nested:
            prepared.nested[id(node)] = self._nested(unit, prepared, node)
        nested = prepared.nested[id(node)]
        prepared.slots.put(node, mutated)
        try:
            with self._compiling():
                changed = nested and self._patched(unit, nested)
                if changed:
                    codes = [changed.get(i, code) for i, code in enumerate(unit.base_codes)]
                    return unit.live.fit(codes), size_of(changed.values())
                codes = self._codes(unit, prepared.module, {})
                return unit.live.fit(codes), size_of(codes)
        finally:
            prepared.slots.put(node, node)

    def _nested(self, unit: Unit, prepared: Prepared, node: ast.AST) -> Nested | None:
        scopes = functions_around(prepared.slots, node, unit.shells)
        if len(scopes) < 2:
            return None
        try:
            self.base(unit)
        except CannotSwap:
            return None
        return nested_in(scopes, unit.shells, unit.base_codes)

    def _patched(self, unit: Unit, nested: Nested) -> dict[int, CodeType] | None:
        try:
            return nested.patch(unit.base_codes, self._codes(unit, nested.module, {}))
        except SyntaxError:  # a statement that depends on the scopes around
            return None

    def _codes(
        self, unit: Unit, module: ast.Module, constants: Mapping[str, Any]
    ) -> list[CodeType]:
        source = unit.source
        names = {**self._constants, **constants}
        return only_unit(compile_with(module, source.path, names, source.flags))

    @contextlib.contextmanager
    def _compiling(self) -> Iterator[None]:
        """Measure the time; raise errors as :class:`CannotSwap`."""
        began = time.perf_counter_ns()
        try:
            yield
        except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
            raise CannotSwap(f"the mutant does not compile: {type(e).__name__}: {e}") from None
        finally:
            self.compile_ns += time.perf_counter_ns() - began
