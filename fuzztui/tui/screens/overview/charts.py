"""The charts of the Overview: which there are, what they draw, and how many fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Grid
from textual.message import Message

from fuzztui.kernel.model.finding_tallies import group_heads
from fuzztui.kernel.model.selectors import SEVERAL_TARGETS
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.commands import Pause, Resume
from fuzztui.kernel.wire.finding_kinds import KINDS, FindingKind, kind_of
from fuzztui.tui.base import format
from fuzztui.tui.base.chart import AXIS, WAITING, Chart, ChartContent, Curve, Mark, View
from fuzztui.tui.base.timeaxis import TimeAxis
from fuzztui.tui.frame.actions import bindings
from fuzztui.tui.frame.ghost import Ghost
from fuzztui.tui.frame.table import LOADING
from fuzztui.tui.labels.states import STEERED, finding_sign, state_sign
from fuzztui.tui.labels.status import Status

WINDOWS = ((0.0, "all time"), (300.0, "last 5 m"), (3600.0, "last 1 h"))
"""What a key goes through: seconds before now (0: the whole campaign), and their name."""

MAX_CHARTS = 6

_MARGIN = 1.4
"""Factor by which points are needed for longer than the window: a growth looks back further."""


@dataclass(frozen=True, slots=True)
class Look:
    """The data from which the curves of a chart are made."""

    state: State
    status: Status
    start: float = 0.0
    """Campaign time from which points are needed."""
    heads: Mapping[FindingKind, Sequence[float]] = field(default_factory=dict)
    """By kind, the campaign times at which groups of findings were first met."""

    ghost: Ghost | None = None

    def shadow(self, name: str, shows: Literal["last", "mean", "growth"] = "last") -> Curve | None:
        """Return a series of the ghost as a curve; None if there is none."""
        series = None if self.ghost is None else self.ghost.series.get(name)
        if self.ghost is None or series is None or not series.times:
            return None
        # A rate ends with the run; what it had found in the end stays to compare with.
        until = inf if shows == "last" else self.ghost.end
        points = series.since(self.start)
        return Curve(self.ghost.name, "muted", *points, shows, until=until)

    def points(self, name: str) -> tuple[Sequence[float], Sequence[float]]:
        """Return copies of the times and values of a series."""
        series = self.state.series.get(name)
        return ([], []) if series is None else series.since(self.start)


def _series(title: str, *wanted: tuple[str, str, str]) -> Callable[[Look], ChartContent]:
    """A chart of series: name, label and style of each."""

    def draw(look: Look) -> ChartContent:
        curves = [Curve(label, style, *look.points(name)) for name, label, style in wanted]
        return ChartContent(title, curves, format.whole, ghost=look.shadow(wanted[0][0]))

    return draw


def _rate(look: Look) -> ChartContent:
    status = look.status
    over = f"{format.rate(status.execs_per_sec)} on average" if status.over else ""
    curve = Curve("", "rate", *look.points("rate"), "mean", over)
    ghost = look.shadow("rate", "mean")
    return ChartContent("Exec/s", [curve], format.rate, from_zero=True, ghost=ghost)


GROWTHS = (
    ("killed", "Kills/min", "killed"),
    ("edges", "New edges/min", "edge"),
    ("corpus", "New entries/min", "corpus"),
)
"""What may grow: series, title and style; the first series that the campaign has is shown."""


def _growth(look: Look) -> ChartContent:
    there = look.state.series
    name, title, style = next((row for row in GROWTHS if row[0] in there), GROWTHS[-1])
    curve = Curve("", style, *look.points(name), "growth")
    ghost = look.shadow(name, "growth")
    return ChartContent(title, [curve], format.rate, from_zero=True, ghost=ghost)


def _findings(look: Look) -> ChartContent:
    curves = [
        Curve(k.plural, k.category, *findings(look.state, k, look.heads.get(k, ()))) for k in KINDS
    ]
    there = [curve for curve in curves if curve.times]
    title = there[0].label.capitalize() if len(there) == 1 else "Findings"
    return ChartContent(title, curves, format.whole, from_zero=True)


def findings(
    state: State, kind: FindingKind, heads: Sequence[float]
) -> tuple[Sequence[float], Sequence[float]]:
    """Return campaign times and numbers of groups of findings; empty if there is no finding.

    ``heads``: the first times of the groups.
    """
    if heads:
        return [0.0, *heads], [float(n) for n in range(len(heads) + 1)]
    # The engines' counts, unless the files in this folder are known.
    known = any(kind_of(f.category).folder == kind.folder for f in state.findings.values())
    series = state.series.get(kind.folder)
    if series is None or known or not kind.default or not any(series.values):
        return [], []
    return list(series.times), list(series.values)


EDGES = _series("Edges", ("edges", "all", "edge"), ("edges_valid", "valid", "valid"))
LIBRARIES = _series("Library code", ("edges_third_party", "lines run", "imported"))
KILLED = _series("Mutants killed", ("killed", "", "killed"))
CORPUS = _series("Corpus", ("corpus", "", "corpus"))


def available(state: State, *, found: bool) -> list[Callable[[Look], ChartContent]]:
    """Return the charts that this campaign has, the more important ones first.

    ``found``: whether there are findings; without any, the chart of growth is in the place of the
    chart of findings.
    """
    # Then no instance reports what the target covers.
    mutants_first = state.stage == "mutants" and "round" not in state.plan
    several = state.engine == SEVERAL_TARGETS  # the edges of one say nothing about another
    kills = mutants_first or (bool(state.mutants) and not state.stage)
    return [
        *([KILLED] if kills else []),
        *([] if mutants_first or several else [EDGES]),
        _rate,
        _findings if found else _growth,
        *([LIBRARIES] if "edges_third_party" in state.series else []),
        CORPUS,
        *([_growth] if found else []),
    ]


def _with_points(graph: ChartContent) -> ChartContent:
    """The chart without its empty curves; if all are empty, with the first one."""
    known = [c for c in graph.curves if c.times]
    return replace(graph, curves=known or graph.curves[:1])


_PAUSING = (Pause.name, Resume.name)


def marks(state: State, heads: Mapping[FindingKind, Sequence[float]]) -> list[Mark]:
    """Return the marks, the more important ones later.

    ``heads``: by kind, the campaign times at which groups of findings were first met.
    """
    pauses = [*zip(state.pauses[::2], state.pauses[1::2], strict=False)]
    if state.paused_at >= 0:
        pauses.append((state.paused_at, state.t))
    return [
        *(Mark(start, state_sign("paused"), "paused", end) for start, end in pauses),
        *(
            Mark(c.t, STEERED, "promoted")
            for c in state.commands.values()
            # A pause of the whole campaign has a mark of its own.
            if c.command.get("instance") or c.command.get("c") not in _PAUSING
        ),
        *(
            Mark(t, finding_sign(kind.category), f"bold {kind.category}")
            for kind, times in reversed([*heads.items()])
            for t in times
        ),
    ]


class ChartGrid(Grid, can_focus=True):
    """As many charts as fit, side by side; a key shows the next ones.

    All have one time axis and one cursor, which the arrow keys move and the pointer shows. Enter
    hides it.
    """

    class Turned(Message):
        """The choice of charts has changed."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("chart"), *bindings("table")]
    DEFAULT_CSS = "ChartGrid { grid-gutter: 0 2; }"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._graphs: list[ChartContent] = []
        self._view = View()
        self._page, self._pages = 0, 1
        self._window = 0
        self._cursor = self._pointer = -1.0

    def compose(self) -> ComposeResult:
        """Yield as many charts as any terminal has room for."""
        for n in range(MAX_CHARTS):
            yield Chart(id=f"chart-{n}")

    def show(
        self, state: State, status: Status, columns: int, rows: int, ghost: Ghost | None = None
    ) -> None:
        """Draw ``state`` in ``columns`` x ``rows`` charts; called while no thread changes it."""
        window_s, window = WINDOWS[self._window]
        heads = {kind: group_heads(state, kind) for kind in KINDS}
        start = max(0.0, state.t - _MARGIN * window_s) if window_s else 0.0
        look = Look(state, status, start, heads, ghost)
        found = any(any(findings(state, kind, times)[1]) for kind, times in heads.items())
        charts = available(state, found=found)
        columns = min(columns, max(1, len(charts) // rows))  # no empty places
        room = columns * rows
        self._pages = pages = -(-len(charts) // room)
        self._page %= pages
        first = max(0, min(self._page * room, len(charts) - room))
        shown = charts[first : first + room]
        self._graphs = [_with_points(draw(look)) for draw in shown]
        self._arrange(columns, rows)
        empty = LOADING if status.caught_up < 1 else WAITING
        page = f"charts {self._page + 1}/{pages} · " if pages > 1 else ""
        self._view = View(
            now=state.t,
            window_s=window_s,
            still=status.over,
            marks=marks(state, heads),
            divide=state.stage_t if state.stage == "target" and "round" not in state.plan else -1.0,
            note=page + window,
            empty=f"the campaign has {status.state}: no statistics" if status.over else empty,
        )
        self._redraw()

    def _arrange(self, columns: int, rows: int) -> None:
        if self.styles.grid_size_columns != columns or self.styles.grid_size_rows != rows:
            self.styles.grid_size_columns, self.styles.grid_size_rows = columns, rows
        for n, chart in enumerate(self.query(Chart)):
            if chart.display != (n < len(self._graphs)):
                chart.display = not chart.display

    def _redraw(self) -> None:
        """Draw the charts again, with the cursor where it is now."""
        cursor = self._pointer if self._pointer >= 0 else self._cursor
        view = replace(self._view, cursor=cursor, focus=self.has_focus)
        quiet = replace(view, note="")
        roomy = min(self._graphs, key=lambda graph: len(graph.curves), default=None)
        for chart, graph in zip(self.query(Chart), self._graphs, strict=False):
            chart.show(graph, view if graph is roomy else quiet)

    # -------------------------------------------------------------- actions

    def turn(self, by: int) -> bool:
        """Choose the next charts, or the ones before; the caller shows them.

        Returns whether they are the first ones.
        """
        self._page = (self._page + by) % self._pages
        return self._page == 0

    def next_window(self) -> None:
        """Choose the next window of time; the caller shows it."""
        self._window = (self._window + 1) % len(WINDOWS)

    def do_chart_move(self, by: int) -> None:
        """Move the cursor by cells; the first time it appears at the present."""
        axis = self._axis()
        self._cursor = (
            axis.moved(self._view.now, 0) if self._cursor < 0 else axis.moved(self._cursor, by)
        )
        self._redraw()

    def do_table_columns(self, by: int) -> None:
        """Move the cursor by several cells."""
        self.do_chart_move(by)

    def do_table_first(self) -> None:
        """Move the cursor to the start of the axis."""
        self._move_to(self._axis().time(0))

    def do_table_last(self) -> None:
        """Move the cursor to the present."""
        self._move_to(self._axis().moved(self._view.now, 0))

    def do_table_select(self) -> None:
        """Hide the cursor, or show it at the present."""
        if self._cursor >= 0:
            self._move_to(-1.0)
        else:
            self.do_table_last()

    def do_table_rows(self, by: int) -> None:
        """Show the next charts, or the ones before."""
        self.turn(by)
        self.post_message(self.Turned())

    def _move_to(self, t: float) -> None:
        self._cursor, self._pointer = t, -1.0
        self._redraw()

    def _axis(self) -> TimeAxis:
        """The axis of the charts, which have about the same width."""
        return self._view.axis(max(1, self.query(Chart).first().size.width - AXIS))

    @on(Chart.Pointed)
    def _pointed(self, event: Chart.Pointed) -> None:
        if event.kept:
            self._cursor = event.t
        if event.kept or event.t != self._pointer:
            self._pointer = event.t
            self._redraw()

    def watch_has_focus(self, focused: bool) -> None:
        """Draw the titles as those of the focused widget, or as usual."""
        super().watch_has_focus(focused)
        self._redraw()
