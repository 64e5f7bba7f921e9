"""Find a run on this host by what a user at another machine has written: ``box:RUN``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from fuzztui.kernel.remote.access import user_name
from fuzztui.kernel.remote.address import supervised_runs
from fuzztui.kernel.remote.lock import running

PLACES: Final = ("runs", ".local/share/fuzztui/runs")
"""Where runs are by default, in the user's home directory: one's own, and those of hubs."""

_MAX_NAMED: Final = 10


class NoRun(Exception):
    """There is no such run, or there are several; the message is for users."""


def find_run(given: str) -> Path:
    """Return the directory of a run. Raises :class:`NoRun`.

    ``given``: a run directory or one with runs, relative to the home directory or to one of
    :data:`PLACES`; an empty string: the only running one, or else the latest.
    """
    home = Path.home()
    if not given:
        return _chosen(supervised_runs() or _runs([home / place for place in PLACES]))
    try:
        path = home / Path(given).expanduser()
    except RuntimeError:
        raise NoRun(f"{given}: there is no such user") from None
    short = [] if given[0] in "/~" else [home / place / given for place in PLACES]
    for candidate in (path, *short):
        if _is_run(candidate):
            return candidate
        if candidate.name == "log" and _is_run(candidate.parent):
            return candidate.parent
    if path.is_dir():
        return _chosen(_runs([path]))
    named = [run for place in PLACES for run in _runs_in(home / place)]
    if found := [run for run in named if run.name.startswith(f"{given}-")]:
        return _chosen(found)
    raise NoRun(f"{path}: there is no such run directory{_instead()}")


def _runs(places: list[Path]) -> list[Path]:
    if runs := [run for place in places for run in _runs_in(place)]:
        return runs
    raise NoRun(f"no run in {' or '.join(map(str, places))}; name the run directory{_instead()}")


def _chosen(runs: list[Path]) -> Path:
    """The only running one, or else the latest."""
    alive = [run for run in runs if running(run) is not None]
    if len(alive) > 1:
        raise NoRun(f"several campaigns are running; name one of {_names(alive)}")
    return max(alive or runs, key=lambda run: (run / "log").stat().st_mtime)


def _instead() -> str:
    alive = supervised_runs()
    return f" (running: {_names(alive)})" if alive else ""


def _names(runs: list[Path]) -> str:
    names = sorted(map(str, runs))
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(names[:_MAX_NAMED]) + more


def _runs_in(place: Path) -> list[Path]:
    try:
        return [path for path in place.iterdir() if _is_run(path)]
    except OSError:
        return []


def _is_run(path: Path) -> bool:
    """Raises :class:`NoRun` if this user may not look."""
    try:
        return (path / "log").is_dir() and (path / "supervisor").is_dir()
    except PermissionError:
        raise NoRun(
            f"{path} cannot be read by {user_name(os.getuid())}; its owner may share it: "
            "campaign.group (docs/hosts.md)"
        ) from None
    except OSError:
        return False
