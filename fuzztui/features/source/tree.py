"""The numbers of a file and of its functions, which change line by line. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from fuzztui.features.source.fold import COVERED, FRONTIER, NEVER, PARTLY, FileLines


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
    unjudged: int = 0
    """Mutants of a worklist without a verdict: they have had no turn, or were rejected."""
    findings: int = 0

    @property
    def score(self) -> float | None:
        """The share of the mutants that are killed; None: no mutant counts."""
        counted = self.killed + self.survivors
        return self.killed / counted if counted else None

    @property
    def left(self) -> int:
        """The mutants that no input has killed, though one could."""
        return self.survivors + self.unjudged


def node_key(path: str, first: int, function: str) -> str:
    """Return the key of a function's row; that of a file is its path."""
    return f"{path}\n{first}\n{function}"


MAX_INSIDE: Final = 1_000_000
"""Lines of a file's functions, nested ones counted again; functions beyond have no numbers."""

_COUNTS: Final = (
    "covered", "frontier", "mutants", "killed", "survivors", "unjudged", "findings",
)  # fmt: skip


class FileTree:
    """The rows of one file. A function's numbers include those of the functions in it."""

    def __init__(self, path: str, file: FileLines | None) -> None:
        self.path, self.file = path, file
        functions = file.functions if file is not None else []
        statements = sorted(file.statements) if file is not None else []
        self._last = statements[-1] if statements else 0
        self._ranges = [("", 1, 0), *((f.name, f.first, f.last) for f in functions)]
        self._counts = [dict.fromkeys(_COUNTS, 0) for _ in self._ranges]
        self._statements = [len(statements), *(0 for _ in functions)]
        self._changed = set(range(len(self._ranges)))
        self._inside: dict[int, list[int]] = {}
        """By line: the numbers of the functions around it."""
        room = MAX_INSIDE
        for number, (_, first, last) in enumerate(self._ranges):
            lines = range(first, min(last, self._last) + 1) if number else range(0)
            room -= len(lines)
            if room < 0:
                break
            for line in lines:
                self._inside.setdefault(line, []).append(number)
        for line in statements:
            for number in self._inside.get(line, ()):
                self._statements[number] += 1
        for line, state in file.states.items() if file is not None else ():
            self.move(line, NEVER, state)

    def add(self, line: int, count: str, by: int) -> None:
        """Add ``by`` to a count of the file and of the functions around a line; "": no count."""
        if count and by:
            for number in (0, *self._inside.get(line, ())):
                self._counts[number][count] += by
                self._changed.add(number)

    def move(self, line: int, before: str, now: str) -> None:
        """Count a line whose state has changed."""
        self.add(line, "frontier", (now == FRONTIER) - (before == FRONTIER))
        ran = [state in (COVERED, PARTLY) for state in (before, now)]
        self.add(line, "covered", ran[1] - ran[0])

    def nodes(self, name: str, *, every: bool) -> Iterator[CodeNode]:
        """Yield all rows, or those that have changed since the last call."""
        numbers = range(len(self._ranges)) if every else sorted(self._changed)
        known = self.file is not None and bool(self.file.statements)
        for number in numbers:
            function, first, last = self._ranges[number]
            counts = dict(self._counts[number])
            if not known or self.file is None or not self.file.measured:
                counts["covered"] = -1
            yield CodeNode(
                node_key(self.path, first, function) if number else self.path,
                self.path,
                name,
                function,
                first,
                last if number else self._last,
                self._statements[number] if known else -1,
                **counts,
            )
        self._changed.clear()
