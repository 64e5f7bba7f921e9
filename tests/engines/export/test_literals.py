"""Values as expressions: each reads back as the same value, or there is none."""

from __future__ import annotations

import ast
import collections
import dataclasses
import datetime
import decimal
import enum
import math
import pathlib
import re
import sys
import uuid
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzztui.engines.export import frozen
from fuzztui.engines.export.literals import NoLiteral, literal, read
from fuzztui.engines.findings.compare import same
from fuzztui.export.recorded import is_expression


class Colour(enum.Enum):
    RED = 1


class Pair(NamedTuple):
    a: int
    b: list[int]


@dataclasses.dataclass
class Point:
    x: float
    tags: dict[str, Any] = dataclasses.field(default_factory=dict)


class Node:
    __slots__ = ("name", "next")

    def __init__(self, name: str) -> None:
        self.name, self.next = name, None


class Zone(datetime.tzinfo):
    """A tzinfo of a library: its datetimes have no expression."""

    def __init__(self, hours: int, name: str = "zone") -> None:
        self.hours, self.name = hours, name

    def utcoffset(self, dt: object) -> datetime.timedelta:
        return datetime.timedelta(hours=self.hours)

    def tzname(self, dt: object) -> str:
        return self.name

    def dst(self, dt: object) -> None:
        return None


HERE = __name__
HOUR = datetime.timezone(datetime.timedelta(hours=1))

VALUES = [
    None, ..., -7, 10**5000, 1.5, -0.0, math.inf, -math.inf, math.nan, [math.nan], complex(-0.0, 1),
    "it's", 'a"b', "'\"", "\ud800", "a\nb\nc", "x" * 500, b"\xff\n" * 9, (), (1,), set(), {1, 2},
    frozenset(), frozenset({(1, 2)}), bytearray(b"x"), {1: {2: [3]}}, [1, True, 1.0],
    datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC), datetime.time(3, 4, tzinfo=HOUR),
    datetime.datetime(2020, 1, 2, fold=1), datetime.date.min, decimal.Decimal("1.50"),
    decimal.Decimal("NaN"), uuid.UUID(int=5), pathlib.PurePosixPath("a/b"),
    collections.OrderedDict(b=1, a=2), collections.deque([1], 3), Colour.RED, {Colour.RED: 1},
    Pair(1, [2]), Point(1.5, {"a": Point(2.5)}), ValueError, re.compile("a"), object(), Node("n"),
    Point(math.nan), [Node("n")], (i for i in ()), datetime.UTC,
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda v: type(v).__name__)
def test_an_expression_reads_back_or_there_is_none(value: object) -> None:
    try:
        made = literal(value)
    except NoLiteral:
        assert type(value).__name__ in (
            *("type", "Pattern", "object", "Node", "generator", "list", "Point", "Decimal"),
            "timezone",
        )
        return
    names = {"datetime": datetime, "decimal": decimal, "uuid": uuid, "pathlib": pathlib}
    names |= {"collections": collections, HERE.partition(".")[0]: sys.modules[HERE]}
    assert same(eval(made.text, names), value)
    assert is_expression(made.text)
    if made.plain:
        assert same(ast.literal_eval(made.text), value)
    assert all(module in made.text for module in made.modules)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=12,
)


@settings(deadline=None)
@given(plain)
def test_plain_values_have_an_expression(value: object) -> None:
    text = literal(value).text
    assert same(eval(text, {}), value)
    assert frozen.same(value, eval(text, {}))
    assert all(len(line) <= 320 for line in text.splitlines())


@pytest.mark.parametrize(
    ("a", "b"),
    [(1, True), (1, 1.0), (0.0, -0.0), ([1], (1,)), ({1: 2}, {True: 2}), ({1}, {1.0}), ([], [1])],
)
def test_the_comparison_in_the_file_tells_types_apart(a: object, b: object) -> None:
    assert frozen.same(a, a)
    assert not frozen.same(a, b)
    assert not frozen.same([a], [b])


def test_objects_are_described_by_their_attributes() -> None:
    first, second = Node("a"), Node("a")
    assert frozen.described(first) == frozen.described(second)
    second.next = first
    assert frozen.described(first) != frozen.described(second)
    second.next = second
    assert "contains itself" in repr(frozen.described(second))
    assert frozen.described(ValueError("x")) != frozen.described(ValueError("y"))
    made = literal(frozen.described([first, {Colour.RED: Pair(1, [])}]))
    assert made.plain


NOON = datetime.datetime(2020, 1, 2, 12)


@pytest.mark.parametrize(
    ("value", "others"),
    [
        (
            NOON.replace(tzinfo=Zone(1)),
            [
                NOON.replace(tzinfo=Zone(2)), NOON.replace(tzinfo=Zone(1, "other")), NOON,
                NOON.replace(hour=13, tzinfo=Zone(1)), NOON.replace(tzinfo=HOUR),
                NOON.replace(tzinfo=Zone(99)), NOON.replace(tzinfo=Zone(1), fold=1),
            ],
        ),
        (NOON.replace(tzinfo=Zone(99)), [NOON.replace(hour=1, tzinfo=Zone(99))]),  # it raises
        (NOON.time().replace(tzinfo=Zone(1)), [NOON.time().replace(tzinfo=Zone(2))]),
        (NOON.date(), [NOON.date().replace(day=3), NOON]),
        (datetime.timedelta(1), [datetime.timedelta(2)]),
        (re.compile("a"), [re.compile("b"), re.compile("a", re.I)]),
        (range(3), [range(4)]),
    ],
    ids=lambda v: type(v).__name__,
)  # fmt: skip
def test_values_without_attributes_are_described_by_their_text(
    value: object, others: list[object]
) -> None:
    here = frozen.described([value])
    assert literal(here).plain
    assert frozen.same(here, frozen.described([value]))
    assert all(not frozen.same(here, frozen.described([other])) for other in others)


def test_a_text_with_an_address_is_no_description() -> None:
    assert frozen.described(object()) == frozen.described(object())
    assert frozen.described(iter([1])) == frozen.described(iter([2]))


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('x')", "(lambda: 1)()", "[x for x in y]", "a[0]", "f'{x}'",
        "1 + 1", "print(1)", "x", "os.system('x')", "*a", "a := 1", "", "1\n2", "(" * 300, "{**{}}",
    ],
)  # fmt: skip
def test_nothing_else_is_read(text: str) -> None:
    with pytest.raises((NoLiteral, RecursionError)):
        read(text, {})


@pytest.mark.parametrize(
    "text",
    ["(lambda: 1)()", "[x for x in y]", "a[0]", "f'{x}'", "1 + 1", "f()()", "", "1\n2", "(" * 999],
)
def test_nothing_else_comes_into_a_file(text: str) -> None:
    assert not is_expression(text)
