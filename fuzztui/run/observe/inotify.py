"""The hint tier of observing: inotify, fast but incomplete.

The listing tier (``scan``) finds what inotify misses: a ``link()`` has no close, the kernel's queue
overflows, a file system has no inotify, watches run out.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from watchdog.utils import UnsupportedLibcError

if TYPE_CHECKING:
    from watchdog.observers.inotify_c import (
        CallbackId,
        InotifyEvent,
        InotifyFD,
        Mask,
        WatchDescriptor,
    )

_CLOSE_WRITE, _MOVED_TO = 0x8, 0x80
_DELETE_SELF, _MOVE_SELF = 0x400, 0x800
_ONLYDIR, _DONT_FOLLOW = 0x01000000, 0x02000000
_MASK = _CLOSE_WRITE | _MOVED_TO | _DELETE_SELF | _MOVE_SELF | _ONLYDIR | _DONT_FOLLOW
"""inotify(7): a file is complete, or the directory (not a symlink) was removed or renamed."""

_NETWORK_TYPES = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "lustre", "gpfs", "afs", "glusterfs", "virtiofs"}
)
_OCTAL = re.compile(r"\\([0-7]{3})")


class Watcher:
    """Collects the files that were closed after writing, or moved in, see :meth:`take`.

    ``wake`` is called, from another thread, when there is something to take.

    Uses watchdog's inotify descriptor, not its observer: the observer has a thread for each
    directory (150 for 50 instances) and does not report that a directory was renamed. The
    descriptor is an internal of watchdog, so pyproject.toml allows one major version.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._lock = threading.Lock()
        self._completed: dict[tuple[str, str], None] = {}
        self._lost = False
        self._watches: dict[str, tuple[WatchDescriptor, CallbackId]] = {}
        self._paths: dict[int, str] = {}
        self._ids = itertools.count()
        self._inotify: InotifyFD | None = None

    def add(self, directory: str) -> str:
        """Watch the directory that has this name now. Returns why that fails; "" if it works."""
        self.remove(directory)
        try:
            kind = file_system(directory)
            if is_remote(kind):
                return f"{directory} is on a network file system ({kind})"
            with self._lock:  # the first event may come before the watch's number is known
                self._watch(self._inotify or self._start(), directory)
        except OSError as e:
            # ENOSPC, EMFILE: fs.inotify.max_user_watches or _instances is used up.
            return f"{directory}: {e.strerror or e}"
        return ""

    def remove(self, directory: str) -> None:
        """Stop watching the directory that had this name."""
        with self._lock:
            # The caller knows that it is gone: the event must not be taken for the next directory.
            self._completed.pop((directory, ""), None)
            watch = self._watches.pop(directory, None)
            if watch is not None:
                self._paths.pop(watch[0], None)
                self._let_go(watch)

    def take(self) -> tuple[list[tuple[str, str]], bool]:
        """Return what happened since the last call, in order, and whether something was missed.

        A pair is a directory and the name of a file in it; an empty name: the directory itself was
        removed or renamed.
        """
        with self._lock:
            completed, self._completed = self._completed, {}
            lost, self._lost = self._lost, False
        return list(completed), lost

    def close(self) -> None:
        """Stop watching."""
        if self._inotify is not None:
            self._inotify.stop()
            self._inotify.join()
            self._inotify = None

    # ------------------------------------------------- called in watchdog's thread

    def on_event(self, event: InotifyEvent) -> None:
        """Note a completed file, or that a directory was removed or renamed."""
        with self._lock:
            path = self._paths.get(event.wd)
            if path is not None:
                itself = event.is_delete_self or event.is_move_self
                self._tell(path, "" if itself else os.fsdecode(event.name))

    def on_watch_deleted(self, wd: WatchDescriptor) -> None:
        """Note that the kernel dropped a watch, whose number will not be reused."""
        with self._lock:
            path = self._paths.pop(wd, None)
            if path is not None:
                self._watches.pop(path, None)
                self._tell(path, "")

    def on_queue_overflow(self) -> None:
        """Note that the kernel has dropped events."""
        with self._lock:
            self._lost = True
        self._wake()

    def _tell(self, path: str, name: str) -> None:
        first = not self._completed
        self._completed[path, name] = None
        if first:  # one wake-up for a burst of events
            self._wake()

    # ---------------------------------------------------------------- with the lock

    def _watch(self, inotify: InotifyFD, directory: str) -> None:
        who = cast("CallbackId", next(self._ids))
        number = inotify.add_callback(os.fsencode(directory), cast("Mask", _MASK), self, who)
        if number < 0:  # watchdog does not raise for this one error
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        # The same directory under another name, after a rename, has the same number.
        former = self._watches.pop(self._paths.get(number, ""), None)
        self._paths[number] = directory
        self._watches[directory] = number, who
        if former is not None:
            self._let_go(former)

    def _let_go(self, watch: tuple[WatchDescriptor, CallbackId]) -> None:
        if self._inotify is not None:
            with contextlib.suppress(OSError):
                self._inotify.remove_callbacks([watch])

    def _start(self) -> InotifyFD:
        try:  # imported here, because the import fails without inotify
            from watchdog.observers.inotify_c import InotifyFD
        except UnsupportedLibcError as e:
            raise OSError(str(e)) from None
        inotify = InotifyFD()
        inotify.start()
        self._inotify = inotify
        return inotify


def is_remote(kind: str) -> bool:
    """Whether another machine can change files of such a file system, unseen by this kernel."""
    return kind in _NETWORK_TYPES or kind.startswith("fuse.")


def file_system(directory: str) -> str:
    """Return the type of the file system of ``directory``; an empty string if unknown."""
    where = Path(directory).resolve()
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
