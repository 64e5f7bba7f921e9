"""Which runs are of a campaign file, and which of them it means: the newest.

A run tells in ``supervisor/origin.json`` which file it is of, and when it was started. Runs are
looked for where the file would be run now; only where there is none also beside the file, and
among those that run, wherever they are.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from time import time
from typing import Any

from fuzztui.base.atomic import replace_text
from fuzztui.base.files import read_json
from fuzztui.campaign import Campaign, FrozenCampaign
from fuzztui.cli.output import USAGE, CliError, say, still_run
from fuzztui.remote.address import announced
from fuzztui.remote.client import running

__all__ = ["another", "has_begun", "is_run", "newest", "refuse_foreign", "remember"]


def is_run(path: Path) -> bool:
    """Whether a directory looks like a run of ours: others have a ``log/`` too."""
    log = path / "log"
    try:
        return log.is_dir() and ((path / "supervisor").is_dir() or any(log.glob("*.jsonl*")))
    except OSError:
        return False


def has_begun(run: Path) -> bool:
    """Whether a campaign is or was in progress: one that was refused has left no frozen copy."""
    return is_run(run) and (_frozen(run).is_file() or running(run) is not None)


def newest(loaded: FrozenCampaign, more: str = "") -> Path | None:
    """The run that a campaign file means; None if it has none.

    Says which where that is not plain: one of several, or elsewhere (``more`` is added then).
    """
    campaign = loaded.campaign
    if campaign.file.parent == campaign.output:  # the run's own copy means that one
        return campaign.output if has_begun(campaign.output) else None
    alive = list(_alive(campaign))
    here = list(_in_place(campaign.output, loaded))
    runs = here or _elsewhere(loaded, alive)
    if not runs:
        return None
    chosen = max(runs, key=lambda run: (_origin(run).began, _number(run, campaign.output.name)))
    others = {run.resolve() for run in (*runs, *alive)} - {chosen.resolve()}
    words = str(_short(chosen))
    if len(runs) > 1:
        words += f", the newest of {len(runs)} runs"
    if still := sorted(str(_short(run)) for run in others if running(run)):
        words += f"; {still_run(still)}"
    if not here:
        say(f"its run is {words}{more}")
    elif words != str(_short(chosen)) or chosen != campaign.output:
        say(f"{campaign.file.name}: {words}")
    return chosen


def another(campaign: Campaign) -> Path:
    """A directory for one more run: its number is above those of all that are there.

    That of a run that has never started is taken again.
    """
    first = campaign.output
    base = campaign.name.replace("/", "_")
    own_copy = campaign.file.parent == first
    if own_copy and re.fullmatch(rf"{re.escape(base)}-\d+", first.name):  # a later run's
        first = first.with_name(base)
    there = {_number(path, first.name): path for path in _siblings(first)}
    if not there:
        return first
    last = max(there)
    left = is_run(there[last]) and not has_begun(there[last])
    if left and not _foreign_origin(there[last], campaign):
        return there[last]
    return first.with_name(f"{first.name}-{last + 1}")


def remember(run: Path, campaign: Campaign) -> None:
    """Write into a run, which is made, whose it is. Raises OSError."""
    if campaign.file.parent == run:
        return
    before = _origin(run)
    # A run's own copy is of the file that the run is of.
    file = _origin(campaign.file.parent).file or campaign.file.resolve()
    began, name = before.began, before.name
    if not _frozen(run).exists():
        began, name = time(), run.name
    if before == (now := _Origin(file, began, name)):
        return
    words = json.dumps({"file": str(now.file), "began": began, "name": name})
    replace_text(run / "supervisor" / "origin.json", words)


def refuse_foreign(output: Path, loaded: FrozenCampaign) -> None:
    """Raise :class:`CliError` if the file's directory is a run of another campaign file."""
    if loaded.says_where or not has_begun(output):
        return
    if other := _foreign_origin(output, loaded.campaign):
        words = f"{output} is a run of {other}: use --new, or --set campaign.output=DIR"
        raise CliError(words, USAGE)


def _foreign_origin(run: Path, campaign: Campaign) -> Path | None:
    """The other campaign file, one that is there, that a run is of; None if it is of this one."""
    file = _origin(run).file
    return None if file in (None, campaign.file.resolve()) or not _exists(file) else file


@dataclass(frozen=True, slots=True)
class _Origin:
    file: Path | None = None
    """The campaign file, resolved; None where it is not told."""
    began: float = 0.0
    """Unix time; 0 where it is not told."""
    name: str = ""
    """The directory's: one that was given another name was put aside."""


def _origin(run: Path) -> _Origin:
    data = read_json(run / "supervisor" / "origin.json") or {}
    try:
        began = float(data["began"])
        name = str(data.get("name", ""))
        return _Origin(Path(data["file"]), began if isfinite(began) else 0.0, name)
    except (ValueError, TypeError, KeyError, OverflowError):
        return _Origin()


def _in_place(output: Path, loaded: FrozenCampaign) -> Iterator[Path]:
    """The runs of the file among ``output`` and those that are numbered after it."""
    campaign = loaded.campaign
    for run in _siblings(output):
        if not has_begun(run):
            continue
        if run == output and (loaded.says_where or not _foreign_origin(run, campaign)):
            yield run
        elif run != output and not _foreign_origin(run, campaign):
            origin = _origin(run)
            # Older ones do not tell, and of a file that was moved they tell what it was.
            told = origin.file == campaign.file.resolve() or _name(run) == campaign.name
            if told and origin.name in ("", run.name):
                yield run


def _elsewhere(loaded: FrozenCampaign, alive: Iterable[Path]) -> list[Path]:
    """Those beside the file that are the user's own, and those that run."""
    campaign = loaded.campaign
    beside = campaign.file.resolve().parent / "runs" / campaign.output.name
    found = [] if loaded.says_where else [r for r in _in_place(beside, loaded) if _ours(r)]
    return [*{run.resolve(): run for run in (*alive, *found)}.values()]


def _alive(campaign: Campaign) -> Iterator[Path]:
    """The user's runs of the file that have a supervisor, wherever they are.

    Only those of its name: with another one (``--set``) another run is wanted. While a first start
    is being prepared there is no name yet.
    """
    file = campaign.file.resolve()
    for run in announced():
        if _ours(run) and _origin(run).file == file and _name(run) in ("", campaign.name):
            yield run


def _siblings(output: Path) -> list[Path]:
    """``output`` and what is numbered after it, whatever it is."""
    try:
        names = os.listdir(output.parent)  # noqa: PTH208 - names only
    except OSError:
        return []
    return [output.with_name(name) for name in names if _number(Path(name), output.name)]


def _number(path: Path, base: str) -> int:
    """1 for the first run's directory, N for ``base-N``; 0 for another's."""
    match = re.fullmatch(rf"{re.escape(base)}(?:-([2-9]|[1-9]\d{{1,8}}))?", path.name)
    return int(match[1] or 1) if match else 0


def _frozen(run: Path) -> Path:
    return run / "campaign.toml"


def _name(run: Path) -> str:
    """The name of the campaign that a run is of; "" where it cannot be read."""
    try:
        table: Any = tomllib.loads(_frozen(run).read_text()).get("campaign")
        return str(table["name"])
    except (OSError, ValueError, TypeError, KeyError):
        return ""


def _exists(file: Path) -> bool:
    try:
        return file.exists()
    except OSError:  # a directory of another user's
        return True


def _ours(run: Path) -> bool:
    try:
        return run.stat().st_uid == os.geteuid()
    except OSError:
        return False


def _short(path: Path) -> Path:
    """As one would type it here."""
    here = Path.cwd()
    inside = path.is_relative_to(here) and here != here.parent
    return path.relative_to(here) if inside else path
