"""Reap orphans: a process that an engine leaves becomes a child of the supervisor."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

_lock = threading.Lock()
_threads = 0
"""Number of threads that are inside :func:`own_children`."""


@contextlib.contextmanager
def own_children() -> Iterator[None]:
    """Context manager for a thread that starts processes and waits for them.

    The reaper pauses meanwhile: if it reaped such a child, :func:`subprocess.run` would report exit
    status 0.
    """
    global _threads
    with _lock:
        _threads += 1
    try:
        yield
    finally:
        with _lock:
            _threads -= 1


_PR_SET_CHILD_SUBREAPER = 36


def children() -> int:
    """Return the number of this process's children; orphans count after :meth:`Reaper.start`."""
    found = 0
    for task in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += len(task.read_bytes().split())
    return found


class Reaper:
    """Makes this process the parent of its engines' orphans, and reaps them.

    ``engines()`` returns the pids that other code waits for.
    """

    def __init__(self, engines: Callable[[], set[int]]) -> None:
        self._engines = engines

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start reaping. If the kernel does not support that, init reaps the orphans."""
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        loop.add_signal_handler(signal.SIGCHLD, self.reap)

    def reap(self) -> None:
        """Reap all dead children except engines.

        A dead engine hides the dead children after it: call this method regularly.
        """
        with contextlib.suppress(ChildProcessError):
            while not _threads:
                flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
                dead = os.waitid(os.P_ALL, 0, flags)
                if dead is None or dead.si_pid in self._engines():
                    return
                os.waitpid(dead.si_pid, os.WNOHANG)
