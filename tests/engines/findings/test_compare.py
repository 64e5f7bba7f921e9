"""When two values are the same: what ``==`` gets wrong, and what hostile classes try."""

from __future__ import annotations

import array
import ast
import copy
import datetime
import enum
import functools
import io
import ipaddress
import itertools
import pathlib
import re
import sys
import types
import uuid
import weakref
import xml.etree.ElementTree as ET
from collections import ChainMap, Counter, OrderedDict, UserDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from fuzztui.engines.findings.compare import same
from fuzztui.engines.instrument.guard import TrialTimeout

NAN = float("nan")


def nan() -> float:
    return float("nan")


class Plain:
    def __init__(self, **held: Any) -> None:
        vars(self).update(held)


class Slotted:
    __slots__ = ("__hidden", "a", "b")

    def __init__(self, a: Any, hidden: Any = None) -> None:
        self.a = a
        self.__hidden = hidden


class SlottedAndMore(Slotted):
    pass


class ByLength:
    """An ``__eq__`` of its own, wider than its parts."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByLength) and len(self.text) == len(other.text)

    def __hash__(self) -> int:
        return len(self.text)


class ByDict:
    def __init__(self, **held: Any) -> None:
        vars(self).update(held)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByDict) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


@dataclass
class Data:
    x: Any
    cache: Any = field(default=None, compare=False)


@dataclass(slots=True, frozen=True)
class SlottedData:
    x: Any


@dataclass(eq=False)
class NoEq:
    x: Any


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1


class Number(int):
    pass


class Text(str):
    pass


class Names(list):  # type: ignore[type-arg]
    pass


class Bad(Exception):
    def __init__(self, *args: Any, extra: Any = None) -> None:
        super().__init__(*args)
        self.extra = extra


class Instant(datetime.datetime):
    pass


Point = namedtuple("Point", "x y")


def element(text: str) -> ET.Element:
    return ET.fromstring(f'<a k="v"><b>{text}</b>tail</a>')


_numbers = itertools.count()


def cyclic(end: Any) -> list[Any]:
    value: list[Any] = [1, {"k": []}, end]
    value[1]["k"].append(value)
    return value


ALIKE: dict[str, Any] = {
    "nan": lambda: [nan(), {"k": (nan(),)}, complex(nan(), 1), {nan(): 1}],
    "nan in a dataclass": lambda: [Data(nan()), SlottedData(nan()), NoEq(nan())],
    "nan behind an eq": lambda: ByDict(x=nan(), y=[ByDict(z=nan())]),
    "iterators' places": lambda: iter([1, next(_numbers)]),
    "own eq": lambda: ByLength("abc"),
    "plain": lambda: Plain(a=1, b=[Plain(c="d")]),
    "slots": lambda: [Slotted(1, 2), SlottedAndMore([3])],
    "cycle": lambda: cyclic(0),
    "keys by identity": lambda: {Plain(n=n): n for n in range(5)},
    "set by identity": lambda: {Plain(n=n) for n in range(5)},
    "nested sets": lambda: {frozenset({Plain(s=frozenset({Plain(n=n)}))}) for n in range(3)},
    "tuple keys": lambda: {(1, "a", Plain()): 1, (1, ("b", nan())): 2},
    "decimals": lambda: [Decimal("nan"), Decimal("1.10"), Decimal("-0")],
    "fractions": lambda: Fraction(3, 7),
    "dates": lambda: [datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC), Instant.min],
    "patterns": lambda: re.compile("a+", re.I),
    "match": lambda: re.match("a", "ab"),
    "elements": lambda: element("x"),
    "bytes": lambda: [b"x", bytearray(b"y"), memoryview(b"z"), array.array("d", [1.0, nan()])],
    "buffers": lambda: [io.BytesIO(b"abc"), io.StringIO("abc")],
    "collections": lambda: [
        deque([1, nan()], 5),
        OrderedDict(b=1, a=nan()),
        defaultdict(list, a=[1]),
        Counter("hello"),
        UserDict(a=nan()),
        ChainMap({"a": 1}, {"b": nan()}),
        Point(1, nan()),
        Names([1, nan()]),
    ],
    "views": lambda: [{1: 2}.keys(), {1: nan()}.values(), {1: nan()}.items()],
    "proxy": lambda: types.MappingProxyType({"a": nan()}),
    "enums": lambda: [Colour.RED, Level.LOW],
    "subclasses": lambda: [Number(3), Text("x"), True, 3],
    "exceptions": lambda: [Bad("x", nan(), extra=[1]), KeyError("k"), OSError(2, "no", "file")],
    "names": lambda: [len, print, Plain, Colour, sys, nan, [].append, Plain().__init__, str.upper],
    "partials": lambda: functools.partial(int, base=2),
    "iterators": lambda: [iter([1, 2]), (n for n in [1]), zip([1], [2], strict=True), range(3)],
    "places": lambda: [pathlib.PurePath("/a"), ipaddress.ip_address("::1"), uuid.UUID(int=5)],
    "opaque": lambda: [object(), Plain.__init__, io.FileIO],
    "trees": lambda: ast.parse("def f(a): return a + 1"),
    "namespace": lambda: types.SimpleNamespace(a=nan()),
    "slice": lambda: slice(1, None, 2),
    "weak": lambda: weakref.ref(Plain),
}


@pytest.mark.parametrize("name", ALIKE)
def test_alike(name: str) -> None:
    made = ALIKE[name]
    a, b = made(), made()
    assert same(a, b)
    assert same(b, a)


def reordered() -> tuple[OrderedDict[str, int], OrderedDict[str, int]]:
    return OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)


OTHER: dict[str, tuple[Any, Any]] = {
    "bool and int": (1, True),
    "int and float": (1, 1.0),
    "zeros": (0.0, -0.0),
    "complex zeros": (0j, -0j),
    "a float's last bit": (0.1 + 0.2, 0.3),
    "deep zeros": ({"a": [(0.0,)]}, {"a": [(-0.0,)]}),
    "list and tuple": ([1], (1,)),
    "str and bytes": ("a", b"a"),
    "bytes and bytearray": (b"a", bytearray(b"a")),
    "sets": ({1, 2}, {1, 3}),
    "set of bools": ({1}, {True}),
    "set and frozenset": ({1}, frozenset({1})),
    "keys' types": ({1: "a"}, {True: "a"}),
    "keys": ({"a": 1}, {"b": 1}),
    "values": ({"a": 1}, {"a": 2}),
    "tuple keys": ({(1, 0.0): 1}, {(1, -0.0): 1}),
    "order that counts": reordered(),
    "length": ([1], [1, 1]),
    "maxlen": (deque([1], 2), deque([1], 3)),
    "factories": (defaultdict(list), defaultdict(dict)),
    "counts of nothing": (Counter(a=0), Counter()),
    "attributes": (Plain(a=1), Plain(a=2)),
    "attributes' names": (Plain(a=1), Plain(b=1)),
    "attributes' types": (Plain(a=1), Plain(a=True)),
    "private slots": (Slotted(1, 2), Slotted(1, 3)),
    "inherited slots": (SlottedAndMore(1), SlottedAndMore(2)),
    "own eq": (ByLength("ab"), ByLength("abc")),
    "fields": (Data(1), Data(2)),
    "fields without eq": (NoEq(1), NoEq(2)),
    "members": (Colour.RED, Colour.BLUE),
    "member and number": (Level.LOW, 1),
    "number and subclass": (Number(3), 3),
    "text and subclass": (Text("x"), "x"),
    "subclass with attributes": (Names([1]), Names([2])),
    "decimals": (Decimal("1.0"), Decimal("1.00")),
    "nan and a number": (NAN, 1.0),
    "dates": (datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)),
    "the same instant": (
        datetime.datetime(2020, 1, 1, 1, tzinfo=datetime.UTC),
        datetime.datetime(2020, 1, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
    ),
    "folds": (datetime.time(1, fold=0), datetime.time(1, fold=1)),
    "patterns": (re.compile("a"), re.compile("a", re.I)),
    "matches": (re.match("a", "ab"), re.match("ab", "ab")),
    "elements": (element("x"), element("y")),
    "buffers": (io.BytesIO(b"a"), io.BytesIO(b"b")),
    "arrays": (array.array("b", [1]), array.array("h", [1])),
    "memory": (memoryview(b"a"), memoryview(b"b")),
    "exceptions": (Bad("x"), Bad("y")),
    "exceptions' attributes": (Bad("x", extra=1), Bad("x", extra=2)),
    "error numbers": (OSError(1, "x"), OSError(2, "x")),
    "functions": (len, max),
    "bound to": ([].append, [1].append),
    "methods": (Plain(a=1).__init__, Plain(a=2).__init__),
    "classes": (Data, NoEq),
    "partials": (functools.partial(int, base=2), functools.partial(int, base=3)),
    "ranges that look alike": (range(0, 3, 2), range(0, 4, 2)),
    "fields that == leaves out": (Data(1, cache=2), Data(1, cache=3)),
    "eq that is wider": (ByLength("ab"), ByLength("cd")),
    "trees": (ast.parse("a + 1"), ast.parse("a + 2")),
    "cycles": (cyclic(0), cyclic(1)),
    "identity keys": ({Plain(n=1): 1, Plain(n=2): 2}, {Plain(n=1): 2, Plain(n=2): 1}),
    "identity set": ({Plain(n=1), Plain(n=2)}, {Plain(n=1), Plain(n=3)}),
    "none": (None, False),
}


@pytest.mark.parametrize("name", OTHER)
def test_different(name: str) -> None:
    a, b = OTHER[name]
    assert not same(a, b)
    assert not same(b, a)
    assert same(a, a)


SOURCE = """
import enum
from dataclasses import dataclass
class E(enum.Enum):
    A = 1
@dataclass
class D:
    x: object
class P:
    def __init__(self, x): self.x = x
    def __eq__(self, other): return isinstance(other, P) and self.x == other.x
class T(tuple): pass
class Err(ValueError): pass
def make(x): return [E.A, D(x), P([P(x)]), T([x]), Err(x), {P: 1}, make, E, {E.A: x}]
"""


def imported() -> Any:
    module = types.ModuleType("imported_twice")
    sys.modules[module.__name__] = module
    try:
        exec(SOURCE, vars(module))
    finally:
        del sys.modules[module.__name__]
    return module


def test_values_of_a_program_that_was_imported_twice() -> None:
    one, other = imported(), imported()
    assert same(one.make(1), other.make(1))
    for a, b in zip(one.make(1)[1:5], other.make(2)[1:5], strict=True):
        assert not same(a, b)


@pytest.mark.slow
def test_depth_is_no_limit() -> None:
    def nest(end: object) -> object:
        value: Any = [end]
        for n in range(100_000):
            value = [value] if n % 3 else {"k": value} if n % 2 else Plain(v=value)
        return value

    a, b, c = nest(1), nest(1), nest(2)
    assert same(a, b)
    assert not same(a, c)


def test_shared_parts_are_looked_at_once() -> None:
    def laughs(end: object) -> object:
        value = [end]
        for _ in range(200):
            value = [value] * 10
        return value

    assert same(laughs("lol"), laughs("lol"))
    assert not same(laughs("lol"), laughs("lul"))


def test_iterators_are_not_consumed() -> None:
    def numbers() -> Any:
        yield from range(3)

    values = [numbers(), iter([1, 2]), io.BytesIO(b"abc"), map(str, [1, 2])]
    others = [numbers(), iter([1, 2]), io.BytesIO(b"abc"), map(str, [1, 2])]
    assert same(values, others)
    assert list(values[0]) == [0, 1, 2]
    assert list(values[1]) == [1, 2]
    assert values[2].read() == b"abc"
    assert list(values[3]) == ["1", "2"]


class Meta(type):
    def __instancecheck__(cls, value: object) -> bool:
        raise RuntimeError

    def __hash__(cls) -> int:
        raise RuntimeError

    def __eq__(cls, other: object) -> bool:
        raise RuntimeError

    @property
    def __mro__(cls) -> Any:  # type: ignore[override]
        raise RuntimeError


class Hostile(metaclass=Meta):
    def __init__(self, n: int) -> None:
        object.__setattr__(self, "n", n)

    def __raise(self, *args: object) -> Any:
        raise RuntimeError

    __eq__ = __ne__ = __hash__ = __repr__ = __str__ = __bool__ = __len__ = __iter__ = __raise  # type: ignore[assignment]
    __getattribute__ = __getattr__ = __reduce__ = __reduce_ex__ = __raise  # type: ignore[assignment]
    __class__ = property(__raise)  # type: ignore[assignment]


class HostileDict(dict):  # type: ignore[type-arg]
    __iter__ = keys = items = values = __len__ = __getitem__ = __eq__ = Hostile.__eq__  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


class Arrays:
    """Like numpy's: ``==`` gives no bool."""

    def __init__(self, *items: int) -> None:
        self.items = items

    def __eq__(self, other: object) -> Any:
        return Arrays(*(x == y for x, y in zip(self.items, other.items, strict=True)))  # type: ignore[attr-defined]

    def __bool__(self) -> bool:
        raise ValueError("ambiguous")

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: [v], lambda v: {"k": v}, lambda v: {1: v}])
def test_hostile_classes_have_no_say(wrap: Any) -> None:
    for kind in (Hostile, Arrays):
        assert same(wrap(kind(1)), wrap(kind(1)))
        assert not same(wrap(kind(1)), wrap(kind(2)))
    assert same(wrap(HostileDict(a=1)), wrap(HostileDict(a=1)))
    assert not same(wrap(HostileDict(a=1)), wrap(HostileDict(a=2)))
    assert not same(wrap(Hostile(1)), wrap(Arrays(1)))


def test_liars_are_told_by_their_type() -> None:
    class Liar:
        __class__ = int  # type: ignore[assignment]

    assert not same(Liar(), 3)
    assert same(Liar(), Liar())


@pytest.mark.parametrize("error", [RecursionError, KeyboardInterrupt, SystemExit, MemoryError])
def test_what_cannot_be_compared_is_no_difference(error: type[BaseException]) -> None:
    class Broken(io.StringIO):
        def getvalue(self) -> str:
            raise error

    assert same(Broken("a"), Broken("b"))


def test_only_the_clock_gets_through() -> None:
    class Slow(io.StringIO):
        def getvalue(self) -> str:
            raise TrialTimeout

    with pytest.raises(TrialTimeout):
        same([Slow("a")], [Slow("b")])


def test_released_memory_and_half_made_objects() -> None:
    a, b = memoryview(b"a"), memoryview(b"b")
    a.release()
    assert same(a, b)
    assert same(Slotted.__new__(Slotted), Slotted.__new__(Slotted))
    assert not same(Slotted.__new__(Slotted), Slotted(1))
    assert same(Data.__new__(Data), Data.__new__(Data))


def test_a_graph_of_objects_in_sets() -> None:
    class Node:
        def __init__(self, n: int) -> None:
            self.n, self.near = n, set[Any]()

    def ring(n: int, last: int) -> Node:
        nodes = [Node(i) for i in range(n)]
        nodes[-1].n = last
        for i, node in enumerate(nodes):
            node.near |= {nodes[i - 1], nodes[(i + 1) % n], nodes[i * 7 % n]}
        return nodes[0]

    assert same(ring(12, 11), ring(12, 11))
    assert not same(ring(12, 11), ring(12, 99))


def test_classes_made_in_passing_do_not_pile_up() -> None:
    from fuzztui.engines.inputs import shape

    for n in range(5000):
        made = type("Made", (), {})
        a, b = made(), made()
        a.n = b.n = n  # type: ignore[attr-defined]
        assert same(a, b)
    assert len(shape._known) <= shape._KNOWN_LIMIT


def test_attrs_fields() -> None:
    """attrs is not at hand: a class as its decorator leaves it."""

    class Attr:
        def __init__(self, name: str, eq: bool) -> None:
            self.name, self.eq = name, eq

    space: dict[str, Any] = {}
    code = "def __eq__(self, other): return (self.x,) == (other.x,)"
    exec(compile(code, "<attrs generated eq C>", "exec"), space)

    class C:
        __attrs_attrs__ = (Attr("x", True), Attr("y", False))
        __eq__ = space["__eq__"]
        __hash__ = None  # type: ignore[assignment]

        def __init__(self, x: Any, y: Any) -> None:
            self.x, self.y = x, y

    assert same(C(nan(), 1), C(nan(), 1))
    assert not same(C(nan(), 1), C(nan(), 2))
    assert not same(C(1, 1), C(True, 1))


def test_a_copy_of_everything() -> None:
    for made in ALIKE.values():
        value = made()
        try:
            other = copy.deepcopy(value)
        except TypeError:
            continue
        assert same(value, other)
