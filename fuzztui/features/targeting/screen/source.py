"""Source lines around a goal, whose position is in the run's ``targets.json``."""

from __future__ import annotations

import json
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from fuzztui.kernel.remote.mirrored import fetch, fetched_into
from fuzztui.kernel.wire.targeting import analysis_of
from fuzztui.tui.base.source_excerpt import (
    CHANGED,
    MAX_BYTES,
    SourceExcerpt,
    around,
    lines_of,
    read,
)

MAX_TARGETS = 64 << 20
"""Maximal size of a ``targets.json`` that is read."""

_TORN = (OSError, ValueError, OverflowError, TypeError, KeyError, AttributeError, RecursionError)
"""Errors from reading an invalid ``targets.json``."""


class GoalLocation(NamedTuple):
    """Position of a goal. ``sha``: first digits of the source's SHA-256 at the analysis."""

    file: str
    line: int
    sha: str


def load(run: Path, location: str, analysis: str = "") -> SourceExcerpt:
    """Read the lines around a goal, if the source is unchanged since the analysis. Blocking.

    ``analysis``: the analysis to which the location belongs; an empty string if unknown.
    """
    file = run / "targets.json"
    if fetched_into(run) == run and not file.exists():
        fetch(run, file.name)  # of a run on another machine
    try:
        known = file.stat()
        of, places = _places(str(file.resolve()), known.st_mtime_ns)
    except _TORN:
        return SourceExcerpt(problem="the run has no readable targets.json")
    if analysis not in ("", of):
        return SourceExcerpt(problem="the target has changed and was analysed again since")
    place = places.get(location)
    if place is None:
        return SourceExcerpt(problem="the run's targets.json does not contain the goal")
    data = read(place.file, MAX_BYTES)
    if isinstance(data, str):
        return SourceExcerpt(problem=data)
    lines = lines_of(data)
    if sha256(data).hexdigest()[: len(place.sha)] != place.sha or not 1 <= place.line <= len(lines):
        return SourceExcerpt(problem=CHANGED)
    return around(lines, place.line)


@lru_cache(2)
def _places(path: str, changed: int) -> tuple[str, dict[str, GoalLocation]]:
    """The analysis' id, and goals by location. ``changed``: makes the cache miss after a write."""
    content = read(path, MAX_TARGETS)
    if isinstance(content, str):
        raise ValueError(content)
    data = json.loads(content)
    files = {str(m["name"]): (str(m["file"]), str(m["sha"])) for m in data["modules"]}
    places = {
        str(t["location"]): GoalLocation(
            files[t["module"]][0], int(t["line"]), files[t["module"]][1]
        )
        for t in data["targets"]
    }
    return analysis_of({name: sha for name, (_, sha) in files.items()}), places
