"""Find the runs of a campaign file; the file means the newest of them.

A run's ``supervisor/origin.json`` contains its campaign file and start time. Runs are searched in
the directory where the file would be run now; if there is none, also next to the file, and among
all running campaigns of the user.
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

from fuzztui.cli.output import UsageError, say, short_path, still_run
from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.files import read_json
from fuzztui.kernel.remote.address import supervised_runs
from fuzztui.kernel.remote.lock import running
from fuzztui.run.campaign import Campaign, FrozenCampaign
from fuzztui.run.home.finding import is_run, runs_in


def has_begun(run: Path) -> bool:
    """Whether a campaign was started; a rejected start leaves no frozen copy."""
    return is_run(run) and (_frozen(run).is_file() or running(run) is not None)


def newest(loaded: FrozenCampaign, more: str = "") -> Path | None:
    """Return the newest run of a campaign file; None if there is none.

    Prints the choice if there are several runs, or if the run is elsewhere (``more`` is then added
    to the message).
    """
    campaign = loaded.campaign
    if campaign.file.parent == campaign.output:  # a frozen copy means its run
        return campaign.output if has_begun(campaign.output) else None
    alive = list(_alive(campaign))
    here = list(_in_place(campaign.output, loaded))
    runs = here or _elsewhere(loaded, alive)
    if not runs:
        return None
    chosen = max(runs, key=lambda run: (_origin(run).began, _number(run, campaign.output.name)))
    others = {run.resolve() for run in (*runs, *alive)} - {chosen.resolve()}
    text = short_path(chosen)
    if len(runs) > 1:
        text += f", the newest of {len(runs)} runs"
    if still := sorted(short_path(run) for run in others if running(run)):
        text += f"; {still_run(still)}"
    if not here:
        say(f"its run is {text}{more}")
    elif text != short_path(chosen) or chosen != campaign.output:
        say(f"{campaign.file.name if _exists(campaign.file) else campaign.name}: {text}")
    return chosen


def newest_of_file(campaign: Campaign) -> Path | None:
    """Return the newest run of a campaign's file here, whatever the run's name; None: none.

    The file stands for several campaigns if ``fuzztui test`` makes them.
    """
    file = campaign.file.resolve()
    folders = dict.fromkeys((campaign.output.parent, file.parent / "runs"))
    runs = [run for folder in folders for run in _own_runs(folder) if _origin(run).file == file]
    return max(runs, key=lambda run: _origin(run).began, default=None)


def _own_runs(folder: Path) -> list[Path]:
    """Return the user's own runs in a directory."""
    try:
        return [run for run in runs_in(folder) if has_begun(run) and _is_own(run)]
    except OSError:
        return []


def another(campaign: Campaign) -> Path:
    """Return the directory for one more run, with a number above those of all existing runs.

    The directory of the last run is reused if that run was never started.
    """
    first = campaign.output
    base = campaign.name.replace("/", "_")
    own_copy = campaign.file.parent == first
    if own_copy and re.fullmatch(rf"{re.escape(base)}-\d+", first.name):  # a numbered run
        first = first.with_name(base)
    existing = {_number(path, first.name): path for path in _numbered(first)}
    if not existing:
        return first
    last = max(existing)
    unused = is_run(existing[last]) and not has_begun(existing[last])
    if unused and not _other_file(existing[last], campaign):
        return existing[last]
    return first.with_name(f"{first.name}-{last + 1}")


def remember(run: Path, campaign: Campaign) -> None:
    """Write the campaign file and start time into an existing run directory. Raises OSError."""
    if campaign.file.parent == run:
        return
    before = _origin(run)
    # A frozen copy stands for the campaign file of its run.
    file = _origin(campaign.file.parent).file or campaign.file.resolve()
    began, name = before.began, before.name
    if not _frozen(run).exists():
        began, name = time(), run.name
    if before == (now := _Origin(file, began, name)):
        return
    text = json.dumps({"file": str(now.file), "began": began, "name": name})
    replace_text(run / "supervisor" / "origin.json", text)


def refuse_other_run(output: Path, loaded: FrozenCampaign) -> None:
    """Raise :class:`CliError` if ``output`` is a run of another campaign file."""
    if loaded.says_where or not has_begun(output):
        return
    if other := _other_file(output, loaded.campaign):
        message = f"{output} is a run of {other}; use --new, or --set campaign.output=DIR"
        raise UsageError(message)


def _other_file(run: Path, campaign: Campaign) -> Path | None:
    """Return the campaign file of a run if it is an existing file other than the campaign's."""
    file = _origin(run).file
    return None if file in (None, campaign.file.resolve()) or not _exists(file) else file


@dataclass(frozen=True, slots=True)
class _Origin:
    file: Path | None = None
    """The campaign file, resolved; None: unknown."""
    began: float = 0.0
    """Unix time of the start; 0: unknown."""
    name: str = ""
    """The name of the run directory at the start; a renamed run no longer belongs to the file."""


def _origin(run: Path) -> _Origin:
    data = read_json(run / "supervisor" / "origin.json") or {}
    try:
        began = float(data["began"])
        name = str(data.get("name", ""))
        return _Origin(Path(data["file"]), began if isfinite(began) else 0.0, name)
    except (ValueError, TypeError, KeyError, OverflowError):
        return _Origin()


def _in_place(output: Path, loaded: FrozenCampaign) -> Iterator[Path]:
    """Yield the runs of the file among ``output`` and its numbered successors."""
    campaign = loaded.campaign
    for run in _numbered(output):
        if not has_begun(run):
            continue
        if run == output and (loaded.says_where or not _other_file(run, campaign)):
            yield run
        elif run != output and not _other_file(run, campaign):
            origin = _origin(run)
            # Old runs have no origin, and a moved campaign file has another path: compare the name.
            same = origin.file == campaign.file.resolve() or _name(run) == campaign.name
            if same and origin.name in ("", run.name):
                yield run


def _elsewhere(loaded: FrozenCampaign, alive: Iterable[Path]) -> list[Path]:
    """Return the user's own runs next to the campaign file, and the running ones in ``alive``."""
    campaign = loaded.campaign
    output = campaign.file.resolve().parent / "runs" / campaign.output.name
    found = [] if loaded.says_where else [r for r in _in_place(output, loaded) if _is_own(r)]
    return [*{run.resolve(): run for run in (*alive, *found)}.values()]


def _alive(campaign: Campaign) -> Iterator[Path]:
    """Yield the user's runs of the file that have a supervisor, in any directory.

    A run with another campaign name (``--set``) is not meant. A run that is being started has no
    name yet.
    """
    file = campaign.file.resolve()
    for run in supervised_runs():
        if _is_own(run) and _origin(run).file == file and _name(run) in ("", campaign.name):
            yield run


def _numbered(output: Path) -> list[Path]:
    """Return the existing paths among ``output``, ``output-2``, ..., of any type."""
    try:
        names = os.listdir(output.parent)  # noqa: PTH208 - names only
    except OSError:
        return []
    return [output.with_name(name) for name in names if _number(Path(name), output.name)]


def _number(path: Path, base: str) -> int:
    """Return the number of a run: 1 for ``base``, N for ``base-N``, 0 for other names."""
    match = re.fullmatch(rf"{re.escape(base)}(?:-([2-9]|[1-9]\d{{1,8}}))?", path.name)
    return int(match[1] or 1) if match else 0


def _frozen(run: Path) -> Path:
    return run / "campaign.toml"


def _name(run: Path) -> str:
    """Return the campaign name of a run; an empty string if it cannot be read."""
    try:
        table: Any = tomllib.loads(_frozen(run).read_text()).get("campaign")
        return str(table["name"])
    except (OSError, ValueError, TypeError, KeyError):
        return ""


def _exists(file: Path) -> bool:
    try:
        return file.exists()
    except OSError:  # another user's directory
        return True


def _is_own(run: Path) -> bool:
    try:
        return run.stat().st_uid == os.geteuid()
    except OSError:
        return False
