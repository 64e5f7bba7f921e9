"""The coverage map, and the table of the edges that its cells stand for.

A *cell* is one byte of the map, for one block or branch of the application. Cell numbers do not
change: ``edges.json`` in the instance directory contains each module's base, so a restart or a
late import moves no cell.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from fuzztui.engines.instrument.counters import Counters

Mode = Literal["edges", "counts"]


def _buckets() -> bytes:
    """AFL's buckets of hit counts, as one bit each: 1, 2, 3, 4-7, 8-15, 16-31, 32-127, 128+."""
    limits = [0, 1, 2, 3, 7, 15, 31, 127, 255]
    classes = (next(i for i, most in enumerate(limits) if n <= most) for n in range(256))
    return bytes((1 << c) >> 1 for c in classes)


BUCKETS: Final = _buckets()
"""Translation table from hit counts to buckets."""

_MAX_COLLECTED: Final = 256


class _Cells(bytearray):
    """The bytes of the map. Hashable by identity, because code objects have it as a constant."""

    __slots__ = ()
    __hash__ = object.__hash__  # type: ignore[assignment]


class CoverageMap:
    """The coverage of the running input: :meth:`clear`, run, :meth:`collect`.

    Instrumented code writes ``cells`` and ``arms``. Statement probes store into ``cells``.
    Expression probes add their cell to the set ``arms``, which is as fast and is an expression.
    Compiled code counts in arrays of its own.
    """

    __slots__ = (
        "_collected", "_left_out", "_zero", "arms", "cells", "compiled", "counting", "size",
    )  # fmt: skip

    def __init__(self, mode: Mode = "edges") -> None:
        self.cells = _Cells()
        self.arms: set[int] = set()
        self.compiled: list[Counters] = []
        """The counters of compiled code."""
        self._left_out = 0
        self.counting = mode == "counts"
        self.size = 0
        self._zero = bytearray()
        self._collected: dict[bytes, int] = {}
        """Results by the bytes of the map: most trials repeat one of a few."""

    def grow(self, size: int) -> None:
        """Extend the map to ``size`` cells, because a module was loaded; keeps the coverage."""
        if size > self.size:
            self.cells.extend(bytes(size - self.size))
            self.size = size
            self._zero = bytearray(size)

    def clear(self) -> None:
        """Reset the coverage before an input."""
        self.cells[:] = self._zero
        self.arms.clear()
        for counters in self.compiled:
            counters.clear()

    def leave_out(self, covered: int) -> None:
        """Have :meth:`collect` leave out these cells of compiled code, from now on; 0: none."""
        if covered is not self._left_out:
            self._left_out = covered
            for counters in self.compiled:
                counters.leave_out(covered)

    def collect(self) -> int:
        """The covered cells as an integer with 8 bits for each cell, for ``&``, ``|`` and ``~``.

        In the mode "counts", each bit is a bucket of hit counts; in the mode "edges", only the
        lowest bit is used.
        """
        cells = self.cells
        for counters in self.compiled:
            counters.collect(cells)
        if self.arms:
            for cell in self.arms:
                cells[cell] = 1
        elif cells == self._zero:
            return 0
        data = bytes(cells)
        found = self._collected.get(data)
        if found is None:
            if len(self._collected) >= _MAX_COLLECTED:
                self._collected.clear()
            found = int.from_bytes(data.translate(BUCKETS) if self.counting else data, "little")
            self._collected[data] = found
        return found

    def count(self, observed: int) -> int:
        """Number of covered cells in a result of :meth:`collect`."""
        return self.size - observed.to_bytes(self.size, "little").count(0)


@dataclass(frozen=True, slots=True)
class Edge:
    """One cell of a module: its function, line, and kind of block or branch."""

    qualname: str
    line: int
    kind: str


@dataclass(frozen=True, slots=True)
class ModuleEdges:
    """The cells of a module, from ``base`` to ``base + len(edges) - 1``."""

    name: str
    file: str
    sha: str
    base: int
    edges: tuple[Edge, ...]


class EdgeTable:
    """All cells by module, in ``edges.json``. A module with changed source gets new cells."""

    def __init__(self, file: Path | None = None) -> None:
        """Load ``file``, unless missing or damaged. None: the table is not saved."""
        self._file = file
        self._known: dict[tuple[str, str], ModuleEdges] = {}
        self.modules: dict[str, ModuleEdges] = {}
        """Modules loaded in this process."""
        self._apart: dict[tuple[str, str], ModuleEdges] = {}
        """Modules that were removed: they keep their cells in case they are loaded again."""
        self._saved: set[tuple[str, str]] = set()
        """Keys of the modules in the file."""
        self.size = 0
        self.dirty = False
        if file is not None:
            self._load(file)

    def _load(self, file: Path) -> None:
        try:
            modules = [_module_from_json(m) for m in json.loads(file.read_bytes())["modules"]]
        except (OSError, ValueError, KeyError, TypeError):
            return  # without the file, cells are numbered again
        for module in modules:
            self._known[module.name, module.sha] = module
            self._saved.add((module.name, module.sha))
            self.size = max(self.size, module.base + len(module.edges))

    def refresh(self) -> None:
        """Load modules that another process has added to the file."""
        if self._file is not None:
            self._load(self._file)

    def base(self, name: str, sha: str) -> int:
        """The first cell of this version of the module, or the next free cell if it is new."""
        known = self._known.get((name, sha)) or self._apart.get((name, sha))
        return self.size if known is None else known.base

    def add(self, module: ModuleEdges) -> None:
        """Add a loaded module, whose cells start at :meth:`base`."""
        known = self._known.get((module.name, module.sha))
        if known is None or len(known.edges) != len(module.edges):
            self._known[module.name, module.sha] = module
            self.size = max(self.size, module.base + len(module.edges))
            self.dirty = True
        self.modules[module.name] = module

    def remove(self, name: str) -> None:
        """Remove a loaded module; unless it was saved, as if it had never been loaded."""
        module = self.modules.pop(name)
        key = module.name, module.sha
        if key not in self._saved:
            self._apart[key] = self._known.pop(key)

    @property
    def reachable(self) -> int:
        """Number of cells of the loaded modules: the total for coverage percentages."""
        return sum(len(m.edges) for m in self.modules.values())

    def files(self) -> set[str]:
        """The source files of the loaded modules."""
        return {m.file for m in self.modules.values()}

    def known_files(self) -> set[str]:
        """The source files of all modules that were ever loaded."""
        return {m.file for m in self._known.values()}

    def known_names(self) -> list[str]:
        """The names of all modules that were ever loaded, in the order of their first cells."""
        known = sorted(self._known.values(), key=lambda m: m.base)
        return list(dict.fromkeys(m.name for m in known))

    def save(self, write: Callable[[Path, bytes], None]) -> None:
        """Write ``edges.json`` with ``write``, if anything has changed."""
        if self._file is None or not self.dirty:
            return
        modules = [_module_to_json(m) for m in sorted(self._known.values(), key=lambda m: m.base)]
        write(self._file, json.dumps({"version": 1, "modules": modules}).encode())
        self._saved.update(self._known)
        self.dirty = False


def _module_to_json(m: ModuleEdges) -> dict[str, Any]:
    edges = [[e.qualname, e.line, e.kind] for e in m.edges]
    return {"name": m.name, "file": m.file, "sha": m.sha, "base": m.base, "edges": edges}


def _module_from_json(data: dict[str, Any]) -> ModuleEdges:
    edges = tuple(Edge(str(q), int(line), str(kind)) for q, line, kind in data["edges"])
    return ModuleEdges(data["name"], data["file"], data["sha"], int(data["base"]), edges)
