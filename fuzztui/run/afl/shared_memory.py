"""Remove System V shared memory that a killed afl-fuzz leaves.

Each SIGKILL leaves two segments. After about 2,000 of them (a day and a half with a program that
runs out of memory each minute) the machine has no more, and no afl-fuzz can start.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from fuzztui.run.process.identity import ProcessId, boot_id, boot_time

_TABLE = Path("/proc/sysvipc/shm")
_IPC_RMID = 0
_SLACK_S = 5.0
"""Tolerance in seconds: both times are whole seconds of a clock that may be corrected."""


def remove_segments(maker: ProcessId) -> int:
    """Remove the segments of process ``maker``, which has ended. Returns their number.

    Removes only segments of this user that are not older than ``maker``, because pids are reused.
    Both times are the kernel's, by the wall clock at the start of ``maker``, so that later changes
    of the clock do not matter. A segment that a dying fork server still uses is removed with it.
    """
    if maker.boot != boot_id():
        return 0
    try:
        header, *lines = _TABLE.read_text().splitlines()
        libc = ctypes.CDLL(None)
    except (OSError, ValueError):  # this kernel has no System V shared memory
        return 0
    began = (maker.boot_time or boot_time()) + maker.start / os.sysconf("SC_CLK_TCK")
    oldest = began - _SLACK_S
    columns = header.split()
    count = 0
    for line in lines:
        segment = dict(zip(columns, line.split(), strict=False))
        made = segment.get("cpid") == str(maker.pid) and int(segment["ctime"]) >= oldest
        if made and segment.get("uid") == str(os.geteuid()):
            count += libc.shmctl(int(segment["shmid"]), _IPC_RMID, None) == 0
    return count
