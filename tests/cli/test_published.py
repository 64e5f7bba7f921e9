"""What is written for others names no directory of the user."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import pytest

from fuzztui.cli.published import published


@dataclass(frozen=True, slots=True)
class Row:
    text: str
    rows: tuple[str, ...] = ()
    place: Path = Path("/home/user/x")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/user")


ROOT = Path("/home/user/src/project")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("/home/user/src/project/a.py:3", "a.py:3"),
        ('File "/home/user/src/project/a b.py", line 1', 'File "a b.py", line 1'),
        ("in /home/user/src/project", "in ."),
        ("/home/user/src/project2/a.py", "~/src/project2/a.py"),
        ("/home/user/venv/lib/x.py, /home/user", "~/venv/lib/x.py, ~"),
        ("/home/user-2/x", "/home/user-2/x"),
        ("/data/home/user/x", "/data/home/user/x"),
        ("/usr/lib/x.py", "/usr/lib/x.py"),
        ("cc -I/home/user/include", "cc -I~/include"),
        ("file:///home/user/x", "file:///home/user/x"),
        ("'/home/user/src/project/runs/a'", "'runs/a'"),
    ],
)
def test_texts(text: str, written: str) -> None:
    assert published(text, ROOT) == written


def test_data() -> None:
    row = Row("/home/user/src/project/a", ("/home/user/b", "c"))
    found = published({"/home/user/k": [row, 3, None, True, row.place]}, ROOT)
    assert found == {"~/k": [Row("a", ("~/b", "c")), 3, None, True, row.place]}
    assert published(Row("a"), ROOT) == Row("a")
    assert not dataclasses.asdict(published(row, ROOT))["text"].startswith("/")


def test_a_project_at_the_root_of_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/")
    assert published("/usr/lib/x.py", Path("/")) == "/usr/lib/x.py"
