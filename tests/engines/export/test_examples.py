"""Arguments of Hypothesis tests as expressions: made of the values, with their file's names."""

import dataclasses
import datetime
import decimal as dec
import enum
from datetime import date
from pathlib import PurePosixPath
from types import SimpleNamespace

import pytest

from fuzztui.engines.export.record import example_of
from fuzztui.engines.strategies.given import Pending


@dataclasses.dataclass
class Item:
    text: str

    def __repr__(self):
        return self.text


class Plain:
    def __repr__(self):
        return "os.system('touch hacked')"


class Colour(enum.Enum):
    RED = 1


def test_it(): ...


def example(value, test=test_it):
    of = SimpleNamespace(name="test_a.py::test_it", function=test)
    return example_of(Pending(of, None, {"n": value}, more=False))


@pytest.mark.parametrize(
    ("value", "text", "names"),
    [
        (1, "1", {}),
        ("os.system('x')", "\"os.system('x')\"", {}),
        (float("nan"), 'float("nan")', {"float": "float"}),
        (Item("os.system('x')"), None, {f"{__name__}.Item": "Item"}),
        (date(2000, 1, 1), "datetime.date(2000, 1, 1)", {"datetime.date": "date"}),
        (dec.Decimal("1.5"), "decimal.Decimal('1.5')", {"decimal.Decimal": "dec.Decimal"}),
        (
            [Colour.RED],
            None,
            {f"{__name__}.Colour.RED": "Colour.RED", f"{__name__}.Colour": "Colour"},
        ),
    ],
)
def test_values(value, text, names):
    found = example(value)
    assert found["test"] == "test_a.py::test_it"
    [[name, written, known]] = found["arguments"]
    assert (name, known) == ("n", names)
    assert text is None or written == text


def test_utc_is_a_member_of_its_class():
    [[_, _, names]] = example(datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC))["arguments"]
    assert names["datetime.timezone.utc"] == "datetime.timezone.utc"


def other_file(code):
    scope: dict = {}
    exec(code, scope)
    return scope["test"]


@pytest.mark.parametrize("value", [Plain(), open, len, datetime, object(), type, PurePosixPath])
def test_what_has_no_expression(value):
    assert "arguments" not in example(value)
    assert example(value)["why"].startswith("n: ")


def test_a_class_that_the_file_lacks():
    test = other_file("def test(): ...")
    assert "PurePosixPath" in example(PurePosixPath("a"), test)["why"]


def test_a_builtin_that_the_file_has_replaced():
    test = other_file("float = eval\ndef test(): ...")
    assert "arguments" not in example(float("inf"), test)


def test_what_is_no_test():
    assert "arguments" not in example_of(b"input")
