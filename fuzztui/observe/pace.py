"""Executions a second, from how many there were at two points in time.

What AFL itself says is no such thing: its first ``fuzzer_stats`` has the average of running
its seeds once (700/s or 16,000/s of the same program), later ones that of its whole life, and
all of them go on over pauses. Until there are two points nothing is known.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import islice

__all__ = ["FILES_S", "MIN_S", "UNKNOWN", "Pace"]

UNKNOWN = -1.0

FILES_S = 150.0
"""AFL rewrites ``fuzzer_stats`` once a minute: if that takes longer, it did not run meanwhile."""

WINDOW_S, COARSE_S = 5.0, 30.0
"""A rate is that of the last so many seconds; where only whole seconds are known, of more."""

MIN_S = 4.0
"""Whole seconds that are closer than this say little."""

STEPS = 3
"""A gap so many times as long as the one before is a pause that nobody told us of."""


@dataclass(frozen=True, slots=True)
class _Point:
    seconds: float
    execs: int
    written: float


class Pace:
    """The rate of one instance, by what one of its files says now and then.

    :param pause_s: a gap that is longer is a pause, unless the file is always that slow.
    """

    def __init__(self, pause_s: float) -> None:
        self.rate = UNKNOWN
        """Executions a second as last measured."""
        self._pause_s = pause_s
        self._step = 0.0
        self._points: deque[_Point] = deque()

    def add(self, seconds: float, execs: int, written: float = 0.0) -> None:
        """``execs`` were done at ``seconds`` of AFL's clock.

        AFL writes whole seconds. ``written`` is the exact time of the same moment by
        another clock: the file's, 0 where that is not known.
        """
        points = self._points
        if points:
            step = seconds - points[-1].seconds
            if step < 0 or execs < points[-1].execs:
                self.forget()  # it was started again
            elif step == 0:
                points.pop()
            else:
                if step > max(self._pause_s, STEPS * self._step):
                    points.clear()
                self._step = step
        points.append(_Point(seconds, execs, written))
        while any(seconds - p.seconds >= _window(p) for p in islice(points, 1, None)):
            points.popleft()
        took = _between(points[0], points[-1])
        if took >= MIN_S:
            self.rate = round((execs - points[0].execs) / took, 2)

    def interrupted(self) -> None:
        """It did not run for a while: no rate spans that. The old one stands until then."""
        self._points.clear()

    def forget(self) -> None:
        """Another process has its place: what was measured is of the old one."""
        self._points.clear()
        self._step = 0.0
        self.rate = UNKNOWN


def _window(point: _Point) -> float:
    return WINDOW_S if point.written else COARSE_S


def _between(start: _Point, end: _Point) -> float:
    """Seconds: exact where both clocks agree, as they do not in a copy of the files."""
    took = end.seconds - start.seconds
    exact = end.written - start.written
    return exact if start.written and abs(exact - took) < 1.0 else took
