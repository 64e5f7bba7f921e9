"""What one worker has built, the others take: one directory for each run of pytest."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

HOME = "FUZZTUI_TESTS_SHARED"
"""The variable that names the directory; the process that starts the workers makes it."""


def shared(name: str, make: Callable[[Path], object]) -> Path:
    """The file ``name``; ``make`` writes it at the path that it is given, if nobody has yet."""
    home = Path(os.environ[HOME])
    file, part = home / name, home / f"{name}.part"
    with (home / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            make(part)
            part.rename(file)  # never half of it, whatever ends us
    return file
