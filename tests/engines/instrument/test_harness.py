"""The compare function: by decorator, by key, and what is wrong with it."""

import functools
import json
import operator
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import OracleSpec, TargetSpec, read_spec
from fuzztui.engines.instrument.target import Target, load_target
from fuzztui.harness import COMPARED_WITH, compare


@pytest.fixture(autouse=True)
def imports() -> Iterator[None]:
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def load(tmp_path: Path, function: str, **keys: Any) -> Target:
    return load_target(TargetSpec(function, path=(str(tmp_path),), **keys), None)


DECORATED = """
from fuzztui.harness import compare
def by_length(a, b): return len(a) == len(b)
def never(a, b): return False
@compare(by_length)
def target(data): return data
def plain(data): return data
"""


def test_decorated(tmp_path: Path) -> None:
    (tmp_path / "ch_one.py").write_text(DECORATED)
    target = load(tmp_path, "ch_one:target")
    assert target.compare is not None
    assert target.compare("ab", "cd") is True
    assert target.function(b"x") == b"x"
    assert load(tmp_path, "ch_one:plain").compare is None


def test_the_key_wins(tmp_path: Path) -> None:
    (tmp_path / "ch_two.py").write_text(DECORATED)
    target = load(tmp_path, "ch_two:target", compare="ch_two:never")
    assert target.compare is not None
    assert target.compare("ab", "cd") is False


SHOWN = """
class Doc:
    def __init__(self, data): self.data = data
    def unwrap(self, *rest, **more): return self.data.decode()
def parse(data): return Doc(data)
def shown(doc, deep=False): return len(doc.data)
class Text(bytes):
    def __str__(self): return "text"
def text(data): return Text(data)
"""


def test_a_function_of_one_value_shows_it_in_the_target(tmp_path: Path) -> None:
    (tmp_path / "ch_shown.py").write_text(SHOWN)
    for compare_by, expected in (("ch_shown:shown", 2), ("ch_shown:Doc.unwrap", "ab")):
        target = load(tmp_path, "ch_shown:parse", compare=compare_by)
        assert target.compare is None
        assert target.function(b"ab") == expected
        assert not target.text


def test_the_second_implementation_is_shown_in_the_same_way(tmp_path: Path) -> None:
    (tmp_path / "ch_against.py").write_text(SHOWN)
    keys = {"compare": "ch_against:Doc.unwrap", "oracle": OracleSpec(against="ch_against:parse")}
    target = load(tmp_path, "ch_against:parse", **keys)
    assert target.against is not None
    assert target.against(b"ab") == target.function(b"ab") == "ab"


@pytest.mark.parametrize("name", ["str", "Shown"])
def test_a_class_shows_one_value(tmp_path: Path, name: str) -> None:
    """Also one of C, of which Python does not say what it takes."""
    more = f"class Shown:\n    def __init__(self, of): self.of = of\nshow = {name}\n"
    (tmp_path / "ch_class.py").write_text(SHOWN + more)
    target = load(tmp_path, "ch_class:text", compare="ch_class:show")
    assert target.compare is None
    shown = target.function(b"ab")
    assert shown == "text" if name == "str" else shown.of == b"ab"


def test_a_test_returns_nothing_to_show(tmp_path: Path) -> None:
    test = (
        "from hypothesis import given, strategies\n@given(strategies.binary())\ndef test(d): pass\n"
    )
    (tmp_path / "ch_test.py").write_text(SHOWN + test)
    with pytest.raises(CannotStart, match="Hypothesis test"):
        load(tmp_path, "ch_test:test", compare="ch_test:shown")


def test_a_harness_file_is_loaded_once(tmp_path: Path) -> None:
    harness = tmp_path / "ch_harness.py"
    harness.write_text("class T: pass\n" + DECORATED + "def compare(a, b): return T\n")
    target = load(tmp_path, str(harness), include=("json",), compare=f"{harness}:compare")
    assert target.compare is not None
    module = sys.modules["ch_harness"]
    assert target.compare(1, 2) is module.T
    assert [n for n in sys.modules if "ch_harness" in n] == ["ch_harness"]


def test_the_default_name(tmp_path: Path) -> None:
    (tmp_path / "ch_three.py").write_text(DECORATED)
    measure = tmp_path / "ch_measure.py"
    measure.write_text("def compare(a, b): return 7\n")
    target = load(tmp_path, "ch_three:plain", compare=str(measure))
    assert target.compare is not None
    assert target.compare(1, 2) == 7


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("async def same(a): pass", "coroutine"),
        ("def same(a, b, c): pass", "two values"),
        ("async def same(a, b): pass", "coroutine"),
        ("same = 3", "no function 'same'"),
        ("other = 3", "no function 'same'"),
        ("def same(a, b) pass", "SyntaxError"),
    ],
)
def test_what_is_wrong_with_the_key(tmp_path: Path, code: str, words: str) -> None:
    (tmp_path / "ch_four.py").write_text(DECORATED)
    (tmp_path / "ch_bad.py").write_text(code)
    with pytest.raises(CannotStart) as caught:
        load(tmp_path, "ch_four:target", compare="ch_bad:same")
    assert words in str(caught.value)
    assert 'target.compare = "ch_bad:same"' in str(caught.value)


def test_a_mark_of_somebody_elses_hand(tmp_path: Path) -> None:
    (tmp_path / "ch_five.py").write_text(f"def f(d): pass\nf.{COMPARED_WITH} = 3\n")
    with pytest.raises(CannotStart, match=r"ch_five:f.*function of two values, not a int"):
        load(tmp_path, "ch_five:f")


def test_the_mark_survives_wrapping() -> None:
    def same(a: object, b: object) -> bool:
        return True

    @compare(same)
    def inner(data: bytes) -> bytes:
        return data

    @functools.wraps(inner)
    def outer(data: bytes) -> bytes:
        return inner(data)

    assert getattr(outer, COMPARED_WITH) is same
    assert compare(operator.eq)(inner) is inner


@pytest.mark.parametrize("wrong", [3, None, lambda data: data, lambda: 0])
def test_mistakes_with_the_decorator_are_seen_at_import(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"@compare\(same\): same must be"):
        compare(wrong)


def test_what_cannot_be_marked() -> None:
    with pytest.raises(TypeError, match="wrap it in a function"):
        compare(operator.eq)(len)


def test_spec(tmp_path: Path) -> None:
    spec: dict[str, Any] = {
        "instance": "main",
        "dir": str(tmp_path),
        "engine": {"kind": "mu2"},
        "target": {"function": "m:f", "compare": "m:same"},
    }
    file = tmp_path / "spec.json"
    file.write_text(json.dumps(spec))
    assert read_spec(file).target.compare == "m:same"
    del spec["target"]["compare"]
    file.write_text(json.dumps(spec))
    assert read_spec(file).target.compare == ""
    spec["target"]["compare"] = 3
    file.write_text(json.dumps(spec))
    with pytest.raises(CannotStart, match=r"target\.compare must be str"):
        read_spec(file)
