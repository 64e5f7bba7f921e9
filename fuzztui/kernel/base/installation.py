"""The copy of fuzztui that a hub has put on a host: kept while a process runs from it."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from typing import Final

import fuzztui

IN_USE: Final = ".in-use"
"""File next to the package in a host's cache; who uses the copy holds a shared flock on it."""


_PACKAGE = Path(fuzztui.__file__).parent


def hold_installation(package: Path = _PACKAGE) -> None:
    """Keep this copy of fuzztui from being removed while this process and its forks run.

    A supervisor runs for days, imports late, and its engines are started from the same copy. An
    installation by pip has no such file, and nothing happens.
    """
    with contextlib.suppress(OSError):
        fd = os.open(package.parent / IN_USE, os.O_RDWR | os.O_CLOEXEC)
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
