"""A figure over campaign time in bounded memory.

A series holds at most :data:`LIMIT` points, one for each bucket of ``width``
seconds in which the figure was reported: the last value of the bucket and when
that was. When a further bucket does not fit, the width is doubled and
neighbours are merged (the later one stays), so that a series of an hour is as
long as one of a month. Widths are powers of two: the result depends on nothing
but the sequence of :meth:`Series.add` calls.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

__all__ = ["LIMIT", "Series"]

LIMIT = 512
"""The most points that a series keeps; after the first halving it has at least half of it."""

FIRST_WIDTH = 0.25


@dataclass(slots=True)
class Series:
    """Points in order of time; between two points the earlier value holds."""

    width: float = FIRST_WIDTH
    """Seconds a point stands for."""
    times: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    end: float = 0.0
    """Where the last point's bucket ends; derived, so that :meth:`add` need not divide."""

    def add(self, t: float, value: float) -> None:
        """Note that the figure is ``value`` at ``t`` seconds (not before the last ``t``)."""
        if t < self.end:
            self.times[-1] = t
            self.values[-1] = value
            return
        self.times.append(t)
        self.values.append(value)
        while len(self.times) > LIMIT:
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
        """The latest value, 0 before the first."""
        return self.values[-1] if self.values else 0

    def at(self, t: float) -> float:
        """The value of the latest point that is not after ``t``, 0 before the first."""
        i = bisect_right(self.times, t)
        return self.values[i - 1] if i else 0

    def to_json(self) -> dict[str, Any]:
        """Columns, not pairs: series that are reported together share theirs when compressed."""
        return {"w": self.width, "t": list(self.times), "v": list(self.values)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Series:
        """The inverse of :meth:`to_json`; takes over the lists."""
        series = cls(data["w"], data["t"], data["v"])
        if series.times:
            series.end = (series.times[-1] // series.width + 1) * series.width
        return series
