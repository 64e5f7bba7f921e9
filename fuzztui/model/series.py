"""A number over campaign time, in bounded memory.

A series contains at most :data:`LIMIT` points: for each bucket of ``width`` seconds, the last
reported value and its time. When a further bucket does not fit, the width is doubled and
neighbours are merged (the later point stays), so a series of a month is as long as one of an
hour. Widths are powers of two: the result depends on the sequence of :meth:`Series.add` calls only.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

LIMIT = 512
"""Maximum number of points; after the first halving a series keeps at least half as many."""

FIRST_WIDTH = 0.25


@dataclass(slots=True)
class Series:
    """Points in order of time; between two points the earlier value holds."""

    width: float = FIRST_WIDTH
    """Seconds per bucket."""
    times: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    end: float = 0.0
    """Campaign time at which the last bucket ends; stored so that :meth:`add` need not divide."""

    def add(self, t: float, value: float) -> None:
        """Add ``value`` at campaign time ``t``, which must not be before the last point."""
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
        """The latest value; 0: no point yet."""
        return self.values[-1] if self.values else 0

    def at(self, t: float) -> float:
        """Return the value of the latest point not after ``t``; 0 before the first point."""
        i = bisect_right(self.times, t)
        return self.values[i - 1] if i else 0

    def to_json(self) -> dict[str, Any]:
        """Return columns, not pairs: equal columns of several series compress well."""
        return {"w": self.width, "t": list(self.times), "v": list(self.values)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Series:
        """The inverse of :meth:`to_json`; uses the lists of ``data`` without a copy."""
        series = cls(data["w"], data["t"], data["v"])
        if series.times:
            series.end = (series.times[-1] // series.width + 1) * series.width
        return series
