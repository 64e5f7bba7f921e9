"""Statistics of two samples against values that are known from elsewhere."""

import math
from itertools import combinations, permutations, product

import pytest

from fuzztui.tools.report.two_samples import (
    a12,
    effect,
    exact_p,
    mann_whitney,
    quartiles,
    rank_p,
    smallest_p,
)

MALES, FEMALES = [19, 22, 16, 29, 24], [20, 11, 17, 12]
"""The example of scipy.stats.mannwhitneyu."""


def test_the_exact_test_agrees_with_scipy():
    assert exact_p(MALES, FEMALES) == pytest.approx(1 / 9)
    assert exact_p(FEMALES, MALES) == pytest.approx(1 / 9)
    assert exact_p([1, 2, 3], [4, 5, 6]) == pytest.approx(0.1)
    assert exact_p(range(5), range(5, 10)) == pytest.approx(2 / 252)


def test_the_approximation_agrees_with_scipy():
    assert mann_whitney(MALES, FEMALES) == pytest.approx(0.11134688653314041)


def test_the_exact_test_with_ties_counts_all_divisions():
    a, b = [1, 2, 2, 5], [2, 3, 3, 5, 5]
    values = a + b

    def distance(chosen):
        rest = [values[i] for i in range(9) if i not in chosen]
        return abs(a12([values[i] for i in chosen], rest) - 0.5)

    observed = distance(range(4))
    all_ = [distance(chosen) for chosen in combinations(range(9), 4)]
    far = sum(one >= observed - 1e-12 for one in all_)
    assert exact_p(a, b) == pytest.approx(far / len(all_))


def test_small_samples_are_tested_exactly():
    assert rank_p([1, 2, 3], [4, 5, 6]) == pytest.approx(smallest_p(3, 3)) == pytest.approx(0.1)
    large = list(range(40)), list(range(3, 44))
    assert rank_p(*large) == mann_whitney(*large)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 1), (1, 4), (3, 3), (2, 4)])
def test_no_samples_have_a_smaller_p_than_the_limit(n, m):
    ps = {True: [], False: []}
    for values in product(range(4), repeat=n + m):
        ps[True].append(rank_p(values[:n], values[n:]))
    for order in permutations(range(n + m)):
        ps[False].append(rank_p(order[:n], order[n:]))
    for ties, found in ps.items():
        assert min(found) == pytest.approx(smallest_p(n, m, ties=ties))


def test_nothing_to_compare_is_no_difference():
    assert rank_p([], [1, 2]) == 1.0
    assert rank_p([4, 4, 4], [4, 4]) == 1.0
    assert math.isnan(a12([], [1]))
    assert effect(a12([], [1])) == ""


def test_the_effect_size_is_a_probability():
    assert a12([2, 3], [1, 1]) == 1.0
    assert a12([1, 2, 3], [1, 2, 3]) == 0.5
    assert a12(MALES, FEMALES) == pytest.approx(17 / 20)
    assert a12(FEMALES, MALES) == pytest.approx(3 / 20)


@pytest.mark.parametrize(
    ("size", "name"),
    [
        (0.5, "negligible"), (0.45, "negligible"), (0.56, "small"), (0.44, "small"),
        (0.64, "medium"), (0.36, "medium"), (0.71, "large"), (0.29, "large"), (0.0, "large"),
    ],
)  # fmt: skip
def test_effects_are_named_by_the_bounds_of_vargha_and_delaney(size, name):
    assert effect(size) == name


def test_quartiles_are_interpolated():
    assert quartiles([1, 2, 3, 4, 5]) == (2, 3, 4)
    assert quartiles([1, 2]) == (1.25, 1.5, 1.75)
    assert quartiles([7]) == (7, 7, 7)
    assert all(map(math.isnan, quartiles([])))
