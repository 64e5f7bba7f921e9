"""Shared memory that a killed afl-fuzz leaves behind: System V's does not end with its maker.

Each SIGKILL costs two segments. Some 2,000 of them (a program that is out of memory every
minute does that in a day and a half) use up the machine's, and no afl-fuzz starts any more.
"""

from __future__ import annotations

import ctypes
import os
import time
from pathlib import Path

from fuzztui.supervise.identity import ProcessId, boot_id

__all__ = ["remove_segments"]

_TABLE = Path("/proc/sysvipc/shm")
_IPC_RMID = 0
_SLACK_S = 5.0
"""The table has whole seconds of a clock that is corrected now and then."""


def remove_segments(maker: ProcessId) -> int:
    """Remove the segments of process ``maker``, which has ended; returns how many there were.

    Only those of this user that no process is attached to, and that are no older than it:
    its pid was another's before, and is in every boot.
    """
    if maker.boot != boot_id():
        return 0
    try:
        header, *lines = _TABLE.read_text().splitlines()
        libc = ctypes.CDLL(None)
    except (OSError, ValueError):  # no System V here: then there is nothing to remove either
        return 0
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - maker.start / os.sysconf("SC_CLK_TCK")
    oldest = time.time() - age - _SLACK_S
    columns = header.split()
    count = 0
    for line in lines:
        segment = dict(zip(columns, line.split(), strict=False))
        abandoned = segment.get("cpid") == str(maker.pid) and segment.get("nattch") == "0"
        ours = segment.get("uid") == str(os.geteuid()) and int(segment["ctime"]) >= oldest
        if abandoned and ours:
            count += libc.shmctl(int(segment["shmid"]), _IPC_RMID, None) == 0
    return count
