"""A small line chart over campaign time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fuzztui.tui.base import format
from fuzztui.tui.base.braille import Point, nice_bounds, resample, resample_mean, rows
from fuzztui.tui.base.canvas import Canvas, Line, TextSpan, spread
from fuzztui.tui.base.text import fit

AXIS = 7
"""Cells for the labels of the vertical axis."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One curve of a chart: name, style, and points by time."""

    label: str
    style: str
    points: Sequence[Point] = ()
    value: str = ""
    """The text next to the title; an empty string: the value of the last point."""


class Chart(Canvas):
    """Up to three curves on one scale; title and current values above, time below.

    All curves but the first are dotted: colour is never the only difference. Without a curve, a
    waiting message is shown.
    """

    DEFAULT_CSS = "Chart { height: 1fr; width: 1fr; }"

    def __init__(
        self,
        title: str,
        show: Callable[[float], str] = format.rate,
        *,
        noisy: bool = False,
        id: str | None = None,
    ) -> None:
        """``noisy``: values go up and down; the curve shows means, on a scale from 0."""
        super().__init__(id=id)
        self.title = title
        self._noisy = noisy
        self._show = show
        self._curves: Sequence[Curve] = ()
        self._until = 0.0
        self._mark = -1.0

    def set_curves(self, curves: Sequence[Curve], until: float, mark: float = -1.0) -> None:
        """Show ``curves`` from campaign time 0 to ``until`` (seconds).

        ``mark``: campaign time of a thin vertical line; negative: none.
        """
        self._curves, self._until, self._mark = curves, until, mark
        self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw title, plot and time axis."""
        lines: list[Line] = [self._headline(width)]
        plot = height - 2
        columns = width - AXIS - 1
        if plot < 1 or columns < 8:
            return lines
        known = [c for c in self._curves if c.points]
        if not known or self._until <= 0:
            gap: list[Line] = [[]] * ((height - 2) // 2)
            return [
                *lines,
                *gap,
                [TextSpan(" " * AXIS), TextSpan("waiting for the first statistics…", "muted")],
            ]
        sample = resample_mean if self._noisy else resample
        sampled = [(c, sample(c.points, 0.0, self._until, columns * 2)) for c in known]
        values = [v for _, vs in sampled for v in vs if v is not None]
        least = 0.0 if self._noisy else min(values, default=0.0)
        low, high = nice_bounds(least, max(values, default=0.0))
        drawn = [
            (c.style, rows(vs, plot, low, high, dotted=c is not self._curves[0]))
            for c, vs in sampled
        ]
        at = int(self._mark / self._until * columns) if 0 <= self._mark <= self._until else -1
        for y in range(plot):
            label = high if y == 0 else low if y == plot - 1 else None
            text = "" if label is None else self._show(label)
            edge = "┤" if label is not None else "│"
            lines.append(
                [
                    TextSpan(fit(text, AXIS - 1, "right"), "muted"),
                    TextSpan(" " if plot < 2 else edge, "rule"),
                    *_overlay([(style, text[y]) for style, text in drawn], at),
                ]
            )
        lines.append(
            [
                TextSpan(" " * AXIS),
                *spread(
                    [TextSpan("0:00", "muted")],
                    [TextSpan(format.clock(self._until), "muted")],
                    columns,
                ),
            ]
        )
        return lines

    def _headline(self, width: int) -> Line:
        left = [TextSpan(self.title, "bold")]
        for i, curve in enumerate(self._curves):
            last = self._show(curve.points[-1][1]) if curve.points else format.NONE
            value = curve.value or last
            left.append(TextSpan("  "))
            if len(self._curves) > 1:
                left.append(TextSpan(("━ " if i == 0 else "┅ ") + curve.label + " ", curve.style))
            left.append(TextSpan(value, f"bold {curve.style}"))
        return [TextSpan(fit(left[0].text, width)) if width < 8 else left[0], *left[1:]]


def _overlay(layers: Sequence[tuple[str, str]], mark: int = -1) -> list[TextSpan]:
    """Braille rows on top of each other; common cells have the first one's colour.

    ``mark`` is the cell of a thin vertical line behind them.
    """
    out: list[TextSpan] = []
    for x, chars in enumerate(zip(*(text for _, text in layers), strict=True)):
        bits, style = 0, ""
        for (name, _), ch in zip(layers, chars, strict=True):
            if ch != " ":
                bits |= ord(ch) - 0x2800
                style = style or name
        text = chr(0x2800 + bits) if bits else "┊" if x == mark else " "
        style = style or ("rule" if x == mark else "")
        if out and out[-1].style == style:
            out[-1] = TextSpan(out[-1].text + text, style)
        else:
            out.append(TextSpan(text, style))
    return out
