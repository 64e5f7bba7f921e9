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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

__all__ = ["Find", "Known", "Listing"]

SHARE = 0.02
"""The part of one core that listing one directory may cost."""

WATCHED_S, UNWATCHED_S = 2.0, 0.5
"""Seconds between two looks at least, with the watcher's help and without."""

LONGEST_S = 120.0
"""And at most, however slow the disk is."""

GRAIN_S = 2.0
"""A change this soon after a listing may not show in the mtime (NFS: seconds)."""

YOUNG_S = 0.25
"""A file that was written to so recently may still be open: its size is not final."""

_SKIPPED = ("README.txt",)


@dataclass(frozen=True, slots=True)
class Find:
    """A file that appeared: ``name`` in its directory, ``size`` in bytes, ``mtime``."""

    name: str
    size: int
    mtime: float = field(default=0.0, compare=False)


class Known(Protocol):
    """Names that were reported: a set, or what takes less room than one."""

    def __contains__(self, name: object, /) -> bool: ...

    def add(self, name: str, /) -> None:
        """``name`` has been reported."""


class Listing:
    """One of ``queue/``, ``crashes/``, ``hangs/`` of one instance; it may come and go.

    ``known`` are the names that were reported before; each other regular file is
    reported once, in AFL's order (by name), whichever tier tells of it first. What AFL
    itself puts there (``README.txt``) and hidden files are none.
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
        """Why it cannot be listed, in words, though it is there."""
        self.identity: tuple[int, int] | None = None
        """Of the directory that has the name now, None while there is none."""
        self.replaced = False
        """Another directory had the name when it was to be listed: :meth:`check` comes first."""
        self._share = share
        self._monotonic = monotonic
        self._wall = wall
        self._doubted = False
        self._status: os.stat_result | None = None
        """Of the directory, as :meth:`check` saw it a moment ago."""
        self._due = 0.0
        self._settled_mtime = -1
        self._waiting: deque[str] = deque()
        self._young: list[str] = []
        """Listed, but put off: they are looked at again without a listing."""
        self._young_due = 0.0

    def check(self) -> bool:
        """Look whether the directory is still the same one; False: another, or none (any more)."""
        before = self.identity
        self.replaced = False
        status = self._status = self._look_at_it()
        self.identity = None if status is None else _identity(status)
        if self.identity == before and not self._doubted:
            return True
        self._doubted = False
        self._waiting.clear()
        self._young.clear()
        self.rescan()
        return False

    def doubt(self) -> None:
        """It was removed or renamed: what has its name, be it with its inode, is another one."""
        self._doubted = True

    def rescan(self) -> None:
        """Look again as soon as possible, whatever the mtime says."""
        self._due = 0.0
        self._settled_mtime = -1

    def settle(self, mtime_ns: int) -> None:
        """All that was in it when it had that mtime is known."""
        # Only a directory at rest can be passed over next time. A time to come is at
        # rest too: somebody set the clock back, and a change would bring it down.
        at_rest = abs(self._wall() - mtime_ns / 1e9) > GRAIN_S
        self._settled_mtime = mtime_ns if at_rest else -1

    def tell(self, name: str) -> Find | None:
        """The watcher says that ``name`` is complete."""
        return self._check(name, young_too=True)

    def look(self, limit: int, *, last: bool = False) -> list[Find]:
        """New files, at most ``limit`` in one call; a listing is made when one is due.

        ``last``: nobody writes any more. Lists now, waits for nothing.
        """
        now = self._monotonic()
        if last or (not self._waiting and now >= self._due):
            self._list(last)
        elif self._young and now >= self._young_due:
            self._waiting.extendleft(reversed(self._young))
            self._young.clear()
        self._status = None
        finds: list[Find] = []
        while self._waiting and (last or len(finds) < limit):
            find = self._check(self._waiting.popleft(), young_too=last)
            finds += [find] if find else []
        return finds

    @property
    def behind(self) -> bool:
        """Whether the last listing has names left to report."""
        return bool(self._waiting)

    def _look_at_it(self) -> os.stat_result | None:
        try:
            status = os.lstat(self.path)
        except OSError:
            return None
        return status if stat.S_ISDIR(status.st_mode) else None

    def _list(self, last: bool) -> None:
        begun = self._monotonic()
        self.problem = ""
        try:
            status = self._status or self._look_at_it()
            mtime = -1 if status is None else status.st_mtime_ns
            if status is not None and (last or mtime != self._settled_mtime):
                # Names only: a Path for each of 100,000 costs more than the listing.
                names = os.listdir(self.path)  # noqa: PTH208
                if self._is_replaced():
                    # Listed now, its files would be recorded here and after the check.
                    self.replaced = True
                    return
                fresh = [name for name in names if name not in self.known]
                self._waiting.extend(sorted(fresh))
                self._young.clear()  # they are among these
                self.settle(mtime)
        except FileNotFoundError:
            self._settled_mtime = -1  # it went a moment ago
        except OSError as e:
            self._settled_mtime = -1
            self.problem = f"{self.path} cannot be listed: {e.strerror or e}"
        cost = self._monotonic() - begun
        pause = WATCHED_S if self.watched else UNWATCHED_S
        self._due = self._monotonic() + min(max(pause, cost / self._share), LONGEST_S)

    def _is_replaced(self) -> bool:
        status = self._look_at_it()
        return bool(status and self.identity and _identity(status) != self.identity)

    def _check(self, name: str, *, young_too: bool) -> Find | None:
        if name in self.known or name in _SKIPPED or name.startswith("."):
            return None
        try:
            status = os.lstat(f"{self.path}/{name}")
        except (OSError, ValueError):
            return None  # trimming unlinks and makes it again
        if not stat.S_ISREG(status.st_mode):
            return None
        if not young_too and abs(self._wall() - status.st_mtime) < YOUNG_S:
            self._young.append(name)
            self._young_due = self._monotonic() + YOUNG_S
            return None
        self.known.add(name)
        return Find(name, status.st_size, status.st_mtime)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
