"""The line at the end of a test session that names the packages that are missing."""

import re
from pathlib import Path

import pytest
from skipped import advice

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
    # Comby is no package of Debian's.
    assert [m for m in marks if not advice([m]) and "comby" not in m] == []
