"""The right part of the Overview in a wide terminal: the latest finding, and what is left.

What is left are the survivors that ran most, or the uncovered goals. A click goes to the row.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest

from fuzztui.kernel.model.mutants import RAN, survivor_group
from fuzztui.kernel.model.state import Changes, Finding, Mutant, State
from fuzztui.kernel.model.targeting import GoalRow, goal_rows, reached_share
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Canvas, Line, TextSpan, spread, width_of
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.host import host
from fuzztui.tui.labels.details import finding_text
from fuzztui.tui.labels.facts import cut
from fuzztui.tui.labels.glyphs import finding_sign
from fuzztui.tui.labels.mutants import GROUP_LABELS, brief_change, brief_place
from fuzztui.tui.labels.report import report_lines
from fuzztui.tui.labels.status import Status
from fuzztui.tui.labels.targeting import brief_location, sign_of

MAX_STACK = 8
"""Lines of the latest finding's report if there is more to show below."""

MAX_FINDINGS = 4
"""Groups of findings that are shown."""

MAX_LISTED = 60
"""Survivors or goals that are looked up: more rows than a terminal has."""

EVERY_S = 5.0
"""Seconds between two looks: rows that jump cannot be read."""


class Aside(Canvas):
    """Titles with rows below; hidden in narrower terminals."""

    def __init__(self) -> None:
        super().__init__()
        self._due = True
        self._shown_t = -1.0
        self._runs: dict[str, int] | None = None
        """By id: how often survivors ran; None: all mutants have to be looked at."""
        self._changed: set[str] = set()
        """Mutants that have changed since."""
        self._found: Sequence[tuple[Finding, int]] = ()
        """The latest groups: the first finding of each, and its number of files."""
        self._mutants: Sequence[Mutant] = ()
        self._goals: Sequence[GoalRow] = ()
        self._status = Status()

    def note(self, changes: Changes) -> None:
        """Remember what has changed."""
        if changes.reset:
            self._runs = None
            self._changed.clear()
        elif self._runs is not None:
            self._changed |= changes.mutants
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
        self._mutants = [] if state.stage else self._survivors(state)
        self._goals = [*goal_rows(state).values()][:MAX_LISTED] if not self._mutants else []
        self.repaint()

    def _survivors(self, state: State) -> Sequence[Mutant]:
        """The survivors that ran most; only changed mutants are looked at again."""
        runs = self._runs
        if runs is None:
            runs = self._runs = {}
            changed = list(state.mutants)
        else:
            changed = [*self._changed]
        self._changed.clear()
        for id in changed:
            mutant = state.mutants.get(id)
            if mutant is not None and survivor_group(mutant) == RAN:
                runs[id] = mutant.runs
            else:
                runs.pop(id, None)
        top = nlargest(MAX_LISTED, runs, key=lambda id: (runs[id], id))
        return [state.mutants[id] for id in top if id in state.mutants]

    # -------------------------------------------------------------- drawing

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw the finding, then survivors or goals, as many rows as fit."""
        more = bool(self._mutants or self._goals)
        lines = self._findings(width, min(MAX_STACK, height // 3) if more else height // 2)
        if more and len(lines) + 3 <= height:
            lines += [[], *(self._left(width) if self._mutants else self._uncovered(width))]
        return lines[:height]

    def _findings(self, width: int, stack: int) -> list[Line]:
        """The latest finding with ``stack`` lines of its report, and a row for each one before."""
        if not self._found:
            return [_title("Latest finding", "", width), [TextSpan(" none yet", "muted")]]
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

    def _left(self, width: int) -> list[Line]:
        lines: list[Line] = [_title(f"Survivors: {GROUP_LABELS[RAN]}", "runs", width)]
        for mutant in self._mutants:
            key = f"mutants {mutant.id}"
            place = plain(brief_place(mutant))
            change = plain(brief_change(mutant.before, mutant.after))
            left = [TextSpan(f" {place}  ", "muted", key), TextSpan(change, "", key)]
            runs = format.count(mutant.runs)
            lines.append(_row(left, TextSpan(f"  {runs} ", "alive", key), width))
        return lines

    def _uncovered(self, width: int) -> list[Line]:
        lines: list[Line] = [_title("Uncovered goals", "reached by", width)]
        for goal in self._goals:
            key = f"types {goal.location}"
            sign = sign_of(goal)
            share = reached_share(goal)
            reached = format.percent(share, 1.0) if share > 0 else "no input"
            where = plain(brief_location(goal.location, max(8, width - 16)))
            left = [TextSpan(f" {sign.glyph} ", sign.style, key), TextSpan(where, "", key)]
            lines.append(_row(left, TextSpan(f"  {reached} ", "muted", key), width))
        return lines

    def clicked(self, click: str, at: int) -> None:
        """Go to the clicked finding, mutant or goal."""
        screen, _, key = click.partition(" ")
        host(self).go_to_row(screen, key)


def _title(text: str, right: str, width: int) -> Line:
    left = [TextSpan(f" {text} ", "bold")]
    end = [TextSpan(f" {right} ", "muted")] if right else []
    rest = max(0, width - width_of(left) - width_of(end))
    return [*left, TextSpan("─" * rest, "rule"), *end]


def _row(left: Line, right: TextSpan, width: int) -> Line:
    """``left``, cut if needed, and ``right`` at the end."""
    return spread(cut(left, max(0, width - width_of([right]) - 1)), [right], width)
