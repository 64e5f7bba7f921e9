"""Observe the file in which a spoton engine writes its types and goals (``.types``).

The engine replaces the file about once a second, for weeks. A user's settings are reported at once,
newly covered branches soon, and mere counts more rarely the longer the engine runs. Of goals only
changes are reported.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeGuard

from fuzztui.base.bounds import real, whole
from fuzztui.base.files import read_regular, status
from fuzztui.engines.spoton.types_file import TYPES
from fuzztui.model.targeting_fold import MAX_LOCATION, MAX_NAME, MAX_NEAREST
from fuzztui.wire.commands import MAX_WEIGHT
from fuzztui.wire.events import GoalsUncovered, TargetingStats

LOOK_S = 0.25
"""Seconds between two reads of the file."""

FINDS_S = 2.0
"""Minimum seconds between two events if something was covered."""

COUNTS_S = 5.0
"""Minimum seconds if the picks have grown by the part ``GROWN``, or a reached count has doubled."""
GROWN = 0.02

STALE_S = 30.0
"""Minimum seconds after any change; later the part ``STALE_PART`` of the time since the start."""
STALE_PART = 0.02
MAX_STALE_S = 600.0
"""Upper limit of these seconds."""

MAX_TYPES = 100
MAX_LEFT = 300
"""Most goals reported for one instance; the model keeps more."""
MAX_CHANGED = 20
MAX_SIZE = 4 << 20
"""Bytes; a larger file is not read."""

MILLION = 1_000_000

_LISTS = (
    "names", "distances", "weights", "factors", "probabilities",
    "picks", "matches", "misses", "new_arms",
)  # fmt: skip

Rows = dict[str, dict[str, Any]]
"""Goals by location, as in :class:`GoalsUncovered`."""


@dataclass(frozen=True, slots=True)
class TypesSnapshot:
    """The checked content of the file; values that are not numbers count as absent."""

    stats: TargetingStats
    asked: int
    left: Rows


# --------------------------------------------------------------------------- reading


def parse(name: str, raw: bytes) -> TypesSnapshot | None:
    """Parse the file of instance ``name``. Returns None if it is not such a file."""
    try:
        data = json.loads(raw)
        types, left = data["types"], data["left"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    if not isinstance(types, dict) or not isinstance(left, list):
        return None
    rows = {row[0]: row for row in map(_type, types.items()) if row is not None}
    # Types that a user has weighted are never left out, then the most probable ones are kept.
    likely = sorted(rows.values(), key=lambda r: (-r[4], -r[5], r[0]))
    kept = {r[0] for r in sorted(likely, key=lambda r: r[2] == 1)[:MAX_TYPES]}
    shown = [r for r in likely if r[0] in kept]
    pinned, analysis = data.get("pinned"), data.get("analysis")
    stats = TargetingStats(
        name,
        _real(data.get("targeted"), 0.0, 1.0, 0.0),
        pinned if _is_text(pinned, MAX_LOCATION) else "",
        _count(data.get("targets")),
        _count(data.get("uncovered")),
        _count(data.get("frontier")),
        **{field: [row[i] for row in shown] for i, field in enumerate(_LISTS)},
        ignored=_texts(data.get("ignored"))[:MAX_LEFT],
        changed=_texts(data.get("changed"))[:MAX_CHANGED],
        analysis=analysis if _is_text(analysis, MAX_NAME) else "",
    )
    return TypesSnapshot(stats, _count(data.get("asked")), dict(islice(_left(left), MAX_LEFT)))


def _type(item: tuple[str, Any]) -> tuple[Any, ...] | None:
    """The values of one type, one for each name in ``_LISTS``; None if the item is invalid."""
    name, row = item
    if not _is_text(name, MAX_NAME) or not isinstance(row, dict):
        return None
    return (
        name,
        _count(row["distance"], -1) if "distance" in row else -1,
        _real(row.get("weight"), 0.0, MAX_WEIGHT, 1.0),
        _real(row.get("factor"), 1.0, 1e9, 1.0),
        round(_real(row.get("probability"), 0.0, 1.0, 0.0) * MILLION),
        *(_count(row.get(key)) for key in ("picks", "matches", "misses", "new_arms")),
    )


def _left(rows: Iterable[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    seen: set[str] = set()
    for row in rows:
        if not isinstance(row, dict):
            continue
        location = row.get("location")
        if not _is_text(location, MAX_LOCATION) or location in seen:
            continue
        seen.add(location)
        yield (
            location,
            {
                "frontier": row.get("frontier") is True,
                "reached": _count(row.get("reached")),
                "types": list(islice(_nearest(row.get("types")), MAX_NEAREST)),
            },
        )


def _nearest(types: Any) -> Iterator[list[Any]]:
    for row in types if isinstance(types, list) else ():
        if isinstance(row, dict) and _is_text(row.get("name"), MAX_NAME):
            yield [row["name"], _count(row.get("distance"))]


def _is_text(value: Any, most: int) -> TypeGuard[str]:
    return isinstance(value, str) and 0 < len(value) <= most


def _texts(values: Any) -> list[str]:
    return [v for v in values if _is_text(v, MAX_LOCATION)] if isinstance(values, list) else []


def _count(value: Any, otherwise: int = 0) -> int:
    return whole(value, otherwise)


def _real(value: Any, low: float, high: float, otherwise: float) -> float:
    return found if low <= (found := real(value)) <= high else otherwise


# ------------------------------------------------------------------------- reporting


class TypesFileReader:
    """The file of instance ``name`` in the directory ``path``, if there is one.

    A new object (after a start of the supervisor) reports everything once.
    """

    def __init__(self, path: str, name: str) -> None:
        self._path, self._name = Path(path) / TYPES, name
        self._seen: tuple[int, ...] = ()
        """Inode, size and mtime of the file when it was last read."""
        self._now: TypesSnapshot | None = None
        self._logged: TargetingStats | None = None
        """The statistics in the log; None: not reported yet."""
        self._rows: Rows | None = None
        """The goals in the log; None: not reported yet."""
        self._logged_at = self._rows_at = float("-inf")
        self._due = 0.0
        self._since = time.monotonic()

    def look(self, *, last: bool = False) -> Iterator[TargetingStats | GoalsUncovered]:
        """Yield the events that are due. ``last``: all changes, because the engine has ended."""
        now = time.monotonic()
        if now < self._due and not last:
            return
        self._due = now + LOOK_S
        self._read()
        if self._now is None:
            return
        stats = self._now.stats
        if stats != self._logged and (
            last or now - self._logged_at >= self._interval_s(stats, now)
        ):
            self._logged, self._logged_at = stats, now
            yield stats
        if event := self._changes(self._now, now - self._rows_at, last=last):
            self._rows_at = now
            yield event

    def answered(self) -> None:
        """Report the statistics again, after the applied command that was just recorded.

        The log lags behind the file: it may have got the new statistics before the command.
        """
        self._logged = None

    def _read(self) -> None:
        """Read a changed file; an invalid one is ignored."""
        there = status(self._path)
        seen = (there.st_ino, there.st_size, there.st_mtime_ns) if there else ()
        if seen == self._seen:
            return
        try:
            raw = read_regular(self._path, MAX_SIZE + 1)
        except OSError:
            return
        self._seen = seen
        if len(raw) <= MAX_SIZE and (look := parse(self._name, raw)):
            self._now = look

    def _interval_s(self, now: TargetingStats, at: float) -> float:
        """Minimum seconds between the last event and this one."""
        logged = self._logged
        if logged is None or _settings(logged) != _settings(now):
            return 0.0
        if _coverage(logged) != _coverage(now):
            return FINDS_S
        if sum(now.picks) >= sum(logged.picks) * (1 + GROWN) and now.picks != logged.picks:
            return COUNTS_S
        return min(max(STALE_S, (at - self._since) * STALE_PART), MAX_STALE_S)

    def _changes(self, look: TypesSnapshot, waited: float, *, last: bool) -> GoalsUncovered | None:
        """The event that updates the goals in the log; None if it is not due."""
        now, logged = look.left, self._rows
        if logged is None:
            self._rows = dict(now)
            return GoalsUncovered(self._name, look.asked, now, anew=True)
        if waited < FINDS_S and not last:
            return None
        gone = [location for location in logged if location not in now]
        counts = last or waited >= COUNTS_S
        changed = {
            location: row
            for location, row in now.items()
            if _is_news(logged.get(location), row, counts=counts, last=last)
        }
        if not gone and not changed:
            return None
        self._rows = {location: changed.get(location) or logged[location] for location in now}
        return GoalsUncovered(self._name, look.asked, changed, gone)


def _settings(stats: TargetingStats) -> tuple[Any, ...]:
    """The user's settings, and the changed files, whose goals are no longer known."""
    weights = zip(stats.names, stats.weights, strict=True)
    weighed = {n: w for n, w in weights if w != 1}
    return stats.targeted, stats.pinned, stats.ignored, weighed, stats.changed


def _coverage(stats: TargetingStats) -> tuple[int, ...]:
    arms = sum(stats.new_arms)
    return arms, stats.targets, stats.uncovered, stats.frontier


def _is_news(
    logged: dict[str, Any] | None, now: dict[str, Any], *, counts: bool, last: bool
) -> bool:
    """``counts``: a reached count that has doubled is news, too; ``last``: any change is."""
    if logged is None or last:
        return logged != now
    if any(logged[key] != now[key] for key in ("frontier", "types")):
        return True
    reached = logged["reached"]
    return counts and not reached <= now["reached"] < max(1, 2 * reached)
