"""Determine where mutants may be: the functions of a program, and the lines that seeds execute.

Functions of Python targets are read from the source, and the interpreter reports lines. A C target
is built once more for gcov (:mod:`fuzztui.features.fuzzfirst.gcov_build`), and run on the seeds.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from fuzztui.engines.instrument.statements import outline_of
from fuzztui.features.fuzzfirst.build_tree import BuildTree
from fuzztui.features.fuzzfirst.gcov_build import GcovBuild
from fuzztui.features.fuzzfirst.showmap import read_input
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.process.execute import ProcessMark

MAX_SEEDS = 2000


@dataclass(slots=True)
class BuildReach:
    """By file: the functions (name, first and last line), and the lines that were executed."""

    functions: dict[str, list[tuple[str, int, int]]] = field(default_factory=dict)
    lines: dict[str, set[int]] = field(default_factory=dict)

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
        lines = {file: sorted(numbers) for file, numbers in self.lines.items()}
        return {"functions": self.functions, "lines": lines}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> BuildReach:
        """The inverse of :meth:`to_json`."""
        functions = {f: [(n, a, b) for n, a, b in rows] for f, rows in data["functions"].items()}
        return cls(functions, {file: set(numbers) for file, numbers in data["lines"].items()})


def python_functions(source: bytes) -> list[tuple[str, int, int]]:
    """Return name, first and last line of each function in a source. Raises SyntaxError."""
    return [(name, first, last) for first, last, name in outline_of(source, {}).functions]


async def reach_by_gcov(
    campaign: Campaign, run_dir: RunDir, source: Path, seeds: Iterable[Path]
) -> BuildReach:
    """Build the target in ``source`` for gcov, run the seeds. Raises :class:`SupervisorError`."""
    place = run_dir.mutants.absolute() / "work" / "reach"
    mark = ProcessMark(run_dir.path, "mutant-reach")
    needs = "mutants.functions, mutants.covered"
    build = GcovBuild(campaign, mark, BuildTree(place, source), needs)
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


def _read(build: GcovBuild) -> BuildReach:
    """Run gcov on the notes and counts. Raises OSError, :class:`SupervisorError`."""
    reach = BuildReach()
    base = os.path.realpath(build.source)
    for path, file in build.files():
        name = os.path.relpath(path, base)
        reach.functions.setdefault(name, []).extend(
            (f["demangled_name"], f["start_line"], f["end_line"]) for f in file["functions"]
        )
        ran = (row["line_number"] for row in file["lines"] if row["count"])
        reach.lines.setdefault(name, set()).update(ran)
    return reach
