"""Reaping: what an engine leaves behind becomes our child, and must not stay a zombie."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["Reaper", "children", "own_children"]

_lock = threading.Lock()
_threads = 0
"""How many threads wait for children of theirs now."""


@contextlib.contextmanager
def own_children() -> Iterator[None]:
    """For a thread that starts processes and waits for them (:func:`subprocess.run`).

    Nothing is reaped meanwhile: else Python would take a child that someone else has waited
    for as one that ended well.
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
    """How many processes this one is the parent of: since :meth:`Reaper.start`, orphans too."""
    found = 0
    for task in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += len(task.read_bytes().split())
    return found


class Reaper:
    """Makes this process the parent of its engines' orphans, and waits for them.

    ``engines()`` are the pids that someone else waits for.
    """

    def __init__(self, engines: Callable[[], set[int]]) -> None:
        self._engines = engines

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin; without the kernel's help orphans go to init, which is fine too."""
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        loop.add_signal_handler(signal.SIGCHLD, self.reap)

    def reap(self) -> None:
        """Wait for every child that is dead, but for engines.

        An engine that is dead hides those behind it: call it now and then.
        """
        with contextlib.suppress(ChildProcessError):
            while not _threads:
                flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
                dead = os.waitid(os.P_ALL, 0, flags)
                if dead is None or dead.si_pid in self._engines():
                    return
                os.waitpid(dead.si_pid, os.WNOHANG)
