"""Read the queues of all instances from a helper process.

Each entry is read once, and again when its file was replaced: afl-fuzz trims entries in place, and
renumbers its queue when it is resumed.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.files import read_if_regular
from fuzztui.run.observe.scan import Listing

AGAIN: Final = 1000
"""Known files of a queue that are checked again in each pass: AFL++ trims entries in place."""


@dataclass(frozen=True, slots=True)
class Found:
    """An entry: ``name`` in the queue of ``instance``, and its bytes."""

    instance: str
    name: str
    data: bytes


class QueueReader:
    """One queue directory: its entries, each once and again when its file has changed."""

    def __init__(
        self, path: Path, most_bytes: int, gone: Callable[[str], object] = lambda _: None
    ) -> None:
        """Entries of more than ``most_bytes`` are skipped.

        ``gone`` is called with the name of a file that was there in an earlier pass.
        """
        self._files: dict[str, tuple[int, int]] = {}
        self._known = set[str]()
        self._listing = Listing(path, self._known)
        self._path, self._most_bytes, self._gone = path, most_bytes, gone
        self._names: list[str] = []

    @property
    def behind(self) -> bool:
        """Whether the last listing has names left."""
        return self._listing.behind

    @property
    def problem(self) -> str:
        """Why the directory cannot be listed; an empty string if it can."""
        return self._listing.problem

    def entries(self, limit: int, *, last: bool = False) -> Iterator[Found]:
        """Yield new and changed entries.

        At most ``limit`` new files; ``last``: all, because no engine writes any more.
        """
        self._listing.check()
        for new in self._listing.look(limit, last=last):
            yield from self._entry(new.name)
        if not self._names:
            self._names = list(self._files)
        for name in self._names[-AGAIN:]:
            yield from self._entry(name)
        del self._names[-AGAIN:]

    def _entry(self, name: str) -> Iterator[Found]:
        path = self._path / name
        try:
            status = path.lstat()
        except FileNotFoundError:  # trimming deletes the file and creates it again
            self._known.discard(name)
            self._files.pop(name, None)
            self._gone(name)
            return
        except OSError:
            return
        seen = status.st_mtime_ns, status.st_size
        if self._files.get(name) == seen:
            return
        self._files[name] = seen
        if not stat.S_ISREG(status.st_mode) or status.st_size > self._most_bytes:
            return
        if data := read_if_regular(path, self._most_bytes + 1):
            yield Found(self._path.parent.name, name, data)


class Queues:
    """The queues of all instances in a sync directory, including those that appear later."""

    def __init__(self, out: Path, most_bytes: int) -> None:
        self._out, self._most_bytes = out, most_bytes
        self._queues: dict[str, QueueReader] = {}

    def look(self) -> list[QueueReader]:
        """Return the readers of all queues that exist now."""
        with contextlib.suppress(OSError):
            for name in os.listdir(self._out):  # noqa: PTH208 - names only
                path = self._out / name / "queue"
                if not name.startswith(".") and name not in self._queues and path.is_dir():
                    self._queues[name] = QueueReader(path, self._most_bytes)
        return list(self._queues.values())

    @property
    def behind(self) -> bool:
        """Whether entries are left to read now."""
        return any(queue.behind for queue in self._queues.values())
