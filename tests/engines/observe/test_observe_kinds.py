"""Names of types that were seen."""

import datetime
import io
import pathlib
from collections import OrderedDict, deque

import pytest

from fuzztui.engines.observe.kinds import MAX_TYPES, Namer, alternatives, merge
from fuzztui.generators import Source


class Order:
    class Line:
        pass


class Odd(type):
    __module__ = 7  # type: ignore[assignment]


def seen(*values: object) -> str:
    namer, kinds = Namer(), {}
    for value in values:
        merge(kinds, namer.kinds(value))
    return " | ".join(alternatives(kinds, namer.bases))


def local(base: type = object) -> object:
    return type("Local", (base,), {})()


HERE = __name__


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, "a", None], "builtins.int | builtins.str | None"),
        ([datetime.date(2008, 1, 1)], "datetime.date"),
        ([pathlib.Path("x")], "pathlib.Path"),
        ([pathlib.PurePosixPath("x")], "pathlib.PurePath"),
        ([io.BytesIO()], "io.BytesIO"),
        ([Order.Line()], f"{HERE}.Order.Line"),
        ([Order], f"builtins.type[{HERE}.Order]"),
        ([local()], "typing.Any"),
        ([local(Order)], f"{HERE}.Order"),
        ([lambda: 1, 1], "builtins.int | typing.Any"),
        ([[Order(), None], []], f"builtins.list[{HERE}.Order | None]"),
        ([deque([1])], "collections.deque[builtins.int]"),
        ([{}], "builtins.dict[typing.Any, typing.Any]"),
        ([OrderedDict(a=1)], "collections.OrderedDict[builtins.str, builtins.int]"),
        ([(1, "a"), (2, None)], "builtins.tuple[builtins.int, builtins.str | None]"),
        ([(1,), ("a", 1)], "builtins.tuple[builtins.int | builtins.str, ...]"),
        ([()], "builtins.tuple[typing.Any, ...]"),
        ([Source(b"", 1, bytes)], "typing.Any"),
    ],
)
def test_names(values, words):
    assert seen(*values) == words
    assert seen(*reversed(values)) == words


def test_nothing_of_the_targets_is_run():
    class Liar(list):
        def __iter__(self):
            raise AssertionError

        @property
        def __class__(self):
            raise AssertionError

    assert seen(Liar()) == "builtins.list"
    assert seen(Odd("X", (), {})()) == "typing.Any"


def test_many_types_are_one_that_they_are_derived_from():
    kinds = {f"m.T{n}": [] for n in range(MAX_TYPES)} | {"m.Other": []}
    bases = {f"m.T{n}": ["m.Node", "m.Base"] for n in range(MAX_TYPES)} | {"m.Node": ["m.Base"]}
    assert alternatives(kinds, bases) == ["m.Node", "m.Other"]
    assert len(alternatives(kinds, {})) == MAX_TYPES


def test_merging_tells_whether_anything_was_new():
    known = {"builtins.list": [{"a.B": []}]}
    assert not merge(known, {"builtins.list": [{"a.B": []}]})
    assert merge(known, {"builtins.list": [{"a.C": []}]})
    assert known == {"builtins.list": [{"a.B": [], "a.C": []}]}
