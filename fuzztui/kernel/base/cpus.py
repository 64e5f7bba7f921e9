"""The number of CPUs that this process may use."""

from __future__ import annotations

import os
from pathlib import Path


def usable_cpus() -> int:
    """Return the number of CPUs; a container may have fewer than its host."""
    cpus = len(os.sched_getaffinity(0))
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return max(1, min(cpus, int(quota) // int(period)))
    except (OSError, ValueError, ZeroDivisionError):  # "max": no limit
        return cpus
