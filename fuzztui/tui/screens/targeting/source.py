"""The lines of the program around a goal, as the run's ``targets.json`` says where."""

from __future__ import annotations

import json
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from fuzztui.tui.base.source_excerpt import (
    CHANGED,
    MAX_BYTES,
    SourceExcerpt,
    around,
    lines_of,
    read,
)
from fuzztui.wire.analysed import analysis_of

__all__ = ["load"]

MAX_TARGETS = 64 << 20
"""Of a ``targets.json`` that is looked into."""

_TORN = (OSError, ValueError, OverflowError, TypeError, KeyError, AttributeError, RecursionError)
"""What comes of reading one that is none."""


class GoalLocation(NamedTuple):
    """Where a target is. ``sha``: digits that the source's SHA-256 began with."""

    file: str
    line: int
    sha: str


def load(run: Path, location: str, analysis: str = "") -> SourceExcerpt:
    """The lines around the target, if the program is still what was analysed. Blocking.

    ``analysis``: the one that the location is of, "" if that is not known.
    """
    file = run / "targets.json"
    try:
        known = file.stat()
        of, places = _places(str(file.resolve()), known.st_mtime_ns)
    except _TORN:
        return SourceExcerpt(problem="the run has no targets.json that could be read")
    if analysis not in ("", of):
        return SourceExcerpt(problem="the program was another one, and is analysed again since")
    place = places.get(location)
    if place is None:
        return SourceExcerpt(problem="the run's targets.json does not know it")
    data = read(place.file, MAX_BYTES)
    if isinstance(data, str):
        return SourceExcerpt(problem=data)
    lines = lines_of(data)
    if sha256(data).hexdigest()[: len(place.sha)] != place.sha or not 1 <= place.line <= len(lines):
        return SourceExcerpt(problem=CHANGED)
    return around(lines, place.line)


@lru_cache(2)
def _places(path: str, changed: int) -> tuple[str, dict[str, GoalLocation]]:
    """Which analysis it is, places by location. ``changed``: what is written again is another."""
    told = read(path, MAX_TARGETS)
    if isinstance(told, str):
        raise ValueError(told)
    data = json.loads(told)
    files = {str(m["name"]): (str(m["file"]), str(m["sha"])) for m in data["modules"]}
    places = {
        str(t["location"]): GoalLocation(
            files[t["module"]][0], int(t["line"]), files[t["module"]][1]
        )
        for t in data["targets"]
    }
    return analysis_of({name: sha for name, (_, sha) in files.items()}), places
