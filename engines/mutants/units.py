"""A unit in the running program: its live function objects and the codes that they can run.

A function object keeps its identity when its ``__code__`` is exchanged, which takes a fraction of a
microsecond. Live nested functions (created while the module was imported) are matched by their
position in the tree of code objects.
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

_MAX_PREPARED: Final = 64

Code = list[tuple[FunctionType, CodeType]]
"""The code object for each live function of a unit."""


class CannotSwap(Exception):
    """A mutant or unit that cannot run in place. The message is the reason."""


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
    """An outermost function or lambda. ``cells``: its first cell and the one after its last."""

    source: ModuleCode
    name: str
    hash: str
    position: UnitPosition
    cells: tuple[int, int]
    points: list[int] = field(default_factory=list)
    """Numbers of its points, in source order."""
    functions: list[tuple[FunctionType, int]] = field(default_factory=list)
    """Live functions with the index of their code in the result of :func:`flatten`."""
    shape: list[str] = field(default_factory=list)
    """Names of the unit's code and the codes nested in it; equal in all its compilations."""
    plain: Code = field(default_factory=list)
    """The code as imported."""
    resting: Code = field(default_factory=list)
    """The code that runs between mutants: ``plain``, or the code with probes."""
    base: Code | None = None
    """The code compiled like a mutant, but unmutated; None: not compiled yet."""
    ran_at_import: bool = False

    def __post_init__(self) -> None:
        self.resting = self.plain

    def run(self, code: Code) -> None:
        """Install this code in the live functions."""
        for function, body in code:
            function.__code__ = body

    def fit(self, codes: Sequence[CodeType]) -> Code:
        """Assign codes to the live functions. Raises :class:`CannotSwap` if they do not fit."""
        if [c.co_name for c in codes] != self.shape:
            raise CannotSwap("the mutation changes which functions are nested in this one")
        found = []
        for function, index in self.functions:
            if codes[index].co_freevars != function.__code__.co_freevars:
                raise CannotSwap("the mutation changes which outer variables are used")
            found.append((function, codes[index]))
        return found


@dataclass(slots=True)
class Prepared:
    """A unit's syntax tree, ready to be compiled; ``points`` in source order."""

    module: ast.Module
    points: list[Point]
    slots: Slots


def size_of(code: Code) -> int:
    """The approximate size of a unit's compiled code, in bytes."""
    parts = [part for _, root in code for part in flatten(root)]
    return sum(
        sys.getsizeof(c) + len(c.co_linetable) + 8 * (len(c.co_consts) + len(c.co_names))
        for c in parts
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
        node = parse_unit(unit.source.text, unit.position)
        points = find_unit(node, self._operators).points
        if len(points) != len(unit.points):
            raise CannotSwap("its source cannot be separated from the surrounding code")
        return node, points

    def _prepare(self, unit: Unit, instrument: Callable[[Any], None]) -> Prepared:
        began = time.perf_counter_ns()
        try:
            node, points = self._parse(unit)
            strip(node, unit.position)
            instrument(node)
            module = shelled(node, unit.position.shells)
            return Prepared(module, points, Slots(module))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
            raise CannotSwap(f"its function cannot be compiled on its own: {e}") from None
        finally:
            self.compile_ns += time.perf_counter_ns() - began

    def compile(self, unit: Unit, prepared: Prepared, constants: Mapping[str, Any]) -> Code:
        """Compile the prepared tree in its current state. Raises :class:`CannotSwap`."""
        began = time.perf_counter_ns()
        try:
            names = {**self._constants, **constants}
            source = unit.source
            code = compile_with(prepared.module, source.path, names, source.flags)
            codes = only_unit(code)
            return unit.fit(codes)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
            raise CannotSwap(f"the mutant does not compile: {type(e).__name__}: {e}") from None
        finally:
            self.compile_ns += time.perf_counter_ns() - began
