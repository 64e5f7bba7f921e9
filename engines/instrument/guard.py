"""Ending a trial that does not end: fuel, then a clock. (Third line: the parent.)

*Fuel* is spent by the application's own loops and runs out after the same turn
each time: the verdict is deterministic. The *clock* catches what turns without
fuel: Python code outside the application. Both raise :class:`TrialTimeout` and
keep raising it, so that a bare ``except`` does not get away; whether a trial
timed out is read from :attr:`Guard.expired`, not from the exception.
"""

from __future__ import annotations

import math
import signal
import sys
from types import FrameType
from typing import Final

from fuzztui.engines.instrument.frames import Stack, frames_above
from fuzztui.engines.instrument.instrument import FUEL_PERIOD

__all__ = ["TURNS_PER_SECOND", "Guard", "TrialTimeout"]

TURNS_PER_SECOND: Final = 10_000_000
"""Loop turns that a second's limit allows: about what CPython manages in empty loops."""

_TICK_S: Final = 0.05


class TrialTimeout(BaseException):
    """Raised inside the target. Not an ``Exception``: handlers for errors let it pass."""


class Guard:
    """Watches one trial at a time: :meth:`start`, run, :meth:`stop`.

    The clock is one repeating timer that counts its own alarms, so a trial costs
    no system call, and a process that was stopped or starved is not blamed.
    """

    def __init__(self, timeout_s: float, turns: int = 0) -> None:
        """``turns`` 0 derives the fuel from the time limit."""
        self.timeout_s = timeout_s
        self._period_s = min(_TICK_S, timeout_s / 4)
        self._alarms_allowed = math.ceil(timeout_s / self._period_s) + 1
        periods = (turns or int(timeout_s * TURNS_PER_SECOND)) // FUEL_PERIOD
        self._tank = max(1, periods)
        self._given = self._left = self._tank
        self._turns = 0
        self._alarms = 0
        self.running = False
        self.where: Stack = ()
        """Where the trial was when it expired."""
        self.expired = False
        """The trial ran out of fuel or time, whatever it did with the exception."""

    # ------------------------------------------------------- called by the target

    def spend(self) -> int:
        """A loop made :data:`FUEL_PERIOD` turns; returns its new count."""
        self._left -= 1
        if self._left < 0 and self.running:
            self._expire(sys._getframe(1))
        return 0

    def tick(self) -> None:
        """A single turn, of a loop that cannot have a counter of its own."""
        self._turns += 1
        if self._turns >= FUEL_PERIOD:
            self._turns = 0
            self.spend()

    def _on_alarm(self, signum: int, frame: FrameType | None) -> None:
        if not self.running:
            return
        self._alarms += 1
        if self._alarms >= self._alarms_allowed:
            self._expire(frame)

    def _expire(self, frame: FrameType | None) -> None:
        if not self.expired:
            self.expired = True
            self.where = frames_above(frame)
        raise TrialTimeout

    # ------------------------------------------------------- called by the executor

    def arm(self) -> None:
        """Start the clock; again whenever a target may have taken the signal or the timer."""
        signal.signal(signal.SIGALRM, self._on_alarm)
        signal.setitimer(signal.ITIMER_REAL, self._period_s, self._period_s)

    def disarm(self) -> None:
        """Stop the clock."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def check(self) -> None:
        """Arm again if someone else has taken the signal."""
        left, period = signal.getitimer(signal.ITIMER_REAL)
        if signal.getsignal(signal.SIGALRM) != self._on_alarm or not left or not period:
            self.arm()

    @property
    def spent(self) -> int:
        """Periods of :data:`FUEL_PERIOD` turns that the trial has spent so far."""
        return self._given - self._left

    @property
    def turns(self) -> int:
        """Turns of loops and calls that were counted: exact where all are (see ``quiet``)."""
        return self.spent * FUEL_PERIOD + self._turns

    def start(self, periods: int = 0, *, capped: bool = True, part: float = 1.0) -> None:
        """A trial begins; ``periods`` of fuel instead of what the time limit allows.

        Not ``capped``: also if they are more than that. ``part``: of the time.
        """
        given = periods or self._tank
        self._given = self._left = min(given, self._tank) if capped else given
        self._turns = 0
        self._alarms = int((1 - part) * self._alarms_allowed)
        self.expired = False
        self.running = True

    def stop(self) -> None:
        """It has ended: no alarm raises any more."""
        self.running = False
