"""Source files of the target and their covered lines: the fold, and what is covered when.

The fold keeps what the records contain. :class:`LineCoverage` puts them together for a screen: a
line counts as covered since the first entry, over all instances, that has covered it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from fuzztui.base.ranges import MAX_NUMBER, decode
from fuzztui.model.changes import ChangesBuilder
from fuzztui.model.state import CoverageStep, SourceRow, State
from fuzztui.wire.events import CoverageBuild, LinesCovered, SourceFile

MAX_FILES: Final = 5_000
"""Files that are kept."""

MAX_STEPS: Final = 500_000
"""Steps that are kept: each has at least one line that was new in its instance."""

MAX_NAME: Final = 4_096
"""Characters of a path."""

COVERED: Final = "covered"
PARTLY: Final = "partly"
"""Executed, but a branch that begins there was never taken."""
FRONTIER: Final = "frontier"
"""Never executed, but the decision before it was."""
NEVER: Final = "never"
STATES: Final = (COVERED, PARTLY, FRONTIER, NEVER)


def source_file(state: State, e: SourceFile, touched: ChangesBuilder) -> None:
    """Fold a file; the same content from another instance changes nothing."""
    before = state.sources.get(e.path)
    if _fuzzes_mutant(state, e.instance) or not 0 < len(e.path) <= MAX_NAME:
        return
    if before is not None and before.sha == e.sha:
        return
    if before is None and len(state.sources) >= MAX_FILES:
        return
    state.sources[e.path] = SourceRow(
        e.path,
        state.seq,
        e.module[:MAX_NAME],
        e.sha[:64],
        e.statements,
        [f[:MAX_NAME] for f in e.functions if isinstance(f, str)],
        _lines(e.blocks),
        _lines(e.branches),
    )
    touched.source = True


def _lines(values: list[Any]) -> list[int]:
    """The values, with 0 for what cannot be a line: positions in the list have a meaning."""
    return [v if type(v) is int and 0 <= v < MAX_NUMBER else 0 for v in values]


def lines_covered(state: State, e: LinesCovered, touched: ChangesBuilder) -> None:
    """Fold what an entry has covered first."""
    if _fuzzes_mutant(state, e.instance) or len(state.covered) >= MAX_STEPS:
        return
    key = str(state.seq)
    lines, branches = _texts(e.lines), _texts(e.branches)
    if lines or branches:
        state.covered[key] = CoverageStep(key, e.instance, e.entry, state.t, lines, branches)
        touched.source = True


def _texts(values: dict[str, Any]) -> dict[str, str]:
    return {path: text for path, text in values.items() if isinstance(text, str) and text}


def coverage_build(state: State, e: CoverageBuild, touched: ChangesBuilder) -> None:
    """Fold the state of the build that measures the lines of a C target."""
    state.coverage_build, state.coverage_reason = e.state, e.reason
    touched.source = True


def _fuzzes_mutant(state: State, name: str) -> bool:
    """Whether an instance fuzzes a mutant, whose lines are not those of the target."""
    found = state.instances.get(name)
    return found is not None and bool(found.mutant)


@dataclass(frozen=True, slots=True)
class Function:
    """A function of a file: its lines, and its name with those of the functions around it."""

    name: str
    first: int
    last: int


def functions_of(row: SourceRow) -> Iterator[Function]:
    """Yield the functions of a file; what the log contains that is none is left out."""
    for text in row.functions:
        lines, _, name = text.partition(" ")
        first, _, last = lines.partition("-")
        if name and first.isdecimal() and last.isdecimal() and len(first) < 8 and len(last) < 8:
            yield Function(name, int(first), min(int(last), MAX_NUMBER))


@dataclass(frozen=True, slots=True)
class First:
    """The first entry that has covered a line. ``entry``: its key, empty if it ran on import."""

    entry: str
    t: float


@dataclass(slots=True)
class FileLines:
    """The coverage of one file at one time."""

    row: SourceRow
    statements: frozenset[int]
    functions: list[Function]
    first: dict[int, First] = field(default_factory=dict)
    """By covered line."""
    taken: set[int] = field(default_factory=set)
    """Indexes of branches that were taken."""
    version: int = 0
    """Increases with each change."""
    _states: tuple[int, dict[int, str]] = (-1, {})

    @property
    def covered(self) -> int:
        """The number of covered statements."""
        return len(self.first)

    @property
    def states(self) -> dict[int, str]:
        """The state of each statement, one of :data:`STATES`."""
        if self._states[0] != self.version:
            self._states = self.version, self._computed()
        return self._states[1]

    def _computed(self) -> dict[int, str]:
        covered = self.first.keys()
        states = {n: COVERED if n in covered else NEVER for n in self.statements}
        for index, line in enumerate(self.row.branches):
            if line in covered and index not in self.taken:
                states[line] = PARTLY
        blocks = self.row.blocks
        for at, block in zip(blocks[::2], blocks[1::2], strict=False):
            if at in covered and states.get(block) == NEVER:
                states[at], states[block] = PARTLY, FRONTIER
        return states


class LineCoverage:
    """The coverage of all files, kept up to date with a state of the campaign."""

    def __init__(self) -> None:
        self.files: dict[str, FileLines] = {}
        self._steps = 0
        self._last = ""

    def take(self, state: State) -> bool:
        """Take what is new in ``state``. Returns whether anything is."""
        keys = list(state.covered)
        last = keys[self._steps - 1] if 0 < self._steps <= len(keys) else ""
        known = [state.sources.get(path) == file.row for path, file in self.files.items()]
        again = last != self._last or not all(known)
        if again:  # the state is of an earlier time, or a file has other content
            self.files.clear()
            self._steps = 0
        fresh = state.sources.keys() - self.files.keys()
        for path in fresh:
            row = state.sources[path]
            statements = frozenset(n for n in decode(row.statements) if n)
            self.files[path] = FileLines(row, statements, list(functions_of(row)))
        new = keys[self._steps :]
        for key in new:
            self._add(state.covered[key])
        self._steps = len(keys)
        self._last = keys[-1] if keys else ""
        return bool(new or fresh or again)

    def _add(self, step: CoverageStep) -> None:
        entry = f"{step.instance}/{step.entry}" if step.entry >= 0 else ""
        first = First(entry, step.t)
        for path, text in step.lines.items():
            file = self.files.get(path)
            if file is None or file.row.seq > int(step.key):
                continue
            for line in decode(text) & file.statements:
                file.first.setdefault(line, first)
            file.version += 1
        for path, text in step.branches.items():
            file = self.files.get(path)
            if file is not None and file.row.seq <= int(step.key):
                file.taken.update(decode(text))
                file.version += 1
