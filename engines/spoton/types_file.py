"""``.types``: the state of types and uncovered goals, for restarts of the engine.

A JSON object with these keys:

- ``targeted``: the share of targeted mutations; ``adaptive``: whether it follows from what they
  bring; ``steered``: whether a user has set either
- ``pinned``: a location or ""; ``ignored``: locations, sorted
- ``asked``: trials that were examined for the decisions that they reached
- ``targets``, ``uncovered``, ``frontier``: numbers of goals
- ``types``: by name ``weight factor picks matches misses new_arms``; for types of current goals
  also ``distance probability``
- ``left``: uncovered goals, the pinned one first, then ignored ones, then the frontier: ``location
  frontier reached types``; ``reached`` of the ``asked`` trials executed the decision, ``types`` are
  ``name distance``, the nearest first
- ``beyond``: ``reached`` by location, for goals that do not fit into ``left``
- ``changed``: files that have changed since the analysis
- ``analysis``: identifier of the analysis that the locations are from
- ``resting``: the pin and the ignored goals that are suspended
- ``sources``: the hash of the source for which a pinned, ignored or suspended location was set

A user's settings are written before the command is answered, so they survive a killed process.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final

from fuzztui.engines.spoton.distances import TypeStats
from fuzztui.engines.spoton.feedback import GoalFeedback
from fuzztui.engines.spoton.mutator import TypedMutator
from fuzztui.kernel.base.bounds import loads

TYPES: Final = ".types"
"""Name of the file in the instance's directory."""

_TORN: Final = (
    ValueError, OverflowError, TypeError, KeyError, AttributeError, RecursionError,
)  # fmt: skip
_EVERY_S: Final = 1.0
_PART: Final = 0.02
"""Largest share of the time spent on writing: with thousands of types, writes are less frequent."""
_KEPT: Final = [f.name for f in fields(TypeStats) if f.name != "factor"]
"""Fields that a restart reads. Not ``factor``: the time of the last write depends on the clock, and
what a worker draws must not depend on the clock."""
_MAX_ROWS: Final = 300
"""Bound of the goals in ``left``, and of the changed files."""
_NEAREST: Final = 8
"""Types of a goal that are written."""


class TypesFile:
    """Writes ``.types`` during fuzzing, and restores the state from it after a restart."""

    def __init__(
        self,
        file: Path,
        feedback: GoalFeedback,
        mutator: TypedMutator,
        replace: Callable[[Path, bytes], None],
        report: Callable[[dict[str, Any]], None] = lambda data: None,
    ) -> None:
        """Restore the state from ``file``. ``replace`` writes a file, or raises OSError.

        ``report`` is called with the state after each :meth:`write`.
        """
        self._file, self._replace, self._report = file, replace, report
        self._feedback, self._mutator = feedback, mutator
        document = feedback.goals.document
        self._analysis = document.analysis
        self._sources = {t.location: document.modules.get(t.module, "") for t in document.goals}
        self.steered = False
        """Whether a user has set the share; if not, the campaign's value is used at each start."""
        self._due = 0.0
        self._written: dict[str, Any] = {}
        # If the file is missing or torn, counting starts from zero.
        with contextlib.suppress(OSError, *_TORN):
            self._take(loads(file.read_bytes()))

    def _take(self, data: Any) -> None:
        stats_by_type = {
            str(name): TypeStats(**{key: _number(row[key]) for key in _KEPT})
            for name, row in data["types"].items()
        }
        reached = {
            str(row["location"]): int(row["reached"]) for row in data["left"] if row["reached"]
        }
        reached |= {str(location): int(n) for location, n in data.get("beyond", {}).items()}
        steered = data.get("steered") is True
        share = self._mutator.set_share
        if steered:
            adaptive = data.get("adaptive") is True
            share = None if adaptive else float(_number(data["targeted"], most=1))
        feedback = self._feedback
        ignored = frozenset(map(str, data.get("ignored", ())))
        sampled_trials, pinned = int(data["asked"]), str(data["pinned"])
        if data.get("analysis") != self._analysis:  # locations may now mean other branches
            sampled_trials, reached = 0, {}
        at, others = data.get("resting", ("", ()))
        suspended_pin, suspended = str(at), frozenset(map(str, others))
        uncertain = frozenset(
            str(location)
            for location, sha in data.get("sources", {}).items()
            if self._sources.get(location, sha) != sha
        )
        feedback.sampled_trials, feedback.pinned = sampled_trials, pinned
        feedback.ignored = ignored - {feedback.pinned}
        feedback.suspended_pin, feedback.suspended = suspended_pin, suspended
        feedback.uncertain = uncertain
        self.steered, self._mutator.set_share = steered, share
        feedback.reached.update(reached)
        feedback.distances.stats_by_type.update(stats_by_type)

    def tick(self) -> None:
        """Write changes, at most once a second. Called between trials."""
        if time.monotonic() >= self._due:
            self.write()

    def write(self) -> None:
        """Write and report changes, if any. The next call makes up for a failed write."""
        started = time.monotonic()
        data = self.data()
        with contextlib.suppress(OSError):
            self._save(data)
        self._report(data)
        now = time.monotonic()
        self._due = now + max(_EVERY_S, (now - started) / _PART)

    def keep(self) -> None:
        """Write a user's change, which the next tick reports. Raises OSError."""
        self._save(self.data())
        self._due = 0.0

    def _save(self, data: dict[str, Any]) -> None:
        if data != self._written:
            self._replace(self._file, json.dumps(data).encode())
            self._written = data

    def data(self) -> dict[str, Any]:
        """The JSON object of the current state."""
        feedback = self._feedback
        goals, distances = feedback.goals, feedback.distances
        types: dict[str, dict[str, Any]] = {}
        for name, stats in distances.stats_by_type.items():
            types[name] = asdict(stats)
            if name in distances.now:
                types[name]["distance"] = distances.now[name]
                types[name]["probability"] = round(distances.probability(name), 6)

        def late(number: int) -> tuple[Any, ...]:
            """Sort key: goals with a user's setting come first, since not all goals may fit."""
            at = goals.all[number].location
            further = number not in goals.frontier
            return at != feedback.pinned, at not in feedback.ignored, further, number

        first = sorted(goals.uncovered, key=late)
        given = {feedback.pinned, feedback.suspended_pin, *feedback.ignored, *feedback.suspended}
        return {
            "targeted": round(self._mutator.targeted, 6),
            "adaptive": self._mutator.set_share is None,
            "steered": self.steered,
            "pinned": feedback.pinned,
            "ignored": sorted(feedback.ignored),
            "asked": feedback.sampled_trials,
            "targets": len(goals.all),
            "uncovered": len(goals.uncovered),
            "frontier": len(goals.frontier),
            "types": types,
            "left": [self._describe_goal(number) for number in first[:_MAX_ROWS]],
            "beyond": {
                location: feedback.reached[location]
                for number in first[_MAX_ROWS:]
                if (location := goals.all[number].location) in feedback.reached
            },
            "changed": goals.changed[:_MAX_ROWS],
            "analysis": self._analysis,
            "resting": [feedback.suspended_pin, sorted(feedback.suspended)],
            "sources": {at: self._sources[at] for at in sorted(given) if at in self._sources},
        }

    def _describe_goal(self, number: int) -> dict[str, Any]:
        goal = self._feedback.goals.all[number]
        nearest = sorted(goal.types.items(), key=lambda item: (item[1], item[0]))
        return {
            "location": goal.location,
            "frontier": number in self._feedback.goals.frontier,
            "reached": self._feedback.reached.get(goal.location, 0),
            "types": [{"name": n, "distance": d} for n, d in nearest[:_NEAREST]],
        }


def _number(value: Any, most: float = 1e18) -> Any:
    if type(value) not in (int, float) or not 0 <= value <= most:
        raise ValueError(f"{value!r:.40} is not a number from 0 to {most:g}")
    return value
