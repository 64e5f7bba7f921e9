"""A number over campaign time, in bounded memory.

A series contains at most ``limit`` points: for each bucket of ``width`` seconds, the last
reported value and its time. When a further bucket does not fit, the width is doubled and
neighbours are merged (the later point stays), so a series of a month is as long as one of an
hour. Widths are powers of two: the result depends on the sequence of :meth:`Series.add` calls only.

Besides, a series keeps its latest points in narrow buckets (:class:`Recent`), so that the last
minutes of a long campaign have detail.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

LIMIT = 512
"""Maximum number of points; after the first halving a series keeps at least half as many."""

FIRST_WIDTH = 0.25

RECENT = ((2.0, 160), (16.0, 240))
"""Seconds per bucket, and buckets: what a series keeps of the last 5 minutes and the last hour."""

LAST_HOUR = (64.0, 64)
"""The same for a number of which only the growth in the last hour is shown, not the course."""

BRIEF_LIMIT = 48
"""Maximum number of points of a series for a sparkline."""


@dataclass(slots=True)
class Recent:
    """The latest points, one per bucket of ``width`` seconds that has any."""

    width: float
    limit: int
    times: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    end: float = 0.0

    def add(self, t: float, value: float) -> None:
        """Add a point, which replaces an earlier one in the same bucket."""
        if t < self.end:
            self.times[-1] = t
            self.values[-1] = value
            return
        self.times.append(t)
        self.values.append(value)
        if len(self.times) > self.limit:
            del self.times[0], self.values[0]
        self.end = (t // self.width + 1) * self.width

    def covers(self, t: float) -> bool:
        """Whether the value at campaign time ``t``, and all later ones, are in here."""
        return len(self.times) < self.limit or self.times[0] <= t


def _recent() -> list[Recent]:
    return [Recent(width, limit) for width, limit in RECENT]


@dataclass(slots=True)
class Series:
    """Points in order of time; between two points the earlier value holds."""

    width: float = FIRST_WIDTH
    """Seconds per bucket."""
    times: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    end: float = 0.0
    """Campaign time at which the last bucket ends; stored so that :meth:`add` need not divide."""
    limit: int = LIMIT
    recent: list[Recent] = field(default_factory=_recent)
    """The latest points, the narrowest buckets first."""

    @classmethod
    def brief(cls) -> Series:
        """Return an empty series with few points, for a sparkline."""
        return cls(limit=BRIEF_LIMIT, recent=[])

    @classmethod
    def of_last_hour(cls) -> Series:
        """Return an empty series with few points, and one for each minute of the last hour."""
        return cls(limit=BRIEF_LIMIT, recent=[Recent(*LAST_HOUR)])

    def add(self, t: float, value: float) -> None:
        """Add ``value`` at campaign time ``t``, which must not be before the last point."""
        for recent in self.recent:
            recent.add(t, value)
        if t < self.end:
            self.times[-1] = t
            self.values[-1] = value
            return
        self.times.append(t)
        self.values.append(value)
        while len(self.times) > self.limit:
            self._halve()
        self.end = (t // self.width + 1) * self.width

    def _halve(self) -> None:
        self.width *= 2
        times, values = self.times, self.values
        buckets = [t // self.width for t in times]
        last = [i for i in range(len(buckets) - 1) if buckets[i] != buckets[i + 1]]
        last.append(len(buckets) - 1)
        self.times = [times[i] for i in last]
        self.values = [values[i] for i in last]

    @property
    def last(self) -> float:
        """The latest value; 0: no point yet."""
        return self.values[-1] if self.values else 0

    def at(self, t: float) -> float:
        """Return the value of the latest point not after ``t``; 0 before the first point."""
        i = bisect_right(self.times, t)
        return self.values[i - 1] if i else 0

    def since(self, t: float) -> tuple[Sequence[float], Sequence[float]]:
        """Return times and values of the points from campaign time ``t`` on, and of the one before.

        They are as close together as the series has them.
        """
        source: Series | Recent = next((r for r in self.recent if r.covers(t)), self)
        if source is not self and self.width <= source.width:
            source = self
        start = max(0, bisect_right(source.times, t) - 1)
        return source.times[start:], source.values[start:]

    def to_json(self) -> dict[str, Any]:
        """Return columns, not pairs: equal columns of several series compress well."""
        return {
            "w": self.width,
            "t": list(self.times),
            "v": list(self.values),
            "n": self.limit,
            "r": [[r.width, r.limit, list(r.times), list(r.values)] for r in self.recent],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Series:
        """The inverse of :meth:`to_json`; uses the lists of ``data`` without a copy."""
        recent = [Recent(w, n, t, v, _end(w, t)) for w, n, t, v in data["r"]]
        times = data["t"]
        return cls(data["w"], times, data["v"], _end(data["w"], times), data["n"], recent)


def _end(width: float, times: Sequence[float]) -> float:
    return (times[-1] // width + 1) * width if times else 0.0
