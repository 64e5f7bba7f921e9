"""``@example(...)`` in test files: patches that apply, and what is left out."""

import ast
import shutil
import subprocess

import pytest

from fuzztui.tools.export.example_patch import FailingExample, patch
from fuzztui.tools.export.made_examples import MadeExample

SOURCE = '''\
"""Tests."""

import datetime
from hypothesis import given, settings
from hypothesis import strategies as st


@settings(max_examples=5)
@given(n=st.integers(),
       text=st.text())
def test_two(n, text):
    assert n < 3


class TestIt:
    @given(st.dates())
    def test_day(self, day):
        assert day.year < 2000


class Machine:
    pass
'''


NAMES = {"datetime.date": "datetime.date", "float": "float"}


def call(text, names=NAMES):
    """The example that calls a test with the arguments of a text."""
    keywords = ast.parse(f"f({text})", mode="eval").body.keywords
    return MadeExample(arguments=[(k.arg, ast.unparse(k.value), names) for k in keywords], why="")


def made(*examples, source=SOURCE):
    rows = [
        FailingExample(name, example if isinstance(example, MadeExample) else call(example))
        for name, example in examples
    ]
    text, added, refused = patch({"tests/test_a.py": source}, rows)
    new = [line[1:].lstrip() for line in text.split("\n") if line.startswith("+")]
    assert added == sum(line.startswith("@") for line in new)
    return text, refused


def test_only_examples_that_are_added_are_counted():
    name = "tests/test_a.py::test_two"
    rows = [FailingExample(name, call(f"n={n}")) for n in ("nan", "inf")]
    assert patch({"tests/test_a.py": SOURCE}, rows)[1] == 0
    rows += [FailingExample(name, call("n=4, text=''"))] * 2
    assert patch({"tests/test_a.py": SOURCE}, rows)[1] == 1


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_patch_that_applies(tmp_path):
    text, refused = made(
        ("tests/test_a.py::test_two", "n=5, text='a\\n\\u202e'"),
        ("tests/test_a.py::test_two", "n=-7, text=''"),
        ("tests/test_a.py::test_two", "n=-7, text=''"),
        ("tests/test_a.py::TestIt::test_day",
         "day=datetime.date(2000, 1, 1)"),
    )  # fmt: skip
    assert not refused
    (tmp_path / "tests").mkdir()
    file = tmp_path / "tests" / "test_a.py"
    file.write_text(SOURCE)
    done = subprocess.run(
        ["git", "apply", "-"], input=text, text=True, cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    after = file.read_text()
    compile(after, "test_a.py", "exec")
    assert after.count("from hypothesis import example\n") == 1
    assert after.count("@example(n=-7, text='')\n") == 1
    assert "       text=st.text())\n@example(n=5, text='a\\n\\u202e')\n" in after
    assert "    @given(st.dates())\n    @example(day=datetime.date(2000, 1, 1))\n" in after


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_lines_and_indentation_are_those_of_the_file(ending, tmp_path):
    head = "from hypothesis import given, strategies as st\n\f\n# \x1c\u2028\n"
    body = "class TestA:\n\t@given(n=st.integers())\n\tdef test_tab(self, n): ...\n"
    source = (head + body).replace("\n", ending)
    name = "tests/test_a.py::TestA::test_tab"
    text, refused = made((name, "n=5"), source=source)
    assert not refused
    (tmp_path / "tests").mkdir()
    file = tmp_path / "tests" / "test_a.py"
    file.write_bytes(source.encode())
    done = subprocess.run(
        ["git", "apply", "-"], input=text.encode(), cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    after = file.read_bytes().decode()
    compile(after, "test_a.py", "exec")
    assert f"\t@given(n=st.integers()){ending}\t@example(n=5){ending}" in after


@pytest.mark.parametrize(
    ("example", "why"),
    [
        ("n=nan, text=''", "not a class"),
        ("data=data(...)", "not a class"),
        ("n=[x for x in 'a']", "not a literal"),
        ("n=1 if 2 else 3", "not a literal"),
        ("n=f'{1}'", "not a literal"),
        ("n=(lambda: 1)()", "not a literal"),
        ("n=__import__('os')", "not a class"),
        ("n=datetime.date.today()", "not a class"),
        ("n=datetime.sys.exit(1)", "not a class"),
        ("n=float.fromhex('1')", "not a class"),
        ("n='a'.join([])", "not a class"),
        ("n='" + "a" * 5000 + "'", "characters"),
        (call("n=a.B()", {"a.B": "gone.B"}), "gone"),
        (call("n=a.B()", {"a.B": "eval"}), "eval"),
        (call("n=a.B()", {"a.B": "float.fromhex"}), "float"),
        (call("n=a.B()", {"a.B": "st.x(1)"}), "not a class"),
        (MadeExample(arguments=[("n", "1) or exit(", {})], why=""), "valid Python"),
        (MadeExample(arguments=[("n=exit(), m", "1", {})], why=""), "valid Python"),
        (MadeExample(arguments=[("None", "1", {})], why=""), "valid Python"),
        (MadeExample(why="n: it is a module"), "n: it is a module"),
    ],
)
def test_what_is_no_example(example, why):
    name = "tests/test_a.py::test_two"
    text, refused = made((name, example))
    assert text == ""
    assert why in refused[name]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("tests/test_a.py::test_gone", "not defined"),
        ("tests/test_a.py::Machine", "stateful"),
        ("tests/test_b.py::test_x", "cannot be read"),
    ],
)
def test_tests_that_take_none(name, why):
    text, refused = made((name, "n=1"))
    assert text == ""
    assert why in refused[name]


@pytest.mark.parametrize("parameters", ["a(1)-b", "a/b(c)"])
def test_parameters_are_not_part_of_the_test_name(parameters):
    text, refused = made((f"tests/test_a.py::test_two[{parameters}]", "n=4"))
    assert not refused
    assert "+@example(n=4)\n" in text


def test_classes_have_the_names_of_the_file():
    names = {"datetime.date": "Day", "float": "float"}
    source = SOURCE.replace("import datetime\n", "from datetime import date as Day\n")
    text, refused = made(
        (
            "tests/test_a.py::test_two",
            call("n={1: datetime.date(1, 2, 3)}, text=float('nan')", names),
        ),
        source=source,
    )
    assert not refused
    assert "+@example(n={1: Day(1, 2, 3)}, text=float('nan'))\n" in text


@pytest.mark.parametrize(
    ("head", "decorator", "imports"),
    [
        ("from hypothesis import given, example as ex", "@ex(n=4)", 0),
        ("import hypothesis\nfrom hypothesis import given", "@hypothesis.example(n=4)", 0),
        ("from hypothesis import given\ndef example(): pass", "@hypothesis_example(n=4)", 1),
    ],
)
def test_the_decorator_is_imported_as_the_file_does(head, decorator, imports):
    source = f"{head}\n\n@given(...)\ndef test_two(n):\n    pass\n"
    text, _ = made(("tests/test_a.py::test_two", "n=4"), source=source)
    assert f"+{decorator}\n" in text
    assert text.count("+from hypothesis import") == imports


def test_an_example_that_is_there_is_not_added_again():
    source = SOURCE.replace("@settings", "@example(n=4)\n@settings")
    assert made(("tests/test_a.py::test_two", "n=4"), source=source)[0] == ""


def test_an_example_of_another_test_does_not_count():
    other = "\n\n@example(n=4)\n@given(n=...)\ndef test_three(n):\n    pass  # @example(n=5)\n"
    rows = [("tests/test_a.py::test_two", f"n={n}") for n in (4, 5)]
    text, refused = made(*rows, source=SOURCE + other)
    assert not refused
    assert "+@example(n=4)\n+@example(n=5)\n" in text
