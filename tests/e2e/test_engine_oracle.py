"""What is a bug beside crashes and hangs: messages, and a second implementation."""

import json
import sys
from pathlib import Path

import pytest
from engine_lab import Lab, events, names, reason, stats

COMPILER = """
class CompileError(Exception):
    pass

def target(text: str):
    if text.startswith("ice"):
        raise CompileError(f"line {len(text)}: internal error {len(text)}")
    if text.startswith("odd"):
        raise CompileError("internal error in another place")
    raise CompileError("syntax error")
"""

JSONS = '''
import json

def target(text: str):
    return json.loads(text)

def strict(text: str):
    """Refuses what JSON does not know, and keeps the first of two equal keys."""
    def refuse(name):
        raise ValueError(f"no constant {name}")
    return json.loads(text, parse_constant=refuse, object_pairs_hook=first)

def first(pairs):
    found = {}
    for key, value in pairs:
        found.setdefault(key, value)
    return found

def dies(text: str):
    if text == "2":
        import os
        os._exit(9)
    return json.loads(text)

def slow(text: str):
    while text == "2":
        pass
    return json.loads(text)
'''


def seeds(lab: Lab, *texts: str) -> dict[str, object]:
    return {"seeds": lab.seeds(*texts), "constants": False}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "code", "said"),
    [("__repr__", 0, "success: a value without repr()"), ("__str__", 1, "test_app")],
)
def test_texts_that_never_end_are_cut(lab: Lab, text: str, code: int, said: str) -> None:
    """What a value or an exception says of itself is the target's code."""
    lab.write(
        "test_app.py",
        f"class Odd(ValueError):\n    def {text}(self):\n        while True: pass\n\n"
        f"def target(data):\n    if {code}: raise Odd\n    return Odd()\n",
    )
    status, printed = lab.repro(lab.spec("test_app:target"), b"abc")
    assert status == code
    assert said in printed


@pytest.mark.slow
def test_a_message_makes_an_expected_exception_a_failure(lab: Lab) -> None:
    lab.write("app.py", COMPILER)
    spec = lab.spec(
        "app:target",
        budget_trials=4,
        target={"expected": ["app.CompileError"]},
        engine=seeds(lab, "ice 1", "ice 12", "odd", "x"),
        oracle={"message": "internal error.*"},
    )
    assert lab.run(spec) == 0
    found = lab.findings(spec.parent)
    assert sorted(found) == [
        "app.CompileError saying 'internal error #' @ app.py:7 in target",
        "app.CompileError saying 'internal error in another place' @ app.py:9 in target",
    ]
    event = found["app.CompileError saying 'internal error #' @ app.py:7 in target"]
    assert event["title"] == "app.CompileError: line 5: internal error 5"
    assert event["count"] == 2
    assert event["category"] == "crash"
    assert "because of its message" in str(event["detail"])
    assert "raise CompileError(f" in str(event["detail"])
    assert (stats(spec.parent)["failed_inputs"], stats(spec.parent)["invalid_inputs"]) == ("3", "1")
    for name in names(spec.parent, "crashes"):
        status, said = lab.repro(spec, spec.parent / "crashes" / name)
        assert status == 1
        assert said.startswith("failure: app.CompileError: ")


def against(lab: Lab, other: str, *texts: str, trials: int, **oracle: bool) -> Path:
    """Run ``target`` of :data:`JSONS` on texts, and another function beside it; the spec."""
    lab.write("app.py", JSONS)
    keys = {"budget_trials": trials, "target": {"expected": ["ValueError"], "timeout_s": 0.3}}
    oracle = {"against": f"app:{other}", **oracle}
    spec = lab.spec("app:target", other, engine=seeds(lab, *texts), oracle=oracle, **keys)
    lab.finish(spec)
    return spec


@pytest.mark.slow
def test_a_second_implementation_that_does_something_else(lab: Lab) -> None:
    texts = ("1", "NaN", '{"a": 1, "a": 2.5}', "[", "[Infinity]")
    spec = against(lab, "strict", *texts, trials=5, always=True)
    found = lab.findings(spec.parent)
    assert sorted(found) == [
        "differs @ accepted / ValueError: no constant Infinity",
        "differs @ accepted / ValueError: no constant NaN",
        "differs @ values float / int",
    ]
    event = found["differs @ values float / int"]
    assert event["category"] == "differs"
    assert event["title"] == "app:target returned {'a': 2.5}, app:strict returned {'a': 1}"
    assert event["detail"] == (
        "app:target accepted it: returned {'a': 2.5}\napp:strict accepted it: returned {'a': 1}\n"
    )
    assert str(event["file"]).startswith("crashes/id:000001,sig:00,time:")
    assert event["input"] == '{"a": 1, "a": 2.5}'
    event = found["differs @ accepted / ValueError: no constant NaN"]
    assert "app:strict rejected it: ValueError: no constant NaN" in str(event["detail"])
    assert stats(spec.parent)["failed_inputs"] == "0"
    status, said = lab.repro(spec, spec.parent / str(event["file"]))
    assert status == 1
    assert "success: nan\ndiffers: app:target accepted it, app:strict rejected it: Value" in said
    assert lab.repro(spec, b"[1]") == (0, "success: [1]\napp:strict does the same\n")


@pytest.mark.slow
def test_it_is_run_on_what_is_saved_only(lab: Lab) -> None:
    """The second one covers nothing new: it is no entry of the queue."""
    spec = against(lab, "strict", "1", "2", "NaN", trials=2)
    assert not lab.findings(spec.parent)


@pytest.mark.slow
def test_a_second_implementation_that_dies_or_hangs(lab: Lab) -> None:
    spec = against(lab, "dies", "1", "2", "3", trials=3, always=True)
    (event,) = events(spec.parent, "finding_described")
    assert (event["title"], event["input"]) == ("the process exited with status 9", "2")
    spec = against(lab, "slow", "1", "2", "3", trials=3, always=True)
    (event,) = events(spec.parent, "finding_described")
    assert event["signature"] == "differs @ accepted / timeout"


@pytest.mark.slow
def test_two_libraries_of_toml(lab: Lab) -> None:
    """tomli knows TOML 1.1, tomllib does not yet; of what both accept they make the same."""
    lab.write(
        "app.py",
        "import tomllib, tomli\n"
        "def target(text: str): return tomllib.loads(text)\n"
        "def against(text: str): return tomli.loads(text)\n",
    )
    directory = lab.campaign(
        "app:target",
        budget_trials=600,
        target={"include": ["tomllib"],
                "expected": ["tomllib.TOMLDecodeError", "tomli.TOMLDecodeError"]},
        engine=seeds(lab, 'a = 1\n[b]\nc = "d"\ne = [1.5, 1979-05-27]\n', 'a = "\\x41"', "a = 1:2"),
        oracle={"against": "app:against", "always": True},
    )  # fmt: skip
    told = [e for e in events(directory, "finding_described") if e["category"] == "differs"]
    assert told
    assert not [e for e in told if "values" in str(e["signature"])]
    newer = sys.version_info >= (3, 15)  # the standard library follows
    escapes = [e for e in told if "'a': 'A'" in str(e["detail"])]
    assert newer or "tomllib.TOMLDecodeError: Unescaped" in str(escapes[0]["signature"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("oracle", "words"),
    [
        ({"against": "app:nothing"}, 'oracle.against = "app:nothing": module app has no function'),
        ({"against": "nowhere:f"}, "oracle.against"),
        ({"message": "("}, "oracle.message = '(' is not a regular expression"),
    ],
)
def test_what_cannot_be(lab: Lab, oracle: dict[str, object], words: str) -> None:
    lab.write("app.py", JSONS)
    spec = lab.spec("app:target", oracle=oracle)
    assert lab.run(spec) == 3
    assert words in reason(spec.parent)


def test_spec_without_a_table(lab: Lab) -> None:
    lab.write("app.py", JSONS)
    spec = lab.spec("app:target", budget_trials=1)
    assert "oracle" not in json.loads(spec.read_text())
    assert lab.run(spec) == 0


def test_repro_shows_what_the_choices_make(lab: Lab) -> None:
    lab.write("app.py", "def target(d): return d")
    file = lab.write("gen.py", "def pair(r): return (r.integer(0, 9), [r.boolean()])")
    generator = f"{file}:pair"
    spec = lab.spec("app:target", target={"generator": generator})
    said = "input: (0, [False])\nsuccess: (0, [False])\n"
    assert lab.repro(spec, b"\x00" * 20) == (0, said)
