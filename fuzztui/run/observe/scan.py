"""The reliable tier of observing: list a directory when its mtime has changed.

This tier needs no inotify and misses nothing, but is slower. An unchanged directory costs one stat;
a listing of 100,000 names costs 20 ms, so the interval adapts to the cost.
"""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

SHARE = 0.02
"""The part of one core that listing one directory may cost."""

WATCHED_S, UNWATCHED_S = 2.0, 0.5
"""Minimum seconds between two listings, with inotify and without."""

LONGEST_S = 120.0
"""Maximum seconds between two listings, however slow the disk is."""

GRAIN_S = 2.0
"""Seconds after a listing in which a change may not show in the mtime (NFS: seconds)."""

YOUNG_S = 0.25
"""Seconds since the last write in which a file may still be open: its size is not final."""

_SKIPPED = ("README.txt",)


@dataclass(frozen=True, slots=True)
class NewFile:
    """A new file: ``name`` in its directory, ``size`` in bytes."""

    name: str
    size: int


class Known(Protocol):
    """Names that were reported: a set, or something smaller than a set."""

    def __contains__(self, name: object, /) -> bool: ...

    def add(self, name: str, /) -> None:
        """Note that ``name`` was reported."""


class Listing:
    """One of ``queue/``, ``crashes/``, ``hangs/`` of one instance, which may be absent.

    ``known``: the names that were reported before. Every other regular file is reported once, in
    AFL's order (by name), whichever tier finds it first. ``README.txt`` (written by AFL) and hidden
    files are skipped.
    """

    def __init__(
        self,
        path: Path | str,
        known: Known,
        *,
        share: float = SHARE,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.path = os.fspath(path)
        self.known = known
        self.watched = False
        self.problem = ""
        """Why an existing directory cannot be listed; an empty string if it can."""
        self.identity: tuple[int, int] | None = None
        """Device and inode of the directory; None: it does not exist."""
        self.replaced = False
        """Whether the directory was found replaced while listing: :meth:`check` must come next."""
        self._share = share
        self._monotonic = monotonic
        self._wall = wall
        self._invalidated = False
        self._status: os.stat_result | None = None
        """Of the directory, from the last :meth:`check`."""
        self._due = 0.0
        self._settled_mtime = -1
        self._waiting: deque[str] = deque()
        self._young: list[str] = []
        """Listed files that may still be open: checked again later without a listing."""
        self._young_due = 0.0

    def check(self) -> bool:
        """Return whether the directory is still the same one (not replaced, created, removed)."""
        before = self.identity
        self.replaced = False
        status = self._status = self._stat()
        self.identity = None if status is None else _identity(status)
        if self.identity == before and not self._invalidated:
            return True
        self._invalidated = False
        self._waiting.clear()
        self._young.clear()
        self.rescan()
        return False

    def invalidate(self) -> None:
        """Note that the directory was removed or renamed: the next one is new, even its inode."""
        self._invalidated = True

    def rescan(self) -> None:
        """List again as soon as possible, whatever the mtime is."""
        self._due = 0.0
        self._settled_mtime = -1

    def settle(self, mtime_ns: int) -> None:
        """Note that all files are known which were in the directory when it had this mtime."""
        # Only a directory whose mtime is not recent can be skipped next time. An mtime in the
        # future is fine, too: the clock was set back, and a change would lower the mtime.
        at_rest = abs(self._wall() - mtime_ns / 1e9) > GRAIN_S
        self._settled_mtime = mtime_ns if at_rest else -1

    def file_completed(self, name: str) -> NewFile | None:
        """Return the file that inotify reports complete; None if it was reported before."""
        return self._check(name, young_too=True)

    def look(self, limit: int, *, last: bool = False) -> list[NewFile]:
        """Return new files, at most ``limit``; lists the directory if that is due.

        ``last``: the engine has ended. Lists now and returns all new files.
        """
        now = self._monotonic()
        if last or (not self._waiting and now >= self._due):
            self._list(last)
        elif self._young and now >= self._young_due:
            self._waiting.extendleft(reversed(self._young))
            self._young.clear()
        self._status = None
        files: list[NewFile] = []
        while self._waiting and (last or len(files) < limit):
            file = self._check(self._waiting.popleft(), young_too=last)
            files += [file] if file else []
        return files

    @property
    def behind(self) -> bool:
        """Whether the last listing has names left to report."""
        return bool(self._waiting)

    def _stat(self) -> os.stat_result | None:
        try:
            status = os.lstat(self.path)
        except OSError:
            return None
        return status if stat.S_ISDIR(status.st_mode) else None

    def _list(self, last: bool) -> None:
        begun = self._monotonic()
        self.problem = ""
        try:
            status = self._status or self._stat()
            mtime = -1 if status is None else status.st_mtime_ns
            if status is not None and (last or mtime != self._settled_mtime):
                # Names only: a Path for each of 100,000 costs more than the listing.
                names = os.listdir(self.path)  # noqa: PTH208
                if self._is_replaced():
                    # Otherwise its files would be reported now and again after the check.
                    self.replaced = True
                    return
                fresh = [name for name in names if name not in self.known]
                self._waiting.extend(sorted(fresh))
                self._young.clear()  # they are among these
                self.settle(mtime)
        except FileNotFoundError:
            self._settled_mtime = -1  # removed a moment ago
        except OSError as e:
            self._settled_mtime = -1
            self.problem = f"{self.path} cannot be listed: {e.strerror or e}"
        cost = self._monotonic() - begun
        pause = WATCHED_S if self.watched else UNWATCHED_S
        self._due = self._monotonic() + min(max(pause, cost / self._share), LONGEST_S)

    def _is_replaced(self) -> bool:
        status = self._stat()
        return bool(status and self.identity and _identity(status) != self.identity)

    def _check(self, name: str, *, young_too: bool) -> NewFile | None:
        if name in self.known or name in _SKIPPED or name.startswith("."):
            return None
        try:
            status = os.lstat(f"{self.path}/{name}")
        except (OSError, ValueError):
            return None  # trimming deletes the file and creates it again
        if not stat.S_ISREG(status.st_mode):
            return None
        if not young_too and abs(self._wall() - status.st_mtime) < YOUNG_S:
            self._young.append(name)
            self._young_due = self._monotonic() + YOUNG_S
            return None
        self.known.add(name)
        return NewFile(name, status.st_size)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
