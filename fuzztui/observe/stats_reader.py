"""An instance's figures: from wherever an engine tells them to ``Stats`` events."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from fuzztui.base.files import read_regular
from fuzztui.observe.fuzzer_stats import MAX_SIZE, parse_stats, to_stats
from fuzztui.wire.events import Message, Stats

__all__ = ["FileStats", "StatsFile", "StatsSource"]

EVERY_S = 0.5


class StatsSource(Protocol):
    """Where an instance's figures come from. Belongs to the observer's thread."""

    def look(self, *, last: bool = False) -> Stats | None:
        """News, None if there are none. ``last``: nobody writes any more."""

    def notes(self) -> list[Message]:
        """What there is to say of the figures themselves, each thing once."""

    def interrupted(self) -> None:
        """The instance did not run for a while (a pause, a restart): no rate spans that."""

    def close(self) -> None:
        """Let go of files and sockets."""


class StatsFile:
    """One ``fuzzer_stats``, read again only when it has changed."""

    def __init__(self, path: Path | str, name: str) -> None:
        self._path = os.fspath(path)
        self._name = name
        self._gate = (0, 0, 0)
        self._seen = 0.0
        """When it was first seen as it is now, on the monotonic clock."""
        self.values: Mapping[str, str] = {}
        """What it said when it was last read."""
        self.mtime = 0.0
        """When that was written."""

    def read(self, *, always: bool = False) -> Stats | None:
        """Its figures with their age, None if it is as it was, not there, or being rewritten."""
        try:
            found = os.lstat(self._path)
            gate = (found.st_mtime_ns, found.st_size, found.st_ino)
            if gate == self._gate and not always:
                return None
            values = parse_stats(read_regular(self._path, MAX_SIZE))
        except OSError:
            return None
        if values is None:
            return None  # being rewritten: the old figures stand, the next look tells
        now = time.monotonic()
        if gate != self._gate:
            self._gate, self._seen = gate, now
        self.values, self.mtime = values, found.st_mtime
        # The wall clock may have been set back since the file was written.
        age = max(time.time() - found.st_mtime, now - self._seen)
        return to_stats(self._name, values, age)


class FileStats:
    """The figures of an engine that rewrites ``fuzzer_stats`` often enough by itself."""

    def __init__(self, directory: Path, name: str) -> None:
        self._file = StatsFile(directory / "fuzzer_stats", name)
        self._told: Stats | None = None
        self._due = 0.0

    def look(self, *, last: bool = False) -> Stats | None:
        """What the file says, at most every half second."""
        now = time.monotonic()
        if not last and now < self._due:
            return None
        stats = self._file.read(always=last)
        if stats is None or (self._told and replace(stats, age=self._told.age) == self._told):
            return None
        self._due = now + EVERY_S
        self._told = stats
        return stats

    def notes(self) -> list[Message]:
        """Nothing: such an engine's files are new enough."""
        return []

    def interrupted(self) -> None:
        """Such an engine knows itself when it was paused."""

    def close(self) -> None:
        """There is nothing to let go of."""
