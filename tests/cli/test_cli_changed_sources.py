"""``fuzztui FILE --since``: which lines of ``mutants.sources`` are mutated."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

import pytest

from fuzztui.cli.changed_sources import changed_sources
from fuzztui.cli.output import USAGE, CliError
from fuzztui.run.campaign import load

PYTHON = """\
import sys


def first(x):
    return x + 1


def second(x):
    # a comment
    return x + 2
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with ``pkg/mod.py``, in which line 5 has changed, and line 9: a comment."""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/mod.py").write_text(PYTHON)
    (tmp_path / "c.diff").write_text(
        "--- a/pkg/mod.py\n+++ b/pkg/mod.py\n@@ -5 +5 @@\n-    return x\n+    return x + 1\n"
        "@@ -9 +9 @@\n-    # an old comment\n+    # a comment\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sources(
    tree: Path, *names: str, diff: str = "c.diff", mutants: bool = True
) -> list[str] | None:
    """The sources of a Python campaign with only what ``diff`` has changed; None: nothing."""
    text = '[campaign]\nbudget = "10m"\n[target]\nfunction = "pkg.mod:first"\n'
    text += '[engine]\nkind = "zest"\n'
    if mutants:
        text += f"[mutants]\nsources = {json.dumps(names)}\n"
    (tree / "fuzz.toml").write_text(text)
    options = Namespace(file=tree / "fuzz.toml", since=None, in_diff=tree / diff)
    found = changed_sources(load(tree / "fuzz.toml"), options)
    if found is None:
        return None
    key, _, value = found[0].partition("=")
    assert key == "mutants.sources"
    assert load(tree / "fuzz.toml", found).campaign.table("mutants")["sources"]
    return json.loads(value)  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", ["pkg/mod.py", "pkg.mod"])
def test_of_python_the_changed_functions(tree: Path, name: str) -> None:
    assert sources(tree, name) == [f"{name}:4-5"]


def test_lines_that_the_campaign_names_limit_them(tree: Path) -> None:
    assert sources(tree, "pkg/mod.py:1-4,9") == ["pkg/mod.py:4"]
    assert sources(tree, "pkg/mod.py:9-10") is None


def test_a_source_without_a_change_is_left_out(tree: Path) -> None:
    (tree / "pkg/other.py").write_text(PYTHON)
    assert sources(tree, "pkg/other.py", "pkg/mod.py") == ["pkg/mod.py:4-5"]
    assert sources(tree, "pkg/other.py") is None


def test_of_other_languages_the_changed_lines(tree: Path) -> None:
    (tree / "build").write_text("#!/bin/sh\n")
    (tree / "mod.c").write_text("int one;\nint two;\nint three;\n")
    (tree / "c.diff").write_text(
        "--- a/mod.c\n+++ b/mod.c\n@@ -2,2 +2,2 @@\n-int 2;\n-int 3;\n+int two;\n+int three;\n"
    )
    (tree / "fuzz.toml").write_text(
        '[campaign]\nbudget = "10m"\n[target]\ncommand = ["./mod", "@@"]\nbuild = "true"\n'
        '[engine]\nkind = "afl"\n[mutants]\nsources = ["mod.c"]\n'
    )
    options = Namespace(file=tree / "fuzz.toml", since=None, in_diff=tree / "c.diff")
    assert changed_sources(load(tree / "fuzz.toml"), options) == ['mutants.sources=["mod.c:2-3"]']


def test_without_mutants_it_is_refused(tree: Path) -> None:
    with pytest.raises(CliError) as e:
        sources(tree, mutants=False)
    assert e.value.code == USAGE
    assert "fuzztui ci" in str(e.value)


def test_without_the_options_nothing_is_overridden(tree: Path) -> None:
    (tree / "fuzz.toml").write_text(
        '[target]\nfunction = "pkg.mod:first"\n[engine]\nkind = "zest"\n'
    )
    options = Namespace(file=tree / "fuzz.toml", since=None, in_diff=None)
    assert changed_sources(load(tree / "fuzz.toml"), options) == []


def test_a_module_that_may_be_two_changed_files_is_refused(tree: Path) -> None:
    (tree / "other/pkg").mkdir(parents=True)
    (tree / "other/pkg/mod.py").write_text(PYTHON)
    diff = (tree / "c.diff").read_text()
    (tree / "c.diff").write_text(diff + diff.replace("pkg/mod.py", "other/pkg/mod.py"))
    with pytest.raises(CliError, match="name the file"):
        sources(tree, "pkg.mod")
    assert sources(tree, "pkg/mod.py") == ["pkg/mod.py:4-5"]
