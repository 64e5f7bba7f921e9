"""Invariants of ``same`` over generated values."""

from __future__ import annotations

import copy
import random
from collections import OrderedDict, deque
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fuzztui.engines.findings import compare as module
from fuzztui.engines.findings import frozen
from fuzztui.engines.findings.compare import same


class Box:
    def __init__(self, x: Any) -> None:
        self.x = x


class Slot:
    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x


class WithEq:
    def __init__(self, x: Any) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return type(other) is WithEq and same(self.x, other.x)

    __hash__ = None  # type: ignore[assignment]


@dataclass
class Data:
    x: Any


class MyList(list):  # type: ignore[type-arg]
    pass


hashable = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.complex_numbers()
    | st.text(max_size=5)
    | st.binary(max_size=5)
    | st.decimals(allow_nan=True).filter(lambda d: not d.is_snan())
    | st.fractions(),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=5,
)

values = st.recursive(
    hashable | st.builds(bytearray, st.binary(max_size=4)),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(hashable, inner, max_size=4)
        | st.sets(hashable, max_size=4)
        | st.sets(st.builds(Box, hashable), max_size=4)
        | st.lists(inner, max_size=3).map(deque)
        | st.lists(inner, max_size=3).map(MyList)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3).map(OrderedDict)
        | st.tuples(inner, inner)
        | st.builds(Box, inner)
        | st.builds(Slot, inner)
        | st.builds(WithEq, inner)
        | st.builds(Data, inner)
        | st.builds(ValueError, inner, inner)
    ),
    max_leaves=12,
)


@given(values)
def test_a_copy_is_the_same(value: Any) -> None:
    assert same(value, copy.deepcopy(value))


@given(values)
def test_the_short_way_and_the_long_one_agree(value: Any) -> None:
    assert module._Comparison().settle([(value, copy.deepcopy(value))])


@given(values, values)
def test_the_short_way_finds_no_more(a: Any, b: Any) -> None:
    if module._same_plain_data(a, b):
        assert module._Comparison().settle([(a, b)])


@given(values, values)
def test_symmetric(a: Any, b: Any) -> None:
    assert same(a, b) == same(b, a)


@given(values, st.permutations(range(4)))
def test_order_counts_in_lists_only(value: Any, order: list[int]) -> None:
    keys = [f"k{n}" for n in range(4)]
    ours = dict.fromkeys(keys, value)
    theirs = {keys[n]: copy.deepcopy(value) for n in order}
    assert same(ours, theirs)
    assert same(OrderedDict(ours), OrderedDict(theirs)) == (list(order) == sorted(order))


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where leaves can be put that ``==`` or identity tells from all others."""
    found = [at] if at else []
    if isinstance(value, list | deque):
        for i, x in enumerate(value):
            found += paths(x, (*at, i))
    elif isinstance(value, dict):
        for k, x in value.items():
            found += paths(x, (*at, k))
    elif isinstance(value, Box | Slot | WithEq | Data):
        found += paths(value.x, (*at, "x"))
    return found


def put(value: Any, path: tuple[Any, ...], leaf: Any) -> Any:
    """What stood there before."""
    for step in path[:-1]:
        value = value.x if isinstance(value, Box | Slot | WithEq | Data) else value[step]
    if isinstance(value, Box | Slot | WithEq | Data):
        old, value.x = value.x, leaf
    else:
        old, value[path[-1]] = value[path[-1]], leaf
    return old


@given(values, st.data())
def test_one_changed_leaf_is_seen(value: Any, data: st.DataObject) -> None:
    value = [value]
    other = copy.deepcopy(value)
    path = data.draw(st.sampled_from(paths(value)))
    before = put(value, path, "one leaf")
    assert not same(value, other) or same(before, "one leaf")
    put(value, path, before)
    assert same(value, other)


@given(st.integers(-3, 3))
def test_numbers_that_are_equal_are_not_the_same(n: int) -> None:
    alike = [n, float(n), complex(n), Fraction(n), Decimal(n), *([bool(n)] if n in (0, 1) else [])]
    for i, a in enumerate(alike):
        for j, b in enumerate(alike):
            assert same(a, b) == (i == j)
            assert same({a: 1}, {b: 1}) == (i == j)
            assert same({a}, {b}) == (i == j)


@given(values, values)
def test_what_kills_a_mutant_is_what_fails_an_exported_test(a: Any, b: Any) -> None:
    """``same`` decides kills, ``described`` is what a test compares; texts follow from the rest,
    but for the order of sets in them.
    """
    assert frozen.described(copy.deepcopy(a), False) == frozen.described(a, False)
    assert same(a, b) == (frozen.described(a, False) == frozen.described(b, False))


@given(values, st.data())
def test_a_kill_by_one_part_is_what_fails_an_exported_test(value: Any, data: st.DataObject) -> None:
    value = [value]
    other = copy.deepcopy(value)
    leaf = data.draw(values)
    put(value, data.draw(st.sampled_from(paths(value))), leaf)
    assert same(value, other) == (frozen.described(value, False) == frozen.described(other, False))


@given(st.dictionaries(hashable, hashable, max_size=4), st.randoms())
def test_plain_values_are_compared_as_objects_are(value: Any, rng: random.Random) -> None:
    items = list(value.items())
    rng.shuffle(items)
    other = dict(items)
    assert frozen.same(value, other)
    assert same(value, other)
    assert frozen.described(value) == frozen.described(other)
