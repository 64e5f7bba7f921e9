"""The coverage map and the table of what its cells mean.

A *cell* is one byte of the map: a block or branch arm of the application. Cells
are numbered permanently: ``edges.json`` in the instance directory keeps each
module's base, so that a restart, or a module that is imported late, moves none.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

__all__ = ["BUCKETS", "CoverageMap", "Edge", "EdgeTable", "ModuleEdges"]

Mode = Literal["edges", "counts"]


def _buckets() -> bytes:
    """AFL's classes of hit counts, as one bit each: 1, 2, 3, 4-7, 8-15, 16-31, 32-127, 128+."""
    limits = [0, 1, 2, 3, 7, 15, 31, 127, 255]
    classes = (next(i for i, most in enumerate(limits) if n <= most) for n in range(256))
    return bytes((1 << c) >> 1 for c in classes)


BUCKETS: Final = _buckets()


class _Cells(bytearray):
    """The map's bytes. Hashable by identity, because it sits among a code object's constants."""

    __slots__ = ()
    __hash__ = object.__hash__  # type: ignore[assignment]


class CoverageMap:
    """What the running input has covered. An observer: :meth:`clear`, run, :meth:`collect`.

    ``cells`` and ``arms`` are written by the instrumented code itself: statement
    probes store into ``cells``; expression probes add their cell to the set ``arms``
    (as cheap, and usable where only an expression fits).
    """

    __slots__ = ("_zero", "arms", "cells", "counting", "size")

    def __init__(self, mode: Mode = "edges") -> None:
        self.cells = _Cells()
        self.arms: set[int] = set()
        self.counting = mode == "counts"
        self.size = 0
        self._zero = b""

    def grow(self, size: int) -> None:
        """Make room for ``size`` cells (a module was loaded), keeping what is set."""
        if size > self.size:
            self.cells.extend(bytes(size - self.size))
            self.size = size
            self._zero = bytes(size)

    def clear(self) -> None:
        """Forget the last input."""
        self.cells[:] = self._zero
        self.arms.clear()

    def collect(self) -> int:
        """The observation as an integer of 8 bits a cell: set algebra is ``&``, ``|``, ``~``.

        In the mode "counts" each of the 8 bits stands for a class of hit counts;
        in the mode "edges" only the lowest is used.
        """
        cells = self.cells
        if self.arms:
            for cell in self.arms:
                cells[cell] = 1
        return int.from_bytes(cells.translate(BUCKETS) if self.counting else cells, "little")

    def count(self, observed: int) -> int:
        """How many cells an observation has."""
        return self.size - observed.to_bytes(self.size, "little").count(0)


@dataclass(frozen=True, slots=True)
class Edge:
    """One cell of a module: the function it is in, its line, and which arm it is."""

    qualname: str
    line: int
    kind: str


@dataclass(frozen=True, slots=True)
class ModuleEdges:
    """A module's run of cells ``base .. base + len(edges)``."""

    name: str
    file: str
    sha: str
    base: int
    edges: tuple[Edge, ...]


class EdgeTable:
    """All cells by module, in ``edges.json``. Changed source gets new cells: old ones retire."""

    def __init__(self, file: Path | None = None) -> None:
        """Load ``file`` if it is there and whole; without one nothing is kept."""
        self._file = file
        self._known: dict[tuple[str, str], ModuleEdges] = {}
        self.modules: dict[str, ModuleEdges] = {}
        """Modules loaded in this process."""
        self.size = 0
        self.dirty = False
        if file is not None:
            self._load(file)

    def _load(self, file: Path) -> None:
        try:
            modules = [_module_from_json(m) for m in json.loads(file.read_bytes())["modules"]]
        except (OSError, ValueError, KeyError, TypeError):
            return  # a cache: without it cells are numbered again
        for module in modules:
            self._known[module.name, module.sha] = module
            self.size = max(self.size, module.base + len(module.edges))

    def refresh(self) -> None:
        """Take notice of what another process has added to the file."""
        if self._file is not None:
            self._load(self._file)

    def base(self, name: str, sha: str) -> int:
        """Where the cells of this version of the module begin, or would begin."""
        known = self._known.get((name, sha))
        return self.size if known is None else known.base

    def add(self, module: ModuleEdges) -> None:
        """The module is loaded, its cells numbered from what :meth:`base` said."""
        known = self._known.get((module.name, module.sha))
        if known is None or len(known.edges) != len(module.edges):
            self._known[module.name, module.sha] = module
            self.size = max(self.size, module.base + len(module.edges))
            self.dirty = True
        self.modules[module.name] = module

    @property
    def reachable(self) -> int:
        """How many cells the loaded modules have: the total that coverage is out of."""
        return sum(len(m.edges) for m in self.modules.values())

    def files(self) -> set[str]:
        """The source files of the loaded modules."""
        return {m.file for m in self.modules.values()}

    def known_files(self) -> set[str]:
        """The source files of all modules that were ever loaded."""
        return {m.file for m in self._known.values()}

    def save(self, write: Callable[[Path, bytes], None]) -> None:
        """Write ``edges.json`` through ``write`` if there is anything new."""
        if self._file is None or not self.dirty:
            return
        modules = [_module_to_json(m) for m in sorted(self._known.values(), key=lambda m: m.base)]
        write(self._file, json.dumps({"version": 1, "modules": modules}).encode())
        self.dirty = False


def _module_to_json(m: ModuleEdges) -> dict[str, Any]:
    edges = [[e.qualname, e.line, e.kind] for e in m.edges]
    return {"name": m.name, "file": m.file, "sha": m.sha, "base": m.base, "edges": edges}


def _module_from_json(data: dict[str, Any]) -> ModuleEdges:
    edges = tuple(Edge(str(q), int(line), str(kind)) for q, line, kind in data["edges"])
    return ModuleEdges(data["name"], data["file"], data["sha"], int(data["base"]), edges)
