"""The kill matrix of a corpus: which input kills which mutants, and what it covers.

A matrix is kept in a file and used again: the rows of inputs that are in the file are not computed
as long as the program, its harness and the settings are the same (:func:`digest_of`).
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fuzztui import __version__
from fuzztui.engines.base.spec import Spec
from fuzztui.engines.instrument.edges import EdgeTable
from fuzztui.engines.instrument.target import search_path
from fuzztui.engines.mutants.program import PythonMutant
from fuzztui.kernel.base.bounds import loads
from fuzztui.kernel.base.files import read_regular

VERSION: Final = 1
_MAX_BYTES: Final = 1 << 30
_ORACLES: Final = ("value", "exception", "timeout", "died")
_OPTIONS: Final = ("operators", "mutate", "oracle", "coverage")
"""Keys of ``[engine]`` on which a verdict depends."""


@dataclass(slots=True)
class MatrixRow:
    """One input: how the original ends on it, what it covers, and which mutants it kills."""

    outcome: str = ""
    """An :class:`Outcome`; ``died``, ``flaky``: no mutant runs on it. Empty: not run yet."""
    edges: list[int] = field(default_factory=list)
    """Indices of covered cells."""
    kills: dict[int, str] = field(default_factory=dict)
    """The kind of kill, by the mutant's index."""
    reached: set[int] = field(default_factory=set)
    """Mutants whose code runs."""
    infected: set[int] = field(default_factory=set)
    """Mutants that it infects, so that they ran on it."""
    passed: int = 0
    """Number of shares of mutants that have run on it."""
    known: bool = False
    """Whether the row comes from the file."""
    whole: bool = True
    """Whether all mutants that it infects ran on it, not only those that no other input kills."""


class ScoreMatrix:
    """The rows of all inputs."""

    def __init__(
        self,
        digest: str,
        inputs: Sequence[tuple[str, bytes]],
        mutants: Sequence[PythonMutant],
        cells: Sequence[tuple[str, int, str, str]],
    ) -> None:
        """``inputs``: names and contents. ``cells``: file, line, kind and function."""
        self._digest, self._inputs, self._mutants, self._cells = digest, inputs, mutants, cells
        self._hashes = [hashlib.sha256(data).hexdigest() for _, data in inputs]
        self.rows = [MatrixRow() for _ in inputs]
        self.first_only: dict[int, int | None] = {}
        """Mutants that run in processes of their own, which end at the first kill: the index of
        the input that kills them, None: they survive."""
        self.invalid: dict[int, str] = {}
        """Mutants that cannot be run, and why."""
        self.isolated: set[int] = set()
        """Mutants that must run in processes of their own."""

    def read(self, file: Path, *, first: bool) -> None:
        """Take over the rows of a file; none if it is missing, damaged, or of another program.

        ``first``: whether first kills are enough; else rows that are not whole are left out.
        """
        try:
            data = loads(read_regular(file, _MAX_BYTES))
            if data["version"] != VERSION or data["digest"] != self._digest:
                return
            indices = {m.id: m.index for m in self._mutants}
            numbers = [indices[id_] for id_ in data["mutants"]]
            rows = {
                row["sha256"]: _row_from(row, numbers, len(self._cells)) for row in data["rows"]
            }
            first_only = {numbers[n]: str(sha) for n, sha in data["first_only"]}
            invalid = {numbers[n]: str(why)[:1000] for n, why in data.get("invalid", ())}
            isolated = {numbers[n] for n in data.get("isolated", ())}
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return
        at = {sha: n for n, sha in enumerate(self._hashes)}
        self.invalid, self.isolated = invalid, isolated | first_only.keys()
        # A mutant whose killer is gone did not run on the rows that are not whole.
        first &= all(sha in at for sha, row in rows.items() if row.kills)
        for sha, row in rows.items():
            if sha in at and (row.whole or first):
                self.rows[at[sha]] = row
        for mutant, sha in first_only.items():
            if not sha or sha in at:  # else the killing input is gone, and the mutant runs again
                self.first_only[mutant] = at[sha] if sha else None

    @property
    def known(self) -> set[int]:
        """Indices of the inputs whose rows come from the file."""
        return {n for n, row in enumerate(self.rows) if row.known}

    def ran(self, at: int, outcome: str, edges: list[int]) -> None:
        """Record that the original ran on an input: its outcome, and the cells that it covered."""
        row = self.rows[at]
        row.outcome, row.edges = outcome, [e for e in edges if e < len(self._cells)]

    def passed(self, inputs: Iterable[int]) -> None:
        """Record that one more share of the mutants has run on these inputs."""
        for at in inputs:
            if 0 <= at < len(self.rows):
                self.rows[at].passed += 1

    def spoil(self, at: int, outcome: str) -> None:
        """Record that no mutant can be judged on an input: it is ``flaky``, or the original
        ``died``.
        """
        row = self.rows[at]
        row.outcome, row.kills = outcome, {}

    def complete(self, shares: int) -> bool:
        """Mark the rows as not run on which not all ``shares`` of the mutants have run.

        Returns whether there is no such row.
        """
        left = [row for row in self.rows if not row.known and row.passed < shares]
        for row in left:
            row.outcome = ""
        return not left

    def as_dict(self) -> dict[str, Any]:
        """The matrix as JSON data: ``kills`` are indices of ``mutants`` by the kind of kill."""
        return {
            "version": VERSION,
            "digest": self._digest,
            "mutants": [m.id for m in self._mutants],
            "cells": [list(cell) for cell in self._cells],
            "first_only": [
                [mutant, "" if at is None else self._hashes[at]]
                for mutant, at in sorted(self.first_only.items())
            ],
            "isolated": sorted(self.isolated - self.first_only.keys()),
            "invalid": [[mutant, why] for mutant, why in sorted(self.invalid.items())],
            "rows": [
                {
                    "file": name,
                    "sha256": sha,
                    "size": len(data),
                    "outcome": row.outcome,
                    "edges": row.edges,
                    "kills": {
                        oracle: found
                        for oracle in _ORACLES
                        if (found := sorted(a for a, o in row.kills.items() if o == oracle))
                    },
                    "reached": _packed(row.reached),
                    "infected": _packed(row.infected),
                    "whole": row.whole,
                }
                for (name, data), sha, row in zip(
                    self._inputs, self._hashes, self.rows, strict=True
                )
                if row.outcome
            ],
        }


def _row_from(row: dict[str, Any], numbers: Sequence[int], cells: int) -> MatrixRow:
    """Raises LookupError, TypeError, ValueError."""
    kills = {numbers[n]: o for o in _ORACLES for n in row["kills"].get(o, ())}
    edges = [int(e) for e in row["edges"]]
    if not isinstance(row["outcome"], str) or not all(0 <= e < cells for e in edges):
        raise ValueError("a damaged row")
    reached, infected = _unpacked(row["reached"], numbers), _unpacked(row["infected"], numbers)
    known = row["outcome"] not in ("flaky", "died")
    whole = row.get("whole") is not False
    return MatrixRow(row["outcome"], edges, kills, reached, infected, known=known, whole=whole)


def _packed(mutants: Iterable[int]) -> str:
    """A set of indices as a hexadecimal number, bit n for index n."""
    return f"{sum(1 << n for n in mutants):x}"


def _unpacked(text: str, numbers: Sequence[int]) -> set[int]:
    """Raises ValueError, TypeError."""
    if (bits := int(text, 16)).bit_length() > len(numbers):
        raise ValueError("a damaged row")
    return {mutant for n, mutant in enumerate(numbers) if bits >> n & 1}


def cells_of(table: EdgeTable) -> list[tuple[str, int, str, str]]:
    """File, line, kind and function of all cells of the loaded modules, by their indices."""
    cells: list[tuple[str, int, str, str]] = [("", 0, "", "")] * table.size
    for module in table.modules.values():
        for n, edge in enumerate(module.edges, module.base):
            cells[n] = (module.file, edge.line, edge.kind, edge.qualname)
    return cells


def digest_of(spec: Spec, table: EdgeTable) -> str:
    """A digest of all that verdicts depend on: sources, harness, settings, versions.

    Packages outside of ``target.include`` are not part of it.
    """
    below = tuple(path.rstrip("/") + "/" for path in search_path(spec.target))
    files = {str(getattr(m, "__file__", None) or "") for m in list(sys.modules.values())}
    modules = sorted((m.name, m.sha) for m in table.modules.values())
    harness = [(f, _sha(Path(f))) for f in sorted(files) if below and f.startswith(below)]
    options = {key: spec.engine.options.get(key) for key in _OPTIONS}
    options["constants"] = _sha(Path(str(spec.engine.options.get("constants_file") or "")))
    if shard := spec.engine.options.get("shard"):
        options["shard"] = shard
    versions = [VERSION, __version__, platform.python_version()]
    parts = [versions, modules, harness, options, repr(spec.target), spec.engine.max_size]
    return hashlib.sha256(json.dumps(parts, default=repr).encode()).hexdigest()


def _sha(file: Path) -> str:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return ""
