"""The few statistics that the benchmarks report, and tables of them."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterable, Sequence

_RESAMPLES = 2000


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95% confidence interval of the median, by the percentile bootstrap with a fixed seed."""
    rng = random.Random(0)
    medians = [statistics.median(rng.choices(values, k=len(values))) for _ in range(_RESAMPLES)]
    return percentile(medians, 0.025), percentile(medians, 0.975)


def median(values: Iterable[float]) -> float:
    """The median; NaN of no values, which a smoke run on a busy machine may have."""
    found = list(values)
    return statistics.median(found) if found else math.nan


def ratio(figure: float, base: float) -> float:
    """``figure / base``; NaN if the base did nothing in the short time of a smoke run."""
    return figure / base if base else math.nan


def relative(new: Sequence[float], old: Sequence[float]) -> float:
    """By how many percent the mean of ``new`` is above that of ``old``."""
    base = sum(old) / len(old)
    return 100 * (sum(new) / len(new) / base - 1) if base else 0.0


def holm(ps: Sequence[float]) -> list[float]:
    """The p of each of several tests, corrected for their number (Holm, 1979)."""
    corrected, least = [1.0] * len(ps), 0.0
    for done, at in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        least = max(least, min(1.0, (len(ps) - done) * ps[at]))
        corrected[at] = least
    return corrected


def percentile(values: Sequence[float], part: float) -> float:
    """The smallest value that at least ``part`` (0 to 1) of the values do not exceed.

    NaN if there are no values.
    """
    ordered = sorted(values)
    if not ordered:
        return math.nan
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)]


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table as text; the first column is aligned to the left, the others to the right."""
    cells = [[str(c) for c in row] for row in (heads, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    )
