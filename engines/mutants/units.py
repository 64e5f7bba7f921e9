"""A unit in the running program: its live function objects and the codes they can run.

A function object keeps its identity while its ``__code__`` is exchanged, which takes a
fraction of a microsecond. Nested functions that live already (made while the module was
imported) are matched by their place in the tree of code objects.
"""

from __future__ import annotations

import ast
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any, Final

from fuzztui.engines.instrument.fuel import add_fuel
from fuzztui.engines.instrument.instrument import Instrumenter
from fuzztui.engines.instrument.markers import compile_with
from fuzztui.engines.mutants.operators import MutationOperator
from fuzztui.engines.mutants.recompile import (
    Slots,
    UnitPosition,
    flatten,
    only_unit,
    parse_unit,
    shelled,
    strip,
)
from fuzztui.engines.mutants.sites import Point, find_unit
from fuzztui.engines.mutants.text import ModuleText

__all__ = ["CannotSwap", "Code", "ModuleCode", "Prepared", "Unit", "UnitCompiler", "size_of"]

_KEPT: Final = 64

Code = list[tuple[FunctionType, CodeType]]
"""What each live function of a unit is to run."""


class CannotSwap(Exception):
    """A mutant (or unit) that cannot be made to run in place. The words say why."""


@dataclass(frozen=True, slots=True)
class ModuleCode:
    """A module's text and how it was compiled."""

    module: str
    file: str
    """As people see it: ``package/module.py``."""
    path: str
    text: ModuleText
    flags: int
    first_point: int
    """Number of the module's first point."""


@dataclass(slots=True, eq=False)
class Unit:
    """``cells`` are its first cell and the one after its last."""

    source: ModuleCode
    name: str
    hash: str
    place: UnitPosition
    cells: tuple[int, int]
    points: list[int] = field(default_factory=list)
    """Numbers of its points, in their order."""
    functions: list[tuple[FunctionType, int]] = field(default_factory=list)
    """Live functions with their place among :func:`flatten`'s codes."""
    shape: list[str] = field(default_factory=list)
    """Names of the codes of the unit and in it: all its compilations must agree."""
    plain: Code = field(default_factory=list)
    """As imported."""
    rest: Code = field(default_factory=list)
    """What is installed between mutants: ``plain`` or that with probes."""
    base: Code | None = None
    """Compiled as mutants are, but unmutated."""
    ran_at_import: bool = False

    def __post_init__(self) -> None:
        self.rest = self.plain

    def run(self, code: Code) -> None:
        """Have the functions run this."""
        for function, body in code:
            function.__code__ = body

    def fit(self, codes: Sequence[CodeType]) -> Code:
        """The codes for the live functions; raises :class:`CannotSwap` if they do not fit."""
        if [c.co_name for c in codes] != self.shape:
            raise CannotSwap("it changes which functions are nested in this one")
        found = []
        for function, index in self.functions:
            if codes[index].co_freevars != function.__code__.co_freevars:
                raise CannotSwap("it changes which variables of outer functions are used")
            found.append((function, codes[index]))
        return found


@dataclass(slots=True)
class Prepared:
    """A unit's tree, ready to be compiled; ``points`` in the unit's order."""

    module: ast.Module
    points: list[Point]
    slots: Slots


def size_of(code: Code) -> int:
    """About how many bytes of memory a unit's compiled code takes."""
    parts = [part for _, root in code for part in flatten(root)]
    return sum(
        sys.getsizeof(c) + len(c.co_linetable) + 8 * (len(c.co_consts) + len(c.co_names))
        for c in parts
    )


class UnitCompiler:
    """Prepares and compiles units, and counts the time that it takes."""

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
        """The unit with fuel everywhere and no coverage. Shared: undo what you put in."""
        found = self._ready.get(id(unit))
        if found is None:
            found = self._prepare(unit, add_fuel)
            self._ready[id(unit)] = found
            if len(self._ready) > _KEPT:
                self._ready.popitem(last=False)
        else:
            self._ready.move_to_end(id(unit))
        return found

    def for_probes(self, unit: Unit) -> Prepared:
        """The unit instrumented as at import, with the same cells. Not shared."""

        def instrument(node: Any) -> None:
            Instrumenter(unit.cells[0], counting=self._counting).visit(node)

        return self._prepare(unit, instrument)

    def _parse(self, unit: Unit) -> tuple[Any, list[Point]]:
        node = parse_unit(unit.source.text, unit.place)
        points = find_unit(node, self._operators).points
        if len(points) != len(unit.points):
            raise CannotSwap("its source cannot be distinguished from what is around it")
        return node, points

    def _prepare(self, unit: Unit, instrument: Callable[[Any], None]) -> Prepared:
        began = time.perf_counter_ns()
        try:
            node, points = self._parse(unit)
            strip(node, unit.place)
            instrument(node)
            module = shelled(node, unit.place.shells)
            return Prepared(module, points, Slots(module))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
            raise CannotSwap(f"its function cannot be compiled on its own: {e}") from None
        finally:
            self.compile_ns += time.perf_counter_ns() - began

    def compile(self, unit: Unit, prepared: Prepared, constants: Mapping[str, Any]) -> Code:
        """The prepared tree as it is now. Raises :class:`CannotSwap`."""
        began = time.perf_counter_ns()
        try:
            names = {**self._constants, **constants}
            source = unit.source
            code = compile_with(prepared.module, source.path, names, source.flags)
            codes = only_unit(code)
            return unit.fit(codes)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
            raise CannotSwap(f"it does not compile: {type(e).__name__}: {e}") from None
        finally:
            self.compile_ns += time.perf_counter_ns() - began
