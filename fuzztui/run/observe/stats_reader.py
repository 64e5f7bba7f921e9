"""An instance's statistics: from ``fuzzer_stats`` (or another source) to ``Stats`` events."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from fuzztui.kernel.base.files import read_regular
from fuzztui.kernel.wire.events import Message, Stats
from fuzztui.run.observe.fuzzer_stats import MAX_SIZE, parse_stats, to_stats

EVERY_S = 0.5


class StatsSource:
    """The source of an instance's statistics. Belongs to the observer's thread."""

    def look(self, *, last: bool = False) -> Stats | None:
        """Return new statistics; None if there are none. ``last``: the engine has ended."""
        raise NotImplementedError

    def notes(self) -> list[Message]:
        """Return messages about the source itself, each once."""
        return []

    def interrupted(self) -> None:
        """Note that the instance did not run for a while: no rate spans the interruption."""

    def close(self) -> None:
        """Close files and sockets."""


class StatsFile:
    """One ``fuzzer_stats``, read again only when it has changed."""

    def __init__(self, path: Path | str, name: str) -> None:
        self._path = os.fspath(path)
        self._name = name
        self._gate = (0, 0, 0)
        self._seen = 0.0
        """Monotonic time at which the present version was first seen."""
        self.values: Mapping[str, str] = {}
        """The values by key when the file was last read."""
        self.mtime = 0.0
        """The file's mtime when ``values`` were read."""
        self.ctime = 0.0
        """The file's ctime then, which a copy does not keep (it may keep the mtime)."""

    def read(self, *, always: bool = False) -> Stats | None:
        """Return the statistics with their age.

        Returns None if the file is unchanged (unless ``always``), missing, or being rewritten.
        """
        try:
            found = os.lstat(self._path)
            gate = (found.st_mtime_ns, found.st_size, found.st_ino)
            if gate == self._gate and not always:
                return None
            values = parse_stats(read_regular(self._path, MAX_SIZE))
        except OSError:
            return None
        if values is None:
            return None  # being rewritten: read again next time
        now = time.monotonic()
        if gate != self._gate:
            self._gate, self._seen = gate, now
        self.values, self.mtime, self.ctime = values, found.st_mtime, found.st_ctime
        # The wall clock may have been set back since the file was written.
        age = max(time.time() - found.st_mtime, now - self._seen)
        return to_stats(self._name, values, age)


def unchanged(stats: Stats, before: Stats, *, last: bool) -> bool:
    """Whether the statistics differ only in ages and, unless ``last``, in ``other`` numbers.

    A number that fuzztui does not know may be a clock: alone it is no reason to write a record.
    ``last``: the engine has ended.
    """
    other = stats.other if last else before.other
    return replace(stats, age=before.age, slow_age=before.slow_age, other=other) == before


class FileStats(StatsSource):
    """The statistics of an engine that rewrites ``fuzzer_stats`` about once a second.

    The engine itself leaves pauses out of its rate, and no file is kept open.
    """

    def __init__(self, directory: Path, name: str) -> None:
        self._file = StatsFile(directory / "fuzzer_stats", name)
        self._reported: Stats | None = None
        self._due = 0.0

    @property
    def values(self) -> Mapping[str, str]:
        """The values of the file, by key, when it was last read."""
        return self._file.values

    def look(self, *, last: bool = False) -> Stats | None:
        """Return new statistics, at most each ``EVERY_S`` seconds; None if there are none."""
        now = time.monotonic()
        if not last and now < self._due:
            return None
        stats = self._file.read(always=last)
        before = self._reported
        if stats is None or (before and unchanged(stats, before, last=last)):
            return None
        self._due = now + EVERY_S
        self._reported = stats
        return stats
