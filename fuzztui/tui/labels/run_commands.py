"""Paths and commands about a run, as users copy them: those of a mirrored run are for its host."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fuzztui.remote.mirrored import Origin
from fuzztui.tui.base import shell

_mirrored: dict[Path, Origin] = {}
"""The runs of other machines that are shown here; drawing reads no files."""


def set_origin(run: Path, origin: Origin) -> None:
    """Say that a directory shows a run on another machine."""
    _mirrored[run] = origin


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
