"""The lock of a run's supervisor: an flock on ``RUN/supervisor/lock``.

The kernel releases the lock when its holder dies, however it dies. So the lock, and not the
pid in the file, shows whether a supervisor lives. The file contains the pid and, behind it,
a message that the log cannot contain: that the log cannot be written. The bytes for it are
allocated at the start and overwritten in place, which works on a full disk too.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from fuzztui.kernel.base.files import closing_fd

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_WRITE = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_TRIES, _PAUSE = 20, 0.02
_MESSAGE_AT, _MESSAGE_BYTES = 32, 480
"""The offset of the message in the file, and its largest size in bytes."""


def _path(run: Path) -> Path:
    return run / "supervisor" / "lock"


class LockHeld(Exception):
    """Another supervisor holds the run; ``pid`` is its process id (-1: not readable)."""

    def __init__(self, run: Path, pid: int) -> None:
        super().__init__(f"{run}: already supervised by process {pid}")
        self.pid = pid


class RunLock:
    """The lock, held from construction until :meth:`release` or the end of the process.

    ``pid``: the process that is shown to readers; None: this one. Raises :class:`LockHeld`, or
    OSError if the file system has no locks.
    """

    def __init__(self, run: Path, pid: int | None = None) -> None:
        self._path = _path(run)
        self._fd = os.open(self._path, _WRITE, 0o600)
        try:
            self._take(run)
        except BaseException:
            os.close(self._fd)
            raise
        os.ftruncate(self._fd, 0)
        self._in_trouble = False
        named = b"%d\n" % (os.getpid() if pid is None else pid)
        os.pwrite(self._fd, named.ljust(_MESSAGE_AT) + b" " * _MESSAGE_BYTES, 0)

    def _take(self, run: Path) -> None:
        # Several tries: running() holds a shared lock for an instant.
        for _ in range(_TRIES):
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                time.sleep(_PAUSE)
        raise LockHeld(run, _pid(self._fd))

    def in_place(self) -> bool:
        """Whether the run still has the locked file, so that other processes find the lock."""
        try:
            return os.path.samestat(os.fstat(self._fd), self._path.stat())
        except FileNotFoundError:
            return False
        except OSError:  # an error of the file system is no statement about the lock
            return True

    def moved_to(self) -> Path | None:
        """Where the run is now; None if it was deleted, or if that is unknown."""
        with contextlib.suppress(OSError):
            now = Path(f"/proc/self/fd/{self._fd}").readlink()
            if os.path.samestat(os.fstat(self._fd), now.stat()):
                return now.parent.parent
        return None

    def note_trouble(self, trouble: str) -> None:
        """Write a message for readers of the run (:func:`trouble`); empty: no trouble any more."""
        if not trouble and not self._in_trouble:
            return
        message = trouble.encode()[:_MESSAGE_BYTES].decode(errors="ignore").encode()
        try:
            os.pwrite(self._fd, message.ljust(_MESSAGE_BYTES), _MESSAGE_AT)
        except OSError:  # a file system that never writes in place: the log reports it later
            return
        self._in_trouble = bool(trouble)

    def release(self) -> None:
        """Release the lock. The pid is erased first, so that no process reads a stale one."""
        os.ftruncate(self._fd, 0)
        os.close(self._fd)


def running(run: Path) -> int | None:
    """The pid of the living supervisor; None if there is none.

    -1: a supervisor lives, but its pid cannot be read.
    """
    with _held(run) as fd:
        return None if fd is None else _pid(fd)


def trouble(run: Path) -> str:
    """The message of a living supervisor that cannot write its log; empty if it can.

    For users; untrusted, as everything that is read from a run.
    """
    with _held(run) as fd:
        message = b"" if fd is None else os.pread(fd, _MESSAGE_BYTES, _MESSAGE_AT)
        return message.decode(errors="replace").strip()


@contextlib.contextmanager
def _held(run: Path) -> Iterator[int | None]:
    """The descriptor of the lock file; None if no process holds the lock."""
    try:
        fd = os.open(_path(run), _READ)
    except OSError:
        yield None
        return
    with closing_fd(fd):
        yield fd if _is_held(fd) else None


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
    """The pid in the file; -1 if a holder that is just writing the pid takes too long."""
    for _ in range(_TRIES):
        text = os.pread(fd, _MESSAGE_AT, 0).strip()
        if text.isdigit():
            return int(text)
        time.sleep(_PAUSE / 4)
    return -1
