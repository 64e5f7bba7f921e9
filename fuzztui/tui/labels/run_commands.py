"""Paths and commands about a run, as users copy them: those of a mirrored run are for its host."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fuzztui.kernel.remote.mirrored import Origin
from fuzztui.run.home.finding import WRITE_EXAMPLES, tested_project
from fuzztui.tui.base import shell

_mirrored: dict[Path, Origin] = {}
"""The runs of other machines that are shown here; drawing reads no files."""

_files: dict[Path, Path] = {}
"""The campaign files of the runs that are shown here."""


def set_origin(run: Path, origin: Origin) -> None:
    """Say that a directory shows a run on another machine."""
    _mirrored[run] = origin


def set_file(run: Path, file: Path | None) -> None:
    """Say with which campaign file a run was started; None: that is unknown."""
    if file is None:
        _files.pop(run, None)
    else:
        _files[run] = file


def examples_command(run: Path | None) -> str:
    """Return the command line that adds a run's findings to the tests; "" if there is none."""
    root = tested_project(None if run is None else _files.get(run))
    return "" if root is None else f"cd {shell.word(str(root))} && {WRITE_EXAMPLES}"


def start_commands(run: Path) -> list[str]:
    """Return the command lines that check a run's campaign, and start it again."""
    file = _files.get(run)
    if file is None or tested_project(file) is not None:
        file = run / "campaign.toml"
    words = (["fuzztui", "check", str(file)], ["fuzztui", str(file)])
    return [run_command(run, each) for each in words]


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
