"""A clock that tests move, and files that are as old as a test needs."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path


class LabClock:
    """A clock for product code, which a test moves; it can stand in for the module ``time``.

    It begins at this machine's wall clock, or at ``now``, in seconds.
    """

    def __init__(self, now: float | None = None) -> None:
        self.now = time.time() if now is None else now
        self.at_sleep: Callable[[], object] = lambda: None
        """Called when product code has slept."""

    def __call__(self) -> float:
        return self.now

    time = monotonic = perf_counter = __call__

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.at_sleep()


def aged(file: Path, seconds: float) -> None:
    """Make a file as old as that; younger than now if ``seconds`` is negative."""
    os.utime(file, (time.time() - seconds,) * 2)


def virtual_time(loop: asyncio.AbstractEventLoop) -> None:
    """Let the time of a loop jump to its next timer whenever nothing else is to be done.

    For tests in which everything happens in the loop: what threads and processes do takes no time.
    """
    now = [loop.time()]
    selector = loop._selector  # type: ignore[attr-defined]
    select = selector.select

    def jump(timeout: float | None = None) -> list[object]:
        if timeout is None or timeout <= 0:
            return select(timeout)
        events = select(0)
        if not events:
            now[0] += timeout
        return events

    selector.select = jump
    loop.time = lambda: now[0]  # type: ignore[method-assign]
