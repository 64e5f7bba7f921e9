"""Gains: what periods of a campaign brought, in new edges and killed mutants."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log1p
from typing import NamedTuple

from fuzztui.kernel.model.series import Series
from fuzztui.kernel.model.state import Entry, State

LEVELS = 8
"""Heights of a drawn gain."""
_LEAST_TOP = 10
"""The size of a gain that has the full height in a campaign of small gains."""


class Gain(NamedTuple):
    """What one period brought."""

    t: float
    """Campaign time of its last edge or kill, in seconds; -1: it brought nothing."""
    edges: int
    kills: int
    entries: Sequence[str]
    """Keys of the entries that were saved in it for new edges or kills, in order of time."""

    @property
    def size(self) -> int:
        """Edges and kills."""
        return self.edges + self.kills


@dataclass(frozen=True, slots=True)
class _Steps:
    """A number that grows: the times at which it grew, and its values before and after each."""

    times: Sequence[float] = ()
    values: Sequence[int] = (0,)

    @classmethod
    def of(cls, series: Series | None) -> _Steps:
        """The steps upwards of a series; where it falls, its highest value holds."""
        if series is None:
            return cls()
        points = {*zip(series.times, series.values, strict=True)}
        for recent in series.recent:
            points.update(zip(recent.times, recent.values, strict=True))
        times, values = [], [0]
        for t, value in sorted(points):
            if value > values[-1]:
                times.append(t)
                values.append(int(value))
        return cls(times, values)

    def between(self, low: float, high: float) -> tuple[int, float]:
        """The growth from ``low`` to before ``high``, and the time of its last step, or -1."""
        first, end = bisect_left(self.times, low), bisect_left(self.times, high)
        if first >= end:
            return 0, -1.0
        return self.values[end] - self.values[first], self.times[end - 1]


@dataclass(frozen=True, slots=True, eq=False)
class Gains:
    """All gains of a campaign, as exact as its series are."""

    edges: _Steps = field(default_factory=_Steps)
    kills: _Steps = field(default_factory=_Steps)
    saved: Sequence[float] = ()
    """Campaign times of ``entries``."""
    entries: Sequence[str] = ()
    """Keys of the entries that were saved for new edges or kills, in order of time."""

    @classmethod
    def of(cls, state: State, *, named: bool) -> Gains:
        """The gains up to now. Only with ``named`` they have entries: that takes time for each."""
        found = filter(_brought, state.entries.values()) if named else ()
        news = sorted((entry.t, entry.key) for entry in found)
        return cls(
            _Steps.of(state.series.get("edges")),
            _Steps.of(state.series.get("killed")),
            [t for t, _ in news],
            [key for _, key in news],
        )

    def times(self) -> list[float]:
        """The campaign times at which edges or kills came, in order."""
        return sorted({*self.edges.times, *self.kills.times})

    @property
    def first(self) -> float | None:
        """The campaign time of the first edge or kill; None: there is none."""
        return min([*self.edges.times[:1], *self.kills.times[:1]], default=None)

    def between(self, low: float, high: float) -> Gain:
        """What the period from ``low`` to before ``high`` brought; times in seconds."""
        edges, edge_t = self.edges.between(low, high)
        kills, kill_t = self.kills.between(low, high)
        first, end = bisect_left(self.saved, low), bisect_left(self.saved, high)
        return Gain(max(edge_t, kill_t), edges, kills, self.entries[first:end])


def _brought(entry: Entry) -> bool:
    return entry.is_new or "kill" in entry.reasons


def levels(gains: Sequence[Gain]) -> list[int]:
    """The height of each gain from 1 to :data:`LEVELS`, by the logarithm of its size; 0: none."""
    top = log1p(max([_LEAST_TOP, *(gain.size for gain in gains)]))
    return [-int(-LEVELS * log1p(gain.size) / top // 1) if gain.size else 0 for gain in gains]


def ranking(gains: Sequence[Gain]) -> list[int]:
    """The indices of those gains that brought something, the largest first."""
    there = [n for n, gain in enumerate(gains) if gain.size]
    return sorted(there, key=lambda n: (-gains[n].size, n))
