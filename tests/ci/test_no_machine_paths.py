"""Nothing in the repository depends on where a developer keeps things."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "tests", "benchmarks", "experiments", "fuzztui", "engines", "sample_campaigns", "docs",
    ".ci", ".github",
)  # fmt: skip
FILES = [
    *(p for folder in FOLDERS for p in (ROOT / folder).rglob("*")),
    *(p for p in ROOT.iterdir() if p.name != ".git"),
]
SUFFIXES = {"", ".py", ".toml", ".md", ".yml", ".yaml", ".c", ".h", ".sh", ".cfg", ".json", ".txt"}

MACHINE = re.compile(
    r"""/(?<![\w.>*\])-]/)                              # the path is absolute
    (?:root(?!\w)|(?:work|opt|mnt|srv|Users)/\w
      |home/(?!(?:me|user|somebody|fuzz)\b)\w          # people in examples, on test hosts
      |usr/local/(?!bin:)\w)
    |[.]pyenv\b""",
    re.VERBOSE,
)


def machine_paths(text: str) -> list[str]:
    """The lines with a path that exists only on somebody's machine."""
    return [line.strip() for line in text.splitlines() if MACHINE.search(line)]


def test_no_file_names_a_path_of_a_machine():
    found = {}
    for file in FILES:
        if file.suffix not in SUFFIXES or "__pycache__" in file.parts or not file.is_file():
            continue
        if file == Path(__file__):
            continue
        lines = machine_paths(file.read_text(errors="replace"))
        if lines:
            found[str(file.relative_to(ROOT))] = lines
    assert not found


@pytest.mark.parametrize(
    "line",
    [
        'PYTHON = "/root/.pyenv/versions/3.12.1/bin/python"',
        "runs = Path('/work/main/runs')",
        "/home/jane/fuzztui/.venv/bin/python",
        'glob("/opt/python3.13")',
        "#!/usr/local/bin/python3",
        'Path.home() / ".pyenv"',
        "cd /Users/jane",
    ],
)
def test_such_a_path_is_found(line):
    assert machine_paths(f"# one\n{line}\n") == [line]


@pytest.mark.parametrize(
    "line",
    ["RUN/mutants/work/failed", "/home/me/x.tif", 'run / "work/state"', "PATH=/usr/local/bin:/bin"],
)
def test_other_paths_are_not(line):
    assert not machine_paths(line)
