"""Paths and commands about a run, as users copy them: those of a mirrored run are for its host."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fuzztui.home.tested import WRITE_EXAMPLES
from fuzztui.remote.mirrored import Origin
from fuzztui.tui.base import shell

_mirrored: dict[Path, Origin] = {}
"""The runs of other machines that are shown here; drawing reads no files."""

_tested: dict[Path, Path] = {}
"""The projects of runs of ``fuzztui test`` that are shown here."""


def set_origin(run: Path, origin: Origin) -> None:
    """Say that a directory shows a run on another machine."""
    _mirrored[run] = origin


def set_project(run: Path, root: Path | None) -> None:
    """Say which project's tests a run fuzzes; None: it is no run of ``fuzztui test``."""
    if root is None:
        _tested.pop(run, None)
    else:
        _tested[run] = root


def examples_command(run: Path | None) -> str:
    """Return the command line that adds a run's findings to the tests; "" if there is none."""
    root = None if run is None else _tested.get(run)
    return "" if root is None else f"cd {shell.word(str(root))} && {WRITE_EXAMPLES}"


def run_command(run: Path, words: Sequence[str]) -> str:
    """Return a command line about a run; for a run on another machine: through ssh."""
    origin = _mirrored.get(run)
    if origin is None:
        return shell.command(words)
    there = shell.command([path_there(run, word) for word in words])
    return shell.command(["ssh", origin.address, there])


def path_there(run: Path | None, path: str) -> str:
    """Return a path of a file of the run, or of the run, on the machine where the run is."""
    origin = None if run is None else _mirrored.get(run)
    if origin is None or not (path == str(run) or path.startswith(f"{run}/")):
        return path
    return origin.run + path[len(str(run)) :]
