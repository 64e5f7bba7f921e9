"""Report types and uncovered goals as events: ``type_figures`` and ``targets_left``.

A campaign may run for weeks. A user's settings are reported at once, newly covered branches soon,
and mere counts more rarely the longer the instance runs. Of goals only changes are reported. A new
worker continues from what earlier workers have reported.
"""

from __future__ import annotations

from typing import Any, Final

from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.events import EventLog, ReportedEvents
from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.kernel.base.bounds import whole
from fuzztui.kernel.wire.events import GoalsUncovered, TargetingStats
from fuzztui.kernel.wire.targeting import MAX_LOCATION, MAX_NAME, MILLION

FINDS_S: Final = 2.0
"""Minimum seconds between two events if something was covered."""

COUNTS_S: Final = 5.0
"""Minimum seconds if the picks have grown by the part ``GROWN``, or a reached count has doubled."""
GROWN: Final = 0.02

STALE_S: Final = 30.0
"""Minimum seconds after any change; later the part ``STALE_PART`` of the running time."""
STALE_PART: Final = 0.02
MAX_STALE_S: Final = 600.0
"""Upper limit of these seconds."""

MAX_TYPES: Final = 100
MAX_CHANGED: Final = 20
MAX_GOALS: Final = 300
"""Most goals, and most ignored goals, that are reported; the model keeps more."""

_COUNTS: Final = "picks", "matches", "misses", "new_arms"

Rows = dict[str, dict[str, Any]]
"""Goals by location, as in :class:`GoalsUncovered`."""


class TargetingReport:
    """Writes :class:`TargetingStats` and :class:`GoalsUncovered` when they are due.

    Its clock is the running time of the instance, and the times of the last reports are in the
    journal: a target that kills its worker each second does not cause more events.
    """

    def __init__(self, log: EventLog, journal: TrialJournal, reported: ReportedEvents) -> None:
        self._log, self._counters = log, journal.counters
        self._stats = self._logged = reported.targeting
        """The newest statistics, and those in the log; None: none yet."""
        self._goals = self._rows = reported.goals
        """The same pair, for the goals."""
        self._asked = 0

    def update(self, data: dict[str, Any]) -> None:
        """Report what is due of the state ``data`` (:meth:`TypesFile.data`)."""
        self._stats = self._stats_of(data)
        self._goals = _goals_of(data["left"])
        self._asked = data["asked"]
        self._report(last=False)

    def answered(self) -> None:
        """Report the statistics again after a command, even if they are as before the command.

        Readers take an answer for the present state, which may have changed again: a pin ends when
        its goal is covered.
        """
        self._logged = None

    def finish(self) -> None:
        """Report all that has changed, because the engine ends."""
        self._report(last=True)

    def _report(self, *, last: bool) -> None:
        stats, now_ms = self._stats, self._counters[j.RUN_MS]
        if stats is not None and stats != self._logged:
            waited = (now_ms - self._counters[j.TYPES_REPORTED]) / 1000
            if last or waited >= self._interval_s(stats, now_ms / 1000):
                self._counters[j.TYPES_REPORTED] = now_ms
                self._logged = stats
                self._log.write(stats)
        waited = (now_ms - self._counters[j.GOALS_REPORTED]) / 1000
        if self._goals is not None and (event := self._changes(self._goals, waited, last=last)):
            self._counters[j.GOALS_REPORTED] = now_ms
            self._log.write(event)

    def _stats_of(self, data: dict[str, Any]) -> TargetingStats:
        types = [(n, row) for n, row in data["types"].items() if 0 < len(n) <= MAX_NAME]
        types.sort(key=lambda item: (-item[1].get("probability", 0), -item[1]["picks"], item[0]))
        # Types that a user has weighted are never left out, then the most probable ones are kept.
        kept = {n for n, _ in sorted(types, key=lambda item: item[1]["weight"] == 1)[:MAX_TYPES]}
        types = [item for item in types if item[0] in kept]
        rows = [row for _, row in types]
        return TargetingStats(
            self._log.instance,
            data["targeted"],
            data["pinned"] if len(data["pinned"]) <= MAX_LOCATION else "",
            data["targets"],
            data["uncovered"],
            data["frontier"],
            [name for name, _ in types],
            [row.get("distance", -1) for row in rows],
            [row["weight"] for row in rows],
            [row["factor"] for row in rows],
            [round(row.get("probability", 0) * MILLION) for row in rows],
            **{key: [row[key] for row in rows] for key in _COUNTS},
            ignored=[at for at in data["ignored"] if len(at) <= MAX_LOCATION][:MAX_GOALS],
            changed=[file for file in data["changed"] if len(file) <= MAX_LOCATION][:MAX_CHANGED],
            analysis=data["analysis"],
            adaptive=data["adaptive"],
        )

    def _interval_s(self, now: TargetingStats, run_s: float) -> float:
        """Minimum seconds between the last event and this one. ``run_s``: the running time."""
        logged = self._logged
        if logged is None or _settings(logged) != _settings(now):
            return 0.0
        if _coverage(logged) != _coverage(now):
            return FINDS_S
        if sum(now.picks) >= sum(logged.picks) * (1 + GROWN) and now.picks != logged.picks:
            return COUNTS_S
        return min(max(STALE_S, run_s * STALE_PART), MAX_STALE_S)

    def _changes(self, now: Rows, waited: float, *, last: bool) -> GoalsUncovered | None:
        """The event that updates the goals in the log; None if it is not due."""
        logged, instance = self._rows, self._log.instance
        if logged is None:
            self._rows = now
            return GoalsUncovered(instance, self._asked, now, anew=True)
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
        return GoalsUncovered(instance, self._asked, changed, gone)


def _goals_of(left: list[dict[str, Any]]) -> Rows:
    return {
        row["location"]: {
            "frontier": row["frontier"],
            "reached": row["reached"],
            "types": [
                [t["name"], t["distance"]] for t in row["types"] if 0 < len(t["name"]) <= MAX_NAME
            ],
        }
        for row in left[:MAX_GOALS]
        if 0 < len(row["location"]) <= MAX_LOCATION
    }


def _settings(stats: TargetingStats) -> tuple[Any, ...]:
    """The user's settings, and the changed files, whose goals are no longer known."""
    weights = zip(stats.names, stats.weights, strict=False)  # a file may have other lengths
    weighed = {n: w for n, w in weights if w != 1}
    share = None if stats.adaptive else stats.targeted
    return share, stats.pinned, stats.ignored, weighed, stats.changed


def _coverage(stats: TargetingStats) -> tuple[int, ...]:
    return sum(stats.new_arms), stats.targets, stats.uncovered, stats.frontier


def _is_news(
    logged: dict[str, Any] | None, now: dict[str, Any], *, counts: bool, last: bool
) -> bool:
    """Whether a goal's row differs enough from the one in the log to be reported.

    ``counts``: also if its reached count has doubled. ``last``: after any change.
    """
    if logged is None or last:
        return logged != now
    if any(logged.get(key) != now[key] for key in ("frontier", "types")):
        return True
    reached = whole(logged.get("reached"))
    return counts and not reached <= now["reached"] < max(1, 2 * reached)
