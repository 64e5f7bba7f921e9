"""Constants, the file, what is refused, and the child process."""

import json
import os
import subprocess
import sys

import pytest
from targets_lab import THUMBS

from fuzztui.features.targeting.analysis import (
    Request,
    TargetingAnalysis,
    TargetsError,
    find_targets,
)
from fuzztui.features.targeting.analysis.analyse import unify
from fuzztui.features.targeting.analysis.document import DocumentError, Influence


def test_constants_and_how_they_are_used(lab):
    document = lab.study('''
        """A docstring."""
        LIMIT = 7

        def entry(x: "str", y: int = 3) -> "int":
            """Another."""
            if x == "equal" or x in ("in", b"bytes") or x.startswith("start") or y > True:
                return helper({"key": x}["item"])
            match y:
                case 5:
                    return -12
            return f"{x}text"

        def helper(x):
            return x.get("got", "default")

        def nobody():
            return "unreachable"
    ''')
    assert [(c.value, c.context) for c in document.constants] == [
        (7, "="), (3, "other"), ("equal", "=="), ("in", "in"), (b"bytes", "in"),
        ("start", "startswith"), ("key", "key"), ("item", "subscript"), (5, "case"),
        (12, "return"), ("text", "other"), ("got", "get"), ("default", "get"),
    ]  # fmt: skip


def test_reachable(lab):
    document = lab.study("""
        def entry(x):
            return getattr(A(), "named")(x)
        class A:
            def named(self, x):
                return x if x else 1
            def other(self, x):
                return x if x else 1
    """)
    assert {t.function: t.reachable for t in document.targets} == {
        "A.named": True, "A.other": False,
    }  # fmt: skip


def test_functions_that_only_lambdas_mention_are_reachable(lab):
    document = lab.study("""
        TABLE = {"a": lambda x: chosen(x)}
        def entry(x):
            return TABLE["a"](x)
        def chosen(x):
            return x if x == 77 else 1
        def other(x):
            return x if x else 1
    """)
    assert {t.function: t.reachable for t in document.targets} == {"chosen": True, "other": False}
    assert 77 in [c.value for c in document.constants]


def test_what_cannot_be_read_is_left_out(lab):
    lab.write({
        "pack/__init__.py": "",
        "pack/broken.py": "def f(:\n",
        "pack/app.py": "def entry(x: int):\n    if x: pass\n",
        "pack/empty.py": "X = 1\n",
    })  # fmt: skip
    document = lab.study(function="pack.app:entry")
    assert document.notes[0] == "pack/broken.py:1: left out, cannot be parsed: invalid syntax"
    assert [t.location for t in document.targets] == ["pack/app.py:2:then", "pack/app.py:2:else"]


def test_locations_are_unique(lab):
    document = lab.study("def entry(x: int):\n    return (1 if x else 2) + (3 if x else 4)\n")
    assert [t.location for t in document.targets] == [
        "app.py:2:17:then", "app.py:2:17:else", "app.py:2:35:then", "app.py:2:35:else",
    ]  # fmt: skip


def test_the_document_reads_back(lab):
    document = lab.study(THUMBS)
    assert TargetingAnalysis.loads(document.dumps()) == document
    assert json.loads(document.dumps()) == document.to_json()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not a JSON file"),
        ("[]", "version is None"),
        ('{"version": 2}', "version is 2, but this fuzztui reads 1; make the file again"),
        ('{"version": 1}', "application must be a list, not None"),
        (
            '{"version": 1, "application": [], "modules": [{}]}',
            "modules[0] is invalid (KeyError: 'name')",
        ),
    ],
)
def test_what_is_wrong_with_a_document(text, words):
    with pytest.raises(DocumentError) as raised:
        TargetingAnalysis.loads(text)
    assert words in str(raised.value)


def test_unification_takes_the_target_with_the_most_types():
    few, many = [Influence("a", 1)], [Influence("a", 5), Influence("b", 2)]
    assert unify([few, many]) == (Influence("b", 2), Influence("a", 5))
    assert unify([[Influence("a", 3)], few]) == (Influence("a", 1),)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"include": ("nowhere",)}, "no Python source of nowhere for"),
        ({"python": "/no/python"}, 'target.python = "/no/python": cannot determine its'),
        ({"observed": "/no/file"}, "/no/file: No such file or directory"),
        ({"function": "x.py:f"}, "target.include is missing"),
    ],
)
def test_refused(lab, more, words):
    lab.write(app="def entry(x): pass\n")
    base = {"function": "app:entry", "python": sys.executable, "path": (str(lab.directory),)}
    with pytest.raises(TargetsError) as raised:
        find_targets(Request(**{**base, **more}), cache=lab.cache)
    assert words in str(raised.value)


def test_observed_types_are_names(lab):
    lab.write({"app.py": "def entry(x): pass\n", "seen.json": '{"app.entry": {"x": ["a b"]}}'})
    request = lab.request(observed=str(lab.directory / "seen.json"))
    with pytest.raises(TargetsError, match=r"app\.entry must be an object with a list of"):
        find_targets(request, cache=lab.cache)


@pytest.mark.slow
def test_deep_expressions(lab):
    lab.write(app=f"def entry(x: int):\n    if {' + '.join(['x'] * 3000)}: pass\n")
    assert find_targets(lab.request(), cache=lab.cache).notes == (
        "app: nested too deeply for the analysis, so incomplete",
        "app.py: nested too deeply to be instrumented: no goals",
    )


@pytest.mark.slow
def test_the_child_keeps_what_it_found(lab):
    lab.write(app=THUMBS)
    said = []
    first = find_targets(lab.request("app:collect"), said.append, cache=lab.cache)
    assert "checking the types in 1 module with mypy" in said
    said.clear()
    assert find_targets(lab.request("app:collect"), said.append, cache=lab.cache) == first
    assert said == ["1 module of app"]
    lab.write(app=THUMBS.replace("2008", "2009"))
    assert find_targets(lab.request("app:collect"), cache=lab.cache) != first


@pytest.mark.slow
def test_the_same_bytes_whatever_the_hashes(lab):
    lab.write(app=THUMBS)
    written = set()
    for seed in "0", "1", "2":
        cache = lab.directory / f"cache{seed}"
        cache.mkdir()
        for name in "mypy", "targets.lock":
            (cache / name).symlink_to(lab.cache / name)
        answer = subprocess.run(
            [sys.executable, "-P", "-m", "fuzztui.features.targeting.analysis", str(cache)],
            input=lab.request("app:collect").dumps(),
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        written.add(json.loads(answer.stdout.splitlines()[-1])["document"])
    assert len(written) == 1
