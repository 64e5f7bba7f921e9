"""The time axis of charts: which campaign time a cell shows. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_ENDS = (
    *(10.0, 20.0, 40.0),  # each new end sends all charts to the terminal again
    *(n * _MINUTE for n in (1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 10, 12, 15)),
    *(n * _MINUTE for n in (20, 25, 30, 40, 50)),
    *(n * _HOUR for n in (1, 1.25, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 10, 12, 15, 20)),
    *(n * _DAY for n in (1, 1.25, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30)),
)
"""Seconds at which an axis from 0 may end."""

_CALM_ENDS = (
    20.0,
    *(n * _MINUTE for n in (1, 2, 4, 8, 15, 30)),
    *(n * _HOUR for n in (1, 2, 4, 8, 16)),
    *(n * _DAY for n in (1, 2, 4, 8, 16, 30)),
)
"""The same for an axis that should change rarely."""

_PARTS = 10
"""A window moves by this part of it, so that its cells stay the same for some time."""

_LEAST = 1e-3

_ROUNDING = 1e-9
"""How much shorter a sum of cells may be than the axis."""


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """``cells`` cells of ``step`` seconds from campaign time ``start`` on."""

    start: float
    step: float
    cells: int

    @property
    def end(self) -> float:
        """Campaign time of the right edge."""
        return self.start + self.cells * self.step

    def time(self, cell: int) -> float:
        """Return the campaign time in the middle of a cell."""
        return self.start + (cell + 0.5) * self.step

    def cell(self, t: float) -> int:
        """Return the cell of a campaign time; -1 if it is outside. The end is in the last cell."""
        if not self.start <= t <= self.end * (1 + _ROUNDING):
            return -1
        return min(self.cells - 1, floor((t - self.start) / self.step))

    def moved(self, t: float, by: int) -> float:
        """Return the time of the cell ``by`` cells from that of ``t``, within the axis."""
        cell = self.cell(t)
        if cell < 0:
            cell = 0 if t < self.start else self.cells - 1
        return self.time(max(0, min(self.cells - 1, cell + by)))


def time_axis(
    window_s: float, now: float, cells: int, *, still: bool = False, calm: bool = False
) -> TimeAxis:
    """Return the axis of the last ``window_s`` seconds before ``now``; 0: of the whole campaign.

    It ends somewhat later than ``now`` and keeps still while the curves grow into the rest: moving
    by a cell would change every cell. ``still``: time has stopped, so the axis ends at ``now``.
    ``calm``: an axis from 0 ends up to twice as late, so that it changes rarely.
    """
    now = max(now, _LEAST)
    if window_s <= 0 or now <= window_s:
        end = now if still else _round_up(now, _CALM_ENDS if calm else _ENDS)
        return TimeAxis(0.0, end / cells, cells)
    by = window_s / _PARTS
    end = now if still else ceil(now / by) * by
    return TimeAxis(end - window_s, window_s / cells, cells)


def _round_up(seconds: float, ends: Sequence[float]) -> float:
    index = bisect_left(ends, seconds)
    if index < len(ends):
        return ends[index]
    return ceil(seconds / (10 * _DAY)) * 10 * _DAY
