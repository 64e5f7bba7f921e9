"""Which other Pythons the tests use: those that a variable names, or those on PATH."""

import os
import sys
from pathlib import Path

import pytest
from interpreters import VARIABLE, pythons

OWN = sys.version_info.minor


def program(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def search(tmp_path, monkeypatch):
    """A PATH of one folder, and no variable."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


def test_the_path_is_searched_for_each_version(search):
    twelve = program(search / "bin/python3.12")
    assert pythons(12, 13) == [twelve]


def test_a_shim_stands_for_the_versions_behind_it(search, monkeypatch):
    monkeypatch.setenv("PATH", str(search / "shims"))
    program(search / "shims/python3.12", "exit 127")
    behind = [program(search / f"versions/3.12.{n}/bin/python3.12") for n in (1, 4)]
    program(search / "versions/3.13.0/bin/python3.13")
    assert pythons(12, 13) == behind


def test_the_variable_replaces_the_search(search, monkeypatch):
    program(search / "bin/python3.12")
    named = [program(search / name, f"echo {minor}") for name, minor in (("a", 12), ("b", 13))]
    monkeypatch.setenv(VARIABLE, os.pathsep.join(map(str, named)))
    assert pythons(12, 13) == named
    assert pythons(13) == named[1:]
    monkeypatch.setenv(VARIABLE, "")
    assert pythons(12, 13) == []


@pytest.mark.parametrize("text", ["exit 1", "echo no version"])
def test_a_program_that_is_no_python_is_an_error(search, monkeypatch, text):
    monkeypatch.setenv(VARIABLE, str(program(search / "wrong", text)))
    with pytest.raises(ValueError, match=VARIABLE):
        pythons(12)


def test_the_interpreter_of_the_tests_is_no_other_one(monkeypatch):
    monkeypatch.setenv(VARIABLE, sys.executable)
    assert pythons(OWN) == []
