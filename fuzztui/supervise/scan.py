"""The sure tier of observing: list a directory when its mtime says that it changed.

Needs no inotify and misses nothing, only later. An unchanged directory costs one stat;
a listing of 100,000 names costs 20 ms, so the time between two adapts to their cost.
"""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Find", "Listing"]

SHARE = 0.02
"""The part of one core that listing may cost."""

WATCHED_S, UNWATCHED_S = 2.0, 0.5
"""Seconds between two looks at least, with the watcher's help and without."""

GRAIN_S = 2.0
"""A change this soon after a listing may not show in the mtime (NFS: seconds)."""

YOUNG_S = 0.25
"""A file that was written to so recently may still be open: its size is not final."""

_SKIPPED = ("README.txt",)


@dataclass(frozen=True, slots=True)
class Find:
    """A file that appeared: ``name`` in its directory, ``size`` in bytes."""

    name: str
    size: int


class Listing:
    """One of ``queue/``, ``crashes/``, ``hangs/`` of one instance.

    ``known`` are the names that were reported before; each other regular file is
    reported once, in AFL's order (by name), whichever tier tells of it first.
    """

    def __init__(
        self,
        path: Path,
        known: set[str],
        *,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.path = path
        self.known = known
        self.watched = False
        self._monotonic = monotonic
        self._wall = wall
        self._due = 0.0
        self._settled_mtime = -1
        self._inode = 0
        self._waiting: deque[str] = deque()

    def rescan(self) -> None:
        """Look again as soon as possible, whatever the mtime says."""
        self._due = 0.0
        self._settled_mtime = -1

    def tell(self, name: str) -> Find | None:
        """The watcher says that ``name`` is complete."""
        return self._check(name, young_too=True)

    def look(self, limit: int, *, last: bool = False) -> list[Find]:
        """New files, at most ``limit`` in one call; a listing is made when one is due.

        ``last``: nobody writes any more. Lists now, waits for nothing.
        """
        if not self._waiting and (last or self._monotonic() >= self._due):
            self._list(last)
        finds: list[Find] = []
        while self._waiting and (last or len(finds) < limit):
            find = self._check(self._waiting.popleft(), young_too=last)
            finds += [find] if find else []
        return finds

    @property
    def behind(self) -> bool:
        """Whether the last listing has names left to report."""
        return bool(self._waiting)

    def _list(self, last: bool) -> None:
        begun = self._monotonic()
        try:
            status = self.path.stat()
            mtime = status.st_mtime_ns
            if self._inode not in (0, status.st_ino):
                self.watched = False  # AFL renames queue/ when it is resumed: inotify went along
            self._inode = status.st_ino
            if last or mtime != self._settled_mtime:
                # Names only: a Path for each of 100,000 costs more than the listing.
                names = os.listdir(self.path)  # noqa: PTH208
                fresh = [name for name in names if name not in self.known]
                self._waiting.extend(sorted(fresh))
                # Only a directory at rest can be passed over next time.
                at_rest = self._wall() - mtime / 1e9 > GRAIN_S
                self._settled_mtime = mtime if at_rest else -1
        except OSError:
            self._settled_mtime = -1  # not there yet, or gone: the next look tells
        cost = self._monotonic() - begun
        pause = WATCHED_S if self.watched else UNWATCHED_S
        self._due = self._monotonic() + max(pause, cost / SHARE)

    def _check(self, name: str, *, young_too: bool) -> Find | None:
        if name in self.known or name in _SKIPPED or name.startswith("."):
            return None
        try:
            status = os.lstat(self.path / name)
        except OSError:
            return None  # trimming unlinks and makes it again
        if not stat.S_ISREG(status.st_mode):
            return None
        if not young_too and abs(self._wall() - status.st_mtime) < YOUNG_S:
            self._settled_mtime = -1
            return None
        self.known.add(name)
        return Find(name, status.st_size)
