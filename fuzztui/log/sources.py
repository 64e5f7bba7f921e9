"""Where a reader gets records from: a log directory, or a single file.

Either offers an ``index`` of pieces that never change again and ``hot`` records
behind them. No descriptor is held between calls, so that a reader never keeps a
deleted log's space, except for a foreign gzip file, which is unpacked once.
"""

from __future__ import annotations

import gzip
import os
import tempfile
import weakref
import zlib
from pathlib import Path
from typing import Protocol

from fuzztui.log.blocks import RECORDS, Block, BlockError, Span, find_next, unpack, walk
from fuzztui.log.files import SEALED, LogError, list_tails, open_regular, read_at
from fuzztui.log.lines import Problems, decode_lines, span_of
from fuzztui.wire.events import Record

__all__ = ["GzipLog", "PlainLog", "RunLog", "Source"]

_PIECE = 4 << 20
_LONGEST_LINE = 64 << 20
_CHUNK_LINES = 1000
_MOST_UNPACKED = 16 << 30


class Source(Protocol):
    """What :class:`~fuzztui.log.reader.LogReader` stands on."""

    index: list[Block]
    """Pieces in order; only grows, unless the file was replaced."""
    hot: list[Record]
    """Records behind the last piece, in memory."""

    def refresh(self) -> None:
        """Look for more. Raises LogError, OSError."""

    def load(self, block: Block) -> list[Record]:
        """The records of a piece. Raises LogError, OSError."""


class RunLog:
    """A log directory, followed while another process writes it; or a sealed file alone."""

    def __init__(self, directory: Path | None, sealed: Path, problems: Problems) -> None:
        self.index: list[Block] = []
        self.hot: list[Record] = []
        self._directory = directory
        self._sealed = sealed
        self._problems = problems
        self._tails: dict[int, _Tail] = {}
        self._end = 0
        self._searched = (0, 0)
        self._assembled: tuple[int, ...] = ()

    def refresh(self) -> None:
        """Tails first, then members: what was sealed in between is found as a member."""
        present = self._list()
        for first, path in present.items():
            tail = self._tails.get(first)
            if tail is None:
                tail = self._tails[first] = _Tail(path, first, self._problems)
            tail.refresh()
        self._walk()
        sealed = self.index[-1].last if self.index else 0
        for first in self._tails.keys() - present.keys():
            if self._tails[first].last <= sealed:
                del self._tails[first]
        self._assemble(sealed)

    def _list(self) -> dict[int, Path]:
        """The tails by first record, with none missing before the last of them.

        A directory that grows while it is listed (a crowded one takes many system calls)
        may give a late tail and not an earlier one. What was there before a second
        listing began is in that one, or was sealed.
        """
        if self._directory is None:
            return {}
        tails = list_tails(self._directory)
        if tails and tails[-1][0] not in self._tails:
            newest, _ = tails[-1]
            tails = [tail for tail in list_tails(self._directory) if tail[0] <= newest]
        return dict(tails)

    def _walk(self) -> None:
        try:
            fd = open_regular(self._sealed)
        except FileNotFoundError:
            return
        try:
            size = os.fstat(fd).st_size
            if size < self._end:
                self._problems.note(f"{self._sealed}: was cut or replaced while it was read")
                self.index.clear()
                self._end = 0
            while self._end < size:
                last = self.index[-1].last if self.index else 0
                for block in walk(fd, self._end, size, last):
                    if block.kind == RECORDS:
                        self.index.append(block)
                    self._end = block.end
                if not self._skip_damage(fd, size):
                    break
        finally:
            os.close(fd)

    def _skip_damage(self, fd: int, size: int) -> bool:
        """Go on behind damaged members if there are sound ones, else wait where they should be."""
        if self._end >= size or self._searched == (self._end, size):
            return False
        self._searched = (self._end, size)
        last = self.index[-1].last if self.index else 0
        sound = find_next(fd, self._end + 1, size, last)
        if sound < 0:
            return False  # a member that is being written, or a torn end
        self._problems.note(f"{self._sealed}: damaged from byte {self._end} to {sound}: left out")
        self._end = sound
        return True

    def _assemble(self, sealed: int) -> None:
        version = (sealed, *(n for t in self._tails.values() for n in (t.first, t.last)))
        if version == self._assembled:
            return
        self._assembled = version
        hot: list[Record] = []
        last = sealed
        for _, tail in sorted(self._tails.items()):
            fresh = [r for r in tail.records if r.seq > last]
            if fresh and fresh[0].seq != last + 1:
                self._problems.note(f"records {last + 1} to {fresh[0].seq - 1} are missing")
            if fresh:
                hot += fresh
                last = hot[-1].seq
        self.hot = hot

    def load(self, block: Block) -> list[Record]:
        """The records of one sealed member; none if it is damaged."""
        fd = open_regular(self._sealed)
        try:
            data = unpack(fd, block)
        except BlockError as e:
            self._problems.note(f"{self._sealed}: {e}: records {block.first} to {block.last}")
            return []
        finally:
            os.close(fd)
        where = f"{self._sealed}, block at byte {block.offset}"
        return decode_lines(data, block.first - 1, where, self._problems)


class _Tail:
    """The complete lines of one tail, decoded as they come."""

    def __init__(self, path: Path, first: int, problems: Problems) -> None:
        self.first = first
        self.last = first - 1
        self.records: list[Record] = []
        self._path = path
        self._problems = problems
        self._offset = 0

    def refresh(self) -> None:
        try:
            fd = open_regular(self._path)
        except FileNotFoundError:
            return  # sealed since it was listed
        except LogError as e:
            self._problems.note(str(e))
            return
        try:
            self._read(fd, os.fstat(fd).st_size)
        finally:
            os.close(fd)

    def _read(self, fd: int, size: int) -> None:
        wanted = _PIECE
        while self._offset < size:
            data = read_at(fd, self._offset, min(wanted, size - self._offset))
            complete = data.rfind(b"\n") + 1
            if not complete:
                # A torn line: being written, or the end of a writer. Never kept: it may change.
                if len(data) < wanted or wanted >= _LONGEST_LINE:
                    return
                wanted *= 4
                continue
            fresh = decode_lines(data[:complete], self.last, str(self._path), self._problems)
            if fresh:
                self.records += fresh
                self.last = fresh[-1].seq
            self._offset += complete


class PlainLog:
    """A file of JSON lines, such as ``zcat campaign.jsonl.gz`` gives; it may grow."""

    def __init__(self, fd: int, name: str, problems: Problems) -> None:
        self.index: list[Block] = []
        self.hot: list[Record] = []
        self._fd = fd
        self._name = name
        self._problems = problems
        self._end = 0
        self._hot_place = (0, 0)
        self._close = weakref.finalize(self, os.close, fd)

    def refresh(self) -> None:
        """Index what was appended: full chunks by their first and last line only."""
        size = os.fstat(self._fd).st_size
        if size < self._end:
            self._problems.note(f"{self._name}: was cut while it was read")
            self.index.clear()
            self._end = 0
        wanted = _PIECE
        while True:
            data = read_at(self._fd, self._end, min(wanted, size - self._end))
            at_end = self._end + len(data) >= size
            at = 0
            while stop := _nth_newline(data, at, _CHUNK_LINES):
                self._add(data[at:stop], self._end + at)
                at = stop
            stop = data.rfind(b"\n") + 1
            if at_end:
                self._set_hot(data[at:stop], self._end + at)
            elif stop > at:
                self._add(data[at:stop], self._end + at)
                at = stop
            self._end += at
            if at_end:
                return
            wanted = _PIECE if at else wanted * 4
            if wanted > _LONGEST_LINE * 4:
                self._problems.note(f"{self._name}: a line of over 64 MiB: the rest is left out")
                return

    def _add(self, lines: bytes, offset: int) -> None:
        after = self.index[-1].last if self.index else 0
        parts = lines.splitlines()
        span = _ends(parts, after, self._name)
        if span is None:
            self._problems.note(f"{self._name}: no records from byte {offset} on: left out")
            return
        self.index.append(
            Block(span.first, span.last, span.t0, span.t1, len(parts), offset, len(lines), RECORDS)
        )

    def _set_hot(self, lines: bytes, offset: int) -> None:
        if self._hot_place == (offset, len(lines)):
            return
        self._hot_place = (offset, len(lines))
        after = self.index[-1].last if self.index else 0
        self.hot = decode_lines(lines, after, self._name, self._problems)

    def load(self, block: Block) -> list[Record]:
        """The records of one chunk."""
        data = read_at(self._fd, block.offset, block.size)
        where = f"{self._name} from byte {block.offset}"
        return decode_lines(data, block.first - 1, where, self._problems)


def _nth_newline(data: bytes, start: int, n: int) -> int:
    """The offset behind the ``n``-th line from ``start``, 0 if there are fewer."""
    at = start
    for _ in range(n):
        at = data.find(b"\n", at) + 1
        if not at:
            return 0
    return at


def _ends(lines: list[bytes], after: int, name: str) -> Span | None:
    """The span of a chunk from its outermost sound lines."""
    first = last = None
    quiet = Problems()
    for line in lines:
        first = decode_lines(line, after, name, quiet)
        if first:
            break
    if not first:
        return None
    for line in reversed(lines):
        last = decode_lines(line, first[0].seq - 1, name, quiet)
        if last:
            break
    return span_of([*first, *(last or first)])


class GzipLog(PlainLog):
    """A gzip file that we did not write (``grep``ed, recompressed): unpacked to a nameless file."""

    def __init__(self, path: Path, problems: Problems) -> None:
        fd, name = tempfile.mkstemp(prefix="fuzztui-log-")
        Path(name).unlink()
        super().__init__(fd, str(path), problems)
        done = 0
        with os.fdopen(open_regular(path), "rb") as raw, gzip.open(raw) as unpacked:
            try:
                while done < _MOST_UNPACKED and (piece := unpacked.read(_PIECE)):
                    done += os.write(fd, piece)
            except (EOFError, zlib.error, gzip.BadGzipFile) as e:
                problems.note(f"{path}: {e}: read up to byte {done} of its content")


def sealed_path(path: Path) -> bool:
    """Whether a gzip file begins with one of our members."""
    fd = open_regular(path)
    try:
        return next(walk(fd, 0, os.fstat(fd).st_size), None) is not None
    finally:
        os.close(fd)


def open_source(path: Path, problems: Problems) -> Source:
    """The source for a run, its log directory, or a file. Raises LogError, OSError."""
    if not path.exists():
        raise LogError(f"{path}: there is no such file or directory")
    if path.is_dir():
        directory = path / "log" if (path / "log").is_dir() else path
        known = directory.name == "log" or (directory / SEALED).exists() or list_tails(directory)
        if not known:
            raise LogError(f"{path}: there is no campaign log in it (log/{SEALED})")
        return RunLog(directory, directory / SEALED, problems)
    if path.suffix == ".gz":
        if sealed_path(path):
            return RunLog(None, path, problems)
        return GzipLog(path, problems)
    return PlainLog(open_regular(path), str(path), problems)
