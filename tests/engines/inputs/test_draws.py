"""Draws: noted as values, made again from them, and lowered to the simplest failing ones."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzztui.engines.generators import generator
from fuzztui.engines.inputs.attempts import Attempt
from fuzztui.engines.inputs.constants import ConstantPool
from fuzztui.engines.inputs.draws import NotingSource
from fuzztui.engines.inputs.simplify import Simplifier
from fuzztui.engines.inputs.source import Rejected, Source
from fuzztui.engines.process.input_runner import NotedInput, draws_of

POOL = ConstantPool(["need", "abc"], [b"xy", b"long"], [0, 7, 300, -5, 1 << 40])

PRIMITIVES = st.one_of(
    st.integers(),
    st.integers(-5, 7),
    st.integers(3, 100_000),
    st.integers(max_value=-10),
    st.booleans(),
    st.floats(),
    st.floats(-2, 3),
    st.text(),
    st.text("abc", max_size=20),
    st.text("ab", max_size=4),
    st.binary(),
    st.dates(),
    st.sampled_from("abcdef"),
    st.lists(st.integers(0, 9), unique=True),
)


@generator
def gen_own(r: Source) -> list[object]:
    made: list[object] = [r.integer(0, 40), r.integer(-1000, 1 << 40), r.text("abcden", 0, 9)]
    made += [r.bytes(2), r.bytes(3, each=True), r.boolean(), r.real(-1, 1)]
    return made + [r.choose("xyz") for _ in r.more(1, 5)]


@given(st.binary(min_size=300, max_size=300), st.booleans())
@settings(deadline=None)
def test_each_value_is_made_again_from_its_bytes(data: bytes, magic: bool) -> None:
    for make in (gen_own, lambda r: r.draw(st.lists(PRIMITIVES))):

        def source(data: bytes) -> NotingSource:
            return NotingSource(data, 1 << 16, bytes, POOL if magic else None)

        first = source(data)
        try:
            made = make(first)
        except Rejected:
            continue
        draws, _ = draws_of({"draws": first.notes})
        parts = [draw.encode(draw.value) for draw in draws]
        known = [part for part in parts if part is not None]
        assert len(parts) == len(known)
        again = source(b"".join(known))
        assert repr(make(again)) == repr(made)
        assert again.drawn() == b"".join(known)
        assert first.drawn()[draws[-1].end :] == b"" if draws else True
        assert [d.start for d in draws[1:]] == [d.end for d in draws[:-1]]


class Search:
    """A strategy and what fails, without the engine's processes. ``calls``: of the test."""

    def __init__(self, strategy: Any, fails: Callable[[Any], bool], constants: Any = ()) -> None:
        self.short, self.calls = False, 0
        self.fails, self.constants = fails, constants
        self.form = NotedInput(lambda r: r.draw(strategy), 1 << 16, self.more)

    def more(self, n: int) -> bytes:
        self.short = True
        raise Rejected

    def attempt(self, data: bytes) -> Attempt:
        self.short = alike = False
        try:
            made = self.form.build(data)
            self.calls += 1
            alike = self.fails(made)
        except Rejected:
            pass
        return Attempt(alike, self.form.used(data), *draws_of(self.form.notes), self.short)

    def smallest(self, seed: int) -> Any:
        rng = random.Random(seed)
        found = (self.attempt(rng.randbytes(900)) for _ in iter(int, 1))
        first = next(attempt for attempt in found if attempt.alike)
        self.calls = 0
        simplifier = Simplifier(
            first, self.attempt, lambda data, like: self.attempt(data), constants=self.constants
        )
        simplifier.run()
        return self.form.build(simplifier.best.data)


TREES: Any = st.recursive(st.integers(0, 99), lambda t: st.tuples(t, t), max_leaves=20)


def depth(tree: Any) -> int:
    inner = isinstance(tree, tuple | list)
    return 1 + max(map(depth, tree), default=0) if inner else 0


def far(pair: tuple[int, int]) -> bool:
    return abs(pair[0] - pair[1]) < 100 and pair[0] > 5000


CASES: dict[str, tuple[Any, Callable[[Any], bool], Any]] = {
    "threshold": (st.integers(), lambda n: n > 138_412_038, 138_412_039),
    "negative": (st.integers(), lambda n: n < -70_000, -70_001),
    "sum": (st.lists(st.integers(0, 1000)), lambda xs: sum(xs) > 1500, [501, 1000]),
    "twice": (st.lists(st.integers(0, 200)), lambda xs: any(x > 99 and xs.count(x) > 1 for x in xs),
              [100, 100]),
    "unsorted": (st.lists(st.integers(0, 99)), lambda xs: sorted(xs) != xs, [1, 0]),
    "together": (st.tuples(st.integers(0, 99_999), st.integers(0, 99_999)), far, (5001, 4902)),
    "text": (st.text(), lambda s: "@" in s and len(s) > 3, "000@"),
    "real": (st.floats(), lambda x: x > 1234.5, 1235.0),
    "fraction": (st.floats(0, 1), lambda x: x > 0.5 and x != 1, None),
    "tree": (TREES, lambda t: depth(t) > 1, (0, (0, 0))),
    "bytes": (st.binary(), lambda b: b"\7" in b, b"\7"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_to_the_simplest(case: str) -> None:
    strategy, fails, simplest = CASES[case]
    for seed in range(3):
        search = Search(strategy, fails)
        made = search.smallest(seed)
        assert fails(made)
        assert simplest is None or made == simplest
        assert search.calls < 300


def test_other_branches_get_the_same_values() -> None:
    """Some datetimes are drawn near those at which clocks change, from other ranges."""
    search = Search(st.datetimes(), lambda t: t.hour == 23 and t.minute > 40)
    assert search.smallest(0) == datetime.datetime(2000, 1, 1, 23, 41)


@pytest.mark.parametrize("seed", [5, 10])
def test_what_is_missing_after_a_change_is_zero(seed: int) -> None:
    """A list of the largest size draws no choice that ends it."""
    trees = st.recursive(st.integers(0, 9), lambda t: st.lists(t, max_size=3), max_leaves=20)
    assert Search(trees, lambda t: depth(t) > 2).smallest(seed) == [[[]]]


def test_constants_of_comparisons_save_calls() -> None:
    def lower(*constants: int) -> int:
        search = Search(st.integers(), lambda n: n > 138_412_038, constants)
        assert search.smallest(1) == 138_412_039
        return search.calls

    assert 3 * lower(5, 138_412_038, 1 << 60) < lower()


def test_nothing_is_tried_twice_whatever_is_left_over() -> None:
    tried: list[str] = []

    def fails(xs: list[int]) -> bool:
        tried.append(repr(xs))
        return len(xs) > 2 and xs[0] > 30

    search = Search(st.lists(st.integers(0, 99)), fails)
    search.smallest(1)
    mine = tried[-search.calls :]
    assert len(set(mine)) > 0.8 * len(mine)
