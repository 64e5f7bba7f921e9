"""``.ci/stress``: which tests fail now and then."""

import importlib.util
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest
from waiting import wait_until

ROOT = Path(__file__).parents[2]


@pytest.fixture
def stress():
    """``.ci`` is no package, and the program has no suffix."""
    loader = SourceFileLoader("stress", str(ROOT / ".ci/stress"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("stress", loader))
    sys.modules["stress"] = module  # which its dataclasses need
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    try:
        loader.exec_module(module)
        yield module
    finally:
        sys.dont_write_bytecode = before
        del sys.modules["stress"]


def report(*cases: str) -> str:
    return f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>"


def case(name: str, inner: str = "") -> str:
    return f'<testcase classname="tests.a" name="{name}">{inner}</testcase>'


def test_failures_are_counted_over_the_runs(stress):
    one = stress.Outcomes()
    bad = '<failure message="1 | 2&#10;more">trace</failure>'
    for text in (report(case("x", bad), case("y")), report(case("x"), case("y")),
                 report(case("x", bad), case("y", '<error message="no setup"/>'))):  # fmt: skip
        one.runs += 1
        stress.add(one, text)
    lines = list(stress.table({"fast": one, "slow": stress.Outcomes()}))
    assert lines[0] == "fast: 3 runs of 2 tests, 3 failures"
    assert lines[2:] == [
        "| fast | 2 of 3 | tests.a::x | 1 \\| 2 |",
        "| fast | 1 of 3 | tests.a::y | no setup |",
    ]


def test_without_failures_there_is_no_table(stress):
    one = stress.Outcomes(runs=2)
    stress.add(one, report(case("x", "<skipped/>")))
    assert list(stress.table({"fast": one})) == ["fast: 2 runs of 1 tests, 0 failures"]


@pytest.mark.slow
def test_a_test_that_fails_is_a_row_and_a_run_without_results_is_told(
    stress, tmp_path, monkeypatch
):
    (tmp_path / "test_a.py").write_text("def test_good(): pass\ndef test_bad(): assert 1 == 2\n")
    pytest_ = tmp_path / "pytest"
    pytest_.write_text(f'#!/bin/sh\nexec {sys.executable} -m pytest -o addopts= "$@"\n')
    pytest_.chmod(0o755)
    monkeypatch.setattr(stress, "PYTEST", pytest_)
    monkeypatch.setattr(stress, "REPOSITORY", tmp_path)
    one = stress.Outcomes()
    stress.run(one, "not slow", ["test_a.py"])
    assert {name: len(words) for name, words in one.failed.items()} == {"test_a::test_bad": 1}
    assert (one.runs, one.tests, one.broken) == (1, 2, [])
    pytest_.write_text("#!/bin/sh\nexit 3\n")
    stress.run(one, "not slow", [])
    assert one.broken == ["run 2: pytest ended with 3"]


def test_the_load_ends_with_its_run(stress, monkeypatch):
    monkeypatch.setattr(stress.shutil, "which", lambda name: None)
    started = []
    popen = subprocess.Popen
    monkeypatch.setattr(
        stress.subprocess, "Popen", lambda argv: started.append(popen(argv)) or started[-1]
    )
    with stress.load(2):
        assert [process.poll() for process in started] == [None, None]
    wait_until(lambda: all(process.poll() is not None for process in started))
