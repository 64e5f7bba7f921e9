"""Whatever the choices are, the values that Hypothesis gets keep to what it has asked for."""

from __future__ import annotations

import datetime
import math
import random
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture.provider_conformance import run_conformance_test
from hypothesis.internal.intervalsets import IntervalSet
from spoton_lab import Bench

from fuzztui.engines.inputs.constants import ConstantPool
from fuzztui.engines.inputs.source import Rejected, Source
from fuzztui.engines.inputs.typed import Typed, TypeStacks
from fuzztui.engines.strategies import from_strategy, from_type, values
from fuzztui.engines.strategies.making import Backend, SpanBackend

MAGIC = ConstantPool(
    ["", "a", "fade", "übel", "x" * 40], [b"", b"PK\3\4", b"\0" * 9], [0, 7, 2008, -5, 1 << 70]
)


def source(data: bytes, magic: ConstantPool | None = None) -> Source:
    return Source(data, 1 << 20, random.Random(data).randbytes, magic)


sources = st.builds(source, st.binary(max_size=40), st.sampled_from([None, MAGIC]))
numbers = st.integers(-(1 << 130), 1 << 130) | st.integers(-300, 300)


@given(sources, st.none() | numbers, st.none() | numbers, numbers)
def test_integers(s: Source, low: int | None, high: int | None, origin: int) -> None:
    if low is not None and high is not None and low > high:
        low, high = high, low
    value = values.integer(s, low, high, None, origin)
    assert low is None or value >= low
    assert high is None or value <= high


@given(sources, st.integers(-5, 5), st.integers(200, 900))
def test_weighted_integers(s: Source, low: int, width: int) -> None:
    weights = {low: 2 / 128, low + 1: 1 / 128, low + width: 0.5}
    assert low <= values.integer(s, low, low + width, weights) <= low + width


def test_weights_are_about_probabilities() -> None:
    s = source(b"weights")
    met = [values.integer(s, 0, 1 << 40, {3: 0.25, 4: 0.5}) for _ in range(4000)]
    assert 800 < met.count(3) < 1300
    assert 1700 < met.count(4) < 2300


@given(sources, st.floats(0, 1))
def test_booleans(s: Source, p: float) -> None:
    value = values.boolean(s, p)
    assert isinstance(value, bool)
    assert p not in (0.0, 1.0) or value is bool(p)


def test_booleans_are_as_probable_as_they_are_said_to_be() -> None:
    s = source(b"booleans")
    for p in (0.001, 0.02, 0.3, 0.5, 0.9, 0.99):
        share = sum(values.boolean(s, p) for _ in range(20_000)) / 20_000
        assert abs(share - p) < 0.02


@pytest.mark.slow
@settings(max_examples=500)
@given(
    sources,
    st.floats(allow_nan=False),
    st.floats(allow_nan=False),
    st.booleans(),
    st.sampled_from([5e-324, 2.2250738585072014e-308, 1e-9, 1.0]),
)
def test_reals(s: Source, low: float, high: float, nan: bool, smallest: float) -> None:
    low, high = sorted((low, high), key=lambda v: (v, math.copysign(1, v)))
    for bound in (low, high):
        if 0 < abs(bound) < smallest:
            return  # no bound that Hypothesis would give
    for _ in range(20):
        value = values.real(s, low, high, nan, smallest)
        if math.isnan(value):
            assert nan
            continue
        assert low <= value <= high
        assert value == 0 or abs(value) >= smallest
        if value == low == 0:
            assert math.copysign(1, value) >= math.copysign(1, low)
        if value == high == 0:
            assert math.copysign(1, value) <= math.copysign(1, high)


@given(
    sources,
    st.lists(st.tuples(st.integers(0, 0x2000), st.integers(0, 300)), max_size=3),
    st.integers(0, 50),
    st.integers(0, 60) | st.just(10**10),
)
def test_texts(s: Source, spans: list[tuple[int, int]], low: int, room: int) -> None:
    intervals = IntervalSet(())
    for begin, width in spans:
        intervals = intervals.union(IntervalSet(((begin, begin + width),)))
    if not len(intervals):
        low = 0
    value = values.text(s, intervals, low, low + room)
    assert (low <= len(value) <= low + room) or not len(intervals)
    assert all(c in intervals for c in value)


@given(sources, st.integers(0, 50), st.integers(0, 60) | st.just(10**10))
def test_blocks(s: Source, low: int, room: int) -> None:
    value = values.block(s, low, low + room)
    assert isinstance(value, bytes)
    assert low <= len(value) <= low + room


def test_constants_are_drawn_where_they_fit() -> None:
    s = source(b"constants", MAGIC)
    ascii_only = IntervalSet(((97, 122),))
    assert "fade" in {values.text(s, ascii_only, 2, 8) for _ in range(50)}
    assert "übel" not in {values.text(s, ascii_only, 2, 8) for _ in range(200)}
    assert 2008 in {values.integer(s, 1, 9999) for _ in range(50)}
    assert b"PK\3\4" in {values.block(s, 1, 8) for _ in range(50)}
    # Not where Hypothesis chooses among alternatives.
    assert sum(values.integer(s, 0, 20) == 7 for _ in range(2100)) < 200


@pytest.mark.slow
@pytest.mark.parametrize("magic", [None, MAGIC])
def test_hypothesis_own_test_of_backends(magic: ConstantPool | None) -> None:
    def made(data: bytes) -> Source:
        return source(data, magic)

    run_conformance_test(
        Backend,
        provider_kw={"source": st.binary(max_size=16).map(made)},
        settings=settings(max_examples=30, suppress_health_check=list(HealthCheck)),
    )


@pytest.mark.slow
def test_hypothesis_own_test_of_the_backend_with_scopes() -> None:
    def made(data: bytes) -> Typed:
        return Typed(data, 1 << 20, random.Random(data).randbytes, TypeStacks())

    run_conformance_test(
        SpanBackend,
        provider_kw={"source": st.binary(max_size=16).map(made)},
        settings=settings(max_examples=30, suppress_health_check=list(HealthCheck)),
    )


@dataclass
class Line:
    product: str
    number: int
    price: float


@dataclass
class Order:
    lines: list[Line]
    placed: datetime.date
    paid: datetime.date | None
    note: bytes


STRATEGIES = {
    "type": from_type(Order),
    "filter": from_strategy(st.lists(st.integers().filter(lambda n: n % 3))),
    "flatmap": from_strategy(st.integers(0, 9).flatmap(lambda n: st.text(min_size=n))),
    "unique": from_strategy(st.sets(st.dates(), min_size=2)),
    "recursive": from_strategy(
        st.recursive(st.none() | st.floats(), lambda c: st.lists(c) | st.dictionaries(st.text(), c))
    ),
    "odd": from_strategy(st.tuples(st.complex_numbers(), st.decimals(), st.datetimes())),
    "regex": from_strategy(st.from_regex(r"[a-z]{2,5}-\d+", fullmatch=True)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STRATEGIES)
def test_the_same_choices_make_the_same_thing(name: str) -> None:
    """Also by index, from a parent that is the same; zeros and what is cut off make something."""
    bench = Bench(STRATEGIES[name], MAGIC)
    rng = random.Random(name)
    made = 0
    for _ in range(30):
        try:
            data, value = bench.fresh()
        except Rejected:
            continue
        made += 1
        assert repr(bench.form.build(data)) == repr(value)
        annotated = bench.form.annotate(data)
        assert annotated.data == data
        again, same = bench.child(data, annotated)
        assert again == data
        assert repr(same) == repr(value)
        changed = bytearray(data)
        for _ in range(3):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        try:
            drawn, other = bench.child(bytes(changed), annotated)
        except Rejected:
            continue
        assert repr(bench.form.build(drawn)) == repr(other)
    assert made > 5


def test_a_child_may_discard_values() -> None:
    """It draws another one then; those after it are the parent's."""
    one = st.integers(0, 99).filter(lambda n: n % 3)
    bench = Bench(from_strategy(st.tuples(one, one, one)))
    parent = bench.form.annotate(b"\1\2\4")
    drawn, (first, second, last) = bench.child(b"\1\3\4", parent)
    assert (first, drawn[1], last) == (1, 3, 4)
    assert second % 3
