"""Lines in braille dots: two columns and four rows of dots per cell. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10

_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
_BARS = " ▁▂▃▄▅▆▇█"

Point = tuple[float, float]


def resample(points: Sequence[Point], t0: float, t1: float, columns: int) -> list[float | None]:
    """Return a step function's values at ``columns`` moments spread evenly over [t0, t1].

    A point's value holds until the next point; before the first one the value is None. Linear in
    ``points``, which are ordered by time.
    """
    out: list[float | None] = []
    i, value = 0, None
    n = len(points)
    step = (t1 - t0) / max(1, columns - 1)
    for c in range(columns):
        t = t0 + c * step
        while i < n and points[i][0] <= t + 1e-9:
            value = points[i][1]
            i += 1
        out.append(value)
    return out


def resample_mean(
    points: Sequence[Point], t0: float, t1: float, columns: int
) -> list[float | None]:
    """As :func:`resample`, but with the mean of the points since the previous moment, if any."""
    out: list[float | None] = []
    i, value = 0, None
    n = len(points)
    step = (t1 - t0) / max(1, columns - 1)
    for c in range(columns):
        t = t0 + c * step
        total, seen = 0.0, 0
        while i < n and points[i][0] <= t + 1e-9:
            value = points[i][1]
            total += value
            seen += 1
            i += 1
        out.append(total / seen if seen else value)
    return out


def nice_bounds(low: float, high: float) -> tuple[float, float]:
    """Return round bounds around [low, high]; from 0 unless ``low`` is above half of ``high``.

    >>> nice_bounds(0, 93)
    (0.0, 100.0)
    >>> nice_bounds(812, 940)
    (800.0, 950.0)
    """
    if high <= 0 and low >= 0:
        return 0.0, 1.0
    base = low if high > low > 0.5 * high else 0.0
    spread = max(high - base, abs(high) * 1e-6, 1.0 if float(high).is_integer() else 1e-3)
    step = 10.0 ** floor(log10(spread))
    for divisor in (1, 2, 4, 20):
        if spread / (step / divisor) >= 2:
            step /= divisor
            break
    bottom = floor(base / step) * step
    top = -floor(-high / step) * step
    return float(bottom), float(top if top > bottom else bottom + step)


def rows(
    values: Sequence[float | None], height: int, low: float, high: float, *, dotted: bool = False
) -> list[str]:
    """Draw a curve of ``values`` (two per cell) as ``height`` strings of braille, top first.

    ``dotted`` leaves out every other dot, so that a second curve differs by shape too.
    """
    width = (len(values) + 1) // 2
    cells = [[0] * width for _ in range(height)]
    levels = 4 * height - 1
    scale = levels / (high - low) if high > low else 0.0
    last: int | None = None
    for x, value in enumerate(values):
        if value is None:
            last = None
            continue
        y = min(levels, max(0, round((value - low) * scale)))
        first, final = (y, y) if last is None else (min(last, y), max(last, y))
        last = y
        for level in range(first, final + 1):
            if dotted and (x % 4 > 1 if first == final else level % 2):
                continue
            row, dot = divmod(levels - level, 4)
            cells[row][x // 2] |= _DOTS[x % 2][dot]
    return ["".join(chr(0x2800 + c) if c else " " for c in row) for row in cells]


def bars(values: Sequence[float | None], high: float | None = None) -> str:
    """Return a sparkline, one cell per value, from 0 to ``high`` (default: the largest value)."""
    known = [v for v in values if v is not None]
    top = high if high is not None else max(known, default=0.0)
    out = []
    for value in values:
        if value is None or top <= 0:
            out.append(" ")
        else:
            level = round(value / top * 8)
            out.append(_BARS[max(1 if value > 0 else 0, min(8, level))])
    return "".join(out)


def gauge(share: float, width: int) -> tuple[str, str]:
    """Return the full and the empty part of a bar in half cells, ``width`` cells together."""
    halves = round(min(1.0, max(0.0, share)) * width * 2)
    full = "━" * (halves // 2) + ("╸" if halves % 2 else "")
    return full, "─" * (width - len(full))
