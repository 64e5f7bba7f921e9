"""Who supervises a run: the flock on ``RUN/supervisor/lock``.

The kernel drops the lock when its holder dies, however it dies: that, and not a pid
found in a file, tells whether a supervisor lives. The file holds its pid and, in the bytes
behind that, what the log cannot say: that the log cannot be written. They are taken while
there is room, and written over in place when there is none.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["LockHeld", "RunLock", "running", "trouble"]

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_WRITE = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_TRIES, _PAUSE = 20, 0.02
_WORDS, _ROOM = 32, 480
"""Where in the file the words begin, and for how many bytes of them there is room."""


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
        self._in_trouble = False
        os.pwrite(self._fd, (b"%d\n" % os.getpid()).ljust(_WORDS) + b" " * _ROOM, 0)

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

    def tell(self, trouble: str) -> None:
        """Leave words for who looks (:func:`trouble`); "" when all is well again."""
        if not trouble and not self._in_trouble:
            return
        words = trouble.encode()[:_ROOM].decode(errors="ignore").encode()
        try:
            os.pwrite(self._fd, words.ljust(_ROOM), _WORDS)
        except OSError:  # a file system that never writes in place: the log says it later
            return
        self._in_trouble = bool(trouble)

    def release(self) -> None:
        """Let go; the pid is wiped first so that nobody reads a stale one."""
        os.ftruncate(self._fd, 0)
        os.close(self._fd)


def running(run: Path) -> int | None:
    """The living supervisor's pid, None when there is none.

    -1 when one lives but its pid cannot be read.
    """
    with _held(run) as fd:
        return None if fd is None else _pid(fd)


def trouble(run: Path) -> str:
    """What the living supervisor of a run cannot write into its log now; "" for nothing.

    In its words, which are for users; untrusted, as all that is read from a run.
    """
    with _held(run) as fd:
        words = b"" if fd is None else os.pread(fd, _ROOM, _WORDS)
        return words.decode(errors="replace").strip()


@contextlib.contextmanager
def _held(run: Path) -> Iterator[int | None]:
    """The lock's file if somebody holds the lock."""
    try:
        fd = os.open(_path(run), _READ)
    except OSError:
        yield None
        return
    try:
        yield fd if _is_held(fd) else None
    finally:
        os.close(fd)


def _is_held(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    fcntl.flock(fd, fcntl.LOCK_UN)
    return False


def _pid(fd: int) -> int:
    """The pid in the file; waits a little for a holder that is just writing it."""
    for _ in range(_TRIES):
        text = os.pread(fd, _WORDS, 0).strip()
        if text.isdigit():
            return int(text)
        time.sleep(_PAUSE / 4)
    return -1
