"""The guard: ends a trial that is out of fuel or time. The worker monitor is the last resort.

*Fuel* is spent by loops of the application and runs out after the same iteration each time, so
this timeout is repeatable. The *clock* ends loops without fuel, in Python code outside the
application: it compares the CPU time of the process with the time limit, so that other load is not
taken for a hang. Wall time has a larger limit, for trials that wait. Both raise
:class:`TrialTimeout` and keep raising it, so that a bare ``except`` does not stop it.
:attr:`Guard.expired`, not the exception, shows whether a trial timed out.
"""

from __future__ import annotations

import math
import signal
import sys
from collections.abc import Sequence
from time import process_time
from types import CodeType, FrameType
from typing import Final

from fuzztui.engines.instrument.fuel import FUEL_PERIOD

Stack = Sequence[tuple[CodeType, int]]
"""Code and line of each frame, outermost first."""

_ENGINE: Final = __file__.rpartition("/instrument/")[0] + "/"
_CLOCK: Final = _ENGINE + "base/clock.py"
"""The fixed clock, which the target calls, and which calls time zones of the target."""


def is_engine(code: CodeType) -> bool:
    """Whether ``code`` is the engine's own."""
    return code.co_filename.startswith(_ENGINE)


def frames_above(frame: FrameType | None, limit: int = 2000) -> list[tuple[CodeType, int]]:
    """The running stack from ``frame`` up, outermost first, without the engine's frames."""
    return [(f.f_code, f.f_lineno) for f in _frames(frame, limit)]


def _frames(frame: FrameType | None, limit: int = 2000) -> list[FrameType]:
    frames: list[FrameType] = []
    while frame is not None and len(frames) < limit:
        if not is_engine(frame.f_code):
            frames.append(frame)
        elif frames and frame.f_code.co_filename != _CLOCK:
            break  # the executor: all outer frames are the engine's
        frame = frame.f_back
    frames.reverse()
    return frames


TURNS_PER_SECOND: Final = 10_000_000
"""Iterations for each second of the time limit: about the speed of empty loops in CPython."""

_TICK_S: Final = 0.05
"""Longest period of the clock, in seconds."""

WALL: Final = 4.0
"""Default of ``target.timeout_wall``: time limits that a trial may take by the wall clock."""


class TrialTimeout(BaseException):
    """Raised inside the target. Not an ``Exception``, so that error handlers do not catch it."""


class Guard:
    """Watches one trial at a time: :meth:`start`, run, :meth:`stop`.

    The clock is one repeating timer whose signals are counted. So a trial costs no system call,
    and time in which the process was stopped does not count.
    """

    def __init__(self, timeout_s: float, turns: int = 0, wall: float = WALL) -> None:
        """``turns``: fuel in iterations; 0: derived from the time limit. ``wall``: time limits by
        the wall clock after which a trial that uses little CPU time ends."""
        self.timeout_s = timeout_s
        self._period_s = min(_TICK_S, timeout_s / 4)
        self._alarms_allowed = math.ceil(wall * timeout_s / self._period_s) + 1
        periods = (turns or int(timeout_s * TURNS_PER_SECOND)) // FUEL_PERIOD
        self._tank = max(1, periods)
        self._given = self._left = self._tank
        self._turns = 0
        self._alarms = 0
        self._part = 1.0
        self._cpu_s = 0.0
        """CPU time of the process at the trial's first alarm: trials without one cost no call."""
        self._frames: list[FrameType] = []
        """The outer frames that all alarms of the trial have found."""
        self.running = False
        self.where: Stack = ()
        """The stack of the trial when it expired."""
        self.lasting: Stack = ()
        """Its outer part, which the trial was in all the time: of a slow loop, without the calls
        that happened to run when the trial expired."""
        self.expired = False
        """Whether the trial ran out of fuel or time, even if it caught the exception."""

    # ------------------------------------------------------- called by the target

    def spend(self) -> int:
        """Spend fuel for :data:`FUEL_PERIOD` iterations. Returns the loop's new count, 0."""
        self._left -= 1
        if self._left < 0 and self.running:
            self._expire(sys._getframe(1))
        return 0

    def tick(self) -> None:
        """Count one iteration of a loop without a local counter."""
        self._turns += 1
        if self._turns >= FUEL_PERIOD:
            self._turns = 0
            self.spend()

    def _on_alarm(self, signum: int, frame: FrameType | None) -> None:
        if not self.running:
            return
        if (profile := sys.getprofile()) is None:
            self._look(frame)
            return
        sys.setprofile(None)  # what the target calls is counted, not what the clock does
        try:
            self._look(frame)
        finally:
            sys.setprofile(profile)

    def _look(self, frame: FrameType | None) -> None:
        self._alarms += 1
        now_s, frames = process_time(), _frames(frame)
        if self._alarms == 1:
            self._cpu_s, self._frames = now_s, frames
        else:
            same = (old is new for old, new in zip(self._frames, frames, strict=False))
            lasting = next((n for n, is_same in enumerate(same) if not is_same), None)
            self._frames = frames[: len(self._frames)][:lasting]
        if (
            now_s - self._cpu_s >= self._part * self.timeout_s
            or self._alarms >= self._part * self._alarms_allowed
        ):
            self._expire(frame)

    def _expire(self, frame: FrameType | None) -> None:
        if not self.expired:
            self.expired = True
            self.where = frames_above(frame)
            self.lasting = [(f.f_code, f.f_lineno) for f in self._frames] or self.where
        raise TrialTimeout

    # ------------------------------------------------------- called by the executor

    def arm(self) -> None:
        """Start the clock, also again if a target may have replaced the handler or the timer."""
        signal.signal(signal.SIGALRM, self._on_alarm)
        signal.setitimer(signal.ITIMER_REAL, self._period_s, self._period_s)

    def disarm(self) -> None:
        """Stop the clock."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def check(self) -> None:
        """Arm again if the target has replaced the signal handler or the timer."""
        left, period = signal.getitimer(signal.ITIMER_REAL)
        if signal.getsignal(signal.SIGALRM) != self._on_alarm or not left or not period:
            self.arm()

    @property
    def spent(self) -> int:
        """Periods of :data:`FUEL_PERIOD` iterations that the trial has spent."""
        return self._given - self._left

    @property
    def turns(self) -> int:
        """At least so many loop iterations and calls have run.

        Loops without fuel are not counted, nor the last iterations of a loop, fewer than
        :data:`FUEL_PERIOD`, which it has not reported.
        """
        return (self._given - self._left) * FUEL_PERIOD + self._turns

    def start(self, periods: int = 0, *, capped: bool = True, part: float = 1.0) -> None:
        """Start a trial. ``periods``: its fuel; 0: as much as the time limit allows.

        ``capped``: the fuel is at most that of the time limit. ``part``: share of the time limit;
        above 1, also of the fuel.
        """
        given = tank = self._tank if part <= 1 else int(part * self._tank)
        if periods and (periods < tank or not capped):
            given = periods
        self._given = self._left = given
        self._turns = self._alarms = 0
        self._part = part
        self.expired = False
        self.running = True

    def stop(self) -> None:
        """End the trial: from now on, the clock and the fuel raise nothing."""
        self.running = False
        if self._alarms:
            self._frames = []


ALARM: Final = Guard._on_alarm.__code__
"""The handler of the clock, which runs at any moment of a trial."""
