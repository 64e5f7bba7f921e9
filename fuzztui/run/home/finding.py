"""Find run directories below some directories, within bounds, and what a run was started with."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.files import read_json

MAX_RUNS: Final = 2000
MAX_DIRECTORIES: Final = 20_000
"""Directories that are listed in one search."""
MAX_DEPTH: Final = 5
"""Levels below a given directory that are searched."""


def is_run(path: Path) -> bool:
    """Whether a directory looks like a run of fuzztui (``log/`` alone is not sufficient)."""
    log = path / "log"
    try:
        return log.is_dir() and ((path / "supervisor").is_dir() or any(log.glob("*.jsonl*")))
    except OSError:
        return False


def runs_in(directory: Path) -> list[Path]:
    """Return the runs directly in a directory, also linked ones; none if it does not exist.

    Raises OSError if it cannot be read.
    """
    try:
        return [path for path in directory.iterdir() if is_run(path)]
    except (FileNotFoundError, NotADirectoryError):
        return []


@dataclass(frozen=True, slots=True)
class FoundRuns:
    """The runs that were found, and what was left out."""

    runs: list[Path]
    """Absolute, each run once."""
    unread: list[tuple[Path, str]]
    """Directories that cannot be listed, and why."""
    cut: bool = False
    """Whether the search has ended at a limit."""


def find_runs(places: Iterable[Path]) -> FoundRuns:
    """Find runs among ``places`` and below them.

    The search enters no run, no hidden directory and no symbolic link below a place.
    """
    found: dict[Path, Path] = {}
    unread: list[tuple[Path, str]] = []
    left = MAX_DIRECTORIES
    waiting = [(place.absolute(), 0) for place in places]
    waiting.reverse()
    while waiting:
        path, depth = waiting.pop()
        if is_run(path):
            found.setdefault(path.resolve(), path)
            if len(found) >= MAX_RUNS:
                return FoundRuns([*found.values()], unread, cut=True)
            continue
        if depth > MAX_DEPTH:
            continue
        if left <= 0:
            return FoundRuns([*found.values()], unread, cut=True)
        left -= 1
        try:
            with os.scandir(path) as entries:
                below = sorted(e.name for e in entries if _is_entered(e))
        except OSError as e:
            unread.append((path, e.strerror or str(e)))
            continue
        waiting += [(path / name, depth + 1) for name in reversed(below)]
    return FoundRuns([*found.values()], unread)


def _is_entered(entry: os.DirEntry[str]) -> bool:
    try:
        return not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


TEST_FILE: Final = "fuzztui-test.toml"
"""The name that stands for the campaign file of ``fuzztui test``; nothing is written there."""

WRITE_EXAMPLES: Final = "fuzztui test --write-examples | patch -p1"
"""The command that adds the findings to the tests; to be run in the project's root."""


def campaign_file(run: Path) -> Path | None:
    """Return the campaign file that a run was started with; None if that is unknown."""
    file = (read_json(run / "supervisor" / "origin.json") or {}).get("file")
    return Path(file) if isinstance(file, str) else None


def tested_project(file: Path | None) -> Path | None:
    """Return the root of the project whose tests ``fuzztui test`` fuzzes; None: another file."""
    return file.parent if file is not None and file.name == TEST_FILE else None
