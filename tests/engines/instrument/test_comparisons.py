"""Operands of comparisons are recorded, and the program does not notice."""

import gc
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import fuzztui
from fuzztui.engines.instrument.edges import CoverageMap, EdgeTable
from fuzztui.engines.instrument.guard import Guard
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.instrument.recorder import OperandRecorder

HERE = Path(__file__).parent
ALL_CELLS = (1 << 4096) - 1


@pytest.fixture(autouse=True)
def _frozen_stays_frozen(monkeypatch):
    """Each test would list the millions of objects of all tests, which are frozen."""
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 0)


class Program:
    """A module from source, with a recorder."""

    def __init__(self, source: str) -> None:
        self.coverage = CoverageMap()
        application = Application([], [], EdgeTable(), self.coverage, Guard(1.0))
        self.module = ModuleType("m")
        exec(application.compile("m", "m.py", source.encode()), self.module.__dict__)
        self.recorder = OperandRecorder(application)

    def pairs(self, call: str) -> set[tuple[object, object, str]]:
        """What a call compares: value, wanted, kind."""
        self.recorder.prepare(ALL_CELLS)
        found = self.recorder.run(lambda: eval(call, self.module.__dict__))
        return {(p.value, p.wanted, p.kind) for p in found}


def pairs(body: str, argument: object) -> set[tuple[object, object, str]]:
    """What ``def f(x): body`` compares when it is called."""
    program = Program(f"import re\nWORD = re.compile('(ab|c[d])+')\ndef f(x):\n    {body}\n")
    program.module.__dict__["argument"] = argument
    return program.pairs("f(argument)")


@pytest.mark.parametrize(
    ("body", "argument", "expected"),
    [
        ("return x == 'key'", "abc", {("abc", "key", "equal")}),
        ("return 'key' != x", "abc", {("key", "abc", "equal")}),
        ("return x == b'key'", b"abc", {(b"abc", b"key", "equal")}),
        ("return x < 100", 5, {(5, 100, "order")}),
        ("return 1 < x < 9", 5, {(1, 5, "order"), (5, 9, "order")}),
        ("return 7 < x < 9", 5, {(7, 5, "order")}),
        ("return len(x) == 3", "abcdef", {("abcdef", 3, "length")}),
        ("return 3 < len(x)", "abcdef", {("abcdef", 3, "length")}),
        ("return len(x) == len('ab')", "abcdef", {("abcdef", 2, "length")}),
        ("return x in ('k', 'v')", "abc", {("abc", "k", "member"), ("abc", "v", "member")}),
        ("return x not in {1, 2}", 3, {(3, 1, "member"), (3, 2, "member")}),
        ("return 'key' in x", "abc", {("abc", "key", "inside")}),
        ("return {'k': 1}.get(x)", "a", {("a", "k", "member")}),
        ("return x.startswith(('key', 'v'))", "abcd",
         {("abc", "key", "prefix"), ("a", "v", "prefix")}),
        ("return x.endswith('key')", "abcd", {("bcd", "key", "suffix")}),
        ("return x.partition('=')", "ab", {("ab", "=", "inside")}),
        ("return WORD.match(x)", "x", {("x", "ab", "pattern"), ("x", "cd", "pattern")}),
        ("return re.match('key?', x)", "x", {("x", "ke", "pattern"), ("x", "y", "pattern")}),
        ("match x:\n        case 'k' | 'v': return 1\n        case [1, _]: return 2", "a",
         {("a", "k", "equal"), ("a", "v", "equal")}),
        ("return x and x == 'key' and x == 'never'", "abc", {("abc", "key", "equal")}),
        ("return [c for c in x if c == 'k']", "ab", {("a", "k", "equal"), ("b", "k", "equal")}),
        ("return (lambda c: c == 'k')(x)", "a", {("a", "k", "equal")}),
        ("return x == 'key'", 5, set()),
        ("return x == True", 5, set()),
        ("return x is None", 5, set()),
        ("return x == 'key'", "a" * 1000, set()),
        ("return x == 'key'", "key", set()),
    ],
)  # fmt: skip
def test_recorded(body: str, argument: object, expected: set[object]) -> None:
    found = pairs(body, argument)
    assert {p for p in found if p[1] != "" and p[0] != ""} >= expected
    assert bool(found) == bool(expected)


def test_a_key_that_is_missing() -> None:
    program = Program(
        "D = {'k': 1, 'v': 2}\ndef f(x):\n    try:\n        return D[x]\n"
        "    except KeyError:\n        return 0\n"
    )
    assert program.pairs("f('a')") == {("a", "k", "member"), ("a", "v", "member")}


def test_the_program_does_not_notice() -> None:
    """Subclasses, side effects, NaN, chains, annotations, private names, super()."""
    program = Program("""
from __future__ import annotations
seen = []
class Text(str):
    def __eq__(self, other):
        seen.append(other)
        return NotImplemented
    __hash__ = str.__hash__
class Odd:
    def __eq__(self, other): return [other]
    def __lt__(self, other): raise ValueError(other)
    def __contains__(self, key): seen.append(key); return True
class Base:
    def __size(self) -> int > 3: return 4
    def size(self): return self.__size()
class Child(Base):
    def size(self, limit: "x" < 1 = 4): return super().size() == limit
def f():
    del seen[:]
    nan = float("nan")
    def count(n): seen.append(n); return n
    answers = [Text("a") == "b", Odd() == 1, nan == nan, nan != nan, "k" in Odd(),
               1 < count(0) < count(2), count(1) < count(2) < count(3), Child().size(),
               Child.size.__annotations__, locals().keys() >= {"nan"}, sorted(locals())]
    try: Odd() < 5
    except ValueError as e: answers.append(e.args)
    return answers, list(seen)
""")
    plain = eval("f()", program.module.__dict__)
    hooked: list[object] = []
    program.module.__dict__["hooked"] = hooked
    assert program.pairs("hooked.append(f())")
    assert repr(hooked) == repr([plain])


def test_code_is_restored() -> None:
    program = Program("def f(x):\n    if x == 'key':\n        raise KeyError(x)\n")
    before = program.module.f.__code__
    assert program.pairs("f('a')")
    assert program.module.f.__code__ is before
    with pytest.raises(KeyError):
        program.pairs("f('key')")
    assert program.module.f.__code__ is before


def test_functions_that_the_program_makes_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with memo tables: they are found after some runs, also when the heap was frozen."""
    program = Program(
        "made = {}\ndef make():\n    def inner(x):\n        return x == 'key'\n    return inner\n"
        "def f(x):\n    if not made:\n        made[0] = make()\n    return made[0](x)\n"
    )
    eval("f('a')", program.module.__dict__)  # as a trial does
    monkeypatch.undo()
    gc.freeze()
    try:
        assert ("a", "key", "equal") in program.pairs("f('a')")
    finally:
        gc.unfreeze()


def test_hooks_are_due_for_the_functions_that_were_covered_since() -> None:
    program = Program("def f(x):\n    return x == 'key'\ndef g(x):\n    if x:\n        return 1\n")
    cells = [span.cells for span in program.recorder._application.loaded[0].spans.values()]
    (first, behind), other = cells
    assert program.recorder.due(0) == 0
    covered = 1 << 8 * first
    assert program.recorder.due(covered) == behind - first
    program.recorder.prepare(covered)
    assert program.recorder.due(covered) == 0
    assert program.recorder.due(ALL_CELLS) == other[1] - other[0]
    assert ("a", "key", "equal") in program.pairs("f('a')")
    assert program.recorder.due(ALL_CELLS) == 0


def test_equal_lambdas_are_left_alone() -> None:
    program = Program("A, B = (lambda x: x == 'k'), (lambda x: x != 'v')\n")
    assert program.pairs("A('a')") == set()


def test_a_match_leaves_room_for_other_comparisons() -> None:
    cases = "".join(f"            case {n}:\n                pass\n" for n in range(1000, 1040))
    source = (
        f"def f(x):\n    for n in range(100):\n        match n:\n{cases}    return x == 'key'\n"
    )
    assert ("abc", "key", "equal") in Program(source).pairs("f('abc')")


def test_the_record_is_bounded() -> None:
    program = Program("def f(n):\n    return [i == j for i in range(n) for j in range(n)]\n")
    assert 0 < len(program.pairs("f(300)")) <= 2048
    program = Program("S = {str(n) for n in range(100_000)}\ndef f(x):\n    return x in S\n")
    first, second = program.pairs("f('a')"), program.pairs("f('a')")
    assert 0 < len(first) <= 64
    assert first != second, "of a large table, each run shows others"


STANDARD = [
    ("tomllib._parser", "test_tomllib"),
    ("configparser", "test_configparser"),
    ("argparse", "test_argparse"),
    ("textwrap", "test_textwrap"),
    ("shlex", "test_shlex"),
    ("difflib", "test_difflib"),
    ("ipaddress", "test_ipaddress"),
    ("fractions", "test_fractions"),
    ("html.parser", "test_htmlparser"),
    ("urllib.parse", "test_urlparse"),
    ("dataclasses", "test_dataclasses"),
    ("pprint", "test_pprint"),
]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("test.test_shlex") is None, reason="this Python has no tests")
@pytest.mark.parametrize(("module", "test"), STANDARD, ids=[m for m, _ in STANDARD])
def test_tests_of_the_standard_library(module: str, test: str) -> None:
    """All tests of the module give the same results with hooks, and hooks record."""
    package = Path(fuzztui.__file__).parent.parent
    found = []
    for mode in ("PLAIN", "HOOKED"):
        done = subprocess.run(
            [
                sys.executable,
                "-W",
                "ignore",
                HERE / "hooked_tests.py",
                module,
                f"test.{test}",
                mode,
            ],
            env=os.environ | {"PYTHONPATH": str(package), "PYTHONHASHSEED": "0"},
            check=False,
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        found.append(json.loads(done.stdout.splitlines()[-1]))
    plain, hooked = found
    assert hooked["pairs"] > 100
    assert plain["run"] == hooked["run"] > 10
    assert plain["failed"] == hooked["failed"]
    assert plain["skipped"] == hooked["skipped"]
