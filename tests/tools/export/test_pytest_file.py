"""The pytest file: what is in it, by running it."""

import ast
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fuzztui.engines.export.literals import literal
from fuzztui.engines.findings import frozen
from fuzztui.features.corpus.matrix import CorpusMatrix
from fuzztui.tools.export.cases import TestCase, chosen_rows, shown_entry, word_of
from fuzztui.tools.export.pytest_file import CannotExport, TargetNames, TestWriter, data_dir
from fuzztui.tools.export.recorded import Recorded, RecordError

HARNESS = """
import datetime

class Zone(datetime.tzinfo):
    def utcoffset(self, dt):
        return datetime.timedelta(hours=3)
    def dst(self, dt):
        return None
    def tzname(self, dt):
        return "Z3"

class Odd:
    def __init__(self, n):
        self.n = n

def parse(text):
    if text == "bad":
        raise KeyError("no\\n key")
    if text == "bug":
        raise RuntimeError("a bug")
    if text == "odd":
        return Odd(3)
    if text == "aware":
        return datetime.datetime(2020, 1, 2, tzinfo=Zone()), datetime.timedelta(1)
    return [text.upper(), len(text), True]

def same(data):
    return len(data)

def alike(a, b):
    return a[0].lower() == b[0].lower()
"""


def written(value: object) -> dict[str, Any]:
    made = literal(value)
    raw = {bytes: "bytes", str: "text"}.get(type(value))
    return {"text": made.text, "modules": made.modules, "plain": made.plain, "raw": raw}


def case(entry: str, argument: object, value: object = None, **more: Any) -> TestCase:
    fields = {"outcome": "success", "value": written(value), "argument": written(argument)}
    fields |= more.pop("recorded", {})
    return TestCase(entry, "parse", Recorded.of(fields), **more)


def raised(module: str, name: str, message: str | None) -> dict[str, Any]:
    text = literal(message).text if message is not None else None
    return {"module": module, "name": name, "class": f"{module}.{name}", "message": text}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "harness.py").write_text(HARNESS)
    (tmp_path / "tests").mkdir()
    return tmp_path


def export(home: Path, cases: list[TestCase], function: str = "parse", **names: Any) -> Any:
    file = home / "tests" / "test_fuzz_it.py"
    reference = f"{home}/harness.py:{function}"
    target = TargetNames(reference, (str(home),), **names)
    made = TestWriter(file, target).write(cases, ["About."])
    file.write_text(made.text)
    if made.data:
        data_dir(file).mkdir(exist_ok=True)
        for name, data in made.data.items():
            (data_dir(file) / name).write_bytes(data)
    return made


def run(home: Path) -> dict[str, int]:
    argv = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts="]
    argv += ["-c", "/dev/null", "--rootdir", str(home), str(home / "tests")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, cwd=home)
    counts = done.stdout.strip().splitlines()[-1].partition(" in ")[0]
    return {word: int(n) for n, word in (part.split() for part in counts.split(", "))}


@pytest.mark.slow
def test_each_kind_of_outcome_passes_and_a_change_fails(home):
    long = "line 'x' \"y\"\n" * 30
    bad = {"outcome": "invalid", "error": raised("", "KeyError", "'no\\n key'")}
    failure = {"outcome": "failure", "error": raised("", "RuntimeError", "")}
    odd = {"value": {**written("harness.Odd\n  n: 3"), "described": True}}
    value = runpy.run_path(str(home / "harness.py"))["parse"]("aware")
    aware = frozen.described(value).replace("<run_path>", "harness")
    cases = [
        case("id:0", "aware", recorded={"value": {**written(aware), "described": True}}),
        case("id:1", "ab", ["AB", 2, True], hangs=True),
        case("id:2", "bad", recorded=bad),
        case("id:3", long, [long.upper(), len(long), True]),
        case("id:4", "odd", recorded=odd),
        case("id:5", "\ud800", ["\ud800", 1, True]),
        case("id:6", "bug", recorded=failure, cause="RuntimeError: a bug"),
        case("id:7", "boom", recorded={"outcome": "died"}, cause="the process died"),
    ]  # fmt: skip
    made = export(home, cases, expected=("KeyError",))
    assert len(made.tests) == 8
    assert any(name.endswith(".input") for name in made.data)
    assert run(home) == {"passed": 6, "xfailed": 2}
    for old, new in (
        ("len(text), True", "len(text), 1"),
        ('KeyError("no', 'KeyError("No'),
        ("KeyError", "LookupError"),
        ("Odd(3)", "Odd(4)"),
        ("hours=3", "hours=4"),
        ("timedelta(1)", "timedelta(2)"),
        ('raise RuntimeError("a bug")', "pass"),
        ('raise RuntimeError("a bug")', 'raise OSError("a bug")'),
    ):
        (home / "harness.py").write_text(HARNESS.replace(old, new))
        assert run(home).get("failed", 0) >= 1, old


def test_the_file_claims_confirmed_kills_alone_and_names_what_it_does_not_compare(home):
    claimed = case("id:0", "ab", ["AB", 2, True], kills=("m:f:x:0:-", "m:f:x:1:-"))
    assert "mutant" not in export(home, [claimed]).text
    claimed.confirmed = claimed.kills[:1]
    assert "Kills 1 mutant." in export(home, [claimed]).text
    partly = case("id:1", "odd", recorded={"value": {
        **written("harness.Odd"), "described": True, "unseen": ["file: io.File (not compared)"],
    }})  # fmt: skip
    assert "# not compared: file: io.File" in export(home, [partly]).text
    varies = case("id:2", "ab", ["AB", 2, True])
    varies.value = False
    assert varies.unseen
    assert not claimed.unseen
    text = export(home, [varies]).text
    assert "# not compared: " in text
    assert "assert" not in text.partition("def test_parse")[2]


@pytest.mark.slow
def test_a_target_named_like_a_helper_is_called_by_its_module(home):
    export(home, [case("id:1", "abc", 3)], function="same")
    assert run(home) == {"passed": 1}


@pytest.mark.slow
def test_the_comparison_of_the_harness_decides(home):
    export(home, [case("id:1", "ab", ["aB"])], compare=f"{home}/harness.py:alike")
    assert run(home) == {"passed": 1}


def test_a_name_that_cannot_be_imported_is_no_target(home):
    for function in ("os.system('x')", "a b", "x\nimport os"):
        with pytest.raises(CannotExport):
            export(home, [case("id:1", "a")], function=function)


@pytest.mark.parametrize(
    "change",
    [
        {"argument": {"text": "f()()", "modules": [], "plain": True}},
        {"argument": {"text": "1", "modules": ["os; x"], "plain": True}},
        {"choices": "b'' + x"},
        {"outcome": "invalid", "error": {"module": "", "name": "X)", "class": "X"}},
        {
            "outcome": "invalid",
            "error": {"module": "", "name": "X", "class": "X", "message": "a()("},
        },
        {"argument": 3},
    ],
)
def test_a_record_with_anything_but_literals_is_damaged(change):
    with pytest.raises(RecordError):
        Recorded.of({"outcome": "success", **change})


@pytest.mark.slow
def test_hostile_names_are_escaped(home):
    hostile = '"""\nimport os\nos._exit(9)\n"""\x1b[31m'
    made = export(
        home,
        [
            TestCase(
                shown_entry(f"queue/{hostile}"),
                word_of(hostile),
                case("", "ab", ["AB", 2, True]).recorded,
                kills=("m",),
                functions=((hostile, 1),),
            ),
            case("id:1", "bug", cause=hostile,
                 recorded={"outcome": "failure", "error": raised("", "RuntimeError", None)}),
        ],
    )  # fmt: skip
    assert not any(ord(ch) < 32 for ch in made.text.replace("\n", ""))
    calls = [n for n in ast.walk(ast.parse(made.text)) if isinstance(n, ast.Attribute)]
    assert "_exit" not in {n.attr for n in calls}
    assert run(home) == {"passed": 1, "xfailed": 1}


def test_the_first_tests_are_those_that_kill_most():
    def row(name: str, kills: list[int], edges: list[int], size: int = 1) -> dict[str, Any]:
        outcome = "failure" if name == "crash" else "success"
        return {"file": name, "sha256": "", "size": size, "outcome": outcome, "edges": edges,
                "kills": {"value": kills}}  # fmt: skip

    matrix = CorpusMatrix.of(
        {
            "mutants": [f"m:f:x:{n}:-" for n in range(9)],
            "cells": [["f.py", n, "then", "f"] for n in range(9)],
            "first_only": [],
            "rows": [
                row("edges", [0], [*range(8)]),
                row("kills", [1, 2, 3], [1]),
                row("twin", [1, 2, 3], [1], size=2),
                row("needless", [0], [1]),
                row("crash", [5], [8]),
            ],
        }
    )
    assert [r.file for r, _, _ in chosen_rows(matrix)] == ["kills", "edges"]


def test_a_value_is_shown_by_the_function_of_the_campaign(home):
    shown = f"{home}/harness.py:same"
    made = export(home, [case("id:1", "ab", 3)], shows=shown)
    assert "same(parse(" in made.text
    tests = runpy.run_path(str(home / "tests" / "test_fuzz_it.py"))
    tests["test_parse"]()


@pytest.mark.parametrize(
    ("instead", "kept"),
    [
        (["m:dumps", "m.n:Doc.unwrap"], ("m:dumps", "m.n:Doc.unwrap")),
        (['m:f"; import os', "m", "m:f()", "a/b.py:f", ":f", "m:"], ()),
    ],
)
def test_a_proposal_is_a_reference_and_nothing_else(instead, kept):
    value = {**written("x"), "unseen": ["y"], "instead": instead}
    assert Recorded.of({"outcome": "success", "value": value}).instead == kept
