"""The right part of the Overview in a wide terminal: the latest finding, and what is left.

What is left: the first list of a feature that has rows. A click goes to the row.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest

from fuzztui.kernel.model.state import Changes, Finding, State
from fuzztui.tui.base.canvas import Canvas, Line, TextSpan, spread, width_of
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.feature_screens import aside_lists
from fuzztui.tui.frame.host import host
from fuzztui.tui.frame.overview_line import AsideList
from fuzztui.tui.labels.details import finding_text
from fuzztui.tui.labels.facts import cut
from fuzztui.tui.labels.report import report_lines
from fuzztui.tui.labels.states import finding_sign
from fuzztui.tui.labels.status import Status

MAX_STACK = 8
"""Lines of the latest finding's report if there is more to show below."""

MAX_FINDINGS = 4
"""Groups of findings that are shown."""

EVERY_S = 5.0
"""Seconds between two looks: rows that jump cannot be read."""


class Aside(Canvas):
    """Titles with rows below; hidden in narrower terminals."""

    def __init__(self) -> None:
        super().__init__()
        self._due = True
        self._shown_t = -1.0
        self._lists = aside_lists()
        self._left: AsideList | None = None
        """The list that is shown below the finding."""
        self._found: Sequence[tuple[Finding, int]] = ()
        """The latest groups: the first finding of each, and its number of files."""
        self._status = Status()

    def note(self, changes: Changes) -> None:
        """Collect changes, which the next :meth:`show` draws."""
        for one in self._lists:
            one.note(changes)
        self._due |= changes.campaign or bool(changes.mutants or changes.findings or changes.reset)

    def is_due(self, now: float, changes: Changes) -> bool:
        """Whether to show changes: a finding at once, the rest from time to time."""
        if changes.reset or changes.findings:
            return True
        return self._due and abs(now - self._shown_t) >= EVERY_S

    def show(self, state: State, status: Status) -> None:
        """Draw ``state``; called while no other thread changes it."""
        self._due, self._shown_t, self._status = False, status.now, status
        mutants = {i.id for i in state.instances.values() if i.mutant}
        heads = (f for f in state.findings.values() if f.first and f.instance not in mutants)
        latest = nlargest(MAX_FINDINGS, heads, key=lambda f: (f.t, f.seq))
        self._found = [(f, len(state.groups.get(f.signature, ()))) for f in latest]
        self._left = next((one for one in self._lists if one.look(state)), None)
        self.repaint()

    # -------------------------------------------------------------- drawing

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw the finding, then what is left, as many rows as fit."""
        left = self._left
        lines = self._findings(width, min(MAX_STACK, height // 3) if left else height // 2)
        if left and len(lines) + 3 <= height:
            lines += [[], _title(left.TITLE, left.RIGHT, width)]
            for row in left.rows(width):
                key = f"{left.TAB} {row.key}"
                spans = [span._replace(click=key) for span in row.left]
                lines.append(_row(spans, row.right._replace(click=key), width))
        return lines[:height]

    def _findings(self, width: int, stack: int) -> list[Line]:
        """The latest finding with ``stack`` lines of its report, and a row for each one before."""
        if not self._found:
            none = " none" if self._status.over else " none yet"
            return [_title("Latest finding", "", width), [TextSpan(none, "muted")]]
        finding = self._found[0][0]
        detail = finding.detail
        report = report_lines(detail, finding.place, finding.category) if detail else []
        # The innermost frame, which a traceback has at its end.
        shown = report[-stack:] if detail.startswith("Traceback") else report[:stack]
        rows = [self._finding(*found, width) for found in self._found]
        indented = ([TextSpan("   "), *cut(line, width - 3)] for line in shown)
        return [_title("Latest finding", "", width), rows[0], *indented, *rows[1:]]

    def _finding(self, finding: Finding, files: int, width: int) -> Line:
        key = f"findings {finding.key}"
        left = [
            TextSpan(f" {finding_sign(finding.category)} ", finding.category, key),
            TextSpan(plain(finding_text(finding, files)), f"bold {finding.category}", key),
        ]
        return _row(left, TextSpan(f"  {self._status.when(finding.t)} ", "muted", key), width)

    def clicked(self, click: str, at: int) -> None:
        """Go to the clicked row."""
        screen, _, key = click.partition(" ")
        host(self).go_to_row(screen, key)


def _title(text: str, right: str, width: int) -> Line:
    left = [TextSpan(f" {text} ", "bold")]
    end = [TextSpan(f" {right} ", "muted")] if right else []
    rest = max(0, width - width_of(left) - width_of(end))
    return [*left, TextSpan("─" * rest, "rule"), *end]


def _row(left: Line, right: TextSpan, width: int) -> Line:
    """A line of ``width`` cells: ``left``, cut if needed, and ``right`` at the end."""
    return spread(cut(left, max(0, width - width_of([right]) - 1)), [right], width)
