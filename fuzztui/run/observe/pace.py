"""Executions per second, from the number of executions at two points in time.

AFL's own rate is different: the first ``fuzzer_stats`` contains the average of running the seeds
once (700/s or 16,000/s of the same program), later ones the average since the start, including
pauses. The rate is unknown until there are two points.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import islice

UNKNOWN = -1.0

FILES_S = 150.0
"""Seconds. AFL rewrites ``fuzzer_stats`` once a minute: in a longer gap, AFL was not running."""

WINDOW_S, COARSE_S = 5.0, 30.0
"""Seconds over which a rate is computed; the second if times are known in whole seconds only."""

MIN_S = 4.0
"""Seconds. Points that are closer give no rate: times are in whole seconds."""

STEPS = 3
"""An interval this many times as long as the previous one counts as an unreported pause."""


@dataclass(frozen=True, slots=True)
class _Point:
    seconds: float
    execs: int
    written: float


class Pace:
    """The rate of one instance, from the points that one of its files contains.

    :param pause_s: seconds; a longer gap between two points is a pause, unless the gap before was
        at least 1 / ``STEPS`` of it.
    """

    def __init__(self, pause_s: float) -> None:
        self.rate = UNKNOWN
        """Executions per second as last measured; ``UNKNOWN``: not measured yet."""
        self._pause_s = pause_s
        self._step = 0.0
        self._points: deque[_Point] = deque()

    def add(self, seconds: float, execs: int, written: float = 0.0) -> None:
        """Add a point: ``execs`` executions at ``seconds`` of AFL's clock.

        AFL writes whole seconds. ``written`` is the exact time of the same moment by the clock of
        the file system; 0: unknown.
        """
        points = self._points
        if points:
            step = seconds - points[-1].seconds
            if step < 0 or execs < points[-1].execs:
                self.forget()  # the fuzzer was restarted
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
        """Note an interruption: no rate spans it. The old rate remains until the next one."""
        self._points.clear()

    def forget(self) -> None:
        """Drop all points and the rate: they belong to an earlier process."""
        self._points.clear()
        self._step = 0.0
        self.rate = UNKNOWN


def _window(point: _Point) -> float:
    return WINDOW_S if point.written else COARSE_S


def _between(start: _Point, end: _Point) -> float:
    """Seconds between two points; exact if both clocks agree, which is not so in copied files."""
    took = end.seconds - start.seconds
    exact = end.written - start.written
    return exact if start.written and abs(exact - took) < 1.0 else took
