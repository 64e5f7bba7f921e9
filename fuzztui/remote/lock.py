"""Who supervises a run: the flock on ``RUN/supervisor/lock``.

The kernel drops the lock when its holder dies, however it dies: that, and not a pid
found in a file, tells whether a supervisor lives.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

__all__ = ["LockHeld", "RunLock", "running"]

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_WRITE = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_TRIES, _PAUSE = 20, 0.02


def _path(run: Path) -> Path:
    return run / "supervisor" / "lock"


class LockHeld(Exception):
    """Another supervisor holds the run; ``pid`` is its process id (-1: not readable)."""

    def __init__(self, run: Path, pid: int) -> None:
        super().__init__(f"{run} is supervised already, by process {pid}")
        self.pid = pid


class RunLock:
    """The lock, held from construction until :meth:`release` or the process's end.

    Raises :class:`LockHeld`, or OSError where the file system has no locks.
    """

    def __init__(self, run: Path) -> None:
        self._path = _path(run)
        self._fd = os.open(self._path, _WRITE, 0o600)
        try:
            self._take(run)
        except BaseException:
            os.close(self._fd)
            raise
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, b"%d\n" % os.getpid(), 0)

    def _take(self, run: Path) -> None:
        # Several tries: running() holds a shared lock for the instant of its look.
        for _ in range(_TRIES):
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                time.sleep(_PAUSE)
        raise LockHeld(run, _pid(self._fd))

    def in_place(self) -> bool:
        """Whether the file that we hold is still the one that others look at."""
        try:
            return os.path.samestat(os.fstat(self._fd), self._path.stat())
        except FileNotFoundError:
            return False
        except OSError:  # a file system in trouble says nothing about the lock
            return True

    def release(self) -> None:
        """Let go; the pid is wiped first so that nobody reads a stale one."""
        os.ftruncate(self._fd, 0)
        os.close(self._fd)


def running(run: Path) -> int | None:
    """The living supervisor's pid, None when there is none.

    -1 when one lives but its pid cannot be read.
    """
    try:
        fd = os.open(_path(run), _READ)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _pid(fd)
    except OSError:
        return None
    else:
        return None
    finally:
        os.close(fd)


def _pid(fd: int) -> int:
    """The pid in the file; waits a little for a holder that is just writing it."""
    for _ in range(_TRIES):
        text = os.pread(fd, 32, 0).strip()
        if text.isdigit():
            return int(text)
        time.sleep(_PAUSE / 4)
    return -1
