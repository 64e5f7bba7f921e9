"""Determine whether an afl-fuzz works on a directory, without disturbing it."""

from __future__ import annotations

import errno
import fcntl
import os

from fuzztui.observe.inotify import file_system, is_remote

_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_STOPPED = frozenset("Tt")
_DEAD = frozenset("ZX")


def held(directory: str) -> bool | None:
    """Whether a process holds afl-fuzz's lock on its directory; None: unknown.

    The probe takes a shared lock and releases it at once. An afl-fuzz that starts at that instant
    would find the directory in use, so a directory without a holder should only be probed again
    when something in it has changed.
    """
    try:
        fd = os.open(directory, _FLAGS)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as e:
        return True if e.errno in (errno.EWOULDBLOCK, errno.EAGAIN) else None
    finally:
        os.close(fd)
    # A lock of another machine may not be visible here, so "free" means unknown.
    return None if _remote(directory) else False


_kinds: dict[int, bool] = {}


def _remote(directory: str) -> bool:
    try:
        device = os.lstat(directory).st_dev
    except OSError:
        return False
    if device not in _kinds:
        _kinds[device] = is_remote(file_system(directory))
    return _kinds[device]


def process_is(pid: int) -> str:
    """Return the state of the afl-fuzz with this pid: "running", "paused" (SIGSTOP), "": none.

    The pid comes from a file, and may now belong to another program: "".
    """
    if not 0 < pid < 1 << 31:
        return ""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            head, _, tail = file.read(512).decode(errors="replace").rpartition(")")
    except OSError:
        return ""
    if "afl" not in head.partition("(")[2] or not tail.strip():
        return ""
    state = tail.split()[0]
    if state in _DEAD:
        return ""
    return "paused" if state in _STOPPED else "running"
