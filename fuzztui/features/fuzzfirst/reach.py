"""Determine where mutants may be: the functions of a program, and the lines that inputs execute.

Functions of Python targets are read from the source, and the interpreter reports lines. A C target
is built for gcov (:mod:`fuzztui.features.fuzzfirst.measured_build`), and run on the seeds.
"""

from __future__ import annotations

import ast
import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from fuzztui.engines.instrument.statements import lines_of, outline_of
from fuzztui.features.fuzzfirst.build_tree import BuildTree
from fuzztui.features.fuzzfirst.coverage_tools import Gcov
from fuzztui.features.fuzzfirst.measured_build import MeasuredBuild
from fuzztui.features.fuzzfirst.measured_file import MeasuredFile
from fuzztui.features.fuzzfirst.showmap import read_input
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.process.execute import ProcessMark

MAX_SEEDS = 2000

_LINES = ("lines", "statements", "decisions")


@dataclass(slots=True)
class BuildReach:
    """By file: the functions (name, first and last line), and the lines that were executed."""

    functions: dict[str, list[tuple[str, int, int]]] = field(default_factory=dict)
    lines: dict[str, set[int]] = field(default_factory=dict)
    statements: dict[str, set[int]] = field(default_factory=dict)
    """All lines that can be executed, without the heads of Python's definitions."""
    decisions: dict[str, set[int]] = field(default_factory=dict)
    """Lines of C with a branch that was taken and one that was not; all conditions of Python."""

    def function_of(self, file: str, line: int) -> str:
        """Return the innermost function that contains a line, "" if none does."""
        around = (f for f in self.functions.get(file, ()) if f[1] <= line <= f[2])
        return max(around, key=lambda f: f[1], default=("", 0, 0))[0]

    def wants(self, file: str, line: int, functions: Sequence[str], *, covered: bool) -> bool:
        """Whether a line is in one of ``functions`` ([]: any), and executed if ``covered``."""
        if covered and line not in self.lines.get(file, ()):
            return False
        if not functions:
            return True
        if not (whole := self.function_of(file, line)):  # in C++ with its arguments
            return False
        short = whole.partition("(")[0]
        names = (whole, short, short.rpartition("::")[2].rpartition(".")[2])
        return any(fnmatchcase(name, pattern) for pattern in functions for name in names)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        lines = {
            name: {file: sorted(numbers) for file, numbers in getattr(self, name).items()}
            for name in _LINES
        }
        return {"functions": self.functions, **lines}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> BuildReach:
        """The inverse of :meth:`to_json`."""
        functions = {f: [(n, a, b) for n, a, b in rows] for f, rows in data["functions"].items()}
        return cls(
            functions,
            *({file: set(n) for file, n in data.get(name, {}).items()} for name in _LINES),
        )


def python_functions(source: bytes) -> list[tuple[str, int, int]]:
    """Return name, first and last line of each function in a source. Raises SyntaxError."""
    return [(name, first, last) for first, last, name in outline_of(source, {}).functions]


def python_lines(source: bytes) -> tuple[set[int], set[int]]:
    """Return the statements and the decisions of a source, as in :class:`BuildReach`.

    Raises SyntaxError, ValueError.
    """
    statements, _, outline = lines_of(source)
    heads: set[int] = set()
    decisions = {line for line, _ in outline.blocks}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            heads.update(range(first, node.body[0].lineno))
        elif isinstance(node, ast.Assert):
            decisions.add(node.lineno)
    return set(statements) - heads, decisions


async def reach_by_gcov(
    campaign: Campaign, run_dir: RunDir, source: Path, seeds: Iterable[Path]
) -> BuildReach:
    """Build the target in ``source`` for gcov, run the seeds. Raises :class:`SupervisorError`."""
    place = run_dir.mutants.absolute() / "work" / "reach"
    mark = ProcessMark(run_dir.path, "mutant-reach")
    needs = 'mutants.functions, mutants.covered, mutants.order = "roadblocks"'
    build = MeasuredBuild(campaign, mark, BuildTree(place, source), needs, Gcov.name)
    try:
        await build.make()
        for seed in list(seeds)[:MAX_SEEDS]:
            if (data := await asyncio.to_thread(read_input, seed)) is not None:
                await build.run(data)
        return await asyncio.to_thread(_read, build)
    except OSError as e:
        raise SupervisorError(f"{e.filename or place}: {e.strerror or e}") from None
    finally:
        await asyncio.to_thread(build.remove)


def _read(build: MeasuredBuild) -> BuildReach:
    """Run gcov on the notes and counts. Raises OSError, :class:`SupervisorError`."""
    reach = BuildReach()
    base = os.path.realpath(build.source)
    found: dict[str, MeasuredFile] = {}
    for path, counts in build.files():
        found.setdefault(os.path.relpath(path, base), MeasuredFile(path)).add(counts)
    for name, file in found.items():
        reach.functions[name] = [(text, a, b) for a, b, text in sorted(file.functions)]
        reach.lines[name] = {line for line, executed in file.lines.items() if executed}
        reach.statements[name] = set(file.lines)
        reach.decisions[name] = file.half_taken
    return reach
