"""Watch a worker process: whether it hangs."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from fuzztui.engines.base.spec import LOAD_LIMIT_S, TargetSpec
from fuzztui.engines.directory import journal as j
from fuzztui.engines.execute.forks import BUSY, cpu_s, stopped_by

POLL_S: Final = 0.05
"""Seconds between two polls of a worker."""


class HangDetector:
    """Detects a hanging worker: a trial does not end, or the worker is stopped.

    A trial has more CPU time than the guard gives to an input whose hang is confirmed, and by the
    clock ``timeout_wall`` times as much, so that other load is not taken for a hang.

    Adds up polling intervals instead of reading the clock: a stopped monitor or a suspended
    machine is not a hang. A worker that is stopped while the monitor runs was stopped by its
    target, because a pause stops both. A debugger may hold the worker for hours.
    """

    def __init__(self, target: TargetSpec, pid: int, counters: memoryview[int]) -> None:
        timeout_s = target.timeout_s * max(1.0, target.timeout_confirm)
        self._limit_s = max(1.5 * timeout_s, timeout_s + 1.0)
        self._wall = max(1.0, target.timeout_wall)
        self._cpu_s = 0.0
        """CPU time of the worker when the trial was first seen."""
        self._pid, self._counters = pid, counters
        self._mark = (0, 0)
        self._seen_s = self._stopped_s = 0.0
        self.stopped = ""
        """The signal that has stopped the worker; empty if the worker runs."""

    def hangs(self, step_s: float) -> bool:
        """Whether the worker hangs. ``step_s``: seconds since the last call."""
        step_s = min(step_s, 4 * POLL_S)
        self.stopped = stopped_by(self._pid)
        phase = self._counters[j.PHASE]
        mark = (phase, self._counters[j.STARTED])
        moved, self._mark = mark != self._mark, mark
        # It may have run between two polls: a CPU limiter stops a process again and again.
        self._stopped_s = self._stopped_s + step_s if self.stopped and not moved else 0.0
        if self.stopped:
            return self._stopped_s > self._limit_s
        if phase not in (j.RUNNING, j.LOADING) or moved:
            self._seen_s = 0.0
            return False
        if not self._seen_s:
            self._cpu_s = cpu_s(self._pid)
        self._seen_s += step_s
        limit = LOAD_LIMIT_S if phase == j.LOADING else self._limit_s
        if self._seen_s <= limit:
            return False
        if _is_debugged(self._pid):
            self._seen_s = 0.0
        elif phase == j.RUNNING and cpu_s(self._pid) - self._cpu_s < BUSY * limit:
            limit *= self._wall
        return self._seen_s > limit


def _is_debugged(pid: int) -> bool:
    """Whether a debugger outside of the worker's process group holds it; False without /proc."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    tracer = re.search(r"^TracerPid:\s+([1-9]\d*)$", status, re.MULTILINE)
    if tracer is None or not re.search(r"^State:\s+t", status, re.MULTILINE):
        return False
    try:
        return os.getpgid(int(tracer[1])) != pid
    except OSError:
        return True
