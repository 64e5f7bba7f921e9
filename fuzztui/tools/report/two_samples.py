"""Statistics of repeated runs: whether one sample of a figure tends to be above another.

For ``fuzztui compare`` and the benchmarks. Fuzzers are compared with several runs each, by a rank
test and an effect size (Klees et al.: Evaluating Fuzz Testing, CCS 2018).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import groupby
from typing import Final

MAX_EXACT: Final = 40
"""Size of both samples together up to which :func:`rank_p` counts all orders: 10 ms."""

NEGLIGIBLE: Final = "negligible"
_EFFECTS: Final = ((0.56, NEGLIGIBLE), (0.64, "small"), (0.71, "medium"))
"""Bounds of A12, counted from 0.5 upwards (Vargha and Delaney, 2000)."""


def rank_p(a: Sequence[float], b: Sequence[float]) -> float:
    """Two-sided p of the Mann-Whitney U test: exact for small samples, also with ties."""
    if not a or not b:
        return 1.0
    return exact_p(a, b) if len(a) + len(b) <= MAX_EXACT else mann_whitney(a, b)


def smallest_p(n: int, m: int, *, ties: bool = False) -> float:
    """Return the smallest p that samples of ``n`` and ``m`` values can have.

    Without ties the division with all low values in one sample is as far from the mean as that
    with all high values in it. ``ties``: values may be equal; then one of the two may be nearer,
    except between samples of one size, where each division has its mirror image.
    """
    ways = 1 if ties and n != m else 2
    return min(1.0, ways / math.comb(n + m, n))


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
        return 1.0  # all values are equal
    distance = abs(ranks - n * (n + 1) / 2 - n * m / 2) - 0.5
    return math.erfc(max(0.0, distance) / math.sqrt(2 * variance))


def exact_p(a: Sequence[float], b: Sequence[float]) -> float:
    """Two-sided p of the U test over all ways to divide the values among the samples.

    That is the share of the ways whose rank sum is at least as far from the mean. Ties need no
    correction. Takes time with the third power of the sizes.
    """
    n, m = len(a), len(b)
    values = sorted([(x, 0) for x in a] + [(x, 1) for x in b])
    ways: list[dict[int, int]] = [{0: 1}, *({} for _ in range(n))]
    """By how many values were taken: how many ways lead to each sum of doubled ranks."""
    observed, at = 0, 0
    for _, group in groupby(values, key=lambda pair: pair[0]):
        members = list(group)
        doubled = 2 * at + len(members) + 1  # twice the mean rank of equal values
        observed += doubled * sum(1 for _, which in members if which == 0)
        at += len(members)
        for _ in members:
            for taken in range(n, 0, -1):
                for ranks, count in ways[taken - 1].items():
                    ways[taken][ranks + doubled] = ways[taken].get(ranks + doubled, 0) + count
    mean = n * (n + m + 1)  # doubled, as the ranks
    distance = abs(observed - mean)
    far = sum(count for ranks, count in ways[n].items() if abs(ranks - mean) >= distance)
    return far / math.comb(n + m, n)


def a12(a: Sequence[float], b: Sequence[float]) -> float:
    """Vargha and Delaney's effect size: how often a value of ``a`` is above one of ``b``.

    0.5: no difference; 1: every one is above. Equal values count half. NaN without values.
    """
    if not a or not b:
        return math.nan
    above = sum((x > y) + (x == y) / 2 for x in a for y in b)
    return above / (len(a) * len(b))


def effect(size: float) -> str:
    """Return what an A12 is called: negligible, small, medium or large."""
    if math.isnan(size):
        return ""
    away = 0.5 + abs(size - 0.5)
    return next((name for bound, name in _EFFECTS if away < bound - 1e-9), "large")


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """The lower quartile, the median and the upper quartile, interpolated; NaN of no values."""
    if not values:
        return math.nan, math.nan, math.nan
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high
