"""Up to which record of its log a user has seen the findings of each run.

One JSON object in ``$XDG_STATE_HOME/fuzztui/looks``, from the path of a run to the Unix time of the
campaign's start, which distinguishes two runs in the same directory, and the record's number.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any, Final

from fuzztui.kernel.base.bounds import real, whole
from fuzztui.kernel.base.files import read_json
from fuzztui.tui.base.remembered import state_file, write_state

MAX_RUNS: Final = 200
"""Runs that are remembered; those looked at the longest ago are forgotten."""

_FILE: Final = "looks"

Look = tuple[float, int]
"""Unix time of the campaign's start, and the number of the last record seen."""

NO_LOOK: Final[Look] = (0.0, 0)


def last_look(run: Path) -> Look:
    """Return the last look at the findings of ``run``; ``NO_LOOK`` if none is stored."""
    return _sound(_looks().get(str(run.absolute())))


def remember_look(run: Path, look: Look) -> None:
    """Store a look; an error is ignored and leaves the file unchanged."""
    key = str(run.absolute())
    with contextlib.suppress(OSError, ValueError):
        looks = {name: list(_sound(old)) for name, old in _looks().items() if name != key}
        looks[key] = list(look)
        newest = list(looks.items())[-MAX_RUNS:]
        write_state(_FILE, json.dumps(dict(newest), allow_nan=False) + "\n")


def _looks() -> dict[str, Any]:
    try:
        return read_json(state_file(_FILE)) or {}
    except OSError:
        return {}


def _sound(look: Any) -> Look:
    match look:
        case [start, seq] if real(start) >= 0 and whole(seq) >= 0:
            return float(start), seq
        case _:
            return NO_LOOK
