"""The run of an adopted fleet: its ``out`` is a symbolic link to the sync directory.

Nothing is moved or copied, so nothing can be lost: also while fuzztui is killed, the directory is
one that afl-fuzz itself can resume. Other fuzzers and scripts find it where it was.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.files import read_if_regular, read_json
from fuzztui.kernel.wire.afl import ADOPTED_BY
from fuzztui.run.campaign import FrozenCampaign, write_frozen
from fuzztui.run.campaign.rundir import RunDir, prepare_run
from fuzztui.tools.adopt.fleet import AdoptError, FoundFleet

_MAX_PATH: Final = 4096


def run_of_fleet(directory: Path) -> Path | None:
    """Return the run that has adopted a sync directory, or has begun to; None: there is none."""
    text = (read_if_regular(directory / ADOPTED_BY, _MAX_PATH) or b"").decode(errors="replace")
    run = RunDir(Path(text)) if text.startswith("/") and "\0" not in text else None
    try:
        return run.path if run and run.out.is_symlink() and _leads(run.out, directory) else None
    except OSError:  # no path can be that
        return None


def has_started(run: Path) -> bool:
    """Whether a supervisor has begun the log of a run."""
    try:
        return any(RunDir(run).log.iterdir())
    except OSError:
        return False


def remembered(run: Path) -> dict[str, Any]:
    """Return the commands of instances at an earlier attempt to adopt them, by name."""
    return read_json(_commands(run)) or {}


def make_run(loaded: FrozenCampaign, fleet: FoundFleet) -> None:
    """Make the run directory with its campaign file. Raises :class:`AdoptError`.

    May be called again for the same run, as long as it has not started.
    """
    run, directory = RunDir(loaded.campaign.output), fleet.directory
    if run.path.resolve().is_relative_to(directory):
        raise AdoptError(f"-o {run.path}: is inside {directory}; name another directory")
    try:
        if not os.path.lexists(run.path) or not any(run.path.iterdir()):
            run.supervisor.mkdir(mode=0o700, parents=True)
        elif not run.supervisor.is_dir() or has_started(run.path):
            raise AdoptError(f"{run.path}: exists already; name another directory with -o")
        if not run.out.is_symlink():
            if run.out.is_dir():
                run.out.rmdir()
            run.out.symlink_to(directory, target_is_directory=True)
        if not _leads(run.out, directory):
            raise AdoptError(f"{run.path}: adopts {run.out.resolve()}; name another one with -o")
        prepare_run(run.path)
        known = {one.name: one.to_json() for one in fleet.commands}
        replace_text(_commands(run.path), json.dumps(known))
        write_frozen(loaded, run.path)
        replace_text(directory / ADOPTED_BY, str(run.path.resolve()))
    except OSError as e:
        raise AdoptError(f"{e.filename or run.path}: {e.strerror or e}") from None


def _commands(run: Path) -> Path:
    return RunDir(run).supervisor / "adopted.json"


def _leads(link: Path, directory: Path) -> bool:
    return os.path.realpath(link) == os.path.realpath(directory)
