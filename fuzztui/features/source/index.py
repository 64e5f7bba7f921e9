"""What a campaign knows of the lines of its source files, kept up to date for a screen. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from fuzztui.features.source.fold import FileLines, LineCoverage
from fuzztui.features.source.tree import CodeNode, FileTree
from fuzztui.features.targeting.fold import GoalRow, goal_line, goal_rows
from fuzztui.kernel.model.progress import verdict
from fuzztui.kernel.model.state import Changes, Finding, Mutant, State
from fuzztui.kernel.wire.frames import parse_frames

MAX_FILES: Final = 5_000
"""Files that are listed."""

_NO_LINES: Final[dict[int, list[str]]] = {}
_NO_REACHED: Final[frozenset[int]] = frozenset()


class SourceIndex:
    """Coverage, mutants, findings and goals by file and line.

    A change takes time for the changed lines only, however long the file is.
    """

    def __init__(self) -> None:
        self.coverage = LineCoverage()
        self.measured: dict[str, FileLines] = {}
        """The coverage of files of which the log has none."""
        self.mutants: dict[str, dict[int, list[str]]] = {}
        """Ids by path and line."""
        self.findings: dict[str, dict[int, list[str]]] = {}
        """Keys of the first finding of each group, by path and line of its innermost frame."""
        self._reached: dict[str, set[int]] = {}
        """Lines on the stacks of these findings."""
        self.goals: dict[str, dict[int, list[GoalRow]]] = {}
        """Uncovered goals."""
        self._names: dict[str, str] = {}
        """Names of files in mutants, by path."""
        self._kinds: dict[str, str] = {}
        """By mutant: the name of the count (in :class:`CodeNode`) that includes it."""
        self._trees: dict[str, FileTree] = {}
        self._sources: frozenset[str] = frozenset()
        self._places: dict[str, str] = {}
        """The target's file that shows mutants, by the path in the mutants."""

    def take(self, state: State, changes: Changes) -> dict[str, set[int]]:
        """Take changes of ``state``. Returns the lines that have changed, by file."""
        changed: dict[str, set[int]] = {}
        new_findings = changes.reset or changes.findings
        if changes.source and self._sources != state.sources.keys():
            # Mutants may have been made in a copy of a file that is known only now.
            changes = changes if not self._kinds else changes | Changes(reset=True)
            self._sources = frozenset(state.sources)
            self._places.clear()
            new_findings = True  # the files that frames name may be known only now
        if changes.reset:
            changed = {path: set() for path in self._trees}
            for kept in (self.mutants, self.findings, self.goals, self._kinds, self._trees):
                kept.clear()
        if changes.reset or changes.source:
            self.coverage.take(state)
        if new_findings:
            self._take_findings(state, changed)
        for id in state.mutants if changes.reset else changes.mutants:
            self._take_mutant(state.mutants[id], changed)
        for path in (*self.coverage.files, *self.measured):
            self._take_states(path, changed)
        if changes.reset or changes.campaign:
            before, self.goals = self.goals, self._goals(state)
            for path in {*before, *self.goals}:
                old, new = before.get(path, {}), self.goals.get(path, {})
                lines = {n for n in {*old, *new} if old.get(n) != new.get(n)}
                if lines:
                    changed.setdefault(path, set()).update(lines)
        return changed

    def _take_states(self, path: str, changed: dict[str, set[int]]) -> None:
        file = self.lines(path)
        tree = self._trees.get(path)
        if file is None:
            return
        file.reach(self._reached.get(path, _NO_REACHED))
        if tree is None or tree.file is not file:
            self._new_tree(path, changed)
            return
        for line, before in file.drain().items():
            tree.move(line, before, file.states[line])
            changed.setdefault(path, set()).add(line)

    def _take_mutant(self, mutant: Mutant, changed: dict[str, set[int]]) -> None:
        line, id = mutant.line, mutant.id
        if not mutant.path:
            return
        path = self.place(mutant.path, mutant.file)
        self._names[path] = mutant.file
        tree = self._tree(path, changed)
        changed.setdefault(path, set()).add(line)
        before = self._kinds.get(id)
        if before is None:
            self.mutants.setdefault(path, {}).setdefault(line, []).append(id)
            tree.add(line, "mutants", 1)
        survives = mutant.survives and not mutant.accepted
        judged = verdict(mutant) if mutant.stage else mutant.state  # in a worklist after its turn
        left = "survivors" if judged else "unjudged"
        now = "killed" if judged == "killed" else left if survives else ""
        self._kinds[id] = now
        if now != before:
            tree.add(line, before or "", -1)
            tree.add(line, now, 1)

    def _take_findings(self, state: State, changed: dict[str, set[int]]) -> None:
        before = self.findings
        now: dict[str, dict[int, list[str]]] = {}
        reached: dict[str, set[int]] = {}
        lines = StackLines(state)
        for key, finding in state.findings.items():
            stack = [*lines.of(finding)] if finding.first else []
            if stack:
                path, line = stack[0]
                now.setdefault(path, {}).setdefault(line, []).append(key)
            for path, line in stack:
                reached.setdefault(path, set()).add(line)
        self._reached = reached
        for path in {*before, *now}:
            old, new = before.get(path, {}), now.get(path, {})
            tree = self._tree(path, changed)
            for line in {*old, *new}:
                if old.get(line) != new.get(line):
                    changed.setdefault(path, set()).add(line)
                    tree.add(line, "findings", len(new.get(line, ())) - len(old.get(line, ())))
        self.findings = now

    def _tree(self, path: str, changed: dict[str, set[int]]) -> FileTree:
        if path not in self._trees:
            self._new_tree(path, changed)
        return self._trees[path]

    def _new_tree(self, path: str, changed: dict[str, set[int]]) -> None:
        """Count everything in a file, with the functions that are known now."""
        file = self.lines(path)
        tree = self._trees[path] = FileTree(path, file)
        if file is not None:
            file.drain()
            changed.setdefault(path, set()).update(file.statements)
        for line, ids in self.mutants.get(path, _NO_LINES).items():
            for id in ids:
                tree.add(line, "mutants", 1)
                tree.add(line, self._kinds[id], 1)
        for line, keys in self.findings.get(path, _NO_LINES).items():
            tree.add(line, "findings", len(keys))

    def place(self, path: str, name: str = "") -> str:
        """Return the target's file for a mutant's path: fuzz-first makes mutants in a copy.

        ``name``: the file's name in its source directory, by which the target's file is found; an
        empty string: return the result of an earlier call, or ``path``.
        """
        if path not in self._places:
            found: list[str] = []
            if name and path not in self._sources:
                found = [p for p in self._sources if p.endswith(f"/{name}")]
            if not name:
                return path
            self._places[path] = found[0] if len(found) == 1 else path
        return self._places[path]

    def paths(self) -> list[str]:
        """Return the files of which anything is known."""
        return sorted(self._trees)[:MAX_FILES]

    def lines(self, path: str) -> FileLines | None:
        """Return the coverage of a file; None if it is unknown."""
        return self.coverage.files.get(path) or self.measured.get(path)

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
        if not state.uncovered_goals:
            return found
        paths = {f"/{p}"[n + 1 :]: p for p in state.sources for n in _slashes(f"/{p}")}
        for row in goal_rows(state).values():
            if (at := goal_line(row.location)) is not None and (path := paths.get(at[0])):
                found.setdefault(path, {}).setdefault(at[1], []).append(row)
        return found

    def names(self) -> Mapping[str, str]:
        """Return users' names of all files: as in mutants, else without their common folders."""
        paths = self.paths()
        unnamed = [p for p in paths if p not in self._names]
        root = _common_folder(unnamed)
        return {p: self._names.get(p) or p.removeprefix(root) for p in paths}

    def nodes(self, path: str, name: str, *, every: bool) -> Iterator[CodeNode]:
        """Yield the rows of a file and its functions: all, or those that have changed since."""
        if (tree := self._trees.get(path)) is not None:
            yield from tree.nodes(name, every=every)


def _common_folder(paths: list[str]) -> str:
    """The common folder of all paths with a final slash, but without its last component."""
    if not paths:
        return ""
    folders = [p.rpartition("/")[0].split("/") for p in (min(paths), max(paths))]
    same = 0
    while same < min(map(len, folders)) and folders[0][same] == folders[1][same]:
        same += 1
    return "/".join(folders[0][: max(0, same - 1)]) + "/" if same > 1 else ""


class StackLines:
    """Finds the lines of stacks in the files of a state.

    gdb gave names as the compiler got them in logs of earlier versions, for example
    ``../src/parse.c``: these are looked for among the source files of the campaign.
    """

    def __init__(self, state: State) -> None:
        self._by_name: dict[str, list[str]] = {}
        for path in state.sources:
            self._by_name.setdefault(path.rpartition("/")[2], []).append(path)

    def of(self, finding: Finding) -> Iterator[tuple[str, int]]:
        """Yield path and line of the frames in files of the program, innermost first."""
        for frame in parse_frames(finding.frames):
            if frame.located and (path := self._path(frame.file)):
                yield path, frame.line

    def _path(self, file: str) -> str:
        """Return the absolute path of a frame's file; an empty string: unknown, or ambiguous."""
        if file.startswith("/"):
            return file
        parts = file.split("/")
        while parts and parts[0] in (".", ".."):
            del parts[0]
        if not parts:
            return ""
        ending = "/" + "/".join(parts)
        found = [p for p in self._by_name.get(parts[-1], ()) if p.endswith(ending)]
        return found[0] if len(found) == 1 else ""


def location(finding: Finding, state: State) -> tuple[str, int] | None:
    """Return file and line of the innermost frame in a file of the program; None: unknown."""
    return next(StackLines(state).of(finding), None)


def _slashes(path: str) -> list[int]:
    return [n for n, char in enumerate(path) if char == "/"]
