"""What gcov or llvm-cov reports about one file: lines, functions and branches."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fuzztui.kernel.base import ranges
from fuzztui.kernel.wire.events import SourceFile


@dataclass(slots=True)
class MeasuredFile:
    """What the tool reports about one file, over all objects that contain it."""

    path: str = ""
    """Path of the file that was compiled."""
    lines: dict[int, int] = field(default_factory=dict)
    """How often a line was executed, by line."""
    functions: dict[tuple[int, int, str], int] = field(default_factory=dict)
    """How often a function was called, by its first and last line and its name."""
    branches: dict[tuple[int, int], int] = field(default_factory=dict)
    """How often a branch was taken, by line and the branch's number in that line."""
    of: dict[int, str] = field(default_factory=dict)
    """The function of each line."""

    def add(self, counts: Mapping[str, Any]) -> None:
        """Add the answer about the file in one object. Raises LookupError, TypeError."""
        for row in counts["functions"]:
            function = row["start_line"], row["end_line"], str(row["demangled_name"])
            calls = int(row.get("execution_count", 0))
            self.functions[function] = self.functions.get(function, 0) + calls
        for row in counts["lines"]:
            line = int(row["line_number"])
            self.lines[line] = self.lines.get(line, 0) + int(row["count"])
            self.of[line] = str(row.get("function_name", ""))
            real = [b for b in row.get("branches", ()) if not b.get("throw")]
            for number, branch in enumerate(real):
                key = line, number
                self.branches[key] = self.branches.get(key, 0) + int(branch["count"])

    @property
    def half_taken(self) -> set[int]:
        """Lines of conditions of which one branch was taken and another one was not."""
        taken, left = (
            {line for (line, _), n in self.branches.items() if bool(n) is w} for w in (True, False)
        )
        return taken & left

    @property
    def blocks(self) -> list[int]:
        """Pairs of a line with branches and the next line of its function, in one flat list."""
        deciding = {line for line, _ in self.branches}
        order = sorted(self.lines)
        return [
            n
            for line, following in itertools.pairwise(order)
            if line in deciding and self.of[line] == self.of[following]
            for n in (line, following)
        ]

    def event(self, path: str, sha: str) -> SourceFile:
        """Return the event about the file."""
        functions = sorted(self.functions, key=lambda function: (function[0], -function[1]))
        return SourceFile(
            "",
            path,
            "",
            sha,
            ranges.encode(self.lines),
            [f"{first}-{last} {name}" for first, last, name in functions],
            self.blocks,
            [line for line, _ in sorted(self.branches)],
        )
