"""What a campaign knows of the lines of its source files, kept up to date for a screen. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from fuzztui.model.source_lines import FileLines, LineCoverage
from fuzztui.model.state import Changes, Finding, State
from fuzztui.model.targeting import GoalRow, goal_rows
from fuzztui.wire.frames import LIBRARY, parse_frames

MAX_FILES: Final = 5_000
"""Files that are listed."""

_NO_LINES: Final[dict[int, list[str]]] = {}


@dataclass(frozen=True, slots=True)
class CodeNode:
    """A file, or a function of it, with its numbers; -1: unknown."""

    key: str
    path: str
    name: str
    """For users."""
    function: str = ""
    """The qualified name; an empty string: the file itself."""
    first: int = 1
    last: int = 0
    statements: int = -1
    covered: int = -1
    frontier: int = 0
    mutants: int = 0
    killed: int = 0
    survivors: int = 0
    findings: int = 0

    @property
    def score(self) -> float | None:
        """The share of the mutants that are killed; None: no mutant counts."""
        counted = self.killed + self.survivors
        return self.killed / counted if counted else None


@dataclass(slots=True)
class _Sorted:
    """Sorted line numbers, of which those in a range are counted."""

    lines: list[int] = field(default_factory=list)

    def within(self, node: tuple[int, int]) -> int:
        return bisect_right(self.lines, node[1]) - bisect_left(self.lines, node[0])


class SourceIndex:
    """Coverage, mutants, findings and goals by file and line."""

    def __init__(self) -> None:
        self.coverage = LineCoverage()
        self.mutants: dict[str, dict[int, list[str]]] = {}
        """Ids by path and line."""
        self.findings: dict[str, dict[int, list[str]]] = {}
        """Keys of the first finding of each group, where its stack ends."""
        self.goals: dict[str, dict[int, list[GoalRow]]] = {}
        """Uncovered goals."""
        self._names: dict[str, str] = {}
        """Names of files as mutants have them."""
        self._versions: dict[str, int] = {}

    def take(self, state: State, changes: Changes) -> set[str]:
        """Take what has changed. Returns the files with changes."""
        changed: set[str] = set()
        if changes.reset:
            changed.update(self.paths())
            self.mutants.clear()
            self._names.clear()
            self._versions.clear()
        if changes.reset or changes.source:
            self.coverage.take(state)
            for path, file in self.coverage.files.items():
                if self._versions.get(path) != file.version:
                    self._versions[path] = file.version
                    changed.add(path)
        for id in state.mutants if changes.reset else changes.mutants:
            mutant = state.mutants[id]
            if not mutant.path:
                continue
            changed.add(mutant.path)
            self._names[mutant.path] = mutant.file
            at = self.mutants.setdefault(mutant.path, {}).setdefault(mutant.line, [])
            if id not in at:
                at.append(id)
        if changes.reset or changes.findings:
            before, self.findings = self.findings, _findings(state)
            changed.update(p for p in {*before, *self.findings}
                           if before.get(p) != self.findings.get(p))  # fmt: skip
        if changes.reset or changes.campaign:
            goals = self._goals(state)
            changed.update(p for p in {*goals, *self.goals} if goals.get(p) != self.goals.get(p))
            self.goals = goals
        return changed

    def paths(self) -> list[str]:
        """Return the files of which anything is known."""
        every = dict.fromkeys((*self.coverage.files, *self.mutants, *self.findings))
        return sorted(every)[:MAX_FILES]

    def lines(self, path: str) -> FileLines | None:
        """Return the coverage of a file; None if it is unknown."""
        return self.coverage.files.get(path)

    def mutants_at(self, path: str, line: int) -> list[str]:
        """Return the ids of the mutants on a line."""
        return self.mutants.get(path, _NO_LINES).get(line, [])

    def findings_at(self, path: str, line: int) -> list[str]:
        """Return the keys of the findings at a line."""
        return self.findings.get(path, _NO_LINES).get(line, [])

    def goals_at(self, path: str, line: int) -> list[GoalRow]:
        """Return the uncovered goals at a line."""
        return self.goals.get(path, {}).get(line, [])

    def _goals(self, state: State) -> dict[str, dict[int, list[GoalRow]]]:
        """Goals by path: locations have names of files such as ``package/module.py``."""
        found: dict[str, dict[int, list[GoalRow]]] = {}
        paths = {f"/{p}"[n + 1 :]: p for p in state.sources for n in _slashes(f"/{p}")}
        for row in goal_rows(state).values() if state.uncovered_goals else ():
            if (at := goal_line(row.location)) is not None and (path := paths.get(at[0])):
                found.setdefault(path, {}).setdefault(at[1], []).append(row)
        return found

    # ---------------------------------------------------------------- nodes

    def names(self) -> Mapping[str, str]:
        """Return the names of all files for users: as in mutants, or without common folders."""
        paths = self.paths()
        unnamed = [p for p in paths if p not in self._names]
        root = _common_folder(unnamed)
        return {p: self._names.get(p) or p.removeprefix(root) for p in paths}

    def nodes(
        self, path: str, name: str, state: State, measured: FileLines | None = None
    ) -> Iterator[CodeNode]:
        """Yield the row of a file, and those of its functions.

        ``measured``: the coverage of a file of which the log has none.
        """
        file = self.lines(path) or measured
        states = file.states if file is not None else {}
        known = file is not None and bool(file.statements)
        statements = _Sorted(sorted(states))
        covered = _Sorted(sorted(file.first) if file is not None else [])
        frontier = _Sorted(sorted(n for n, s in states.items() if s == "frontier"))
        mutants, killed, survivors = _Sorted(), _Sorted(), _Sorted()
        for line, ids in sorted(self.mutants.get(path, _NO_LINES).items()):
            for id in ids:
                if (mutant := state.mutants.get(id)) is None:
                    continue
                mutants.lines.append(line)
                if mutant.state == "killed":
                    killed.lines.append(line)
                elif mutant.survives and not mutant.accepted:
                    survivors.lines.append(line)
        findings = _Sorted(
            sorted(n for n, keys in self.findings.get(path, _NO_LINES).items() for _ in keys)
        )
        last = max([0, *statements.lines[-1:], *mutants.lines[-1:], *findings.lines[-1:]])
        functions = file.functions if file is not None else []
        ranges = [("", 1, last), *((f.name, f.first, f.last) for f in functions)]
        for function, first, end in ranges:
            at = first, end
            yield CodeNode(
                f"{path}\n{first}\n{function}" if function else path,
                path, name, function, first, end,
                statements.within(at) if known else -1,
                covered.within(at) if known else -1,
                frontier.within(at), mutants.within(at), killed.within(at),
                survivors.within(at), findings.within(at),
            )  # fmt: skip


def _common_folder(paths: list[str]) -> str:
    """The folder, with its slash, that all paths are in, but not the innermost one."""
    if not paths:
        return ""
    folders = [p.rpartition("/")[0].split("/") for p in (min(paths), max(paths))]
    same = 0
    while same < min(map(len, folders)) and folders[0][same] == folders[1][same]:
        same += 1
    return "/".join(folders[0][: max(0, same - 1)]) + "/" if same > 1 else ""


def _findings(state: State) -> dict[str, dict[int, list[str]]]:
    """The first finding of each group, at its innermost frame that is in no library."""
    found: dict[str, dict[int, list[str]]] = {}
    for key, finding in state.findings.items():
        if finding.first and (at := location(finding)) is not None:
            found.setdefault(at[0], {}).setdefault(at[1], []).append(key)
    return found


def location(finding: Finding) -> tuple[str, int] | None:
    """Return file and line of the innermost frame that is in no library; None: unknown."""
    for frame in parse_frames(finding.frames):
        if frame.kind != LIBRARY and frame.line and frame.file.startswith("/"):
            return frame.file, frame.line
    return None


def _slashes(path: str) -> list[int]:
    return [n for n, char in enumerate(path) if char == "/"]


def goal_line(location: str) -> tuple[str, int] | None:
    """Return file and line of a goal's location, ``package/module.py:12:then``."""
    name, _, rest = location.partition(":")
    line = rest.partition(":")[0]
    return (name, int(line)) if name and line.isdecimal() and len(line) < 8 else None


def goal_place(location: str, state: State) -> tuple[str, int] | None:
    """Return path and line of a goal; None if the log has no such file."""
    if (at := goal_line(location)) is None:
        return None
    ending = f"/{at[0]}"
    path = next((p for p in state.sources if p.endswith(ending) or p == at[0]), "")
    return (path, at[1]) if path else None
