"""Source files of the target and their covered lines: the fold, and what is covered when.

The fold keeps what the records contain. :class:`LineCoverage` puts them together for a screen: a
line counts as covered since the first entry, over all instances, that has covered it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any, Final

from fuzztui.kernel.base.ranges import MAX_NUMBER, chosen, decode
from fuzztui.kernel.model.changes import ChangesBuilder
from fuzztui.kernel.model.folding import EventFold, never
from fuzztui.kernel.model.selectors import fuzzes_mutant
from fuzztui.kernel.model.state import CoverageStep, Entry, SourceRow, State
from fuzztui.kernel.wire.events import CoverageBuild, LinesCovered, SourceFile

MAX_FILES: Final = 5_000
"""Source files that the state keeps."""

MAX_STEPS: Final = 500_000
"""Events about covered lines that the state keeps: each has a line that was new in its instance."""

MAX_STATEMENTS: Final = 300_000
"""Statements of all files together; files beyond this have no statements."""

MAX_FUNCTIONS: Final = 50_000
"""Functions that are read of one file."""

MAX_NAME: Final = 4_096
"""Characters of a path."""

COVERED: Final = "covered"
PARTLY: Final = "partly"
"""Executed, but a branch that begins there was never taken."""
FINDING: Final = "finding"
"""On the stack of a finding, and executed by no entry. It counts as not covered: an input that
fails is no entry, and which other lines it has executed is unknown."""
FRONTIER: Final = "frontier"
"""Never executed, but the decision before it was."""
NEVER: Final = "never"
STATES: Final = (COVERED, PARTLY, FINDING, FRONTIER, NEVER)


def source_file(state: State, e: SourceFile, touched: ChangesBuilder) -> None:
    """Fold a file; the same content from another instance changes nothing."""
    before = state.sources.get(e.path)
    if fuzzes_mutant(state, e.instance) or not 0 < len(e.path) <= MAX_NAME:
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
    """The values, with 0 for invalid lines: the positions of all others must stay."""
    return [v if type(v) is int and 0 <= v < MAX_NUMBER else 0 for v in values]


def lines_covered(state: State, e: LinesCovered, touched: ChangesBuilder) -> None:
    """Fold what an entry has covered first."""
    if fuzzes_mutant(state, e.instance) or len(state.covered) >= MAX_STEPS:
        return
    key = str(state.seq)
    lines, branches = _texts(e.lines), _texts(e.branches)
    if lines or branches:
        state.covered[key] = CoverageStep(key, e.instance, e.entry, state.t, lines, branches)
        touched.source = True


def _texts(values: dict[str, Any]) -> dict[str, str]:
    return {path: text for path, text in values.items() if isinstance(text, str) and text}


def first_line(state: State, entry: Entry) -> tuple[str, int] | None:
    """Return path and line of a line that an entry was the first of its instance to cover.

    Prefers a line that no other instance had covered before; of several the first. None if the
    entry was the first for no line.
    """
    mine: CoverageStep | None = None
    before: dict[str, set[int]] = {}
    for step in state.covered.values():
        if (step.instance, step.entry) == (entry.instance, entry.id):
            mine = step
            break
    if mine is None:
        return None
    for step in state.covered.values():
        if step is mine:
            break
        for path in step.lines.keys() & mine.lines.keys():
            before.setdefault(path, set()).update(decode(step.lines[path]))
    lines = {path: decode(text) for path, text in mine.lines.items()}
    for path, numbers in lines.items():
        if fresh := numbers - before.get(path, set()):
            return path, min(fresh)
    return next(((path, min(numbers)) for path, numbers in lines.items() if numbers), None)


def coverage_build(state: State, e: CoverageBuild, touched: ChangesBuilder) -> None:
    """Fold the state of the build that measures the lines of a C target."""
    state.coverage_build, state.coverage_reason = e.state, e.reason
    state.coverage_tool = e.tool or state.coverage_tool
    touched.source = True


@dataclass(frozen=True, slots=True)
class CodeFunction:
    """A function of a file: its lines, and its name with those of the functions around it."""

    name: str
    first: int
    last: int


def functions_of(row: SourceRow) -> Iterator[CodeFunction]:
    """Yield the functions of a file; malformed texts of the log are left out."""
    for text in row.functions[:MAX_FUNCTIONS]:
        lines, _, name = text.partition(" ")
        first, _, last = lines.partition("-")
        if name and first.isdecimal() and last.isdecimal() and len(first) < 8 and len(last) < 8:
            yield CodeFunction(name, int(first), min(int(last), MAX_NUMBER))


@dataclass(frozen=True, slots=True)
class FirstEntry:
    """The first entry that has covered a line. ``entry``: its key, empty if it ran on import."""

    entry: str
    t: float


class FileLines:
    """The coverage of one file at one time, and which states of lines have changed."""

    def __init__(self, row: SourceRow, most: int = MAX_NUMBER, *, measured: bool = True) -> None:
        """``most``: statements that are known. ``measured``: whether any line of any file is."""
        self.row, self.measured = row, measured
        self.statements = frozenset(n for n in decode(row.statements, most) if n)
        self._sorted = sorted(self.statements)
        self.functions = list(functions_of(row))
        self.first: dict[int, FirstEntry] = {}
        """By covered line: the first entry."""
        self.taken: set[int] = set()
        """Indexes of branches that were taken."""
        self._reached: Set[int] = frozenset()
        """Lines on stacks of findings."""
        self.states: dict[int, str] = dict.fromkeys(self.statements, NEVER)
        """The state of each statement, one of :data:`STATES`."""
        self._before: dict[int, str] = {}
        self._blocks: dict[int, list[int]] = {}
        self._decisions: dict[int, list[int]] = {}
        for at, block in zip(row.blocks[::2], row.blocks[1::2], strict=False):
            if block in self.statements:
                self._blocks.setdefault(at, []).append(block)
                self._decisions.setdefault(block, []).append(at)
        self._branches: dict[int, list[int]] = {}
        for index, line in enumerate(row.branches):
            self._branches.setdefault(line, []).append(index)

    @property
    def covered(self) -> int:
        """The number of covered statements."""
        return len(self.first)

    def missing(self, line: int) -> tuple[int, int]:
        """Return how many branches at a line were never taken, and how many there are."""
        every = self._branches.get(line, ())
        return sum(n not in self.taken for n in every), len(every)

    def cover(self, lines: str, first: FirstEntry) -> None:
        """Note that an entry has covered lines (:mod:`fuzztui.kernel.base.ranges`)."""
        new = [n for n in chosen(lines, self._sorted) if n not in self.first]
        self.first.update(dict.fromkeys(new, first))
        near = {*new}
        for line in new:
            near.update(self._blocks.get(line, ()), self._decisions.get(line, ()))
        self._look(near)

    def take_branches(self, indexes: str) -> None:
        """Note that branches were taken."""
        lines = self.row.branches
        new = {n for n in chosen(indexes, range(len(lines))) if n not in self.taken}
        self.taken |= new
        self._look({lines[n] for n in new})

    def reach(self, lines: Set[int]) -> None:
        """Show these lines, and no others, as those on stacks of findings."""
        before, self._reached = self._reached, lines
        self._look(before ^ lines)

    def show(self, first: Mapping[int, FirstEntry]) -> None:
        """Show other covered lines."""
        self.first = {n: f for n, f in first.items() if n in self.statements}
        self._look(self.statements)

    def drain(self) -> dict[int, str]:
        """Return the lines that have changed since the last call, with their states before."""
        before, self._before = self._before, {}
        return {n: state for n, state in before.items() if self.states[n] != state}

    def _look(self, lines: Iterable[int]) -> None:
        for line in lines:
            before = self.states.get(line)
            if before is not None and (now := self._state(line)) != before:
                self._before.setdefault(line, before)
                self.states[line] = now

    def _state(self, line: int) -> str:
        first = self.first
        if line not in first:
            if line in self._reached:
                return FINDING
            reached = any(at in first for at in self._decisions.get(line, ()))
            return FRONTIER if reached else NEVER
        if any(block not in first for block in self._blocks.get(line, ())):
            return PARTLY
        every = self._branches.get(line, ())
        return COVERED if self.taken.issuperset(every) else PARTLY


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
        again |= bool(keys) and not self._steps  # files count as measured from now on
        if again:  # the state is of an earlier time, or a file has other content
            self.files.clear()
            self._steps = 0
        fresh = [path for path in state.sources if path not in self.files]
        room = MAX_STATEMENTS - sum(len(file.statements) for file in self.files.values())
        for path in fresh:
            file = FileLines(state.sources[path], max(0, room), measured=bool(keys))
            self.files[path] = file
            room -= len(file.statements)
        new = keys[self._steps :]
        for key in new:
            self._add(state.covered[key])
        self._steps = len(keys)
        self._last = keys[-1] if keys else ""
        return bool(new or fresh or again)

    def _add(self, step: CoverageStep) -> None:
        entry = f"{step.instance}/{step.entry}" if step.entry >= 0 else ""
        first = FirstEntry(entry, step.t)
        for path, text in step.lines.items():
            file = self.files.get(path)
            if file is None or file.row.seq > int(step.key):
                continue
            file.cover(text, first)
        for path, text in step.branches.items():
            file = self.files.get(path)
            if file is not None and file.row.seq <= int(step.key):
                file.take_branches(text)


FOLDS = (
    EventFold(SourceFile, source_file, never),
    EventFold(LinesCovered, lines_covered, never),
    EventFold(CoverageBuild, coverage_build),
)
