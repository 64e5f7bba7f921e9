"""What is written for others names no directory of the user."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import pytest

from fuzztui.base.published import published


@dataclass(frozen=True, slots=True)
class Row:
    text: str
    rows: tuple[str, ...] = ()
    place: Path = Path("/home/ann/x")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")


ROOT = Path("/home/ann/src/project")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("/home/ann/src/project/a.py:3", "a.py:3"),
        ('File "/home/ann/src/project/a b.py", line 1', 'File "a b.py", line 1'),
        ("in /home/ann/src/project", "in ."),
        ("/home/ann/src/project2/a.py", "~/src/project2/a.py"),
        ("/home/ann/venv/lib/x.py, /home/ann", "~/venv/lib/x.py, ~"),
        ("/home/anna/x", "/home/anna/x"),
        ("/mnt/home/ann/x", "/mnt/home/ann/x"),
        ("/usr/lib/x.py", "/usr/lib/x.py"),
        ("cc -I/home/ann/include", "cc -I~/include"),
        ("file:///home/ann/x", "file:///home/ann/x"),
        ("'/home/ann/src/project/runs/a'", "'runs/a'"),
    ],
)
def test_texts(text: str, written: str) -> None:
    assert published(text, ROOT) == written


def test_data() -> None:
    row = Row("/home/ann/src/project/a", ("/home/ann/b", "c"))
    found = published({"/home/ann/k": [row, 3, None, True, row.place]}, ROOT)
    assert found == {"~/k": [Row("a", ("~/b", "c")), 3, None, True, row.place]}
    assert published(Row("a"), ROOT) == Row("a")
    assert not dataclasses.asdict(published(row, ROOT))["text"].startswith("/")


def test_a_project_at_the_root_of_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/")
    assert published("/usr/lib/x.py", Path("/")) == "/usr/lib/x.py"
