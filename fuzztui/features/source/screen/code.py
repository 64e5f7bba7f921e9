"""The lines of one file, and what is known of each of them: texts, glyphs, columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from fuzztui.features.source.fold import COVERED, FINDING, FRONTIER, NEVER, PARTLY, FileLines
from fuzztui.features.source.index import SourceIndex
from fuzztui.features.source.tree import node_key
from fuzztui.features.targeting.fold import GoalRow
from fuzztui.kernel.model.state import Finding, Mutant, State
from fuzztui.tui.base.columns import Cell, Column
from fuzztui.tui.base.source_excerpt import MAX_BYTES, lines_of, read
from fuzztui.tui.labels.legend import Legend
from fuzztui.tui.labels.mutants import SIGNS
from fuzztui.tui.labels.states import finding_sign

GUTTER: Final[dict[str, Cell]] = {
    COVERED: ("█", "valid"),
    PARTLY: ("▒", "pending"),
    FINDING: ("╳", "bold crash"),
    FRONTIER: ("◆", "bold alive"),
    NEVER: ("░", "muted"),
}
"""Glyph and style by the state of a line. Colour is never the only difference."""

MEANINGS: Final[dict[str, str]] = {
    COVERED: "executed, and every branch that begins here was taken",
    PARTLY: "executed, but a branch that begins here was never taken",
    FINDING: "reached by a finding only: executed by no queue entry, so not covered",
    FRONTIER: "never executed, but the decision before it was",
    NEVER: "never executed",
}


def mutants_cell(mutants: Iterable[Mutant]) -> Cell:
    """Return the numbers of mutants by state, survivors first: ``●1 ◌2 ✓3``."""
    counts: dict[str, int] = {}
    for mutant in mutants:
        counts[mutant.state] = counts.get(mutant.state, 0) + 1
    order = ("alive", "pending", "killed", *SIGNS)
    parts = [f"{SIGNS[s].glyph}{counts[s]}" for s in dict.fromkeys(order) if s in counts]
    left = next((s for s in ("alive", "pending") if s in counts), "")
    return " ".join(parts), left or "killed"


def findings_cell(findings: Iterable[Finding]) -> Cell:
    """Return the signs of findings, with their numbers."""
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding.category] = counts.get(finding.category, 0) + 1
    text = " ".join(f"{finding_sign(c)}{n}" for c, n in counts.items())
    return text, f"bold {next(iter(counts), '')}"


def types_cell(goals: Iterable[GoalRow]) -> Cell:
    """Return the type that decides the first of these goals; more goals: their number."""
    every = list(goals)
    nearest = [goal.types[0] for goal in every if goal.types]
    if not nearest:
        return ("no type", "muted") if every else ("", "")
    name, _ = min(nearest, key=lambda pair: pair[1])
    return name.rpartition(".")[2] or name, "alive"


MAX_LINES: Final = 100_000
"""Lines of a file that are listed."""

CHANGED: Final = "changed since the campaign loaded it: lines may not match"


@dataclass(frozen=True, slots=True)
class FileText:
    """The content of a file. ``problem``: why there is none; ``warning``: what is wrong with it."""

    path: str
    lines: Sequence[str] = ()
    problem: str = ""
    warning: str = ""


def load_text(path: str, sha: str, started: float) -> FileText:
    """Read a file. Blocking.

    ``sha``: the first digits of the SHA-256 of the content that the campaign has loaded; an empty
    string: unknown, then the file must not be newer than ``started`` (Unix time; 0: unknown).
    """
    data = read(path, MAX_BYTES)
    if isinstance(data, str):
        return FileText(path, problem=data)
    lines = lines_of(data)
    warning = ""
    if len(lines) > MAX_LINES:
        warning = f"only the first {MAX_LINES:,} of {len(lines):,} lines are listed"
    if sha:
        changed = sha256(data).hexdigest()[: len(sha)] != sha
    else:
        try:
            changed = 0 < started < Path(path).stat().st_mtime
        except OSError:
            changed = False
    return FileText(path, lines[:MAX_LINES], warning=CHANGED if changed else warning)


class CodeLine(NamedTuple):
    """One line. ``text``: an empty string if the file cannot be read."""

    number: int
    text: str


@dataclass(slots=True)
class OpenFile:
    """The file in the code table, with what is known of its lines."""

    path: str
    index: SourceIndex
    state: State
    rows: dict[str, CodeLine] = field(default_factory=dict)

    @property
    def coverage(self) -> FileLines | None:
        """The coverage of the file; None: unknown."""
        return self.index.lines(self.path)

    def function_key(self, line: int) -> str:
        """Return the key of the tree's row of the innermost function around a line, or the file."""
        functions = self.coverage.functions if self.coverage is not None else ()
        around = [f for f in functions if f.first <= line <= f.last]
        inner = min(around, key=lambda f: f.last - f.first, default=None)
        return self.path if inner is None else node_key(self.path, inner.first, inner.name)

    def states(self) -> Mapping[int, str]:
        """Return the state of each statement; empty before any line was measured."""
        coverage = self.coverage
        return coverage.states if coverage is not None and coverage.measured else {}

    def mutants(self, line: int) -> list[Mutant]:
        """Return the mutants on a line, survivors first."""
        every = (self.state.mutants.get(id) for id in self.index.mutants_at(self.path, line))
        return sorted((m for m in every if m is not None), key=lambda m: not m.survives)

    def findings(self, line: int) -> list[Finding]:
        """Return the findings at a line."""
        every = (self.state.findings.get(key) for key in self.index.findings_at(self.path, line))
        return [f for f in every if f is not None]

    def goals(self, line: int) -> list[GoalRow]:
        """Return the uncovered goals at a line."""
        return self.index.goals_at(self.path, line)

    def fill(self, text: FileText) -> None:
        """Make the rows: all lines, or without a text those of which something is known."""
        self.rows.clear()
        if text.lines:
            self.rows.update((str(n), CodeLine(n, t)) for n, t in enumerate(text.lines, 1))
        else:
            self.rows.update((str(n), CodeLine(n, "")) for n in sorted(self._known()))

    def _known(self) -> set[int]:
        index, path = self.index, self.path
        of_mutants = index.mutants.get(path, {})
        of_findings = index.findings.get(path, {})
        return {*self.states(), *of_mutants, *of_findings, *index.goals.get(path, {})}

    def interest(self) -> list[int]:
        """Return the lines to look at: with findings, survivors, or on the frontier."""
        lines = {n for n, s in self.states().items() if s == "frontier"}
        lines |= set(self.index.findings.get(self.path, {}))
        lines |= {n for n in self.index.mutants.get(self.path, {})
                  if any(m.survives and not m.accepted for m in self.mutants(n))}  # fmt: skip
        return sorted(lines)


class CodeColumns:
    """The columns of the code table, about the file that is open now."""

    def __init__(self) -> None:
        self.file = OpenFile("", SourceIndex(), State())
        """With an empty path as long as no file is open."""

    def columns(self) -> Sequence[Column[CodeLine]]:
        """Return the columns."""
        return (
            Column("line", "line", lambda r: (str(r.number), "muted"), lambda r: r.number, "right",
                   min=4),
            Column("cov", "cov", self._gutter, None, min=3, max=3, value=self._state),
            Column("mutants", "mutants", self._mutants, None, min=7, max=14, spare=True),
            Column("findings", "finds", self._findings, None, min=5, max=8, spare=True),
            Column("types", "types", self._types, None, min=5, max=12, spare=True),
            Column("code", "code", self._code, None, min=20, max=400, flex=True),
        )  # fmt: skip

    def _state(self, row: CodeLine) -> str:
        return self.file.states().get(row.number, "")

    def _gutter(self, row: CodeLine) -> Cell:
        return GUTTER.get(self._state(row), ("", ""))

    def _mutants(self, row: CodeLine) -> Cell:
        mutants = self.file.mutants(row.number)
        return mutants_cell(mutants) if mutants else ("", "")

    def _findings(self, row: CodeLine) -> Cell:
        findings = self.file.findings(row.number)
        return findings_cell(findings) if findings else ("", "")

    def _types(self, row: CodeLine) -> Cell:
        return types_cell(self.file.goals(row.number))

    def _code(self, row: CodeLine) -> Cell:
        state = self._state(row)
        style = "muted" if state == "never" else ""
        if self.file.findings(row.number):
            style = "bold crash"
        return row.text.expandtabs(4).rstrip(), style


LEGEND = Legend({
    "source": {
        "code": "Files, and below each its functions",
        "cover": "Part of the statements that a queue entry, or the import, has executed; never: "
        "nothing has entered the function",
        "frontier": "Lines on the frontier: never executed, but the decision before them was",
        "score": "Killed mutants of those that are killed or survive",
        "left": "Mutants that no input has killed, though one could",
        "findings": "Groups of findings whose stack ends here",
    },
    "code": {
        "line": "Number of the line",
        "cov": "█ covered, ▒ partly (a branch was never taken), ╳ finding (reached by a finding "
        "only, which does not count as covered), ◆ frontier (never executed, but the decision "
        "before it was), ░ never; nothing: no statement begins here",
        "mutants": "Mutants on the line: ● alive, ◌ pending, ✓ killed, ⊘ skipped, ≡ equivalent",
        "findings": "Groups of findings whose stack ends on the line: ✗ crash, ▲ hang, ≠ differs",
        "types": "The type that decides the line's uncovered goal",
        "code": "The line",
    },
}, {
    "source": {
        "map": "With v: files and functions, as large as they have statements; filled as far as "
        "they are covered: █, or ▓ where mutants survive; ░ is not covered, ✗ has findings",
    },
})  # fmt: skip
"""What the columns mean."""
