"""The few statistics that the benchmarks report, and tables of them."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterable, Sequence
from itertools import groupby

_RESAMPLES = 2000


def mann_whitney(a: Sequence[float], b: Sequence[float]) -> float:
    """Two-sided p of the Mann-Whitney U test: normal approximation, corrected for ties."""
    n, m = len(a), len(b)
    values = sorted([(x, 0) for x in a] + [(x, 1) for x in b])
    ranks, ties, at = 0.0, 0, 0
    for _, group in groupby(values, key=lambda pair: pair[0]):
        members = list(group)
        size = len(members)
        ranks += sum(1 for _, which in members if which == 0) * (at + (size + 1) / 2)
        ties += size**3 - size
        at += size
    total = n + m
    if not n or not m or total < 2:
        return 1.0
    variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance <= 0:
        return 1.0  # anyway
    distance = abs(ranks - n * (n + 1) / 2 - n * m / 2) - 0.5
    return math.erfc(max(0.0, distance) / math.sqrt(2 * variance))


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Of the median: 95% by the percentile bootstrap. The same values, the same interval."""
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


def percentile(values: Sequence[float], part: float) -> float:
    """The smallest value that at least ``part`` (0 to 1) of the values do not exceed, or NaN."""
    ordered = sorted(values)
    if not ordered:
        return math.nan
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)]


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns as wide as they need to be; the first to the left, the others to the right."""
    cells = [[str(c) for c in row] for row in (heads, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    )
