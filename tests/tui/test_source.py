"""Source lines are shown only when they are the mutant's; reading them blocks nothing."""

import ast
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.tui.base import source_excerpt
from fuzztui.tui.base.source_excerpt import load, substitute

TEXT = "def f(a, b):\n    # add\n    return g(\n        a + b,\n        a+b)\n\n\nx = 1\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "m.py"
    path.write_text(TEXT)
    return str(path)


def test_the_lines_around(file):
    found = load(file, 4, "a + b")
    assert found.problem == ""
    assert (found.first, found.line) == (2, 4)
    assert found.text == "        a + b,"
    assert len(found.lines) == 5
    assert load(file, 1, "def f").first == 1
    assert load(file, 8, "x = 1").lines[-1] == "x = 1"


def test_an_expression_over_several_lines(file):
    assert load(file, 3, "g( a + b, a+b)").text == "    return g("
    assert load(file, 3, "g( a + …").text == "    return g("


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("inside", "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
def test_lines_are_counted_as_python_does(tmp_path, inside, end):
    text = f"# one{inside}\n# two\nx = 1\n".replace("\n", end)
    (node,) = ast.parse(text.encode()).body
    (tmp_path / "m.py").write_bytes(text.encode())
    found = load(str(tmp_path / "m.py"), node.lineno, "x = 1")
    assert (found.problem, found.text, found.line) == ("", "x = 1", 3)
    assert len(found.lines) == 3


@pytest.mark.parametrize(
    ("line", "before"),
    [(3, "a + b"), (4, "a - b"), (0, "x"), (-1, "x"), (99, "x"), (4, ""), (6, "x")],
)  # fmt: skip
def test_what_does_not_stand_there_is_not_shown(file, line, before):
    found = load(file, line, before)
    assert not found.lines
    assert found.problem == "the file has changed: this line contains other code now"


def test_no_file_of_ours(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "big.py").write_text("x = 1\n" * 100)
    monkeypatch.setattr(source_excerpt, "MAX_BYTES", 100)
    for path, words in (
        ("", "does not contain"), ("m.py", "does not contain"), ("/etc\0x", "cannot be read"),
        (str(tmp_path / "gone.py"), "does not exist"), (str(tmp_path / "fifo"), "not a regular"),
        (str(tmp_path), "not a regular"), (str(tmp_path / "big.py"), "larger than"),
        ("/" + "x" * 5000, "cannot be read"),
    ):  # fmt: skip
        found = load(path, 1, "x = 1")
        assert words in found.problem, (path, found)
        assert not found.lines


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "m.py").write_bytes(b"a = b'\xff\xfe' + c\r\nd\n")
    assert load(str(tmp_path / "m.py"), 1, "+ c").text.endswith("+ c")


@pytest.mark.parametrize(
    ("text", "before", "parts"),
    [
        ("  if a < b:", "a < b", ("  if ", ":")),
        ("  if a <  b:", "a < b", ("  if ", ":")),
        ("ab + a", "a", ("ab + ", "")),
        ("f(x) + x", "f(x)", ("", " + x")),
        ("a + a", "a", None),
        ("a + b", "", None),
        ("a + b", "c", None),
        ("self.value", "value", None),
    ],
)
def test_substitution_is_only_where_it_is_clear(text, before, parts):
    assert substitute(text, before) == parts


@given(st.text(max_size=20), st.text(max_size=6), st.text(max_size=20))
def test_left_and_right_of_it(left, before, right):
    text = left + before + right
    parts = substitute(text, before)
    if parts is not None:
        middle = text[len(parts[0]) : len(text) - len(parts[1])]
        assert text == parts[0] + middle + parts[1]
        assert middle.split() == before.split()
