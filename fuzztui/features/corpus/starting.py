"""Slow work on seeds at a start: in a thread, with progress, cancelled with the start."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

from fuzztui.run.campaign.rundir import SupervisorError

_EVERY_S: Final = 2.0
_STOP_S: Final = 5.0
"""Seconds for killing what runs, when a start is cancelled."""

_T = TypeVar("_T")


class StartProgress:
    """Progress as messages, with the estimated time left."""

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._progress, self.stopped = progress, threading.Event()
        self._what = ""
        self._began = self._due = 0.0

    def show(self, what: str, done: int, total: int) -> None:
        """Report how much of ``what`` is done, from time to time."""
        now = time.monotonic()
        if what != self._what:
            self._what, self._began, self._due = what, now, now + _EVERY_S
        if now >= self._due and done:
            self._due = now + _EVERY_S
            left = (now - self._began) * max(0, total - done) / done
            try:
                self._progress(f"{what}: {done:,} of {total:,}, about {left:.0f} s left")
            except SupervisorError:  # the start is cancelled: no reader is left
                self.stopped.set()

    def show_part(self, what: str, numbers: tuple[int, int, int], part: float) -> None:
        """Report progress while a ``part`` of some is done.

        ``numbers``: of those that were done before, of those that are being done, and of all.
        """
        before, some, every = numbers
        self.show(what, before + round(part * some), every)


def in_thread(work: Callable[[], _T], stopped: threading.Event) -> _T:
    """Do work in a thread, because an event loop runs in this one.

    If the start is cancelled, what the work has started is killed.
    """
    found: list[_T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as e:
            errors.append(e)
        finally:
            over.set()

    # Not join: interrupted by a signal, it counts the thread as ended (Python 3.11).
    over = threading.Event()
    threading.Thread(target=run, daemon=True).start()
    try:
        over.wait()
    except BaseException:
        stopped.set()
        over.wait(_STOP_S)
        raise
    if errors:
        raise errors[0]
    return found[0]
