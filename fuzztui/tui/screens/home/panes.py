"""Several live runs side by side: each one's numbers and charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Grid, Vertical

from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.state import State
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Canvas, Line, TextSpan
from fuzztui.tui.base.chart import Chart, ChartContent, Curve, View
from fuzztui.tui.base.text import fit, plain
from fuzztui.tui.frame.action_context import MAX_PANES
from fuzztui.tui.labels.runs import RunRow

_TWO_CHARTS_ROWS = 17
"""Rows of a pane from which it has two charts."""
_CHART_S = 10.0
"""Seconds of campaign time between two drawings of a chart, each of which changes cells of each
row."""
_WIDE, _TALL = 100, 34
"""Cells and rows of a terminal for two panes in a row, and for two rows of panes."""

GROWING = (("killed", "Mutants killed", "killed"), ("edges", "Edges", "edge"),
            ("corpus", "Corpus", "corpus"))  # fmt: skip


def room_for(width: int, height: int) -> int:
    """Return how many panes fit into a terminal of ``width`` cells and ``height`` rows."""
    if width >= _WIDE and height >= _TALL:
        return MAX_PANES
    return 2


@dataclass(frozen=True, slots=True)
class PaneContent:
    """What one pane shows, copied from the state by the thread that reads the log."""

    row: RunRow
    now: float = -1.0
    """Campaign time; negative: the log is closed, and the charts stay as they are."""
    growth: ChartContent = field(default_factory=ChartContent)
    rate: ChartContent = field(default_factory=ChartContent)


def pane_content(row: RunRow, state: State | None) -> PaneContent:
    """Return what the pane of a run shows; None: the log is closed, for the run has ended."""
    if state is None:
        return PaneContent(row)
    return PaneContent(
        row,
        state.t,
        growth_of(state, GROWING),
        ChartContent("Exec/s", [_curve(state, "rate", "rate", mean=True)], from_zero=True),
    )


def growth_of(state: State, kinds: Sequence[tuple[str, str, str]]) -> ChartContent:
    """Return the chart of the first of the series ``kinds`` that the campaign has."""
    name, title, style = next((kind for kind in kinds if kind[0] in state.series), kinds[-1])
    return ChartContent(title, [_curve(state, name, style)], format.whole, from_zero=True)


def _curve(state: State, name: str, style: str, *, mean: bool = False) -> Curve:
    series = state.series.get(name)
    times, values = ([], []) if series is None else (list(series.times), list(series.values))
    return Curve("", style, times, values, "mean" if mean else "last")


class PaneHead(Canvas):
    """Name, state and numbers of a run."""

    DEFAULT_CSS = "PaneHead { height: 3; }"

    def __init__(self) -> None:
        super().__init__()
        self._row: RunRow | None = None
        self._number = 0

    def show(self, number: int, row: RunRow) -> None:
        """Show a row; ``number``: the key that opens it."""
        self._number, self._row = number, row
        self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw three lines."""
        row = self._row
        if row is None:
            return []
        of = row.summary
        figures = [
            (format.count(of.execs), "execs", ""),
            (format.rate(of.execs_per_sec), "exec/s", "rate"),
            *([(format.score(of.score), "score", "killed")] if of.score >= 0 else []),
            (format.count(of.edges), "edges", "edge"),
        ]
        line: list[TextSpan] = []
        for value, label, style in figures:
            line += [TextSpan(value, f"bold {style}".strip()), TextSpan(f" {label}  ", "muted")]
        number, _, word = several(of.group_count, "group").partition(" ")
        groups = [TextSpan(number, "bold"), TextSpan(f" {word}", "muted")]
        if row.new:
            groups.append(TextSpan(f"  {row.new:,} new", "bold crash"))
        lost = f"not connected: {', '.join(of.lost)}" if of.lost else ""
        wrong = row.trouble or lost or of.damage
        if wrong:
            groups.append(TextSpan(f"  {plain(wrong, 200)}", "pending"))
        number, state = f"{self._number} ", f"  {plain(of.engine, 20)}  {plain(of.state, 20)}"
        state += f"  {row.age}"
        name = plain(row.path.name, 60)
        name = fit(name, min(cell_len(name), width - cell_len(number + state)))
        head = [
            TextSpan(number, "bold primary"), TextSpan(name, "bold"), TextSpan(state, "muted")
        ]  # fmt: skip
        return [head, line, groups]


class RunPane(Vertical):
    """One run."""

    DEFAULT_CSS = """
    RunPane { padding: 0 1; border-top: solid $rule; }
    RunPane Chart { min-height: 3; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[int, PaneContent] | None = None
        self._drawn: tuple[object, ...] = ()
        self._drawn_t = 0.0

    def compose(self) -> ComposeResult:
        """Yield the widgets."""
        yield PaneHead()
        yield Chart(id="growth")
        yield Chart(id="rate")

    def show(self, number: int, content: PaneContent) -> None:
        """Show a run; its charts are drawn again only from time to time."""
        self._shown = number, content
        self.query_one(PaneHead).show(number, content.row)
        if content.now < 0:
            return
        drawn = (content.row.path, content.row.summary.state, self.size)
        every = max(_CHART_S, content.now / 100)
        if drawn == self._drawn and 0 <= content.now - self._drawn_t < every:
            return
        self._drawn, self._drawn_t = drawn, content.now
        view = View(content.now, calm=True)
        first, second = self.query(Chart)
        first.show(content.growth, view)
        second.display = self.size.height >= _TWO_CHARTS_ROWS
        second.show(content.rate, view)

    def on_resize(self) -> None:
        """Draw the charts for the new size: at first there is none."""
        if self._shown is not None:
            self.show(*self._shown)


class RunPanes(Grid):
    """Two to four panes; with two, one below the other in a narrow terminal."""

    DEFAULT_CSS = "RunPanes { height: 1fr; }"

    def compose(self) -> ComposeResult:
        """Yield all panes; those without a run are hidden."""
        for _ in range(MAX_PANES):
            yield RunPane()

    def show(self, contents: Sequence[PaneContent]) -> None:
        """Show runs, as many as fit."""
        contents = contents[: room_for(*self.app.size)]
        wide = self.app.size.width >= _WIDE
        columns = 2 if wide and len(contents) > 1 else 1
        self.styles.grid_size_columns = columns
        self.styles.grid_size_rows = max(1, -(-len(contents) // columns))
        for n, pane in enumerate(self.query(RunPane)):
            pane.display = n < len(contents)
            if n < len(contents):
                pane.show(n + 1, contents[n])
