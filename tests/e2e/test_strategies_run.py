"""Hypothesis strategies and tests as targets of real engines: found, repeated, aimed, refused."""

import re
import statistics
from pathlib import Path
from typing import Any

import pytest
from engine_lab import Lab, events, execs, names, reason, timeless
from spoton_lab import document, write_document

pytestmark = pytest.mark.slow

SHOP = """\
import datetime
import random
from dataclasses import dataclass


@dataclass
class Line:
    product: str
    number: int


class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)
        if len(self.items) > 3:
            if item == 5:
                raise OverflowError("full")


@dataclass
class Order:
    lines: list[Line]
    placed: datetime.date
    paid: datetime.date
    note: str


def price(order: Order) -> int:
    total = 0
    for line in order.lines:
        if line.number < 0:
            raise ValueError("negative")
        total += line.number
    if order.paid.year == 2008:
        if order.paid.month == 7:
            return -total
    return total


def parse(text):
    if text.startswith("fuzz"):
        if "-" in text:
            raise ZeroDivisionError("found")
    return text


def luck():
    return random.random()
"""
TESTS = """\
import unittest

import shop
from hypothesis import assume, event, example, given, note, reject, settings, target
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule


@settings(max_examples=7, deadline=1)
@example(text="ab", n=1)
@given(text=st.text("fuz-", max_size=8), n=st.integers(0, 5))
def test_parse(text, n):
    note(text)
    event("parsed")
    target(float(n))
    assume(n != 3)
    if n == 4:
        reject()
    assert shop.parse(text) == text


@st.composite
def lines(draw):
    return shop.Line(draw(st.text(max_size=3)), draw(st.integers(-2, 300)))


@given(st.data(), st.lists(lines(), max_size=3))
def test_interactive(data, made):
    order = data.draw(st.builds(shop.Order, st.just(made)), label="order")
    if data.draw(st.booleans()):
        assert shop.price(order) >= 0


class TestPrice:
    @given(order=...)
    def test_price(self, order: shop.Order):
        self.seen = [*getattr(self, "seen", []), order]
        assert len(self.seen) == 1
        try:
            assert shop.price(order) >= 0
        except ValueError:
            reject()


class TestUnit(unittest.TestCase):
    def setUp(self):
        self.ready = True

    @given(st.integers(0, 255), st.integers(0, 255))
    def test_ready(self, a, b):
        assert self.ready
        if a == 7:
            self.skipTest("seven")
        self.assertNotEqual((a, b), (5, 5))


class TestPytest:
    @classmethod
    def setup_class(cls):
        cls.once = [*getattr(cls, "once", []), 1]

    def setup_method(self, method):
        self.each = [*getattr(self, "each", []), method.__name__]

    def teardown_method(self):
        assert self.each == ["test_ready"]

    @given(st.integers(0, 9))
    def test_ready(self, n):
        assert (self.once, self.each) == ([1], ["test_ready"])
        assert n != 9


class TestUnitOnce(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ready = True

    @given(st.integers(0, 9))
    def test_ready(self, n):
        assert self.ready
        assert n != 9


class TestNotSetUp:
    def setup_class(self):
        raise ConnectionError("nobody there")

    @given(st.integers(0, 9))
    def test_it(self, n): ...


class Machine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.stack = shop.Stack()

    @rule(item=st.integers(0, 9))
    def push(self, item):
        self.stack.push(item)

    @rule()
    def pop(self):
        if self.stack.items:
            self.stack.items.pop()


TestMachine = Machine.TestCase


@given(st.data())
def test_interactive_text(data):
    data.draw(st.text())


@given(st.integers(0, 9))
def test_luck(n):
    assert shop.luck() == 0.8444218515250481  # what Hypothesis would have it be
    assert n != 9


@given(st.nothing() | st.integers().filter(lambda n: False))
def test_unsatisfiable(n): ...


@given(st.integers(5, 2))
def test_invalid(n): ...


@given(nobody=st.integers())
def test_no_such_argument(n): ...


@given(st.integers())
def test_with_fixture(tmp_path, n): ...


@given(st.integers())
async def test_async(n): ...


orders = st.builds(shop.Order)
not_one = 5
"""


@pytest.fixture
def lab(lab: Lab) -> Lab:
    lab.write("shop.py", SHOP)
    lab.write("test_shop.py", TESTS)
    return lab


def spec(lab: Lab, function: str, instance: str = "main", **keys: Any) -> Path:
    target = {"include": ["shop"], "timeout_s": 5.0, **keys.pop("target", {})}
    return lab.spec(function, instance, target=target, **{"budget_trials": 1500, **keys})


def ran(lab: Lab, function: str, instance: str = "main", **keys: Any) -> Path:
    """Run it to its end. Returns its directory."""
    return lab.finish(spec(lab, function, instance, **keys), timeout=300)


def repro(lab: Lab, file: Path) -> str:
    return lab.repro(file.parent.parent / "spec.json", file)[1]


@pytest.mark.parametrize("kind", ["zest", "spoton"])
def test_a_test_is_a_target_as_it_is(lab: Lab, kind: str) -> None:
    """`@example`, `@settings`, `note`, `event`, `target` do no harm; `assume` means invalid."""
    main = ran(lab, "test_shop:test_parse", budget_trials=6000, engine={"kind": kind})
    assert execs(main) == 6000
    (crash,) = names(main, "crashes")
    finding = events(main, "finding_described")[0]
    assert finding["title"].startswith("ZeroDivisionError: found")
    assert "in parse" in finding["place"]
    assert re.match(r"test_parse\(text='fuzz.*-.*', n=[0125]\)", finding["input"])
    said = repro(lab, main / "crashes" / crash)
    assert "input: test_parse(text='fuzz" in said
    assert "ZeroDivisionError: found" in said
    outcomes = {e["outcome"] for e in events(main, "entry_described")}
    assert outcomes <= {"success", "invalid"}
    assert not list(lab.root.rglob(".hypothesis"))


def test_what_a_test_draws_itself(lab: Lab) -> None:
    lab.write("shop.py", SHOP.replace("order.paid.year == 2008", "order.paid.year % 5 == 0"))
    main = ran(lab, "test_shop:test_interactive", target={"expected": ["ValueError"]},
               budget_trials=3000, engine={"kind": "spoton"})  # fmt: skip
    (crash,) = names(main, "crashes")
    assert "op:" in crash
    said = repro(lab, main / "crashes" / crash)
    assert "input: test_interactive(data=data(...), made=[" in said
    assert "Draw 1: Order(lines=[Line(" in said
    assert "Draw 2: True" in said


def test_methods(lab: Lab) -> None:
    """Of a plain class, each time of a new object; of unittest's, with what it sets up."""
    lab.write("shop.py", SHOP.replace("order.paid.year == 2008", "order.paid.year % 5 == 0"))
    main = ran(lab, "test_shop:TestPrice.test_price", budget_trials=3000)
    finding = events(main, "finding_described")[0]
    assert finding["title"].startswith("AssertionError")
    assert finding["input"].startswith("test_price(order=Order(lines=[Line(")
    unit = ran(lab, "test_shop:TestUnit.test_ready", "unit", budget_trials=4000)
    found = {e["input"] for e in events(unit, "finding_described")}
    assert found <= {"test_ready(a=5, b=5)"}


@pytest.mark.parametrize("name", ["TestPytest", "TestUnitOnce"])
def test_classes_are_set_up(lab: Lab, name: str) -> None:
    """Once, and for each trial."""
    main = ran(lab, f"test_shop:{name}.test_ready", budget_trials=300)
    assert {e["input"] for e in events(main, "finding_described")} == {"test_ready(n=9)"}


@pytest.mark.parametrize(
    ("name", "kind"),
    [("Machine", "zest"), ("TestMachine", "spoton"), ("TestMachine.runTest", "zest")],
)
def test_stateful_tests(lab: Lab, name: str, kind: str) -> None:
    """By any of its names; a finding says what was done, and does it again."""
    main = ran(lab, f"test_shop:{name}", budget_trials=150, engine={"kind": kind})
    (crash, *_) = names(main, "crashes")
    finding = events(main, "finding_described")[0]
    assert finding["title"] == "OverflowError: full"
    assert finding["input"] == "Machine(data=data(...))"
    said = repro(lab, main / "crashes" / crash)
    steps = re.findall(r"^Draw \d+: (\w+)\((?:item=(\d))?\)$", said, re.MULTILINE)
    assert len(steps) >= 4
    assert steps[-1] == ("push", "5")


def test_tables_of_hypothesis_are_made_before_the_first_trial(lab: Lab) -> None:
    """They take longer than a trial may, and were begun again in each."""
    lab.env["XDG_CACHE_HOME"] = str(lab.root / "cache")  # of its own: empty
    limit = {"timeout_s": 0.2}
    main = ran(lab, "test_shop:test_interactive_text", budget_trials=50, target=limit)
    assert execs(main) == 50
    assert not [n for n in names(main, "hangs") if "execs:1," in n]
    assert any((lab.root / "cache").rglob("codec-*utf-8*"))


def test_another_hypothesis(lab: Lab) -> None:
    """Parts of it that are not as they are known are reported, instead of failing each trial."""
    lab.write(
        "sitecustomize.py",
        "import hypothesis.control as c\n"
        "was = c.BuildContext.__init__\n"
        "c.BuildContext.__init__ = lambda self, data, is_final=False: None\n",
    )
    lab.env["PYTHONPATH"] += f":{lab.src}"
    assert lab.run(spec(lab, "test_shop:test_parse")) == 3
    log = (lab.out / "main" / "worker.log").read_text()
    assert "has an unsupported backend interface" in log
    assert "wrapped_test" in log
    assert "Traceback" not in log


def test_random_is_as_hypothesis_has_it(lab: Lab) -> None:
    main = ran(lab, "test_shop:test_luck", budget_trials=300)
    assert {e["input"] for e in events(main, "finding_described")} == {"test_luck(n=9)"}


@pytest.mark.parametrize(
    ("function", "target", "words"),
    [
        ("test_unsatisfiable", {}, "rejected all of"),
        ("test_invalid", {}, "InvalidArgument"),
        ("test_no_such_argument", {}, "InvalidArgument"),
        ("test_with_fixture", {}, "takes tmp_path, which @given does not make"),
        ("test_async", {}, "is a coroutine function"),
        ("TestNotSetUp.test_it", {}, "setup_class raised ConnectionError: nobody there"),
        ("test_parse", {"oracle": {"against": "shop:parse"}}, "remove oracle.against"),
        ("test_parse", {"include": []}, "target.include is missing"),
        ("test_parse", {"generator": "test_shop:orders"}, "remove target.generator"),
        ("shop:price", {"generator": "test_shop:not_one"}, "an attribute, but no function, s"),
        ("shop:price", {"generator": "test_shop:none"}, "type 'none'; it has: lines and orders"),
    ],
)
def test_refusals(lab: Lab, function: str, target: dict[str, Any], words: str) -> None:
    name = function if ":" in function else f"test_shop:{function}"
    target = dict(target)
    oracle = target.pop("oracle", {})
    assert lab.run(spec(lab, name, target=target, oracle=oracle)) == 3
    assert words in reason(lab.out / "main")
    assert "Traceback" not in (lab.out / "main" / "worker.log").read_text()


def test_without_hypothesis(lab: Lab) -> None:
    """What is missing, and how to get it: for a type, which needs it, and for a test."""
    lab.write("sitecustomize.py", "import sys\nsys.modules['hypothesis'] = None\n")
    lab.env["PYTHONPATH"] += f":{lab.src}"
    for n, (function, target) in enumerate(
        [("shop:price", {"generator": "shop:Order"}), ("test_shop:test_parse", {})]
    ):
        assert lab.run(spec(lab, function, f"i{n}", target=target)) == 3
        log = (lab.out / f"i{n}" / "worker.log").read_text()
        assert "ypothesis" in log
        assert "install" in log


MODELS = """\
import datetime
from typing import NamedTuple, TypedDict

from hypothesis import strategies as st
from pydantic import BaseModel, Field
from shop import Line, Order

from fuzztui.generators import Source, from_strategy, from_type, generator


class Stock(BaseModel):
    name: str = Field(min_length=1)
    since: datetime.date
    number: int = Field(ge=0, le=99)


class Pair(NamedTuple):
    left: Line
    right: datetime.date


class Row(TypedDict):
    line: Line
    day: datetime.date


@st.composite
def composed(draw):
    return Order([], draw(st.dates()), draw(st.dates()), "")


@generator
def own(r: Source) -> Order:
    name = r.text("abc", 1, 3)
    return Order([gen_line(r) for _ in r.more(0, 3)], r.draw(st.dates()), gen_day(r), name)


gen_line = from_type(Line)
gen_day = from_strategy(st.dates())


def show(value):
    if value:
        return repr(value)
"""


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("Stock", "Stock(name="), ("Pair", "Pair(left=Line("), ("Row", "{'"),
        ("Order", "Order(lines="), ("composed", "Order(lines=[]"), ("own", "Order(lines="),
        ("gen_day", "datetime.date("),
    ],
)  # fmt: skip
def test_types_and_strategies_are_generators(lab: Lab, name: str, begins: str) -> None:
    lab.write("models.py", MODELS)
    target = {"generator": f"models:{name}", "include": ["models"]}
    main = ran(lab, "models:show", target=target, budget_trials=300, engine={"kind": "spoton"})
    assert execs(main) == 300
    assert not names(main, "crashes")
    said = repro(lab, main / "queue" / names(main, "queue")[0])
    assert f"input: {begins}" in said


YEAR, MONTH = (
    SHOP[: SHOP.index(t)].count("\n") + 1 for t in ("if order.paid.y", "if order.paid.m")
)
TYPES = {YEAR: {"datetime.date": 1, "shop.Order": 2}, MONTH: {"datetime.date": 0, "shop.Order": 1}}


def aimed(lab: Lab, directory: Path, kind: str, wanted: int = 0, **keys: Any) -> list[int]:
    """Trials after which the year's and the month's branches were taken.

    With ``wanted``, so many of them: it ends when they are there.
    """
    directory.mkdir(parents=True)
    file = write_document(lab.root / "targets.json", document("shop", SHOP, TYPES))
    # With operands of comparisons both need few trials; a fresh input may have the year by chance.
    engine = {"kind": kind, "targets": str(file), "constants": False, "comparisons": False}
    engine |= {"fresh": 0} if kind == "spoton" else {}
    target = {"generator": "strategies:orders", "expected": ["ValueError"]}
    at = spec(lab, "shop:price", target=target, engine=engine, dir=str(directory), **keys)
    if wanted:
        lab.run_until(lambda: len(covered(directory)) >= wanted, at)
    else:
        assert lab.run(at, timeout=300) == 0
    return covered(directory)


def covered(directory: Path) -> list[int]:
    """Trials that have covered something."""
    return sorted(
        int(match[1])
        for name in names(directory, "queue")
        if (match := re.search(r"execs:(\d+).*\+cov", name))
    )


STRATEGIES = """\
from datetime import date

import shop
from hypothesis import strategies as st

days = st.dates(date(1900, 1, 1), date(2155, 12, 31))
lines = st.builds(shop.Line, st.just("x"), st.integers(0, 100))
payload = st.lists(lines, min_size=60, max_size=60)
orders = st.builds(shop.Order, payload, days, days, st.text(max_size=4))
"""


def test_two_runs_are_one(lab: Lab) -> None:
    """By trials, whatever addresses and hashes are."""
    lab.write("strategies.py", STRATEGIES.replace("60", "5"))
    for name, seed in (("a", "1"), ("b", "2")):
        lab.env["PYTHONHASHSEED"] = seed
        aimed(lab, lab.root / name / "main", "spoton", budget_trials=8000,
              sync_dir=str(lab.root / name))  # fmt: skip
    one, two = (timeless(lab.root / name / "main") for name in "ab")
    assert len(one) > 2
    assert one == two
    one, two = ((lab.root / n / "main/.types").read_text() for n in "ab")
    assert one == two
    assert '"datetime.date": {' in one
    assert '"matches": 0' not in one.partition('"datetime.date": {')[2].partition("}")[0]


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_types_that_decide_are_aimed_at(lab: Lab) -> None:
    # A long note and 64 years: most choices are not of the date, and its year is soon found.
    rare = STRATEGIES.replace("max_size=4", "min_size=1000, max_size=1000").replace("60", "5")
    lab.write("strategies.py", rare.replace("1900", "1990").replace("2155", "2053"))

    def needed(kind: str, most: int) -> float:
        trials = []
        for seed in range(1, 16):  # trials vary by a factor of 100
            place = lab.root / kind / f"{seed}"
            found = aimed(lab, place, kind, 2, seed=seed, budget_trials=most)
            trials.append(found[1] if len(found) > 1 else most)
        print(kind, trials)
        return statistics.median(trials)

    # Runs repeat, so this cannot flicker.
    twice = int(2 * needed("spoton", 1500))
    assert twice < 1500
    assert needed("zest", twice + 1) > twice, "no longer than it takes to see that it is later"
