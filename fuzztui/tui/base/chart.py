"""A chart of a few curves over campaign time, drawn as areas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal, NamedTuple

from textual import events
from textual.message import Message

from fuzztui.tui.base import format
from fuzztui.tui.base.braille import PATTERNS, Area, area, calm_top, growth, nice_bounds, resample
from fuzztui.tui.base.canvas import Canvas, Line, TextSpan, merged, spread, width_of
from fuzztui.tui.base.text import fit, plain
from fuzztui.tui.base.timeaxis import TimeAxis, time_axis

AXIS = 7
"""Cells left of the plot: the labels of the vertical axis and the axis itself."""

_SIGNS = ("▒", "█", "≡")
"""Signs of the patterns of curves, in the legend."""

_MIN_CELLS = 8


@dataclass(frozen=True, slots=True)
class Curve:
    """One curve of a chart: name, style, and points by time."""

    label: str
    style: str
    times: Sequence[float] = ()
    values: Sequence[float] = ()
    shows: Literal["last", "mean", "growth"] = "last"
    """What a cell shows of its values: the last one, their mean, or their growth per minute."""
    value: str = ""
    """The text next to the title; an empty string: the value of the last point."""
    until: float = inf
    """Campaign time from which on there are no values."""

    def sampled(self, axis: TimeAxis, now: float) -> list[float | None]:
        """Return the values in the columns of dots of ``axis``."""
        now = min(now, self.until)
        if self.shows == "growth":
            return growth(self.times, self.values, axis, now)
        return resample(self.times, self.values, axis, now, mean=self.shows == "mean")


class _Sampled(NamedTuple):
    """A curve with its place among the curves, and its values in the columns of dots."""

    curve: Curve
    place: int
    values: Sequence[float | None]


class _Over(NamedTuple):
    """What a row shows besides areas: the cells of two vertical lines, and the ghost's dots."""

    cursor: int
    divide: int
    ghost: Sequence[int]


class Mark(NamedTuple):
    """A sign on the time axis: of a moment, or of the time until ``end``."""

    t: float
    sign: str
    style: str
    end: float = -1.0


@dataclass(frozen=True, slots=True)
class ChartContent:
    """What one chart shows."""

    title: str = ""
    curves: Sequence[Curve] = ()
    show: Callable[[float], str] = format.rate
    """Returns the text of a value."""
    from_zero: bool = False
    """Whether the vertical axis always starts at 0."""
    ghost: Curve | None = None
    """The first curve as it was in another run: a thin line. Its label is the run's name."""


WAITING = "waiting for the first statistics…"


@dataclass(frozen=True, slots=True)
class View:
    """What all charts of a screen share: time, window, marks and cursor."""

    now: float = 0.0
    window_s: float = 0.0
    """Seconds before ``now`` that are shown; 0: the whole campaign."""
    still: bool = False
    """Whether time has stopped."""
    marks: Sequence[Mark] = ()
    """Signs on the time axis, the more important ones later: a cell shows the last one in it."""
    divide: float = -1.0
    """Campaign time of a thin vertical line; negative: none."""
    cursor: float = -1.0
    """Campaign time of the cursor; negative: none."""
    focus: bool = False
    calm: bool = False
    """Whether both axes are rounded up so far that a growing curve rarely changes them. Each change
    sends the whole chart to the terminal again."""
    note: str = ""
    """Text at the right end of the first line."""
    empty: str = WAITING
    """Text of a chart without a curve."""

    def axis(self, cells: int) -> TimeAxis:
        """Return the time axis for ``cells`` cells."""
        return time_axis(self.window_s, self.now, cells, still=self.still, calm=self.calm)


class Chart(Canvas):
    """Up to three curves on one scale; title and values above, time and marks below.

    Each curve has another pattern: colour is never the only difference. Without a curve, a waiting
    message is shown. Under the pointer or at the cursor, the values of that time are shown.
    """

    DEFAULT_CSS = "Chart { height: 1fr; width: 1fr; }"

    class Pointed(Message):
        """The pointer is over a campaign time; negative: it has left. ``kept``: it was clicked."""

        def __init__(self, t: float, *, kept: bool = False) -> None:
            super().__init__()
            self.t = t
            self.kept = kept

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._graph = ChartContent()
        self._view = View()

    def show(self, graph: ChartContent, view: View) -> None:
        """Draw ``graph``."""
        if (view, graph) != (self._view, self._graph):
            self._graph, self._view = graph, view
            self.repaint()

    # -------------------------------------------------------------- drawing

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw title, plot and time axis."""
        plot = height - 2
        cells = width - AXIS
        known = [(c, n) for n, c in enumerate(self._graph.curves) if c.times]
        if plot < 1 or cells < _MIN_CELLS:
            return [self._headline(width, [])]
        if not known or self._view.now <= 0:
            gap: list[Line] = [[]] * (plot // 2)
            text = fit(self._view.empty, min(width, len(self._view.empty)))
            waiting = TextSpan(" " * max(0, min(AXIS, width - len(text))) + text, "muted")
            return [self._headline(width, []), *gap, [waiting]]
        axis = self._view.axis(cells)
        sampled = [_Sampled(c, n, c.sampled(axis, self._view.now)) for c, n in known]
        values = [v for one in sampled for v in one.values if v is not None]
        ghost = self._graph.ghost
        shadow = ghost.sampled(axis, axis.end) if ghost is not None else []
        values += [v for v in shadow if v is not None]
        least = 0.0 if self._graph.from_zero else min(values, default=0.0)
        most = max(values, default=0.0)
        low, high = nice_bounds(least, most)
        if self._view.calm:
            high = calm_top(most)
        return [
            self._headline(width, sampled, axis, low, shadow),
            *self._plot(sampled, axis, plot, (low, high), shadow),
            self._time_axis(axis),
        ]

    def _headline(
        self,
        width: int,
        sampled: Sequence[_Sampled],
        axis: TimeAxis | None = None,
        low: float = 0.0,
        shadow: Sequence[float | None] = (),
    ) -> Line:
        """The title, and of each curve its sign, name and value: now, or at the cursor.

        Then by how much the first curve is above the ghost, whose values are ``shadow``.
        """
        view = self._view
        title = "bold primary" if view.focus else "bold"
        line = [
            TextSpan(
                fit(self._graph.title, width) if width < _MIN_CELLS else self._graph.title, title
            )
        ]
        cell = axis.cell(view.cursor) if axis is not None else -1
        if axis is not None and cell >= 0:
            line.append(TextSpan(f" at {format.clock(axis.time(cell))}", "bold primary"))
        drawn = {one.place: one.values for one in sampled}
        for n, curve in enumerate(self._graph.curves):
            values = drawn.get(n, ())
            text = self._at(values, cell) if cell >= 0 else curve.value or self._latest(values)
            line.append(TextSpan("  "))
            if len(self._graph.curves) > 1:
                line.append(TextSpan(f"{_SIGNS[n % 3]} ", curve.style))
                line.append(TextSpan(f"{curve.label} ", curve.style))
            line.append(TextSpan(text, f"bold {curve.style}"))
        if shadow and sampled and self._graph.ghost is not None:
            room = width - width_of(line) - width_of([TextSpan(view.note)]) - 1
            line += self._lead(sampled[0].values, shadow, cell, room)
        if low and width_of(line) + 20 < width:
            line.append(TextSpan(f"  axis from {self._graph.show(low)}", "hang"))
        return spread(line, [TextSpan(view.note, "muted")], width)

    def _lead(
        self,
        values: Sequence[float | None],
        shadow: Sequence[float | None],
        cell: int,
        room: int,
    ) -> list[TextSpan]:
        """The ghost's value at the last moment, or in a cell, and how far the curve is above it."""
        there = [n for n, value in enumerate(values) if value is not None]
        at = next((n for n in reversed(there) if cell < 0 or n // 2 == cell), -1)
        ours, theirs = (values[at], shadow[at]) if at >= 0 else (None, None)
        is_average = bool(self._graph.curves[0].value) and cell < 0
        if ours is None or theirs is None or self._graph.ghost is None or is_average:
            return []
        show = self._graph.show
        name = plain(self._graph.ghost.label)
        lead = f"  {show(abs(ours - theirs))} {'more' if ours > theirs else 'fewer'} than"
        lead = "  as in" if ours == theirs else lead
        texts = (f"{lead} {name} ({show(theirs)})", f"{lead} {name}", f"{lead} the run before")
        fitting = next((text for text in texts if len(text) <= room), "")
        return [TextSpan(fitting, "muted")]

    def _latest(self, values: Sequence[float | None]) -> str:
        return self._text(next((v for v in reversed(values) if v is not None), None))

    def _at(self, values: Sequence[float | None], cell: int) -> str:
        """The value in the right one of the cell's two columns that has one."""
        pair = [v for v in values[2 * cell : 2 * cell + 2] if v is not None]
        return self._text(pair[-1] if pair else None)

    def _text(self, value: float | None) -> str:
        return format.NONE if value is None else self._graph.show(value)

    def _plot(
        self,
        sampled: Sequence[_Sampled],
        axis: TimeAxis,
        height: int,
        bounds: tuple[float, float],
        shadow: Sequence[float | None],
    ) -> list[Line]:
        """Rows of the plot, with their labels."""
        low, high = bounds
        thin = area(shadow, height, low, high, 0).drawn if shadow else [()] * height
        # The lower curve is in front, or the higher one would cover it: of equal ones that which is
        # the lower one at the end.
        order = sorted(sampled, key=lambda one: -next(filter(None, reversed(one.values)), 0.0))
        fronts = [
            sorted(range(len(order)), key=lambda n: -(order[n].values[2 * x + 1] or 0.0))
            for x in range(axis.cells)
        ]
        solid = len(self._graph.curves) == 1
        layers = [
            (
                one.curve.style,
                area(one.values, height, low, high, 0xFF if solid else PATTERNS[one.place % 3]),
            )
            for one in order
        ]
        ticks = self._ticks(height, low, high)
        cursor, divide = axis.cell(self._view.cursor), axis.cell(self._view.divide)
        lines: list[Line] = []
        for y in range(height):
            label = ticks.get(y)
            corner = "┤" if label is not None else "│"
            cut = y == height - 1 and low > 0  # the axis does not start at 0
            lines.append(
                [
                    TextSpan(fit(label or "", AXIS - 1, "right"), "muted"),
                    TextSpan("≈", "hang") if cut else TextSpan(corner, "rule"),
                    *_row(
                        layers,
                        fronts,
                        y,
                        _Over(cursor, divide, thin[y]),
                        grid=label is not None and y < height - 1,
                    ),
                ]
            )
        return lines

    def _ticks(self, height: int, low: float, high: float) -> dict[int, str]:
        """Labels by row: both ends, and the middle if its label is exact."""
        ticks = {height - 1: self._graph.show(low), 0: self._graph.show(high)}
        middle = (low + high) / 2
        if height >= 5 and height % 2 and self._exact(low, middle, high):
            ticks[height // 2] = self._graph.show(middle)
        return ticks

    def _exact(self, low: float, middle: float, high: float) -> bool:
        """Whether the label of ``middle`` is not rounded to that of another number."""
        digits = f"{middle:.6g}".rstrip("0").replace(".", "")
        return len({self._graph.show(v) for v in (low, middle, high)}) == 3 and (
            float(middle).is_integer() and len(digits) <= 3
        )

    def _time_axis(self, axis: TimeAxis) -> Line:
        """The start at the left, marks, and the end unless a mark is there."""
        signs: list[tuple[str, str]] = [("─", "rule")] * axis.cells
        for quarter in (1, 2, 3):
            signs[quarter * axis.cells // 4] = ("┴", "rule")
        taken = set()
        for mark in self._view.marks:
            first, last = axis.cell(mark.t), axis.cell(mark.end)
            if mark.end >= 0 and mark.t < axis.start < mark.end:
                first = 0
            if mark.end >= 0 and mark.end > axis.end:
                last = axis.cells - 1
            if first >= 0:
                for cell in range(first, max(first, last) + 1):
                    signs[cell] = (mark.sign, mark.style)
                    taken.add(cell)
        cursor = axis.cell(self._view.cursor)
        if cursor >= 0:
            signs[cursor] = ("┴" if cursor not in taken else signs[cursor][0], "bold primary")
            taken.add(cursor)
        end = f" {_moment(axis.end)}"
        if not taken & set(range(axis.cells - len(end), axis.cells)):
            signs[-len(end) :] = [(ch, "muted") for ch in end]
        return [
            TextSpan(fit(_moment(axis.start), AXIS - 1, "right"), "muted"),
            TextSpan("└", "rule"),
            *merged(signs),
        ]

    # -------------------------------------------------------------- pointer

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Report the time under the pointer."""
        self._point(event)

    def on_click(self, event: events.Click) -> None:
        """Report the clicked time."""
        self._point(event, kept=True)

    def on_leave(self) -> None:
        """Report that the pointer has left."""
        self.post_message(self.Pointed(-1.0))

    def _point(self, event: events.MouseEvent, *, kept: bool = False) -> None:
        offset = event.get_content_offset(self)
        cells = self.size.width - AXIS
        if offset is None or cells < _MIN_CELLS:
            return
        cell = offset.x - AXIS
        inside = 0 <= cell < cells
        self.post_message(
            self.Pointed(self._view.axis(cells).time(cell) if inside else -1.0, kept=kept)
        )


def _moment(t: float) -> str:
    """A campaign time in at most six cells."""
    t = round(t, 3)  # of a sum of cells
    if t < 3600:
        return f"{int(t) // 60}:{int(t) % 60:02d}"
    return format.span(t).replace(" ", "")[: AXIS - 1]


def _row(
    layers: Sequence[tuple[str, Area]],
    fronts: Sequence[Sequence[int]],
    y: int,
    over: _Over,
    *,
    grid: bool,
) -> list[TextSpan]:
    """One row of areas on top of each other, by cell in the order ``fronts``: the last is in front.

    The dots of the ghost are added, or left out where there is an area.

    A cell has the colour of the front one in it, fainter inside an area. Empty cells show the grid
    and the line at ``divide``; the cell ``cursor`` shows the cursor.
    """
    rows = [
        (style, area.filled[y], area.drawn[y], area.filled[y - 1] if y else ())
        for style, area in layers
    ]
    empty = "┈" if grid else " "
    cells: list[tuple[str, str]] = []
    for x in range(len(rows[0][1])):
        bits, style = 0, ""
        for name, filled, drawn, above in (rows[n] for n in fronts[x]):
            if inside := filled[x]:
                bits = (bits & ~inside) | drawn[x]
                style = f"soft {name}" if above and above[x] else name
        if over.ghost and (thin := over.ghost[x]):
            style = style or "muted"
            bits ^= thin
        if bits:
            ch = chr(0x2800 + bits)
        else:
            ch, style = ("┊" if x == over.divide else empty), "rule"
        if x == over.cursor:
            ch, style = "│", "bold primary"
        cells.append((ch, style))
    return merged(cells)
