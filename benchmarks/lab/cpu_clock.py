"""The CPU time at which an engine saved the entries of its queue."""

from __future__ import annotations

import contextlib
import threading
import time
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path

import psutil

_PERIOD_S = 0.05


class CpuClock:
    """CPU seconds of an engine's workers by the wall clock, read twenty times a second.

    On a busy machine, the share of a run's time that a worker gets changes all the time, so that
    the time in an entry's name says little about the work before it.
    """

    def __init__(self) -> None:
        self.samples: list[tuple[float, float]] = []
        """Seconds since the epoch, and the CPU seconds of all workers until then."""
        self._used: dict[psutil.Process, float] = {}

    @contextlib.contextmanager
    def watching(self, pid: int) -> Iterator[None]:
        """Context manager: add samples in a thread."""
        ended = threading.Event()

        def watch() -> None:
            self.read(pid)
            while not ended.wait(_PERIOD_S):
                self.read(pid)

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def read(self, pid: int) -> None:
        """Add a sample of the workers, which are the children of ``pid``."""
        with contextlib.suppress(psutil.Error):
            if not any(worker.is_running() for worker in self._used):
                # A worker that replaces another one; to look for it each time is expensive.
                for worker in psutil.Process(pid).children():
                    self._used.setdefault(worker, 0.0)
        for worker in self._used:
            with contextlib.suppress(psutil.Error):
                # As in engines/execute/limits.py, cpu_s: its own, and that of children that ended.
                self._used[worker] = max(self._used[worker], sum(worker.cpu_times()[:4]))
        self.samples.append((time.time(), sum(self._used.values())))

    def at(self, moment: float) -> float:
        """The CPU seconds that were used at this time since the epoch."""
        after = bisect_left(self.samples, (moment, 0.0))
        if after == len(self.samples):
            return self.samples[-1][1] if self.samples else 0.0
        (later, most) = self.samples[after]
        (earlier, least) = self.samples[after - 1] if after else (later, 0.0)
        part = (moment - earlier) / (later - earlier) if later > earlier else 1.0
        return least + part * (most - least)

    def saved(self, queue: Path) -> dict[str, float]:
        """By name the CPU seconds at which each entry was saved, the first one first."""
        at = {
            file.name: self.at(file.stat().st_mtime) for file in queue.iterdir() if file.is_file()
        }
        return dict(sorted(at.items(), key=lambda entry: (entry[1], entry[0])))
