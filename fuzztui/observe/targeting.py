"""From what a spoton engine writes about types and goals (``.types``) to events for the log.

The engine replaces its file about once a second, for weeks; the log gets what says something:
what a user has set at once, finds soon, mere counts the more rarely the longer it runs. Of code
targets it gets what has changed since it was told last.
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

__all__ = ["TypesFile", "TypesSnapshot", "parse"]

LOOK_S = 0.25
"""Between two looks at the file."""

FINDS_S = 2.0
"""At least between two events because something was covered."""

COUNTS_S = 5.0
"""And because picks have grown by this part, or what was reached has doubled."""
GROWN = 0.02

STALE_S = 30.0
"""After so long also because of less; later after this part of the time since the start."""
STALE_PART = 0.02
STALE_MOST_S = 600.0

MAX_TYPES = 100
MAX_LEFT = 300
"""Of one instance that are reported; the model would keep more."""
MAX_CHANGED = 20
MAX_SIZE = 4 << 20
"""Bytes of a file that is looked at."""

MILLION = 1_000_000

_LISTS = (
    "names", "distances", "weights", "factors", "probabilities",
    "picks", "matches", "misses", "new_arms",
)  # fmt: skip

Rows = dict[str, dict[str, Any]]
"""Code targets by location, as :class:`GoalsUncovered` has them."""


@dataclass(frozen=True, slots=True)
class TypesSnapshot:
    """What the file says, cleaned: whatever is no figure is as if it were absent."""

    figures: TargetingStats
    asked: int
    left: Rows


# --------------------------------------------------------------------------- reading


def parse(name: str, raw: bytes) -> TypesSnapshot | None:
    """What the file of instance ``name`` says; None for one that is not one."""
    try:
        data = json.loads(raw)
        types, left = data["types"], data["left"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    if not isinstance(types, dict) or not isinstance(left, list):
        return None
    rows = {row[0]: row for row in map(_type, types.items()) if row is not None}
    # What a user has set is never left out, nor is what may be picked.
    likely = sorted(rows.values(), key=lambda r: (-r[4], -r[5], r[0]))
    kept = {r[0] for r in sorted(likely, key=lambda r: r[2] == 1)[:MAX_TYPES]}
    told = [r for r in likely if r[0] in kept]
    pinned, analysis = data.get("pinned"), data.get("analysis")
    figures = TargetingStats(
        name,
        _real(data.get("targeted"), 0.0, 1.0, 0.0),
        pinned if _is_text(pinned, MAX_LOCATION) else "",
        _count(data.get("targets")),
        _count(data.get("uncovered")),
        _count(data.get("frontier")),
        **{field: [row[i] for row in told] for i, field in enumerate(_LISTS)},
        ignored=_texts(data.get("ignored"))[:MAX_LEFT],
        changed=_texts(data.get("changed"))[:MAX_CHANGED],
        analysis=analysis if _is_text(analysis, MAX_NAME) else "",
    )
    return TypesSnapshot(figures, _count(data.get("asked")), dict(islice(_left(left), MAX_LEFT)))


def _type(item: tuple[str, Any]) -> tuple[Any, ...] | None:
    """What it adds to each of the lists."""
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


# --------------------------------------------------------------------------- telling


class TypesFile:
    """The file of instance ``name`` in the directory ``path``; it need not have one.

    A new one (a supervisor has started) tells everything once.
    """

    def __init__(self, path: str, name: str) -> None:
        self._path, self._name = Path(path) / TYPES, name
        self._seen: tuple[int, ...] = ()
        """What the file was when it was read last."""
        self._now: TypesSnapshot | None = None
        self._told: TargetingStats | None = None
        """What the log has, and of goals."""
        self._rows: Rows | None = None
        self._told_at = self._rows_at = float("-inf")
        self._due = 0.0
        self._since = time.monotonic()

    def look(self, *, last: bool = False) -> Iterator[TargetingStats | GoalsUncovered]:
        """News that are worth telling. ``last``: all that there are, as nobody writes now."""
        now = time.monotonic()
        if now < self._due and not last:
            return
        self._due = now + LOOK_S
        self._read()
        if self._now is None:
            return
        figures = self._now.figures
        if figures != self._told and (last or now - self._told_at >= self._patience(figures, now)):
            self._told, self._told_at = figures, now
            yield figures
        if event := self._changes(self._now, now - self._rows_at, last=last):
            self._rows_at = now
            yield event

    def answered(self) -> None:
        """A command was applied: figures that are told after that are right, whatever was told
        before it, by a log that lags behind the file.
        """
        self._told = None

    def _read(self) -> None:
        """Take over what is new; what is no such file changes nothing."""
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

    def _patience(self, now: TargetingStats, at: float) -> float:
        """How long ago the last event must be for this one."""
        told = self._told
        if told is None or _settings(told) != _settings(now):
            return 0.0
        if _finds(told) != _finds(now):
            return FINDS_S
        if sum(now.picks) >= sum(told.picks) * (1 + GROWN) and now.picks != told.picks:
            return COUNTS_S
        return min(max(STALE_S, (at - self._since) * STALE_PART), STALE_MOST_S)

    def _changes(self, look: TypesSnapshot, waited: float, *, last: bool) -> GoalsUncovered | None:
        """What the log must be told to have the same rows, if that is worth it by now."""
        now, told = look.left, self._rows
        if told is None:
            self._rows = dict(now)
            return GoalsUncovered(self._name, look.asked, now, anew=True)
        if waited < FINDS_S and not last:
            return None
        gone = [location for location in told if location not in now]
        counts = last or waited >= COUNTS_S
        changed = {
            location: row
            for location, row in now.items()
            if _is_news(told.get(location), row, counts=counts, last=last)
        }
        if not gone and not changed:
            return None
        self._rows = {location: changed.get(location) or told[location] for location in now}
        return GoalsUncovered(self._name, look.asked, changed, gone)


def _settings(figures: TargetingStats) -> tuple[Any, ...]:
    """What a user has set, and what of it has ended; files whose targets are known no more."""
    weights = zip(figures.names, figures.weights, strict=True)
    weighed = {n: w for n, w in weights if w != 1}
    return figures.targeted, figures.pinned, figures.ignored, weighed, figures.changed


def _finds(figures: TargetingStats) -> tuple[int, ...]:
    arms = sum(figures.new_arms)
    return arms, figures.targets, figures.uncovered, figures.frontier


def _is_news(told: dict[str, Any] | None, now: dict[str, Any], *, counts: bool, last: bool) -> bool:
    """``counts``: also what was reached, if that has doubled; ``last``: if it is another number."""
    if told is None or last:
        return told != now
    if any(told[key] != now[key] for key in ("frontier", "types")):
        return True
    reached = told["reached"]
    return counts and not reached <= now["reached"] < max(1, 2 * reached)
