"""The line at the end of a test session that names the packages that are missing."""

import re
from pathlib import Path

import pytest
import skipped
import tomli
from skipped import advice, extras_advice, lacking

TESTS = Path(__file__).parents[1]
REASON = re.compile(r'which\([^"]*"[\w-]+"[^"]*\).*?reason="([^"]+)"', re.DOTALL)


def test_packages_are_named_once_and_tests_counted():
    said = advice(
        ["afl++ is not installed", "no C compiler", "root may write anywhere", "no afl-fuzz"]
    )
    assert said.startswith("3 tests ")
    assert said.endswith("apt install afl++ gcc libc6-dev")


@pytest.mark.parametrize("reasons", [[], ["root may write anywhere"]])
def test_nothing_is_advised_if_no_program_is_missing(reasons):
    assert advice(reasons) == ""


def test_each_program_that_a_test_needs_is_known():
    marks = [
        match[1]
        for file in TESTS.rglob("test_*.py")
        for mark in re.findall(r"skipif\(.*?\)\n", file.read_text(), re.DOTALL)
        if (match := REASON.search(mark))
    ]
    assert len(marks) > 20
    assert [m for m in marks if not advice([m])] == []


@pytest.fixture
def without(monkeypatch):
    """``without("aws")``: as if its packages were not installed."""
    return lambda *extras: monkeypatch.setattr(skipped, "is_missing", lambda e: e in extras)


def test_files_that_import_an_extra_are_left_out_where_it_is_missing(tmp_path, without):
    texts = {"test_a.py": "import os\nimport boto3\n", "test_b.py": "from dask_cluster import x\n",
             "test_c.py": "text = 'import boto3'\n", "lab.py": "import boto3\n"}  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    files = [tmp_path / name for name in texts]
    without()
    assert [lacking(file) for file in files] == [""] * 4
    assert extras_advice(files, ["no afl-fuzz"]) == ""
    without("aws", "cluster")
    assert [lacking(file) for file in files] == ["aws", "cluster", "", ""]
    line = extras_advice(files, ["the extra cluster is not installed"])
    assert line.startswith("2 files of tests and 1 other tests ")
    assert line.endswith("'.[aws,cluster]'")
    without("cluster")
    assert extras_advice(files, []).endswith("'.[cluster]'")


def test_readmes_command_installs_none_of_the_packages_that_may_be_missing():
    extras = tomli.loads((TESTS.parent / "pyproject.toml").read_text())["project"]
    extras = extras["optional-dependencies"]
    installed, queue = set(), ["test"]
    while queue:
        for requirement in extras[queue.pop()]:
            if inner := re.fullmatch(r"fuzztui\[(.*)\]", requirement):
                queue += inner[1].split(",")
            installed.add(re.match(r"[\w-]+", requirement)[0])
    assert {"pytest", "hypothesis", "mypy"} <= installed
    assert not installed & {"boto3", "moto", "distributed", "cryptography"}
