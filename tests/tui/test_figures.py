"""Figures are short, never lie by rounding, and say when there are none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.kernel.base.text import ago, several
from fuzztui.tui.base import format


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (-1, "–"), (0, "0"), (99_999, "99,999"), (100_000, "100k"), (999_499, "999k"),
        (999_999, "1.00M"), (1_234_567, "1.23M"), (12_345_678_901, "12.3G"),
    ],
)  # fmt: skip
def test_counts(n, text):
    assert format.count(n) == text


@given(st.integers(0, 10**15))
def test_counts_fit_a_column(n):
    assert len(format.count(n)) <= 6


@given(st.floats(0, 1e12))
def test_rates_fit_a_column(x):
    assert len(format.rate(x)) <= 6


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (0, 10, "0.0%"), (1, 100_000, "<0.1%"), (99_999, 100_000, "99.9%"), (10, 10, "100%"),
        (994, 1000, "99%"), (996, 1000, "99%"), (1, 3, "33%"), (5, 100, "5.0%"), (-1, 5, "–"),
        (1, 0, "–"),
    ],
)  # fmt: skip
def test_percent_is_not_rounded_to_all_or_nothing(part, whole, text):
    assert format.percent(part, whole) == text


NUMBERS = st.one_of(
    st.floats(),
    st.integers(),
    st.integers(0, 2**63),
    st.sampled_from([10**400, -(10**400), 5e-324]),
)


@given(NUMBERS, NUMBERS)
def test_any_number_can_be_drawn_in_a_column(n, other):
    for draw in (format.count, format.rate, format.size):
        if draw is not format.count or isinstance(n, int):
            assert 0 < len(draw(n)) <= 6
    assert 0 < len(format.percent(n, other)) <= 6
    for draw in (format.span, format.brief, format.age, format.clock, ago):
        assert 0 < len(draw(n)) <= 18
    assert format.age_from(5, n)


def test_large_numbers_keep_their_unit():
    assert (format.count(2**63 - 1), format.count(10**21)) == ("9.22E", ">999E")
    assert (format.size(2**63 - 1), format.size(10**400)) == ("8.0E", ">999E")
    assert (format.rate(3e15), format.rate(10**400)) == ("3.00P", ">999E")
    assert (format.percent(10**6, 1), format.percent(1, 5e-324)) == (">9999%", ">9999%")


@given(st.integers(0, 10**12))
def test_sizes_fit_a_column(n):
    assert len(format.size(n)) <= 5


@pytest.mark.parametrize(
    ("seconds", "clock", "span", "brief"),
    [
        (0, "0:00:00", "0s", "0s"),
        (59.9, "0:00:59", "59s", "59s"),
        (61, "0:01:01", "1m 01s", "1m"),
        (3600, "1:00:00", "1h 00m", "1h"),
        (90061, "1d 01:01:01", "1d 01h", "1d"),
        (-5, "0:00:00", "0s", "0s"),
    ],
)
def test_times(seconds, clock, span, brief):
    assert (format.clock(seconds), format.span(seconds), format.brief(seconds)) == (
        clock,
        span,
        brief,
    )


def test_ages_move_in_steps_and_never_exaggerate():
    shown = [format.age(s) for s in (-1, 2.9, 3, 7, 10, 41, 59, 60, 119, 7300)]
    assert shown == ["0s", "0s", "3s", "5s", "10s", "40s", "50s", "1m", "1m", "2h"]
    # A whole day of looking at one age: this many repaints.
    assert len({format.age(s) for s in range(86400)}) < 100


def test_never_is_a_dash():
    assert format.ago(-1, 100) == "–"
    assert format.ago(40, 100) == "1m ago"


@pytest.mark.parametrize(
    ("n", "text"), [(0, "0 crashes"), (1, "1 crash"), (2, "2 crashes"), (1234, "1,234 crashes")]
)
def test_one_is_not_many(n, text):
    assert several(n, "crash", "crashes") == text
    assert several(n, "hang") == text.replace("crashes", "hangs").replace("crash", "hang")
