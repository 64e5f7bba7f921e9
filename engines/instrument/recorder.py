"""Record the operands of one execution, with variants of the application's functions.

A variant is a module compiled again with other instrumentation. Its code objects are matched with
those of live functions by name, position, arguments and outer variables; where two of a module are
alike (two equal lambdas in one line), neither is exchanged. So the functions may run any code that
was compiled from the same source: as imported, or by an engine.
"""

from __future__ import annotations

import contextlib
import gc
import inspect
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any

from fuzztui.engines.inputs.operands import Operands
from fuzztui.engines.instrument.comparisons import OperandHooks, OperandLog
from fuzztui.engines.instrument.importer import Application, InstrumentedModule
from fuzztui.engines.instrument.instrument import LAMBDA, Instrumenter, UnitSpan
from fuzztui.engines.instrument.markers import compile_with
from fuzztui.engines.instrument.segments import ModuleLines, shelled, unit_of

Key = tuple[str, str, int, tuple[str, ...], tuple[str, ...]]


class Variants:
    """The variants of some modules' code, and the live functions that can run them."""

    def __init__(self) -> None:
        self._codes: dict[Key, CodeType | None] = {}
        self._functions: dict[int, tuple[weakref.ref[FunctionType], Key]] = {}
        """By the function's id."""

    def add(self, module: CodeType) -> None:
        """Add the functions in the variant of a module's code, or of a part of it."""
        for code in _nested(module):
            key = _key(code)
            self._codes[key] = None if key in self._codes else code

    def find(self, files: Iterable[str]) -> None:
        """Find the live functions whose source is one of ``files``. Can be repeated."""
        known = set(files)
        # Thawed once: the collector does not list frozen objects, and none is new among them.
        frozen = not self._functions and gc.get_freeze_count() > 0
        if frozen:
            gc.unfreeze()
        self._functions = {n: f for n, f in self._functions.items() if f[0]() is not None}
        for o in gc.get_objects():
            if type(o) is FunctionType and o.__code__.co_filename in known:
                self._functions[id(o)] = weakref.ref(o), _key(o.__code__)
        if frozen:
            gc.freeze()

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Run the variants in the live functions; restore their code afterwards."""
        before: list[tuple[FunctionType, CodeType]] = []
        try:
            for ref, key in self._functions.values():
                code = self._codes.get(key)
                function = None if code is None else ref()
                if function is not None and code is not None:
                    before.append((function, function.__code__))
                    function.__code__ = code
            yield
        finally:
            for function, code in before:
                function.__code__ = code


def _nested(code: CodeType) -> Iterator[CodeType]:
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield const
            yield from _nested(const)


def _key(code: CodeType) -> Key:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    place = code.co_filename, code.co_qualname, code.co_firstlineno
    return *place, code.co_varnames[:count], code.co_freevars


class OperandRecorder:
    """Compiles each function with hooks once it has been covered, and records operands."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._log = OperandLog()
        self._variants = Variants()
        self._ready: dict[str, set[tuple[int, int]]] = {}
        """By module: the cells of functions that were compiled."""
        self._covered = 0
        self._priced = 0, 0
        """Covered cells, and the result of :meth:`due` for them."""
        self._runs = 0

    def due(self, covered: int) -> int:
        """The number of cells in the functions that :meth:`prepare` would compile now."""
        if covered == self._covered:
            return 0
        if covered != self._priced[0]:
            spans = [span for _, new in self._new(covered) for span in new]
            self._priced = covered, sum(last - first for first, last in spans)
        return self._priced[1]

    def prepare(self, covered: int) -> None:
        """Compile what was covered since the last call, which may take seconds.

        ``covered``: the cells that any input has covered.
        """
        if covered != self._covered:
            self._covered = covered
            self._compile_covered(covered)
        self._runs += 1
        if self._runs & (self._runs - 1) == 0:  # programs make functions in their first runs
            self._variants.find(m.file for m in self._application.loaded)

    def run(self, call: Callable[[], object]) -> Sequence[Operands]:
        """Call ``call``, which runs the target, with hooks. Returns the recorded operands."""
        self._log.begin()
        try:
            with self._variants.installed():
                call()
        finally:
            pairs = self._log.take()
        return pairs

    def place(self, pair: Operands) -> str:
        """The place of the comparison: ``module:line``."""
        site = self._log.sites[pair.site]
        return f"{site.module}:{site.line}"

    def _new(self, covered: int) -> Iterator[tuple[InstrumentedModule, set[tuple[int, int]]]]:
        """The modules with covered functions that are not compiled, and these functions' cells."""
        application = self._application
        cells = covered.to_bytes(
            max(application.coverage.size, covered.bit_length() + 7 >> 3), "little"
        )
        for module in application.loaded:
            ready = self._ready.setdefault(module.name, set())
            spans = {span.cells for span in module.spans.values()} - ready
            if new := {(first, last) for first, last in spans if any(cells[first:last])}:
                yield module, new

    def _compile_covered(self, covered: int) -> None:
        for module, new in self._new(covered):
            self._ready[module.name] |= new
            spans = [s for s in module.spans.values() if s.cells in new and s.name != LAMBDA]
            self._compile(module, spans)

    def _compile(self, module: InstrumentedModule, spans: Sequence[UnitSpan]) -> None:
        names: dict[str, Any] = {**self._application.constants, **self._log.hooks}
        text = ModuleLines(module.source)
        for span in spans:
            try:
                node = unit_of(text, span)
                Instrumenter(span.cells[0]).visit(node)
                OperandHooks(module.name, self._log.sites).visit(node)
                tree = shelled(node, span.classes, module.imports)
                code = compile_with(tree, module.file, names, module.flags)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue  # its comparisons are not recorded
            self._variants.add(code)
