"""Values as expressions: each reads back as the same value, or there is none."""

from __future__ import annotations

import ast
import collections
import dataclasses
import datetime
import decimal
import enum
import functools
import math
import pathlib
import re
import sys
import threading
import types
import uuid
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzztui.engines.export.literals import NoLiteral, literal, read
from fuzztui.engines.findings import frozen
from fuzztui.engines.findings.compare import same
from fuzztui.tools.export.recorded import is_expression


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
def test_an_expression_reads_back_or_there_is_none(value):
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
def test_plain_values_have_an_expression(value):
    text = literal(value).text
    assert same(eval(text, {}), value)
    assert frozen.same(value, eval(text, {}))
    assert all(len(line) <= 320 for line in text.splitlines())


@pytest.mark.parametrize(
    ("a", "b"),
    [(1, True), (1, 1.0), (0.0, -0.0), ([1], (1,)), ({1: 2}, {True: 2}), ({1}, {1.0}), ([], [1])],
)
def test_the_comparison_in_the_file_tells_types_apart(a, b):
    assert frozen.same(a, a)
    assert not frozen.same(a, b)
    assert not frozen.same([a], [b])


def test_objects_are_described_by_their_attributes():
    first, second = Node("a"), Node("a")
    assert frozen.described(first) == frozen.described(second)
    second.next = first
    assert frozen.described(first) != frozen.described(second)
    assert frozen.described(ValueError("x")) != frozen.described(ValueError("y"))
    made = literal(frozen.described([first, {Colour.RED: Pair(1, [])}]))
    assert made.plain


class Number(int):
    """As a number of tomlkit: what it holds is in the builtin part."""


class Text(collections.UserString):
    @property
    def computed(self) -> int:
        return len(self.data) + SHIFT


SHIFT = 0


class Cyclic:
    def __init__(self, n: int) -> None:
        self.n, self.me = n, self
        self.parent: object = self


class Lazy:
    def __init__(self) -> None:
        self._cache: list[int] = []

    @property
    def items(self) -> list[int]:
        self._cache.append(1)
        return self._cache

    @property
    def broken(self) -> int:
        raise KeyError("no")

    @property
    def endless(self) -> Lazy:
        return Lazy()


@dataclasses.dataclass
class Unequal:
    """Its comparison leaves the field out, what is described does not."""

    n: int = dataclasses.field(compare=False)


def enclosed(n: int) -> Any:
    return lambda: n


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Number(1), Number(2)),
        ({"a": Number(1)}, {"a": Number(2)}),
        ([Cyclic(1)], [Cyclic(2)]),
        (Unequal(1), Unequal(2)),
        (enclosed(1), enclosed(2)),
        (Text("a"), Text("b")),
        (collections.Counter("aab"), collections.Counter("abb")),
        ({frozenset({Colour.RED}): 1}, {frozenset({Colour.RED}): True}),
        (collections.defaultdict(list, a=[Number(1)]), collections.defaultdict(list, a=[1])),
        (Pair(1, [Node("a")]), Pair(1, [Node("b")])),
        (memoryview(b"a"), memoryview(b"b")),
        ([Node("x" * 999 + "a")], [Node("x" * 999 + "b")]),
        ([*range(2000), Number(1)], [*range(2000), Number(2)]),
        (functools.partial(int, "1"), functools.partial(int, "2")),
    ],
)
def test_what_objects_hold_is_told_apart(one, other):
    ours = frozen.described(one)
    assert ours == frozen.described(one)
    assert ours != frozen.described(other)
    assert not frozen.unseen(ours)


def test_properties_and_texts_are_described(monkeypatch):
    value = Text("abc")
    before = frozen.described(value)
    monkeypatch.setattr(sys.modules[HERE], "SHIFT", 1)  # as a mutant of the property
    assert frozen.described(value) != before
    assert frozen.described(value, properties=False) == frozen.described(Text("abc"), False)
    lazy = Lazy()
    text = frozen.described(lazy)
    assert text == frozen.described(Lazy())
    assert "broken(): 'raises KeyError'" in text
    assert text.count("endless") == 1


def test_what_cannot_be_compared_is_marked():
    for value in ((i for i in ()), map(int, ()), threading.Lock(), [threading.Lock(), 1]):
        assert len(frozen.unseen(frozen.described(value))) == 1, value
    late = [*range(2000), threading.Lock()]
    assert len(frozen.unseen(frozen.described(late))) == 1
    assert not frozen.unseen(frozen.described(["(not compared)", 1]))


def test_depth_is_no_limit():
    def nest(end: int) -> object:
        value: Any = [end]
        for _ in range(3000):
            value = [value]
        return value

    assert not frozen.unseen(frozen.described(nest(1)))
    assert frozen.described(nest(1)) != frozen.described(nest(2))


def test_a_dict_has_no_order():
    one, other = [{"a": 1, Node("k"): 2, 3: [4]}, {3: [4], Node("k"): 2, "a": 1}]
    assert frozen.described(one) == frozen.described(other)
    assert frozen.described(one) != frozen.described({**one, 3: [5]})
    first, last = (collections.OrderedDict(p) for p in ([("a", 1), ("b", 2)], [("b", 2), ("a", 1)]))
    assert frozen.described(first) != frozen.described(last)
    assert not frozen.same(first, last)
    assert frozen.same(dict(first), dict(last))


class Proxy:
    """As a lazy object of a web framework."""

    def __init__(self, of: object) -> None:
        object.__setattr__(self, "of", of)

    __class__ = property(lambda self: type(self.of))  # type: ignore[assignment]

    def __getattr__(self, name: str) -> object:
        return getattr(self.of, name)


class Unset:
    """Answers for all attributes, also for a slot without a value."""

    __slots__ = ("of", "unset")

    def __init__(self, of: object) -> None:
        self.of = of

    def __getattr__(self, name: str) -> int:
        return 1


class Closed:
    def __init__(self, of: object) -> None:
        object.__setattr__(self, "of", of)

    def __getattribute__(self, name: str) -> object:
        raise RuntimeError(name)


@pytest.mark.parametrize("kind", [Proxy, Unset, Closed])
@pytest.mark.parametrize("pair", [(1, 2), ("a", "b"), ([1], [2]), ({"a": 1}, {"a": 2})], ids=str)
def test_what_an_object_pretends_to_be_does_not_hide_what_it_holds(kind, pair):
    one, other = map(kind, pair)
    assert frozen.described(one, False) == frozen.described(kind(pair[0]), False)
    assert frozen.described(one, False) != frozen.described(other, False)
    assert not same(one, other)


class Linked:
    def __init__(self, n: int) -> None:
        self.n = n
        self.near: set[Linked] = set()


def linked(*numbers: int) -> Linked:
    """Objects that know each other, in sets ordered by address."""
    made = [Linked(n) for n in numbers]
    for one in made:
        one.near = {other for other in made if other is not one}
    return made[0]


def test_sets_of_objects_that_know_each_other_are_described():
    assert frozen.described(linked(1, 2, 3, 4)) == frozen.described(linked(1, 4, 3, 2))
    assert frozen.described(linked(1, 2, 3, 4)) != frozen.described(linked(1, 2, 3, 5))


def test_parts_that_vary_are_left_out():
    one, other = Node("a"), Node("b")
    assert frozen.described(one, without=["name"]) == frozen.described(other, without=["name"])
    assert frozen.described([one], without=["next"]) != frozen.described([other], without=["next"])


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
def test_values_without_attributes_are_described_by_their_text(value, others):
    here = frozen.described([value])
    assert literal(here).plain
    assert frozen.same(here, frozen.described([value]))
    assert all(not frozen.same(here, frozen.described([other])) for other in others)


def test_a_text_with_an_address_is_no_description():
    assert frozen.described(object()) == frozen.described(object())
    assert frozen.described(threading.Lock()) == frozen.described(threading.Lock())


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('x')", "(lambda: 1)()", "[x for x in y]", "a[0]", "f'{x}'",
        "1 + 1", "print(1)", "x", "os.system('x')", "*a", "a := 1", "", "1\n2", "(" * 300, "{**{}}",
    ],
)  # fmt: skip
def test_nothing_else_is_read(text):
    with pytest.raises((NoLiteral, RecursionError)):
        read(text, {})


@pytest.mark.parametrize(
    "text",
    ["(lambda: 1)()", "[x for x in y]", "a[0]", "f'{x}'", "1 + 1", "f()()", "", "1\n2", "(" * 999],
)
def test_nothing_else_comes_into_a_file(text):
    assert not is_expression(text)


def test_long_integers_and_attributes_of_any_name_are_described():
    """Python refuses to write an integer of more than 4,300 digits in decimal."""
    long, other = types.SimpleNamespace(n=10**5000), types.SimpleNamespace(n=10**5000 + 1)
    vars(long)[1] = vars(other)[1] = "not a name"
    assert frozen.described(long) != frozen.described(other)
    assert frozen.described({10**5000: 1}) != frozen.described({10**5000: 2})
    assert frozen.described(enum.IntEnum("E", {"a": 10**5000}).a)
    assert "not a name" in frozen.described(long)
