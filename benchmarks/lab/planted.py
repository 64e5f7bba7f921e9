"""Ten ``@given`` tests with planted bugs, on which minimising is measured (minimise_hypothesis.py).

Fixed before the passes of the minimiser were written: do not change one to make it easier. Each
call of a test is counted in the file that ``PLANTED_CALLS`` names, which processes share. The
smallest failing example by Hypothesis' own order is kept in :data:`smallest`.
"""

from __future__ import annotations

import datetime
import mmap
import os
from pathlib import Path
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.control import current_build_context
from hypothesis.internal.conjecture.shrinker import sort_key

_SIZE: Final = 8

smallest: list[Any] = []
"""Of the failing examples since :func:`reset`: the key of the smallest one, and its values."""


def _counter() -> mmap.mmap:
    file = os.environ.get("PLANTED_CALLS")
    if file is None:
        return mmap.mmap(-1, _SIZE)
    with Path(file).open("r+b") as f:
        return mmap.mmap(f.fileno(), _SIZE)


_calls = _counter()


def calls() -> int:
    """Calls of any of the tests since :func:`reset`."""
    return int.from_bytes(_calls[:_SIZE], "big")


def reset() -> None:
    """Forget the calls and the smallest example."""
    _calls[:_SIZE] = bytes(_SIZE)
    smallest.clear()


def check(bug: bool, *values: Any) -> None:
    """Count a call of a test. Raises ``AssertionError`` if ``bug``."""
    _calls[:_SIZE] = (calls() + 1).to_bytes(_SIZE, "big")
    if bug:
        key = sort_key(current_build_context().data.nodes)
        if not smallest or key < smallest[0]:
            smallest[:] = [key, values]
        raise AssertionError(values)


@given(st.integers())
def test_threshold(n: int) -> None:
    check(n > 138_412_038, n)


@given(st.lists(st.integers(0, 1_000_000)))
def test_sum(xs: list[int]) -> None:
    check(sum(xs) > 1_500_000, xs)


@given(st.lists(st.integers()))
def test_duplicates(xs: list[int]) -> None:
    check(any(x >= 20 and xs.count(x) > 1 for x in xs), xs)


@given(st.lists(st.integers(-1000, 1000)))
def test_order(xs: list[int]) -> None:
    check(len(set(xs)) > 3 and xs != sorted(xs), xs)


@given(st.text())
def test_text(text: str) -> None:
    check("@" in text and len(text) > 3, text)


@given(st.dictionaries(st.text("abcdefgh", min_size=1), st.integers()))
def test_dictionary(numbers: dict[str, int]) -> None:
    check(len(numbers) > 1 and any(v > 9_999 for v in numbers.values()), numbers)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_floats(xs: list[float]) -> None:
    check(any(x > 1234.5 for x in xs) and any(x < -10 for x in xs), xs)


@given(st.lists(st.lists(st.integers())))
def test_nested(xss: list[list[int]]) -> None:
    check(sum(map(len, xss)) > 5 and any(x > 500 for xs in xss for x in xs), xss)


@given(st.dates(), st.dates())
def test_dates(first: datetime.date, last: datetime.date) -> None:
    check((last - first).days > 400 and last.month == 7, first, last)


@given(st.integers(0, 100_000), st.integers(0, 100_000))
def test_related(a: int, b: int) -> None:
    check(abs(a - b) < 100 and a > 5_000, a, b)


TESTS: Final = tuple(name for name in list(globals()) if name.startswith("test_"))
