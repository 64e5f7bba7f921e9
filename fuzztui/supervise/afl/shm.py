"""Shared memory that a killed afl-fuzz leaves behind: System V's does not end with its maker.

Each SIGKILL costs two segments. Some 2,000 of them (a program that is out of memory every
minute does that in a day and a half) use up the machine's, and no afl-fuzz starts any more.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

__all__ = ["remove_segments"]

_TABLE = Path("/proc/sysvipc/shm")
_IPC_RMID = 0


def remove_segments(maker: int) -> int:
    """Remove the segments of process ``maker``, which has ended; returns how many there were.

    Only those of this user that no process is attached to.
    """
    try:
        header, *lines = _TABLE.read_text().splitlines()
        libc = ctypes.CDLL(None)
    except (OSError, ValueError):  # no System V here: then there is nothing to remove either
        return 0
    columns = header.split()
    count = 0
    for line in lines:
        segment = dict(zip(columns, line.split(), strict=False))
        abandoned = segment.get("cpid") == str(maker) and segment.get("nattch") == "0"
        if abandoned and segment.get("uid") == str(os.geteuid()):
            count += libc.shmctl(int(segment["shmid"]), _IPC_RMID, None) == 0
    return count
