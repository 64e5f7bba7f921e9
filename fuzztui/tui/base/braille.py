"""Curves and areas in braille dots: two columns and four rows of dots per cell. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, inf, log10
from typing import NamedTuple

from fuzztui.tui.base.timeaxis import TimeAxis

_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
BARS = " ▁▂▃▄▅▆▇█"
"""A cell with a bar, by its height in eighths."""

PATTERNS = (0x95, 0xFF, 0xD2)
"""Dots of a cell in the area of a first, second and third curve: a chequered half, all, every other
row."""

_COLUMNS = tuple(
    tuple(sum(side[4 - n :]) for n in range(5)) for side in _DOTS  # the lowest n dots
)  # fmt: skip

GROWTH_COLUMNS = 4
"""Columns of dots over which a growth is measured at least."""

Values = Sequence[float | None]


class Area(NamedTuple):
    """One curve as an area, by rows of cells, the top one first."""

    filled: list[list[int]]
    """All dots below the curve."""
    drawn: list[list[int]]
    """The dots of ``filled`` that are drawn: those in the pattern, and the curve itself."""


def resample(
    times: Sequence[float],
    values: Sequence[float],
    axis: TimeAxis,
    now: float,
    *,
    mean: bool = False,
) -> list[float | None]:
    """Return the value in each of the two columns of dots of a cell; None where it is unknown.

    A value holds until the next one. Of several values in one column the last one counts, with
    ``mean`` their mean. Times before the first point and after ``now`` are unknown. ``times`` must
    be in ascending order.
    """
    out: list[float | None] = []
    columns = 2 * axis.cells
    step = axis.step / 2
    i, n = 0, len(times)
    value: float | None = None
    while i < n and times[i] < axis.start:
        value = values[i]
        i += 1
    for c in range(columns):
        if axis.start + c * step > now:
            out.append(None)
            continue
        end = axis.start + (c + 1) * step if c + 1 < columns else now + 1
        total, seen = 0.0, 0
        while i < n and times[i] < end:
            value = values[i]
            total += value
            seen += 1
            i += 1
        out.append(total / seen if mean and seen else value)
    return out


def growth(
    times: Sequence[float], values: Sequence[float], axis: TimeAxis, now: float
) -> list[float | None]:
    """Return by how much a count grew per minute, in each column of dots.

    Measured over the minute before each column; over :data:`GROWTH_COLUMNS` if these are longer.
    Between two points the count is taken to grow steadily. The first value does not count as
    growth, because the count before it is unknown.
    """
    column = axis.step / 2
    span = max(60.0, GROWTH_COLUMNS * column)
    moments = [min(now, axis.start + c * column) for c in range(1, 2 * axis.cells + 1)]
    new = interpolate(times, values, moments)
    old = interpolate(times, values, [t - span for t in moments])
    out: list[float | None] = []
    for c, (t, before, after) in enumerate(zip(moments, old, new, strict=True)):
        if after is None or axis.start + c * column > now:
            out.append(None)
            continue
        begin = times[0] if before is None else t - span
        grown = after - (values[0] if before is None else before)
        out.append(max(0.0, 60 * grown / max(t - begin, column)))
    return out


def interpolate(
    times: Sequence[float], values: Sequence[float], moments: Sequence[float]
) -> list[float | None]:
    """Return the values at ordered ``moments``, on lines between points; None before the first."""
    out: list[float | None] = []
    i, n = 0, len(times)
    for t in moments:
        while i < n and times[i] <= t:
            i += 1
        if i == 0:
            out.append(None)
        elif i == n:
            out.append(values[-1])
        else:
            part = (t - times[i - 1]) / (times[i] - times[i - 1])
            out.append(values[i - 1] + part * (values[i] - values[i - 1]))
    return out


def nice_bounds(low: float, high: float) -> tuple[float, float]:
    """Return round bounds around [low, high]; from 0 unless ``low`` is above half of ``high``.

    >>> nice_bounds(0, 93)
    (0.0, 100.0)
    >>> nice_bounds(812, 940)
    (800.0, 940.0)
    """
    if high <= 0 and low >= 0:
        return 0.0, 1.0
    base = low if high > low > 0.5 * high else 0.0
    spread = max(high - base, abs(high) * 1e-6, 1.0 if float(high).is_integer() else 1e-3)
    step = 10.0 ** floor(log10(spread))
    for divisor in (1, 2, 5, 20):
        if spread / (step / divisor) >= 4:
            step /= divisor
            break
    bottom = floor(base / step) * step
    top = -floor(-high / step) * step
    return float(bottom), float(top if top > bottom else bottom + step)


def calm_top(high: float) -> float:
    """Return an upper end of an axis that rarely changes while the values grow.

    >>> calm_top(93), calm_top(150), calm_top(2280)
    (100.0, 150.0, 3000.0)
    """
    if not 0 < high < inf:
        return 1.0
    unit = 10.0 ** floor(log10(high))
    return next(n * unit for n in (1, 1.5, 2, 3, 5, 7, 10, 15) if n * unit >= high)


def area(values: Values, height: int, low: float, high: float, pattern: int = 0xFF) -> Area:
    """Draw ``values`` (two per cell) as an area from ``low`` on, ``height`` rows of cells."""
    top = 4 * height - 1
    scale = top / (high - low) if high > low else 0.0
    # Levels: the number of dots in the column; 0: no value.
    levels = [0 if v is None else 1 + min(top, max(0, round((v - low) * scale))) for v in values]
    if len(levels) % 2:
        levels.append(0)
    left, right = levels[::2], levels[1::2]
    lefts, rights = _COLUMNS
    filled = []
    for base in range(4 * (height - 1), -1, -4):
        filled.append(
            [
                lefts[0 if a <= base else a - base if a - base < 4 else 4]
                | rights[0 if b <= base else b - base if b - base < 4 else 4]
                for a, b in zip(left, right, strict=True)
            ]
        )
    if pattern == 0xFF:
        return Area(filled, filled)
    drawn = [[bits & pattern for bits in row] for row in filled]
    last = 0
    for x, level in enumerate(levels):
        if level:  # the curve itself, with its steps upright
            first, final = (min(last, level), max(last, level)) if last else (level, level)
            for dot in range(first, final + 1):
                row, place = divmod(4 * height - dot, 4)
                drawn[row][x // 2] |= _DOTS[x % 2][place]
        last = level
    return Area(filled, drawn)


def bars(values: Values, high: float | None = None) -> str:
    """Return a sparkline, one cell per value, from 0 to ``high`` (default: the largest value)."""
    known = [v for v in values if v is not None]
    top = high if high is not None else max(known, default=0.0)
    out = []
    for value in values:
        if value is None or top <= 0:
            out.append(" ")
        else:
            level = round(value / top * 8)
            out.append(BARS[max(1 if value > 0 else 0, min(8, level))])
    return "".join(out)


def gauge(share: float, width: int) -> tuple[str, str]:
    """Return the full and the empty part of a bar in half cells, ``width`` cells together.

    The bar is empty only if ``share`` is 0, and full only if it is 1. Otherwise it lacks at least a
    whole cell, because in ASCII half a cell looks like a whole one.
    """
    if width <= 0:
        return "", ""
    share = min(1.0, max(0.0, share))
    halves = round(share * width * 2)
    if share < 1:
        halves = min(halves, max(1, 2 * (width - 1)))
    if share > 0:
        halves = max(halves, 1)
    full = "━" * (halves // 2) + ("╸" if halves % 2 else "")
    return full, "─" * (width - len(full))
