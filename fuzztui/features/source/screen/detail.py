"""The details of a line, and of a file or function. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fuzztui.features.source.fold import FileLines, FirstEntry
from fuzztui.features.source.screen.code import GUTTER, MEANINGS, CodeLine, OpenFile
from fuzztui.features.source.tree import CodeNode
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.state import Entry, State
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.text import plain
from fuzztui.tui.labels.details import pair
from fuzztui.tui.labels.mutants import brief_change, state_sign
from fuzztui.tui.labels.states import finding_sign

MAX_LISTED = 20
"""Mutants, findings and goals that are listed for a line."""


@dataclass(frozen=True, slots=True)
class Smallest:
    """The smallest entry that executes a line, as measured."""

    entry: str
    size: int


@dataclass(frozen=True, slots=True)
class Measuring:
    """How lines of the campaign are measured: why some, or all, are not known."""

    engine: str
    build: str
    """The state of the build for coverage; an empty string: there is none."""
    reason: str
    """Why that build has failed, or which tool it is for."""
    key: str
    """The key that measures; an empty string: that is impossible."""
    watched: bool
    progress: str = ""
    """The progress of a measurement; an empty string: none is running."""

    def unknown(self) -> str:
        """Return why the coverage of a file or line is not known, in one line."""
        if self.build == "failed":
            return f"not known: {self.reason}"
        if self.build:
            return "not known yet: target.coverage measures it"
        return f"not known: {self.key} runs the corpus again" if self.key else "not known"

    def nothing(self) -> str:
        """Return why no file is known, and what to do; in paragraphs."""
        if self.build == "failed":
            failed = "The lines of this target cannot be measured: target.coverage failed."
            return f"{failed}\n{self.reason}"
        if self.build == "building":
            what = "target.coverage: the target is built once more; its files come after that."
            return f"{what}\n{self.reason}".strip()
        if self.build:
            return "target.coverage: entries run in that build; files come with the first."
        what = ""
        if self.watched:
            what = "Watched only: fuzztui measures lines of campaigns that it has started."
        elif self.key:
            what = f"Press {self.key} to run the corpus again and measure its coverage."
        if self.engine == "afl" and not self.watched:
            what += (
                "\nWith target.coverage = true in the campaign file the campaign measures each "
                "entry, by llvm-cov or gcov (docs/source.md)."
            )
        return f"The log names no source file of the target.\n{what.strip()}".strip()


def line_lines(
    row: CodeLine,
    file: OpenFile,
    name: str,
    smallest: Mapping[int, Smallest] | None,
    measuring: Measuring,
) -> Iterator[Line]:
    """Yield the details of a line. ``smallest``: by line, None before it was measured."""
    coverage, state = file.coverage, file.state
    yield _head(row, file, name)
    if measuring.progress:
        yield pair("measuring", measuring.progress, "pending")
    if row.text.strip():
        yield [TextSpan(plain(row.text.strip()), "bold")]
    if coverage is not None and coverage.measured and row.number in coverage.statements:
        key = "" if measuring.progress else measuring.key
        yield from _coverage(row.number, coverage, state, smallest, key)
    elif coverage is None or not coverage.measured:
        yield pair("covered", measuring.unknown(), "muted")
    for mutant in file.mutants(row.number)[:MAX_LISTED]:
        glyph, word = state_sign(mutant)
        killer = f"  by {mutant.killer}" if mutant.killer else ""
        change = brief_change(mutant.before, mutant.after)
        yield [
            TextSpan(f"{glyph.glyph} {word.ljust(10)} ", glyph.style),
            TextSpan(plain(change)),
            TextSpan(plain(f"  {mutant.operator}{killer}"), "muted"),
        ]
    for finding in file.findings(row.number)[:MAX_LISTED]:
        sign = f"{finding_sign(finding.category)} {plain(finding.category)}".ljust(12)
        yield [
            TextSpan(f"{sign} ", f"bold {finding.category}"),
            TextSpan(plain(finding.title or finding.signature)),
            TextSpan(plain(f"  ×{len(state.groups.get(finding.signature, [0])):,}"), "muted"),
        ]
    for goal in file.goals(row.number)[:MAX_LISTED]:
        sign = "◆" if goal.frontier else "◇"
        types = ", ".join(f"{t} {n}" for t, n in goal.types) or "no type decides it"
        kind = goal.location.rpartition(":")[2]
        yield [TextSpan(f"{sign} {plain(kind)} ".ljust(13), "alive"), TextSpan(plain(types))]


def _head(row: CodeLine, file: OpenFile, name: str) -> Line:
    state = file.states().get(row.number, "")
    around = [
        f for f in (file.coverage.functions if file.coverage is not None else [])
        if f.first <= row.number <= f.last
    ]  # fmt: skip
    where = f" in {around[-1].name}" if around else ""
    head = [TextSpan(plain(f"{name}:{row.number}{where}"), "muted")]
    if state:
        glyph, style = GUTTER[state]
        head += [TextSpan("  "), TextSpan(f"{glyph} {state}", style)]
        head.append(TextSpan(f": {MEANINGS[state]}", "muted"))
    return head


def _coverage(
    line: int,
    coverage: FileLines,
    state: State,
    smallest: Mapping[int, Smallest] | None,
    key: str,
) -> Iterator[Line]:
    first = coverage.first.get(line)
    if first is None:
        return
    yield pair("first", *_entry(first, state))
    if smallest is None:
        if key and first.entry:
            yield pair("smallest", f"not measured: {key} runs the corpus again", "muted")
        return
    if (least := smallest.get(line)) is not None:
        yield pair("smallest", f"{least.entry}  {format.size(least.size)}", "corpus")
    missing, total = coverage.missing(line)
    if missing:
        of = f"{missing:,} of {several(total, 'branch', 'branches')} never taken"
        yield pair("branches", of, "pending")


def _entry(first: FirstEntry, state: State) -> tuple[str, str]:
    if not first.entry:
        return "on import, before any input", "muted"
    entry: Entry | None = state.entries.get(first.entry)
    # Lines of C targets are measured some time after the entry was found.
    t = entry.t if entry is not None and entry.saved else first.t
    size = f"  {format.size(entry.size)}" if entry is not None and entry.size >= 0 else ""
    return f"{first.entry} at {format.clock(t)}{size}", "corpus"


def node_lines(node: CodeNode, measuring: Measuring) -> Iterator[Line]:
    """Yield the details of a file or function."""
    where = node.path + (f":{node.first}-{node.last}" if node.function else "")
    yield [TextSpan(plain(node.function or node.name), "bold")]
    yield pair("path", where)
    if measuring.progress:
        yield pair("measuring", measuring.progress, "pending")
    if node.statements > 0 <= node.covered:
        share = format.share(node.covered / node.statements)
        text = f"{node.covered:,} of {several(node.statements, 'statement')} ({share})"
        yield pair("covered", text, "valid")
    elif node.statements:
        yield pair("covered", measuring.unknown(), "muted")
    if node.frontier:
        where = f"{several(node.frontier, 'line')}: {MEANINGS['frontier']}"
        yield pair("frontier", where, "alive")
    if node.mutants:
        text = f"{node.killed:,} of {several(node.mutants, 'mutant')} killed"
        text += f", {several(node.survivors, 'survivor')}"
        text += f", {node.unjudged:,} without a verdict" if node.unjudged else ""
        yield pair("mutants", text, "killed")
    if node.findings:
        verb = "ends" if node.findings == 1 else "end"
        yield pair("findings", f"{node.findings:,} {verb} here", "crash")
