"""A wall clock for one campaign that can be moved (``clock.c``)."""

from __future__ import annotations

import mmap
import shutil
import struct
import subprocess
from pathlib import Path

HOUR, DAY = 3600, 86400
JUMPS = (-3 * DAY, 3 * DAY, -HOUR, HOUR, 3652 * DAY, -3652 * DAY, -1, 0)
"""Seconds that are added to the real time; 0 is the real time again."""


def build(directory: Path) -> Path | None:
    """Compile the library; None if there is no C compiler."""
    library = directory / "clock.so"
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    source = Path(__file__).with_name("clock.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


class Clock:
    """The wall clock of the processes that get :attr:`env`."""

    def __init__(self, library: Path, file: Path) -> None:
        file.write_bytes(bytes(mmap.PAGESIZE))
        self.env = {"LD_PRELOAD": str(library), "FUZZTUI_CHAOS_CLOCK": str(file)}
        self._file = file

    def set(self, seconds: int) -> None:
        """Let it show this much more than the real time."""
        with self._file.open("r+b") as file:
            file.write(struct.pack("=q", seconds))
