"""Which statements of which files some inputs have executed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class FileCoverage:
    """The lines of one file."""

    name: str
    """Relative to the root, if it is below; else absolute."""
    statements: frozenset[int]
    executed: frozenset[int]
    """Those of ``statements`` that ran."""

    @property
    def missing(self) -> list[int]:
        """The statements that did not run."""
        return sorted(self.statements - self.executed)

    @property
    def percent(self) -> float:
        """The share that ran, in percent; 100 without statements."""
        return 100 * len(self.executed) / len(self.statements) if self.statements else 100.0


@dataclass(frozen=True, slots=True)
class Growth:
    """How many lines were covered when an entry was found."""

    t: float
    """Campaign time in seconds; -1: unknown."""
    entry: str
    lines: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """The coverage of some inputs."""

    files: list[FileCoverage]
    root: Path
    growth: list[Growth] = field(default_factory=list)

    @property
    def total(self) -> FileCoverage:
        """All files as one: lines have numbers of their own."""
        statements = [(f.name, n) for f in self.files for n in f.statements]
        number = {line: n for n, line in enumerate(statements)}
        executed = frozenset(number[f.name, n] for f in self.files for n in f.executed)
        return FileCoverage("TOTAL", frozenset(number.values()), executed)


def coverage_of(
    executed: Mapping[str, set[int]],
    statements: Mapping[str, Sequence[int]],
    first: Mapping[str, Mapping[int, int]],
    root: Path,
) -> Coverage:
    """Return the coverage from the executed lines. A line counts for its statement (``first``)."""
    files = []
    for file, lines in sorted(statements.items()):
        starts = first.get(file, {})
        ran = {starts.get(n, n) for n in executed.get(file, ())}
        path = Path(file)
        name = str(path.relative_to(root)) if path.is_relative_to(root) else file
        files.append(FileCoverage(name, frozenset(lines), frozenset(lines) & ran))
    return Coverage(files, root)
