"""The units of the application: their live functions, and the code that these run.

A *unit* is an outermost function or lambda, below modules and class bodies only. A function object
keeps its identity when its ``__code__`` is exchanged, which takes a fraction of a microsecond. Live
nested functions (created while the module was imported) are matched by their position in the tree
of code objects.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FunctionType
from typing import Final

from fuzztui.engines.instrument.importer import Application, InstrumentedModule
from fuzztui.engines.instrument.instrument import UnitSpan

_FUNCTION: Final = 0x1  # CO_OPTIMIZED: has fast locals, so it is no class body

Code = list[tuple[FunctionType, CodeType]]
"""The code object for each live function of a unit."""


class CannotSwap(Exception):
    """Code that cannot run in place of other code. The message is the reason."""


def outermost(code: CodeType) -> Iterator[CodeType]:
    """The functions in a module's or class's code, also those in class bodies and type scopes."""
    for const in code.co_consts:
        if isinstance(const, CodeType):
            transparent = const.co_name.startswith("<generic parameters")
            if transparent or not const.co_flags & _FUNCTION:
                yield from outermost(const)
            else:
                yield const


def flatten(code: CodeType) -> list[CodeType]:
    """A code object and all nested ones, outer ones first."""
    found = [code]
    for const in code.co_consts:
        if isinstance(const, CodeType):
            found += flatten(const)
    return found


class LiveUnit:
    """The live functions of a unit, and the code that they run when no mutant is swapped in.

    This is decided here alone: :attr:`probed`, if there is any; else the code without the probes
    of covered cells, where :mod:`~fuzztui.engines.instrument.sparse` has chosen it; else the code
    as imported.
    """

    __slots__ = (
        "_ground", "codes", "functions", "module", "plain", "probed", "root", "span", "sparse",
        "sparse_codes",
    )  # fmt: skip

    def __init__(
        self, module: InstrumentedModule, span: UnitSpan, root: int, codes: list[CodeType]
    ) -> None:
        """``root``: the number of its code in :func:`outermost`; ``codes``: the code, flattened."""
        self.module, self.span, self.root, self.codes = module, span, root, codes
        self.functions: list[tuple[FunctionType, int]] = []
        """Live functions with the index of their code in :attr:`codes`."""
        self.plain: Code = []
        """The code as imported."""
        self.sparse_codes: list[CodeType] = []
        """The code without probes of covered cells, flattened; empty: not compiled."""
        self.sparse: Code = []
        self.probed: Code | None = None
        """Code with probes for mutants and for all cells; None: none is installed."""
        self._ground = self.plain

    @property
    def shape(self) -> list[str]:
        """Names of the unit's code and the codes nested in it; equal in all its compilations."""
        return [code.co_name for code in self.codes]

    @property
    def resting(self) -> Code:
        """The code that runs when no mutant is swapped in."""
        return self._ground if self.probed is None else self.probed

    def run(self, code: Code) -> None:
        """Install this code in the live functions."""
        for function, body in code:
            function.__code__ = body

    def set_sparse(self, codes: Sequence[CodeType]) -> None:
        """Keep a new sparse code. Raises :class:`CannotSwap` if it does not fit."""
        self.sparse, self.sparse_codes = self.fit(codes), list(codes)

    def choose(self, *, sparse: bool) -> None:
        """Run the sparse code, if there is any and no mutants' probes; or the code as imported."""
        ground = self.sparse if sparse and self.sparse_codes else self.plain
        if ground is not self._ground:
            self._ground = ground
            if self.probed is None:
                self.run(ground)

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

    def add(self, function: FunctionType, index: int) -> None:
        """Add a live function, which runs the code with this index."""
        self.functions.append((function, index))
        self.plain.append((function, self.codes[index]))
        if self.sparse_codes:
            self.sparse.append((function, self.sparse_codes[index]))


class Census:
    """Finds the units of the loaded modules, and their live functions."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._scanned = 0
        self._modules: set[str] = set()
        self.units: dict[tuple[str, int, int], LiveUnit] = {}
        """By name of the module, line and column."""
        self.on_grown: Callable[[LiveUnit], None] = lambda unit: unit.run(unit.resting)
        """Called when a known unit has more live functions."""
        self._codes: dict[int, tuple[LiveUnit, int]] = {}  # units and indexes of code, by its id
        self._alive: list[CodeType] = []  # keeps the ids above taken
        self._known: set[int] = set()  # ids of functions that units refer to

    def scan(self) -> list[InstrumentedModule]:
        """Find the units of modules that were loaded since the last call. Returns these modules.

        Must be called before ``gc.freeze()``, because it finds live functions.
        """
        loaded = self._application.loaded[self._scanned :]
        self._scanned += len(loaded)
        new = []
        for module in sorted(loaded, key=lambda m: m.name):
            if module.name not in self._modules:  # else a second load: the first one's units count
                self._modules.add(module.name)
                new.append(module)
                self._scan_module(module)
        self._find_functions()
        return new

    def _scan_module(self, module: InstrumentedModule) -> None:
        roots: dict[tuple[str, int], list[tuple[int, CodeType]]] = {}
        for number, code in enumerate(outermost(module.code)):
            roots.setdefault((code.co_name, code.co_firstlineno), []).append((number, code))
        for span in module.spans.values():
            found = roots.get((span.name, span.first_line), [])
            if len(found) > 1:
                found = [(number, code) for number, code in found if _within(code, span)]
            if not found:
                continue
            unit = LiveUnit(module, span, found[0][0], flatten(found[0][1]))
            self.units[module.name, span.line, span.column] = unit
            for _, root in found:  # several: the compiler copies the blocks of ``finally``
                self.register(unit, flatten(root))

    def register(self, unit: LiveUnit, codes: Sequence[CodeType]) -> None:
        """Recognise functions with these codes, which are a version of the unit's code."""
        self._alive.append(codes[0])
        for index, code in enumerate(codes):
            self._codes[id(code)] = unit, index

    def _find_functions(self) -> None:
        grown: dict[LiveUnit, None] = {}
        old = {unit for unit in self.units.values() if unit.functions}
        for function, unit, index in self.others():
            self._known.add(id(function))
            unit.add(function, index)
            if unit in old:
                grown[unit] = None
        for unit in grown:
            self.on_grown(unit)

    def knows(self, function: FunctionType) -> bool:
        """Whether a unit refers to this function."""
        return id(function) in self._known

    def others(self) -> list[tuple[FunctionType, LiveUnit, int]]:
        """Live functions that units do not refer to yet: created since the last :meth:`scan`."""
        codes, known = self._codes, self._known
        return [
            (thing, *codes[id(thing.__code__)])
            for thing in gc.get_objects()
            if type(thing) is FunctionType
            and id(thing.__code__) in codes
            and id(thing) not in known
        ]


def _within(code: CodeType, span: UnitSpan) -> bool:
    """Whether the code comes from this position. Compares columns: a line may have several
    units.
    """
    first, last = (span.line, span.column), (span.end_line, span.end_column)
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
