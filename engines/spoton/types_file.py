"""``.types``: what is known of types and of goals that are left, for users and restarts.

A JSON object: ``targeted`` (the share of children that aim), ``steered`` (whether that is what a
person has set), ``pinned`` (a location or ""), ``ignored`` (locations, sorted), ``asked`` (trials
that were asked what they reached), ``targets``, ``uncovered`` and ``frontier`` (how many there
are), ``types`` (by name: ``weight factor picks matches misses new_arms``, and of those that matter
now ``distance probability``), ``left`` (targets that are not covered, the pinned one, then those
that are ignored, then those on the frontier: ``location frontier reached types``; ``reached`` of
``asked`` trials came to its decision, ``types`` are ``name distance``, the nearest first),
``beyond`` (``reached`` by location, of those that ``left`` has no room for), ``changed`` (files
that are not what was analysed), ``analysis`` (which one the locations are of), ``resting`` (the
pin, and what is ignored, of such files: to be taken up again), ``sources`` (by location, of all
that is pinned, ignored or rests: the hash of the source that it was set for).

What a user has set outlives whatever may be killed by being here before it is answered.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final

from fuzztui.base.bounds import loads
from fuzztui.engines.spoton.distances import TypeStats
from fuzztui.engines.spoton.feedback import GoalFeedback
from fuzztui.engines.spoton.mutator import TypedMutator

__all__ = ["TYPES", "Figures"]

TYPES: Final = ".types"
"""Its name in the instance's directory."""

_TORN: Final = (
    ValueError, OverflowError, TypeError, KeyError, AttributeError, RecursionError,
)  # fmt: skip
_EVERY_S: Final = 1.0
_PART: Final = 0.02
"""Of the time, at most, that is spent with it: of thousands of types it is written less often."""
_KEPT: Final = [f.name for f in fields(TypeStats) if f.name != "factor"]
"""Not what misses have done to a type's chance: when that was written last is the clock's doing,
and what a worker draws must not depend on that."""
_MOST: Final = 300
"""Targets that are reported, and files that have changed."""
_NEAREST: Final = 8
"""Types of a target that are reported."""


class Figures:
    """Writes them while it runs, and continues from them after a restart."""

    def __init__(
        self,
        file: Path,
        feedback: GoalFeedback,
        mutator: TypedMutator,
        replace: Callable[[Path, bytes], None],
    ) -> None:
        """``replace`` writes a file, or raises OSError. What the file has is taken over."""
        self._file, self._replace = file, replace
        self._feedback, self._mutator = feedback, mutator
        document = feedback.targets.document
        self._analysis = document.analysis
        self._sources = {t.location: document.modules.get(t.module, "") for t in document.targets}
        self.steered = False
        """Has a user set the share? Else the campaign's counts, also if that has changed."""
        self._due = 0.0
        self._written: dict[str, Any] = {}
        # There may be none yet, or a torn one: then all is counted again.
        with contextlib.suppress(OSError, *_TORN):
            self._take(loads(file.read_bytes()))

    def _take(self, data: Any) -> None:
        standings = {
            str(name): TypeStats(**{key: _number(row[key]) for key in _KEPT})
            for name, row in data["types"].items()
        }
        reached = {
            str(row["location"]): int(row["reached"]) for row in data["left"] if row["reached"]
        }
        reached |= {str(location): int(n) for location, n in data.get("beyond", {}).items()}
        steered = data.get("steered") is True
        share = float(_number(data["targeted"], most=1)) if steered else self._mutator.targeted
        feedback = self._feedback
        ignored = frozenset(map(str, data.get("ignored", ())))
        asked, pinned = int(data["asked"]), str(data["pinned"])
        if data.get("analysis") != self._analysis:  # locations may be other branches' now
            asked, reached = 0, {}
        at, others = data.get("resting", ("", ()))
        resting_pin, resting = str(at), frozenset(map(str, others))
        doubted = frozenset(
            str(location)
            for location, sha in data.get("sources", {}).items()
            if self._sources.get(location, sha) != sha
        )
        feedback.asked, feedback.pinned = asked, pinned
        feedback.ignored = ignored - {feedback.pinned}
        feedback.resting_pin, feedback.resting = resting_pin, resting
        feedback.doubted = doubted
        self.steered, self._mutator.targeted = steered, share
        feedback.reached.update(reached)
        feedback.distances.standings.update(standings)

    def tick(self) -> None:
        """Between trials: write what is new, once a second at most."""
        if time.monotonic() >= self._due:
            self.write()

    def write(self) -> None:
        """Write it, if there is anything new; a full disk costs this state of it only."""
        begun = time.monotonic()
        with contextlib.suppress(OSError):
            self.keep()
        now = time.monotonic()
        self._due = now + max(_EVERY_S, (now - begun) / _PART)

    def keep(self) -> None:
        """The same for what must not be lost: raises OSError."""
        data = self.data()
        if data != self._written:
            self._replace(self._file, json.dumps(data).encode())
            self._written = data

    def data(self) -> dict[str, Any]:
        """What is written."""
        feedback = self._feedback
        targets, distances = feedback.targets, feedback.distances
        types: dict[str, dict[str, Any]] = {}
        for name, standing in distances.standings.items():
            types[name] = asdict(standing)
            if name in distances.now:
                types[name]["distance"] = distances.now[name]
                types[name]["probability"] = round(distances.probability(name), 6)

        def late(number: int) -> tuple[Any, ...]:
            """What a user has set comes first: there may be too many to tell of all."""
            at = targets.all[number].location
            further = number not in targets.frontier
            return at != feedback.pinned, at not in feedback.ignored, further, number

        first = sorted(targets.uncovered, key=late)
        given = {feedback.pinned, feedback.resting_pin, *feedback.ignored, *feedback.resting}
        return {
            "targeted": self._mutator.targeted,
            "steered": self.steered,
            "pinned": feedback.pinned,
            "ignored": sorted(feedback.ignored),
            "asked": feedback.asked,
            "targets": len(targets.all),
            "uncovered": len(targets.uncovered),
            "frontier": len(targets.frontier),
            "types": types,
            "left": [self._left(number) for number in first[:_MOST]],
            "beyond": {
                location: feedback.reached[location]
                for number in first[_MOST:]
                if (location := targets.all[number].location) in feedback.reached
            },
            "changed": targets.changed[:_MOST],
            "analysis": self._analysis,
            "resting": [feedback.resting_pin, sorted(feedback.resting)],
            "sources": {at: self._sources[at] for at in sorted(given) if at in self._sources},
        }

    def _left(self, number: int) -> dict[str, Any]:
        target = self._feedback.targets.all[number]
        nearest = sorted(target.types.items(), key=lambda item: (item[1], item[0]))
        return {
            "location": target.location,
            "frontier": number in self._feedback.targets.frontier,
            "reached": self._feedback.reached.get(target.location, 0),
            "types": [{"name": n, "distance": d} for n, d in nearest[:_NEAREST]],
        }


def _number(value: Any, most: float = 1e18) -> Any:
    if type(value) not in (int, float) or not 0 <= value <= most:
        raise ValueError(f"{value!r:.40} is no number")
    return value
