"""Charts as SVG within HTML, without any script.

The SVG has lines only and is stretched to the width of the page; the labels are HTML around it, so
that they keep the size of other text on a phone and on paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from fuzztui.kernel.base.page import ChartLine, PageChart, moment, thinned

WIDTH, HEIGHT = 1000, 200
"""The inner size of a chart: only a ratio, the page decides."""

COLOURS: Final = 8
DASHES: Final = ("", "7 4", "2 3", "9 3 2 3")
"""Lines of the same colour differ in their dashes."""

_TICKS: Final = 4
_STEPS: Final = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


def axis_of(most: float) -> tuple[float, int]:
    """Return the top of an axis, and how many parts it has, for whole numbers up to ``most``."""
    if not _TICKS < most < math.inf:
        parts = max(1, math.ceil(most)) if most <= _TICKS else _TICKS
        return float(parts), parts
    step = most / _TICKS
    power = 10.0 ** math.floor(math.log10(step))
    steps = (s * power for s in _STEPS if s * power == int(s * power))
    return _TICKS * next((s for s in steps if s >= step * (1 - 1e-9)), 10 * power), _TICKS


def axis_number(number: float) -> str:
    """Format a number at an axis: ``1.5M``, ``200k``, ``12``."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"


def chart(of: PageChart, escape: Callable[[str], str]) -> Iterator[str]:
    """Yield the lines of a chart's HTML; ``escape``: makes untrusted text safe."""
    end = of.end_s if of.end_s > 0 else 1.0
    most = max((v for line in of.lines for v in line.values if math.isfinite(v)), default=0.0)
    top, parts = axis_of(most)
    yield '<figure class="chart">'
    yield f"<figcaption>{escape(of.title)}{''.join(_legend(of, escape))}</figcaption>"
    yield '<div class="plot">'
    for n in range(parts + 1):
        at = 100 * (1 - n / parts)
        label = axis_number(top * n / parts)
        yield f'<span class="y" style="top:{at:g}%">{escape(label)}</span>'
    spoken = escape(f"{of.title} until {moment(of.end_s, of.end_s)}: {_last_values(of)}")
    yield (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img" '
        f'aria-label="{spoken}">'
    )
    grid = "".join(f"M0 {HEIGHT * n // parts}H{WIDTH}" for n in range(parts + 1))
    yield f'<path class="grid" d="{grid}"/>'
    for t, _ in of.marks:
        yield f'<path class="mark" d="M{_x(t, end)} 0V{HEIGHT}"/>'
    for n, line in enumerate(of.lines):
        if path := _path(line, end, top):
            dash = _dash(of.lines, n)
            dashes = f' stroke-dasharray="{dash}"' if dash else ""
            yield f'<path class="c{line.colour % COLOURS}"{dashes} d="{path}"/>'
    yield "</svg>"
    for t, name in of.marks:
        side = "right" if t > end / 2 else "left"
        at = 100 * (1 - t / end) if side == "right" else 100 * t / end
        yield f'<span class="m" style="{side}:{at:.1f}%">{escape(name)}</span>'
    yield "</div>"
    times = (escape(moment(end * n / _TICKS, end)) for n in range(_TICKS + 1))
    yield f'<div class="x">{"".join(f"<span>{time}</span>" for time in times)}</div>'
    yield "</figure>"


def _legend(of: PageChart, escape: Callable[[str], str]) -> Iterator[str]:
    if of.legend:
        for name, colour in of.legend:
            yield f' <span class="k k{colour % COLOURS}">{escape(name)}</span>'
        return
    for n, line in enumerate(of.lines):
        last = f" {line.values[-1]:,.0f}" if line.values else ""
        if not line.name:
            yield f'<span class="last"><b>{escape(last)}</b></span>'
            continue
        dash = " dashed" if _dash(of.lines, n) else ""
        yield (
            f' <span class="k k{line.colour % COLOURS}{dash}">{escape(line.name)}'
            f"<b>{escape(last)}</b></span>"
        )


def _dash(lines: Sequence[ChartLine], n: int) -> str:
    earlier = sum(other.colour % COLOURS == lines[n].colour % COLOURS for other in lines[:n])
    return DASHES[earlier % len(DASHES)]


def _last_values(of: PageChart) -> str:
    if len(of.lines) > COLOURS:
        return f"{len(of.lines)} lines"
    return ", ".join(f"{x.name} {x.values[-1]:,.0f}" for x in of.lines if x.values)


def _x(t: float, end: float) -> str:
    return f"{min(max(t / end, 0.0), 1.0) * WIDTH:.0f}"


def _path(line: ChartLine, end: float, top: float) -> str:
    """A line of steps: between two points the earlier value holds, and the last one to the end.

    A smooth line goes straight from point to point.
    """
    steps: list[str] = []
    before = ""
    for t, value in thinned(line.times, line.values):
        if not math.isfinite(value):
            continue
        y = f"{HEIGHT * (1 - min(max(value / top, 0.0), 1.0)):.1f}".removesuffix(".0")
        if not steps:
            steps.append(f"M{_x(t, end)} {y}")
        elif line.is_smooth:
            steps.append(f"L{_x(t, end)} {y}")
        elif y != before:
            steps.append(f"H{_x(t, end)}V{y}")
        before = y
    return "".join(steps) + f"H{WIDTH}" if steps else ""
