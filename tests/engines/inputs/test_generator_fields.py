"""Fields: choices drawn for an argument of a class's call are of the type ``Class.parameter``."""

from __future__ import annotations

import datetime
import enum
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pydantic
import pytest
from hypothesis import strategies as st

from fuzztui.engines.generators import gen_date, gen_text, generator
from fuzztui.engines.inputs import typed
from fuzztui.engines.inputs.source import Source
from fuzztui.engines.inputs.typed import TypeStacks
from fuzztui.engines.spoton.form import TypedInput
from fuzztui.engines.spoton.relations import TypeRelations
from fuzztui.engines.strategies import from_strategy, from_type


class Paper(enum.Enum):
    THIN = 1
    THICK = 2


@dataclass
class Line:
    text: str
    count: int = 0


@dataclass
class Order:
    title: str
    lines: list[Line] = field(default_factory=list)
    price: float = 0.0
    day: datetime.date | None = None
    paper: Paper = Paper.THIN
    note: str = ""
    other: str = ""


@dataclass
class Express(Order):
    hours: int = 1


class Plain:
    def __init__(self, title: str, *more: str, size: int = 1) -> None:
        self.title, self.more, self.size = title, more, size


class Pair(NamedTuple):
    left: int
    right: str


class Model(pydantic.BaseModel):
    name: str
    age: int


class Shop:
    """Stands for a module: the callee's name has a dot."""

    Order = Order


def word(r: Source) -> str:
    """Draws in a function without ``@generator`` count as its caller's."""
    return r.text("abc", 1, 4)


def line(r: Source) -> Line:
    return Line(count=r.below(9), text=word(r))


@generator
def gen_lines(r: Source) -> list[Line]:
    return [line(r) for _ in r.more(1, 4)]


def fields_of(make: Callable[[Source], Any], seed: int = 3) -> list[tuple[str, ...]]:
    """Of one input: the fields that contiguous choices are drawn for, without the module."""
    form = TypedInput(make, 10240, random.Random(seed).randbytes, None, None)
    form.build(b"")
    annotated = form.annotate(form.used(b""))
    found: list[tuple[str, ...]] = []
    for stack in annotated.stack:
        names = [name.removeprefix(f"{__name__}.") for name in form.stacks.types(stack)]
        others = ("datetime.", "fuzztui.", "hypothesis.")
        fields = tuple(n for n in names if "." in n and not n.startswith(others))
        if not found or found[-1] != fields:
            found.append(fields)
    return found


def of_keywords(r: Source) -> Order:
    return Order(title=r.text("ab", 1, 5), price=r.real(), paper=r.choose(list(Paper)))


def of_positions(r: Source) -> Order:
    return Order(word(r), [line(r) for _ in r.more(2, 2)], r.real())


def of_variables(r: Source) -> Order:
    title = word(r)
    day: datetime.date = gen_date(r)
    return Order(note=word(r), title=title, day=day)


def of_helpers(r: Source) -> Order:
    return Order(title=word(r), note=word(r), other="".join(word(r) for _ in r.more(1, 1)))


def of_generators(r: Source) -> Order:
    return Order(title=gen_text(r), lines=gen_lines(r))


def of_others(r: Source) -> list[Any]:
    return [
        Plain(word(r), *[word(r)], size=r.below(3)),
        Pair(r.below(9), right=word(r)),
        Shop.Order(word(r)),
        str(r.below(9)),
        datetime.date(2024, r.integer(1, 12), day=1),
        print(r.below(1), end=""),
    ]


def of_steps(r: Source) -> Iterator[Order]:
    for _ in r.more(1, 1):
        yield Order(title=word(r))


def of_large_alphabets(r: Source) -> Order:
    return Order(title=r.text("".join(map(chr, range(1000, 2000))), 3, 3))


ORDERS: dict[Callable[[Source], Any], list[tuple[str, ...]]] = {
    of_keywords: [("Order.title",), ("Order.price",), ("Order.paper",)],
    of_positions: [
        ("Order.title",),
        *[("Order.lines", "Line.count"), ("Order.lines", "Line.text")] * 2,
        ("Order.price",),
    ],
    of_variables: [("Order.title",), ("Order.day",), ("Order.note",)],
    of_helpers: [("Order.title",), ("Order.note",), ("Order.other",)],
    of_others: [
        ("Plain.title",), (), ("Plain.size",), ("Pair.left",), ("Pair.right",), ("Order.title",),
        (),
    ],
    of_steps: [("Order.title",)],
    of_large_alphabets: [("Order.title",)],
}  # fmt: skip


@pytest.mark.parametrize("make", ORDERS)
@pytest.mark.parametrize("decorated", [True, False])
def test_choices_of_an_argument_are_of_the_field(make, decorated: bool) -> None:
    def whole(r: Source) -> Any:
        made = made_by(r)
        return list(made) if isinstance(made, Iterator) else made

    made_by = generator(make) if decorated else make
    assert fields_of(whole) == ORDERS[make]


def test_choices_in_another_generator_are_of_the_field_around() -> None:
    found = fields_of(generator(of_generators))
    assert found[0] == ("Order.title",)
    assert set(found[1:]) == {
        ("Order.lines",),
        ("Order.lines", "Line.count"),
        ("Order.lines", "Line.text"),
    }


def test_a_function_without_a_source_has_no_fields() -> None:
    scope: dict[str, Any] = {"Order": Order}
    exec("def make(r):\n    return Order(title=r.text('ab', 1, 5))\n", scope)
    assert fields_of(generator(scope["make"])) == [()]


def test_recursive_generators_make_a_limited_number_of_stacks(monkeypatch) -> None:
    monkeypatch.setattr(typed, "_MOST_STACKS", 3)
    form = TypedInput(generator(of_keywords), 10240, bytes, None, None)
    annotated = form.annotate(bytes(200))
    assert len(form.stacks) == 3  # no type, the type Order, and its first field
    assert len(set(annotated.stack)) == 2  # all later choices are of the class only


@st.composite
def composed(draw: Any) -> Order:
    title = draw(st.text("abc", min_size=1))
    return Order(title, note=draw(st.text("abc", min_size=1)))


@generator
def gen_drawn(r: Source) -> Order:
    return Order(r.draw(st.text("abc", min_size=1)), note=r.draw(st.text("abc", min_size=1)))


BUILT = st.builds(Order, st.text("abc", min_size=1), note=st.text("abc").filter(bool))


@pytest.mark.parametrize(
    "make",
    [gen_drawn, from_strategy(composed()), from_strategy(BUILT)],
    ids=["draw", "composite", "builds"],
)
def test_parts_of_strategies_are_of_the_field(make) -> None:
    assert [f for f in fields_of(make) if f] == [("Order.title",), ("Order.note",)]


def test_models_have_fields() -> None:
    assert fields_of(from_type(Model)) == [("Model.name",), ("Model.age",)]
    assert fields_of(from_type(Line)) == [("Line.text",), ("Line.count",)]


def test_fields_match_if_name_and_class_match() -> None:
    stacks = TypeStacks()
    here = f"{__name__}."
    note, other, late, lib = (
        stacks.push(0, name)
        for name in (f"{here}Express.note", f"{here}Order.other", f"{here}Plain.title", "lib.T.x")
    )
    aliases = {f"{here}Order": [f"{here}Plain"], f"{here}Line": ["lib.T"]}
    relations = TypeRelations(stacks, aliases)
    assert relations.holding(f"{here}Order.note") == {note}  # not that of an equal default
    assert relations.holding(f"{here}Express.other") == {other}
    assert relations.holding(f"{here}Order.title") == {late}
    assert relations.holding(f"{here}Line.x") == {lib}
    assert relations.holding(f"{here}Order") == set()  # the class is more than one field
    assert relations.holding(f"{here}Express.hours") == set()
