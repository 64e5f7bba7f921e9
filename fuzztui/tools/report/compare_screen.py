"""Two runs side by side: one chart on one time axis, and a pane for each run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal

from fuzztui.tools.report.compare_page import figure_line, shown
from fuzztui.tools.report.compared import (
    FIGURES,
    ComparedRun,
    FoundBy,
    RunComparison,
    notes,
    who_found,
    who_killed,
)
from fuzztui.tools.report.run import short_target
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Canvas, Line, TextSpan, spread
from fuzztui.tui.base.chart import Chart, ChartContent, Curve, View
from fuzztui.tui.base.pane import DetailPane
from fuzztui.tui.base.text import plain
from fuzztui.tui.base.themed import ThemedApp
from fuzztui.tui.base.themes import ThemeFile

SIDES: Final = 2
MAX_ROWS: Final = 500
"""Findings, or mutants, that a pane lists."""

_CHARTS: Final = (
    ("edges", "Edges"), ("killed", "Mutants killed"), ("findings", "Groups of findings"),
    ("corpus", "Corpus"), ("execs", "Executions"),
)  # fmt: skip
_STYLES: Final = ("edge", "killed")


class CompareHeader(Canvas):
    """What is compared, and at which campaign time."""

    DEFAULT_CSS = "CompareHeader { height: 1; background: $panel; }"

    def __init__(self, of: RunComparison) -> None:
        super().__init__()
        self._of = of

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw the line."""
        target = plain(short_target(self._of.runs[0].state.target) or "a target")
        left = [TextSpan("fuzztui", "bold primary"), TextSpan(" compare  ", "bold"),
                TextSpan(target, "muted")]  # fmt: skip
        at = "each at its end" if self._of.at_ends else f"both at {format.clock(self._of.at_s)}"
        return [spread(left, [TextSpan(at, "bold")], width)]


class CompareKeys(Canvas):
    """The keys."""

    DEFAULT_CSS = "CompareKeys { height: 1; background: $panel; }"
    KEYS: ClassVar = (
        ("v", "Chart"), ("←→", "Values at a time"), ("tab", "Other run"), ("↑↓", "Scroll"),
    )  # fmt: skip

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw the line."""
        left: list[TextSpan] = []
        for key, what in self.KEYS:
            left += [TextSpan(key, "bold primary"), TextSpan(f" {what}  ")]
        return [spread(left, [TextSpan("q", "bold primary"), TextSpan(" Leave")], width)]


class CompareApp(ThemedApp):
    """Shows a comparison of two runs."""

    TITLE = "fuzztui compare"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    CompareApp { background: $background; }
    CompareApp Screen { layout: vertical; background: $background; }
    #curves { height: 2fr; min-height: 7; max-height: 16; margin: 1 1 0 1; }
    #panes { height: 3fr; }
    #panes DetailPane { width: 1fr; padding: 0 1; border-top: solid $rule; }
    #panes DetailPane:focus { border-top: solid $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,escape", "quit", "Leave"),
        Binding("ctrl+c", "quit", show=False),
        Binding("v", "next_chart", "Chart"),
        Binding("left", "move_cursor(-1)", priority=True),
        Binding("right", "move_cursor(1)", priority=True),
    ]

    def __init__(
        self, of: RunComparison, themes: Iterable[ThemeFile] = (), theme: str = ""
    ) -> None:
        super().__init__(themes, theme)
        self._of = of
        self._charts = [chart for chart in _CHARTS if any(_curves(of, chart[0]))]
        self._chart = 0
        self._cursor = -1.0

    def compose(self) -> ComposeResult:
        """Yield the widgets."""
        yield CompareHeader(self._of)
        yield Chart(id="curves")
        yield Horizontal(*(DetailPane(id=f"run{n}") for n in range(SIDES)), id="panes")
        yield CompareKeys()

    def on_mount(self) -> None:
        """Fill the widgets."""
        found, killed = who_found(self._of), who_killed(self._of)
        for side in range(SIDES):
            pane = self.query_one(f"#run{side}", DetailPane)
            pane.show(pane_lines(self._of, side, found, killed))
        self.query_one("#run0", DetailPane).focus()
        self._draw()

    def action_next_chart(self) -> None:
        """Show the next figure that the runs have over time."""
        if self._charts:
            self._chart = (self._chart + 1) % len(self._charts)
            self._draw()

    def action_move_cursor(self, by: int) -> None:
        """Move the chart's cursor, which shows the values of both runs at its time."""
        chart = self.query_one(Chart)
        axis = self._view().axis(max(1, chart.size.width - 7))
        self._cursor = axis.moved(self._of.at_s if self._cursor < 0 else self._cursor, by)
        self._draw()

    def _view(self) -> View:
        at = f"{self._chart + 1}/{len(self._charts)}" if self._charts else ""
        return View(self._of.at_s, still=True, cursor=self._cursor, note=at)

    def _draw(self) -> None:
        if not self._charts:
            return
        name, title = self._charts[self._chart]
        content = ChartContent(title, [*_curves(self._of, name)], _count, from_zero=True)
        self.query_one(Chart).show(content, self._view())


def _count(value: float) -> str:
    return format.count(round(value))


def _curves(of: RunComparison, name: str) -> Iterator[Curve]:
    """The curves of a figure; none if it cannot be compared."""
    if name in of.not_compared:
        return
    for run, style in zip(of.runs, _STYLES, strict=True):
        if (line := figure_line(of, name, run)) is not None:
            yield Curve(plain(run.name, 24), style, line.times, line.values)


# ---------------------------------------------------------------------- panes


def pane_lines(
    of: RunComparison, side: int, found: Sequence[FoundBy], killed: Sequence[FoundBy]
) -> list[Line]:
    """Return what the pane of one run shows: figures, and what only this run has."""
    run, other = of.runs[side], of.runs[1 - side]
    lines: list[Line] = [[TextSpan(plain(run.name, 60), f"bold {_STYLES[side]}"),
                          TextSpan(f"  {plain(run.state.engine)}", "muted")], []]  # fmt: skip
    lines += _figures(of, run, other)
    lines += _only(found, side, "findings", "crash", of.at_s)
    lines += _only(killed, side, "mutants killed", "killed", of.at_s)
    if side == 0 and (texts := list(notes(of))):
        lines.append([])
        lines += [[TextSpan(plain(text), "pending" if bad else "muted")] for text, bad in texts]
    return lines


def _figures(of: RunComparison, run: ComparedRun, other: ComparedRun) -> Iterator[Line]:
    for name in of.figures():
        mine, theirs = of.figure(run, name), of.figure(other, name)
        text = shown(name, mine)
        label = TextSpan(FIGURES[name].ljust(20), "muted")
        if mine is None or theirs is None or mine == theirs:
            yield [label, TextSpan(text.rjust(12))]
            continue
        better = mine > theirs
        change = f"  {(mine - theirs) / theirs:+.1%}" if theirs else ""
        yield [
            label,
            TextSpan(text.rjust(12), "bold" if better else ""),
            TextSpan(change, "finished" if better else "muted"),
        ]


def _only(
    rows: Sequence[FoundBy], side: int, what: str, style: str, end_s: float
) -> Iterator[Line]:
    """Lines about what only ``side`` has, and how many it had first; none without ``rows``."""
    if not rows:
        return
    alone = [row for row in rows if row.sides == {side}]
    first = [row for row in rows if row.is_common and row.first == side]
    common = sum(row.is_common for row in rows)
    yield []
    yield [TextSpan(f"{what} only here: {len(alone):,}", "bold"),
           TextSpan(f"   {common:,} in both, {len(first):,} here first", "muted")]  # fmt: skip
    for row in sorted(alone, key=lambda row: row.times[side])[:MAX_ROWS]:
        time = row.times[side]
        when = "" if math.isnan(time) else format.clock(min(time, end_s))
        yield [TextSpan(f" {when:>8}  ", "muted"), TextSpan(plain(row.title, 300), style)]
    if (left := len(alone) - MAX_ROWS) > 0:
        yield [TextSpan(f"           and {left:,} more", "muted")]
