"""The fast tier of observing: inotify, through watchdog, one directory at a time.

It is only ever a hint. What it misses (a ``link()`` has no close, the kernel's queue
overflows, a file system has no inotify, watches run out) the listing tier finds.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path

from watchdog.events import FileClosedEvent, FileMovedEvent, FileSystemEvent, FileSystemEventHandler
from watchdog.observers.api import BaseObserver
from watchdog.utils import UnsupportedLibcError

__all__ = ["Watcher"]

_NETWORK_TYPES = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "lustre", "gpfs", "afs", "glusterfs", "virtiofs"}
)
_OCTAL = re.compile(r"\\([0-7]{3})")
_OVERFLOW = "overflowed"


class Watcher(FileSystemEventHandler):
    """Tells which files were closed after writing, or moved in, since the last look.

    ``wake`` is called, from another thread, when there is something to look at.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        super().__init__()
        self._wake = wake
        self._lock = threading.Lock()
        self._files: dict[str, None] = {}
        self._lost = False
        self._overflow = _OverflowHandler(self._overflowed)
        self._observer: BaseObserver | None = None

    def add(self, directory: Path) -> str:
        """Watch a directory; returns "" or the reason, in words, why that cannot be."""
        kind = _file_system(directory)
        if kind in _NETWORK_TYPES or kind.startswith("fuse."):
            return f"{directory} is on a network file system ({kind})"
        try:
            if self._observer is None:
                # Here, because importing it needs an inotify.
                from watchdog.observers.inotify import InotifyObserver

                # Full events: a file moved in from an unwatched directory is a move too.
                observer = InotifyObserver(generate_full_events=True)
                observer.start()
                self._observer = observer
                logging.getLogger("watchdog.observers").addHandler(self._overflow)
            self._observer.schedule(
                self,
                os.fspath(directory),
                event_filter=[FileClosedEvent, FileMovedEvent],
            )
        except (OSError, RuntimeError, UnsupportedLibcError) as e:
            # ENOSPC, EMFILE: fs.inotify.max_user_watches or _instances is used up.
            return f"{directory}: {e}"
        return ""

    def dispatch(self, event: FileSystemEvent) -> None:
        """Called by watchdog, in its thread."""
        path = event.dest_path if isinstance(event, FileMovedEvent) else event.src_path
        if path:
            with self._lock:
                self._files[os.fsdecode(path)] = None
            self._wake()

    def take(self) -> tuple[list[Path], bool]:
        """The files told since the last call, in order, and whether some were missed."""
        with self._lock:
            files, self._files = self._files, {}
            lost, self._lost = self._lost, False
        return [Path(name) for name in files], lost

    def close(self) -> None:
        """Stop watching."""
        logging.getLogger("watchdog.observers").removeHandler(self._overflow)
        if self._observer is not None:
            self._observer.stop()
            self._observer.join()
            self._observer = None

    def _overflowed(self) -> None:
        with self._lock:
            self._lost = True
        self._wake()


class _OverflowHandler(logging.Handler):
    """watchdog 7.1 tells of an overflow only in its log."""

    def __init__(self, tell: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        if _OVERFLOW in record.getMessage():
            self._tell()


def _file_system(directory: Path) -> str:
    """The type of the file system that holds ``directory``, "" if it cannot be told."""
    where = directory.resolve()
    best, kind = 0, ""
    try:
        lines = Path("/proc/self/mountinfo").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    for line in lines:
        fields, _, tail = line.partition(" - ")
        mount = _OCTAL.sub(lambda m: chr(int(m[1], 8)), fields.split()[4])  # \040 is a blank
        if where.is_relative_to(mount) and len(mount) >= best:
            best, kind = len(mount), tail.split()[0]
    return kind
