"""Shared memory that a killed afl-fuzz leaves behind: System V's does not end with its maker.

Each SIGKILL costs two segments. Some 2,000 of them (a program that is out of memory every
minute does that in a day and a half) use up the machine's, and no afl-fuzz starts any more.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from fuzztui.process.identity import ProcessId, boot_id, boot_time

__all__ = ["remove_segments"]

_TABLE = Path("/proc/sysvipc/shm")
_IPC_RMID = 0
_SLACK_S = 5.0
"""Both times are whole seconds of a clock that is corrected now and then."""


def remove_segments(maker: ProcessId) -> int:
    """Remove the segments of process ``maker``, which has ended; returns how many there were.

    Only segments of this user that are no older than ``maker``: its pid was another process's
    before, and is in every boot. Both times are the kernel's, by the wall clock as it was when
    ``maker`` began, so that a clock that was set afterwards does not matter. A segment that a
    dying fork server still uses ends with that.
    """
    if maker.boot != boot_id():
        return 0
    try:
        header, *lines = _TABLE.read_text().splitlines()
        libc = ctypes.CDLL(None)
    except (OSError, ValueError):  # no System V here: then there is nothing to remove either
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
