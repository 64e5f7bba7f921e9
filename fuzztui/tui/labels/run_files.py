"""Files and commands about a run, as users copy them.

Files are in the run, or in a watched directory. Those of a mirrored run, and commands about it, are
for its host.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fuzztui.kernel.base.renamed_folders import present_file
from fuzztui.kernel.model.state import Entry, Finding, State
from fuzztui.kernel.remote.mirrored import Origin
from fuzztui.kernel.wire.finding_kinds import FOLDERS, kind_of
from fuzztui.run.home.finding import WRITE_EXAMPLES, tested_project
from fuzztui.tui.base import shell


@dataclass(frozen=True, slots=True)
class RunFile:
    """A file ``relative`` to ``root``. Must stay below ``root``: a log can contain any name."""

    root: Path
    relative: str

    @property
    def path(self) -> Path:
        """The file's path when the log recorded the file."""
        return self.root / self.relative


def place_of(row: Entry | Finding, state: State, run: Path | None) -> RunFile | None:
    """Return the path of ``row``'s file; None if it has no file, or the directory is unknown."""
    file = _file(row)
    instance = state.instances.get(row.instance)
    if not file:
        return None
    if instance is not None and Path(instance.directory).is_absolute():
        return RunFile(Path(instance.directory), file)
    return None if run is None else RunFile(run, f"{_folder(row, state)}/{file}")


def minimised_place(row: Finding, state: State, run: Path | None) -> RunFile | None:
    """Return the path of a finding's minimised input, which may not exist."""
    place = place_of(row, state, run)
    if place is None or place.root != run:
        return None
    return RunFile(run, f"minimised/{row.instance}/{place.path.name}")


def on_host(row: Entry | Finding, state: State) -> str:
    """Return the host of a row, with the file's path there if known; "" if found on no host."""
    instance = state.instances.get(row.instance)
    there = None if instance is None else state.hosts.get(instance.host)
    if there is None:
        return ""
    file = _file(row)
    if not there.run or not file:
        return there.name
    at = f"{there.address}:" if there.address else ""
    return f"{there.name}  {at}{there.run}/{_folder(row, state)}/{file}"


def _folder(row: Entry | Finding, state: State) -> str:
    """The directory of the row's instance, relative to the run."""
    instance = state.instances.get(row.instance)
    return (instance.directory if instance is not None else "") or f"out/{row.instance}"


def shown(row: Entry | Finding, state: State, run: Path | None) -> str:
    """Return the file's path for users: relative to the run; absolute for watched instances."""
    place = place_of(row, state, run)
    if place is None:
        return f"{_folder(row, state)}/{_file(row)}"
    return place.relative if place.root == run else str(place.path)


def _file(row: Entry | Finding) -> str:
    if isinstance(row, Entry):
        folder = "queue"
    else:
        folder = kind_of(row.category).folder
    return row.file if "/" in row.file or not row.file else f"{folder}/{row.file}"


def settled(place: RunFile) -> RunFile:
    """Return the file's current path. Blocking.

    A resumed afl-fuzz renames its directory ``crashes`` to ``crashes.DATE-TIME`` and starts a new
    one. The latest directory that contains the file is returned.
    """
    folder, _, name = place.relative.rpartition("/")
    above, _, kind = folder.rpartition("/")
    found = present_file(place.root / above, kind, name) if kind in FOLDERS else None
    if found is None:
        return place
    return RunFile(place.root, "/".join((*filter(None, [above]), found.parent.name, name)))


# ------------------------------------------------------------------- commands

_mirrored: dict[Path, Origin] = {}
"""Where mirrored runs are from, by directory here: kept, because drawing must read no files."""

_files: dict[Path, Path] = {}
"""The campaign file with which each run was started, by the run's directory."""


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


def start_commands(run: Path) -> list[list[str]]:
    """Return the words of the commands that check a run's campaign, and start it again."""
    file = _files.get(run)
    if file is None or tested_project(file) is not None:
        file = run / "campaign.toml"
    return [["fuzztui", "check", str(file)], ["fuzztui", str(file)]]


def run_command(run: Path, words: Sequence[str]) -> str:
    """Return a command line about a run; for a run on another machine: through ssh."""
    origin = _mirrored.get(run)
    if origin is None:
        return shell.command(words)
    there = shell.command([path_there(run, word) for word in words])
    return shell.command(["ssh", origin.address, there])


def near_command(run: Path, words: Sequence[str]) -> str:
    """Return :func:`run_command` with paths as the current directory has them, if shorter."""
    return run_command(run, words if run in _mirrored else [_near(word) for word in words])


def _near(word: str) -> str:
    if not word.startswith("/"):
        return word
    try:
        return min(word, os.path.relpath(word), key=len)
    except OSError:  # the current directory is gone
        return word


def path_there(run: Path | None, path: str) -> str:
    """Return a path of a file of the run, or of the run, on the machine where the run is."""
    origin = None if run is None else _mirrored.get(run)
    if origin is None or not (path == str(run) or path.startswith(f"{run}/")):
        return path
    return origin.run + path[len(str(run)) :]
