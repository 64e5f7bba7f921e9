"""Facts about the machine on which this process runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import psutil

from fuzztui.kernel.base.cpus import usable_cpus
from fuzztui.kernel.base.files import read_if_regular

_RUN_S: Final = 60.0
_GOVERNOR: Final = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
_CORE_PATTERN: Final = Path("/proc/sys/kernel/core_pattern")


def machine_facts(path: Path) -> dict[str, Any]:
    """Return facts as JSON data; ``path``: where runs would be."""
    memory = psutil.virtual_memory()
    there = _existing(path)
    disk = shutil.disk_usage(there)
    return {
        "python": sys.executable,
        "machine": os.uname().machine,
        "wall": time.time(),
        "cores": usable_cpus(),
        "load": round(os.getloadavg()[0], 2),
        "memory": memory.total,
        "memory_free": memory.available,
        "path": str(path),
        "disk": disk.total,
        "disk_free": disk.free,
        "writable": there.is_dir() and os.access(there, os.W_OK | os.X_OK),
        "existing": str(there),
        "core_pattern": line_of(_CORE_PATTERN),
        "governor": line_of(_GOVERNOR),
    }


def _existing(path: Path) -> Path:
    """The path, or the nearest directory above it that exists."""
    while not os.path.lexists(path) and path != path.parent:
        path = path.parent
    return path


def line_of(path: Path) -> str:
    """Return the text of a file of the kernel; "" if it does not exist."""
    return (read_if_regular(path, 200) or b"").decode(errors="replace").strip()


def run_program(argv: list[str], environment: dict[str, str] | None = None) -> tuple[int, str]:
    """Run a program. Returns its exit status and output; -1 and the reason if it cannot run."""
    try:
        done = subprocess.run(
            argv,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_RUN_S,
            check=False,
            text=True,
            errors="replace",
        )
    except (OSError, subprocess.SubprocessError) as e:
        return -1, f"error: {e}"
    return done.returncode, done.stdout
