"""From changed lines to functions: what has changed, and what has only moved."""

from pathlib import Path

import pytest

from fuzztui.tools.changes.code import CodeChanges, changed_code
from fuzztui.tools.changes.lines import ChangedFile, ChangedFiles, ChangesError, Lines

BEFORE = '''\
"""A module."""
LIMIT = (
    1,
    2,
)
def one(x):
    if x > 1:
        return [
            x,
            2,
        ]
    return 0
@staticmethod
def two():
    return 2
class Shape:
    sides = 3
    @property
    def area(self):
        def inner():
            return 4
        return inner()
    @area.setter
    def area(self, value):
        self.n = value
'''


def of(tmp_path: Path, now: str, lines: Lines, before: str | None = BEFORE):
    file = tmp_path / "m.py"
    file.write_text(now)
    raw = None if before is None else before.encode()
    return changed_code(ChangedFile(file, "m.py", lines, raw))


def edited(tmp_path: Path, old: str, new: str):
    """The changed code after one edit; all lines that differ by position have changed."""
    now = BEFORE.replace(old, new)
    assert now != BEFORE
    was, is_ = BEFORE.split("\n"), now.split("\n")
    lines = [n for n, line in enumerate(is_, 1) if n > len(was) or was[n - 1] != line]
    return of(tmp_path, now, tuple((n, n) for n in lines))


@pytest.mark.parametrize(
    ("old", "new", "functions", "imported"),
    [
        ("return 2\n", "return 3\n", {"two"}, ()),
        ("            2,\n", "            3,\n", {"one"}, ()),
        ("return 4", "return 5", {"Shape.area", "Shape.area.inner"}, ()),
        ("self.n = value", "self.m = value", {"Shape.area#2"}, ()),
        ("@staticmethod", "@classmethod", {"two"}, ()),
        ("sides = 3", "sides = 4", set(), ((17, 17),)),
        ("    2,\n)", "    3,\n)", set(), ((2, 5),)),  # the whole statement
        ("def two():", "def three():", {"three"}, ()),
        ("class Shape:", "class Shape(object):", set(), ((16, 16),)),
    ],
)
def test_what_has_changed(tmp_path: Path, old: str, new: str, functions, imported) -> None:
    code = edited(tmp_path, old, new)
    assert set(code.functions) == functions
    assert code.imported == imported
    assert code


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return 2\n", "return  2  # two\n"),
        ("    return 0\n", "    # a comment\n\n    return 0\n"),
        ('"""A module."""', '"""Another text."""'),
        ("def one(x):\n", 'def one(x):\n    """Return something."""\n'),
        ("class Shape:\n", "\n\n\nclass Shape:\n"),
        ("if x > 1:", "if (x > 1):"),
    ],
)
def test_what_has_only_moved_or_is_not_executed(tmp_path: Path, old: str, new: str) -> None:
    code = edited(tmp_path, old, new)
    assert not code
    assert code.regions == ()


def test_functions_that_changed_their_places(tmp_path: Path) -> None:
    two = "@staticmethod\ndef two():\n    return 2\n"
    code = of(tmp_path, BEFORE.replace(two, "") + two, ((22, 25),))
    assert code.functions == {}


def test_a_changed_line_means_its_whole_statement(tmp_path: Path) -> None:
    assert of(tmp_path, BEFORE, ((10, 10),), None).statements == ((8, 11),)
    assert of(tmp_path, BEFORE, ((7, 7),), None).statements == ((7, 7),)
    assert of(tmp_path, BEFORE, ((13, 13),), None).statements == ((13, 14),)


def test_a_new_file_has_changed_as_a_whole(tmp_path: Path) -> None:
    code = of(tmp_path, BEFORE, ((1, 25),), None)
    assert set(code.functions) == {"one", "two", "Shape.area", "Shape.area.inner", "Shape.area#2"}
    assert code.functions["two"] == (13, 15)
    assert code.imported == ((2, 5), (16, 17))


def test_a_file_that_was_broken_before(tmp_path: Path) -> None:
    assert set(of(tmp_path, BEFORE, ((15, 15),), "def broken(:\n").functions) == {"two"}


@pytest.mark.parametrize(
    "source", [b"def f(:\n", b"x = '\n", b"\xff\n", b"a\0b", b"(" * 9999, b"# coding: nonsense\n"]
)
def test_a_file_that_is_not_python(tmp_path: Path, source: bytes) -> None:
    file = tmp_path / "m.py"
    file.write_bytes(source)
    with pytest.raises(ChangesError, match=r"m\.py"):
        changed_code(ChangedFile(file, "m.py", ((1, 1),), None))


def test_lines_of_a_tree(tmp_path: Path) -> None:
    file, link = tmp_path / "m.py", tmp_path / "link.py"
    file.write_text(BEFORE)
    link.symlink_to(file)
    notes = tmp_path / "notes.md"
    notes.write_text("text")
    files = {p: ChangedFile(p, p.name, ((9, 9),), None) for p in (file, notes)}
    code = CodeChanges(ChangedFiles(tmp_path, files, "main"))
    assert list(code.by_file) == [file]
    # A mutant's file may be a link, or have another spelling.
    for path in (str(file), str(link), f"{tmp_path}/x/../m.py"):
        assert [n for n in range(30) if code.in_changed_code(path, n)] == list(range(6, 13))
        assert [n for n in range(30) if code.on_changed_line(path, n)] == [8, 9, 10, 11]
    assert not code.in_changed_code(str(notes), 9)
    assert not code.in_changed_code("", 9)
