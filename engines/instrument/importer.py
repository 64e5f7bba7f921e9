"""The import hook that instruments the modules of the application."""

from __future__ import annotations
import __future__

import ast
import contextlib
import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import FrozenImporter, ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

from fuzztui.engines.inputs.dictionary import ConstantRow, constants_of
from fuzztui.engines.instrument.cache import SourceCache
from fuzztui.engines.instrument.edges import CoverageMap, Edge, EdgeTable, ModuleEdges
from fuzztui.engines.instrument.guard import Guard
from fuzztui.engines.instrument.instrument import Instrumenter, UnitSpan
from fuzztui.engines.instrument.lines import LineRecorder
from fuzztui.engines.instrument.markers import compile_marked, with_objects
from fuzztui.kernel.base.text import listed, several

_FUTURE: Final[int] = sum(
    getattr(__future__, name).compiler_flag for name in __future__.all_feature_names
)
_Made = tuple[
    CodeType, list[tuple[str, int, str]], list[tuple[Any, ...]], list[ConstantRow], list[str]
]
"""Code with markers, edges, units, constants and imported names of a module."""

_NEXT_COUNT = bytes(min(n + 1, 255) for n in range(256))


class _TooDeep(Exception):
    """A module is nested too deeply to be instrumented."""


@dataclass(frozen=True, slots=True)
class InstrumentedModule:
    """An instrumented module, with the data to compile parts of it again.

    ``spans``, ``imports``: those of :class:`Instrumenter`. ``code``: the code of the module.
    """

    name: str
    file: str
    source: bytes
    base: int
    spans: Mapping[tuple[int, int], UnitSpan]
    code: CodeType
    imports: Sequence[str]

    @property
    def flags(self) -> int:
        """The ``from __future__`` features that the module was compiled with."""
        return self.code.co_flags & _FUTURE


class Application:
    """The modules under test, and the import finder that instruments them.

    A module belongs to the application if its name is, or is below, one of ``include`` and none of
    ``exclude``. A ``.py`` file is preferred to a compiled extension of the same name, which cannot
    be instrumented.
    """

    def __init__(
        self,
        include: Iterable[str],
        exclude: Iterable[str],
        table: EdgeTable,
        coverage: CoverageMap,
        guard: Guard,
    ) -> None:
        self.include, self.exclude = tuple(include), tuple(exclude)
        self.table, self.coverage = table, coverage
        self.compiled_only: list[str] = []
        """Modules of the application that exist only as compiled extensions."""
        self.plain: list[str] = []
        """Modules that are loaded without instrumentation, because they are nested too deeply."""
        self.on_source: Callable[[str, ast.Module], None] | None = None
        """Called with name and tree of each module before instrumentation, which may change the
        tree: such a module is not taken from :attr:`cache`."""
        self.on_constants: Callable[[str, Sequence[ConstantRow]], None] = lambda name, rows: None
        """Called with name and constants of each module."""
        self.cache = SourceCache(None)
        self.loaded: list[InstrumentedModule] = []
        """The instrumented modules, in the order in which they were compiled."""
        self.compiled: dict[str, CodeType] = {}
        """The first instrumented code of each module."""
        self.fresh: Callable[[str], bool] = lambda name: True
        """Whether a module that was compiled before must be compiled again."""
        self.lines: LineRecorder | None = None
        """Records the lines that run when modules are imported."""
        self.constants: dict[str, object] = {
            "cells": coverage.cells,
            "next": _NEXT_COUNT,
            "arm": coverage.arms.add,
            "fuel": guard.spend,
            "tick": guard.tick,
            "guard": guard,
        }
        """The objects that replace markers in compiled code (see ``instrument/markers.py``)."""

    def has(self, name: str) -> bool:
        """Whether the module of this name belongs to the application."""
        return is_below(name, self.include) and not is_below(name, self.exclude)

    def install(self) -> None:
        """Install the finder. Modules that are already imported will be imported again."""
        for name in [n for n in sys.modules if self.has(n)]:
            if not name.startswith("fuzztui.") and name != "fuzztui":
                del sys.modules[name]
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def unload(self, loaded_before: int) -> None:
        """Keep the ``loaded_before`` modules that were loaded first. Drop the others, as if they
        had never been imported.
        """
        names = list(self.table.modules)[loaded_before:]
        for name in names:
            self.table.remove(name)
            self.compiled.pop(name, None)
            module = sys.modules.pop(name, None)
            package, _, attribute = name.rpartition(".")
            parent = vars(sys.modules[package]) if package in sys.modules else {}
            if module is not None and parent.get(attribute) is module:
                del parent[attribute]
        self.loaded[:] = [m for m in self.loaded if m.name not in names]

    # ---------------------------------------------------------- the import system

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find an application module; part of the meta path finder protocol."""
        if not self.has(name):
            return None
        spec = self._plain_spec(name, path, target)
        if spec is None or spec.origin is None or not spec.has_location:
            return spec
        source = spec.origin
        if not source.endswith(".py"):
            stem = "__init__" if spec.submodule_search_locations else name.rpartition(".")[2]
            source = str(Path(source).parent / (stem + ".py"))
            if not Path(source).is_file():
                self.compiled_only.append(name)
                return spec
        return spec_from_file_location(
            name,
            source,
            loader=_Loader(self, name, source),
            submodule_search_locations=spec.submodule_search_locations,
        )

    def _plain_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        """The spec from other finders; for a frozen module, that of its file. None: not found."""
        for finder in sys.meta_path:
            if isinstance(finder, Application) or finder is FrozenImporter:
                continue
            find = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = None if find is None else find(name, path, target)
            if spec is not None:
                return spec
        return None

    def compile(self, name: str, file: str, source: bytes) -> CodeType:
        """Compile a module with instrumentation, and register its cells. Returns the code."""
        if name in self.compiled and not self.fresh(name):
            return self.compiled[name]
        sha = hashlib.sha256(source).hexdigest()[:16]
        base, counting = self.table.base(name, sha), self.coverage.counting

        def make() -> _Made:
            return self._made(name, file, source, base)

        try:
            if self.on_source is None:
                key = (file, base, counting)
                marked, edges, spans, constants, imports = self.cache.get("code", key, source, make)
            else:
                marked, edges, spans, constants, imports = make()
        except _TooDeep:  # not cached: the next start may have more room on its stack
            self.plain.append(name)
            return self.compiled.setdefault(name, compile(source, file, "exec", dont_inherit=True))
        self.on_constants(name, constants)
        code = with_objects(marked, self.constants)
        self.compiled.setdefault(name, code)
        self.table.add(ModuleEdges(name, file, sha, base, tuple(Edge(*edge) for edge in edges)))
        self.coverage.grow(self.table.size)
        units = {span[1:3]: UnitSpan(*span) for span in spans}
        self.loaded.append(InstrumentedModule(name, file, source, base, units, code, imports))
        return code

    def _made(self, name: str, file: str, source: bytes, base: int) -> _Made:
        """Instrument and compile a module. Raises :class:`_TooDeep`."""
        tree = ast.parse(source, file)
        if self.on_source is not None:
            self.on_source(name, tree)
        instrumenter = Instrumenter(base, counting=self.coverage.counting)
        try:
            constants = list(constants_of(tree))
            instrumenter.visit(tree)
            code = compile_marked(tree, file)
        except RecursionError:
            raise _TooDeep from None
        edges = [(edge.qualname, edge.line, edge.kind) for edge in instrumenter.edges]
        spans = [tuple(span) for span in instrumenter.spans.values()]
        return code, edges, spans, constants, sorted(instrumenter.imports)


class _Loader(SourceFileLoader):
    """Loads a module with instrumented code; other parts (``get_source``, resources) as usual."""

    def __init__(self, application: Application, name: str, file: str) -> None:
        super().__init__(name, file)
        self._application = application

    def get_code(self, fullname: str) -> CodeType:
        file = self.get_filename(fullname)
        lines = self._application.lines
        with lines.suspended() if lines is not None else contextlib.nullcontext():
            return self._application.compile(fullname, file, self.get_data(file))

    def exec_module(self, module: ModuleType) -> None:
        lines = self._application.lines
        if lines is None:
            super().exec_module(module)
            return
        lines.add(self.get_filename(module.__name__))
        with lines.recording():
            super().exec_module(module)


def is_below(name: str, packages: Iterable[str]) -> bool:
    """Whether a module is one of the packages, or in one."""
    return any(name == p or name.startswith(p + ".") for p in packages)


_SHOWN = 3
"""Compiled modules listed in a line."""


def scope_lines(application: Application) -> list[str]:
    """``priority in /.../site-packages/priority (12 modules)`` for each included package.

    Only loaded modules count: more may be imported while the target runs.
    """
    return [_of(application, package) for package in application.include]


def _of(application: Application, package: str) -> str:
    def within(name: str) -> bool:
        return name == package or name.startswith(f"{package}.")

    files = [m.file for m in application.table.modules.values() if within(m.name)]
    compiled = sorted(filter(within, application.compiled_only))
    if not compiled and len(files) == 1 and Path(files[0]).name != "__init__.py":
        return f"{package} in {files[0]}"
    where = f" in {os.path.commonpath([Path(f).parent for f in files])}" if files else ""
    return f"{package}{where} ({several(len(files), 'module')}{_but(compiled)})"


def _but(compiled: Sequence[str]) -> str:
    if not compiled:
        return ""
    return f"; not {listed(compiled, _SHOWN)}: compiled"
