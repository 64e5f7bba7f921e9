"""Read ``plot_data``: the history of an instance, and its newest statistics.

The header names the columns, which differ between versions of AFL: 11 with ``unix_time`` (2.5x), 13
with ``relative_time`` (4.04c), 15 later. A day's file has 1.5 MB, so only rows spread over the
file, and at its end, are read.
"""

from __future__ import annotations

import math
import os
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from fuzztui.kernel.base.bounds import real, whole
from fuzztui.kernel.base.files import open_regular
from fuzztui.kernel.wire.afl import OLD_NAMES
from fuzztui.kernel.wire.codec import MAX_T

ROW_BYTES = 512
"""Upper bound of a row's length, in bytes."""

MAX_READ = 1 << 20
"""Bytes up to which a file is read as a whole."""

_TIMES = ("relative_time", "unix_time")


@dataclass(frozen=True, slots=True)
class PlotRow:
    """One row. ``seconds``: since the instance's start, or the Unix time if ``unix``."""

    seconds: float
    unix: bool
    values: Mapping[str, float]

    def count(self, name: str, missing: int = -1) -> int:
        """Return a column as an integer; ``missing`` if the row does not have it."""
        return whole(int(self.values.get(name, missing)), missing)

    def rate(self, missing: float) -> float:
        """Return AFL's own executions per second; ``missing`` if the row has none."""
        return real(self.values.get("execs_per_sec"), missing)


class Plot:
    """Reads one ``plot_data``, which may appear, grow, be replaced, and contain anything."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._columns: list[str] = []
        self._gate = (0, 0, 0)
        self.mtime = 0.0
        """Unix time at which the last row was written; 0: never."""
        self.ctime = 0.0
        """When the file was last written here: a copy may keep the mtime."""
        self.longest_break = math.inf
        """Seconds between two rows above which the later one is absurd."""
        self.problem = ""
        """Why the file yields no history; "" if it does, or does not exist."""

    def history(self, most: int) -> list[PlotRow]:
        """Return about ``most`` rows spread evenly over the file, in order, including the last."""
        try:
            with self._open() as fd:
                size = os.fstat(fd).st_size
                if not self._read_header(fd):
                    return []
                lines, tail = _spread(fd, size, most), self._rows(_tail(fd))
        except FileNotFoundError:
            return []
        except OSError as e:
            self.problem = f"plot_data cannot be read: {e.strerror or e}"
            return []
        sane = self._sane(tail)
        absurd = {row.seconds for row in tail}.difference(row.seconds for row in sane)
        found = [row for row in self._rows(lines) if row.seconds not in absurd]
        rows = _in_order(found + sane[-1:])
        if not rows and lines:
            self.problem = "plot_data has no row that fits its header"
        return rows

    def news(self) -> PlotRow | None:
        """Return the last row, if the file has changed since the last call."""
        try:
            found = os.lstat(self._path)
            gate = (found.st_mtime_ns, found.st_size, found.st_ino)
            if gate == self._gate:
                return None
            with self._open() as fd:
                if gate[2] != self._gate[2] or not self._columns:
                    self._read_header(fd)
                lines = _tail(fd)
        except OSError:
            return None
        self._gate = gate
        if not lines or self._row(lines[-1]) is None:
            return None
        self.mtime, self.ctime = found.st_mtime, found.st_ctime
        return next(reversed(self._sane(self._rows(lines))), None)

    def ending(self) -> list[PlotRow]:
        """Return the rows of about the last two minutes, in order."""
        try:
            with self._open() as fd:
                return self._sane(self._rows(_tail(fd)))
        except OSError:
            return []

    @contextmanager
    def _open(self) -> Iterator[int]:
        fd = open_regular(self._path)
        try:
            yield fd
        finally:
            os.close(fd)

    def _rows(self, lines: list[bytes]) -> list[PlotRow]:
        return [row for line in lines if (row := self._row(line)) is not None]

    def _sane(self, rows: list[PlotRow]) -> list[PlotRow]:
        """Return rows without those that are too long after the row before (in milliseconds)."""
        kept: list[PlotRow] = []
        for row in rows:
            if not kept or row.unix or row.seconds - kept[-1].seconds <= self.longest_break:
                kept.append(row)
        return kept

    def _read_header(self, fd: int) -> bool:
        self.problem, self._columns = "", []
        line = os.pread(fd, 4096, 0).partition(b"\n")[0].decode(errors="replace")
        if not line:
            return False  # just created
        names = [name.strip() for name in line.lstrip("# ").split(",")]
        if not line.startswith("#") or names[0] not in _TIMES:
            self.problem = f"plot_data does not have AFL's header: {line[:80]!r}"
            return False
        self._columns = [OLD_NAMES.get(name, name) for name in names]
        return True

    def _row(self, line: bytes) -> PlotRow | None:
        fields = line.split(b",")
        if len(fields) != len(self._columns):
            return None
        try:
            numbers = [float(field.rstrip(b"% ")) for field in fields]
        except ValueError:
            return None
        if not all(map(math.isfinite, numbers)) or min(numbers) < 0 or numbers[0] >= MAX_T:
            return None
        values = dict(zip(self._columns, numbers, strict=True))
        return PlotRow(numbers[0], self._columns[0] == "unix_time", values)


def _in_order(rows: list[PlotRow]) -> list[PlotRow]:
    """Return the longest sequence of rows in which each is later than the one before.

    Other rows are from an earlier start in the same file, or from a time when the clock was wrong.
    """
    lowest: list[float] = []  # the lowest end of a rising sequence of each length
    ends: list[int] = []
    before: list[int] = []
    for n, row in enumerate(rows):
        length = bisect_left(lowest, row.seconds)
        before.append(ends[length - 1] if length else -1)
        lowest[length : length + 1] = [row.seconds]
        ends[length : length + 1] = [n]
    kept: list[PlotRow] = []
    n = ends[-1] if ends else -1
    while n >= 0:
        kept.append(rows[n])
        n = before[n]
    return kept[::-1]


def _spread(fd: int, size: int, most: int) -> list[bytes]:
    """Return about ``most`` whole lines from all over the file, without the header."""
    if size <= min(MAX_READ, most * ROW_BYTES):
        lines = _lines(os.pread(fd, size, 0))[1:]
        return lines[:: max(1, math.ceil(len(lines) / most))]
    found = []
    for k in range(most):
        # The first line may be incomplete, or the header.
        part = _lines(os.pread(fd, 2 * ROW_BYTES, size * k // most))[1:2]
        found += part
    return found


def _tail(fd: int) -> list[bytes]:
    start = max(0, os.fstat(fd).st_size - 4 * ROW_BYTES)
    return _lines(os.pread(fd, 4 * ROW_BYTES, start))[1:]


def _lines(data: bytes) -> list[bytes]:
    """Return the whole lines: in an incomplete one, the last number may be cut off."""
    return data.split(b"\n")[:-1]
