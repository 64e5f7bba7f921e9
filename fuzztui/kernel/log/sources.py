"""Where a reader gets records from: a log directory, or a single file.

Each source has an ``index`` of pieces that never change again, and ``hot`` records
behind them. No descriptor is held between calls, so that a reader never keeps a
deleted log's disk space; except for a gzip file of another program, which is
unpacked once.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_right
from operator import attrgetter
from pathlib import Path

from fuzztui.kernel.base.files import closing_fd
from fuzztui.kernel.log.blocks import (
    END_SIZE,
    RECORDS,
    BlockError,
    SealedBlock,
    find_next,
    is_intact,
    is_torn_end,
    read_header,
    unpack,
    walk,
)
from fuzztui.kernel.log.checkpoints import last_noted_record
from fuzztui.kernel.log.files import SEALED, LogError, list_tails, open_regular, read_at
from fuzztui.kernel.log.gzipped import GzipLog
from fuzztui.kernel.log.lines import (
    Problems,
    Recovered,
    decode_lines,
    first_of,
    missing_text,
    recover,
    span_of,
)
from fuzztui.kernel.log.plain import LONGEST_LINE, PIECE, PlainLog
from fuzztui.kernel.wire.events import Record

_first = attrgetter("first")


class RunLog:
    """A log directory, followed while another process writes it; or a sealed file alone."""

    def __init__(self, directory: Path | None, sealed: Path, problems: Problems) -> None:
        self.index: list[SealedBlock] = []
        """The pieces in order; only grows, unless the file was replaced."""
        self.hot: list[Record] = []
        """Records behind the last piece, in memory."""
        self._directory = directory
        self._sealed = sealed
        self._problems = problems
        self._noted = last_noted_record(directory) if directory else (0, sealed)
        self._tails: dict[int, _Tail] = {}
        self._file = (0, 0)
        self._end = self._size = 0
        """Offsets: the end of the last member that was read, and the end of the file."""
        self._checked = self._joined = 0
        """The number of verified members; the number of those compared with their predecessors."""
        self._log = 0
        """The log number in the members; 0: unknown."""
        self._ended = 0
        """The last record that an end mark names."""
        self._open = False
        """Whether the file ends without an end mark: its writer had not closed the log."""
        self._accepted: tuple[int, int, int] | None = None
        self._searched = (0, 0)
        self._assembled: tuple[int, ...] = ()

    def refresh(self) -> None:
        """Read appended records; look again if the end seems cut off: it may be in progress."""
        before = None
        while (end := self._read_new()) is not None and end != self._accepted:
            if end == before:
                self._accept(end)
                break
            before = end
        self._join()
        if self._ended > self._last:
            self._problems.note_missing(str(self._sealed), self._last + 1, self._ended)
        seq, by = self._noted
        if seq > max(self._last, self._ended):
            text = f"{missing_text(self._last + 1, seq)} at the end, as {by.name} shows"
            self._problems.note(f"{self._sealed}: {text}")
        self._noted = (0, by)

    @property
    def _last(self) -> int:
        sealed = self.index[-1].last if self.index else 0
        return max(sealed, self.hot[-1].seq if self.hot else 0)

    def _read_new(self) -> tuple[int, int, int] | None:
        """Read the tails first, then members: a tail sealed in between is found as a member.

        Returns None if the log ends as a writer that closed it, or was killed, leaves it; else
        the position of the end. If a second call returns the same position, no member is being
        written there: its tail would have been in the second listing.
        """
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
        torn = self._end < self._size and sealed + 1 not in present
        torn = torn and not is_torn_end(self._end, self._size, sealed, present)
        cut = self._open and self._directory is not None and not present
        return (sealed, self._end, self._size) if torn or cut else None

    def _accept(self, end: tuple[int, int, int]) -> None:
        """Recover the records at an end that is damaged, or note that the end is missing."""
        self._accepted = end
        _, offset, size = end
        if offset < size:
            with closing_fd(open_regular(self._sealed)) as fd:
                self._step_over(fd, offset, size)
            self._assemble(self.index[-1].last if self.index else 0)
        else:
            text = (
                f"the log stops after record {self._last} and has no end mark: its end is missing"
            )
            self._problems.note(f"{self._sealed}: {text}")

    def _list(self) -> dict[int, Path]:
        """The tails by first record; none is missing before the last of them.

        The listing of a directory that grows meanwhile (a crowded one takes many system
        calls) may contain a late tail and not an earlier one. A tail that existed before
        the second listing is in that listing, or was sealed.
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
        with closing_fd(fd):
            found = os.fstat(fd)
            file, self._size = (found.st_dev, found.st_ino), found.st_size
            if self._end and file != self._file:  # it was repaired
                self._problems.clear()
                self._restart()
            elif self._size < self._end:
                self._problems.note(f"{self._sealed}: became shorter; the whole file is read again")
                self._restart()
            self._file = file
            while self._end < self._size:
                for block in walk(fd, self._end, self._size, None):
                    self._add(fd, block)
                    self._end = block.end
                if self._end >= self._size or self._searched == (self._end, self._size):
                    break
                self._searched = (self._end, self._size)
                sound = find_next(fd, self._end + 1, self._size)
                if sound < 0:
                    break  # a member that is being written, or a torn end
                self._step_over(fd, self._end, sound)

    def _restart(self) -> None:
        self.index.clear()
        self._end = self._checked = self._joined = self._log = self._ended = 0
        self._searched = (0, 0)

    def _add(self, fd: int, block: SealedBlock) -> None:
        self._open = block.kind == RECORDS and block.log > 0
        if self._log and block.log not in (0, self._log):
            text = f"{_bytes(block)} are part of another log; they are left out"
            self._problems.note(f"{self._sealed}: {text}")
        elif block.kind == RECORDS:
            self._log = self._log or block.log
            self._insert(block)
        elif is_intact(fd, block):
            self._ended = max(self._ended, block.last)
        else:
            text = f"the end mark at byte {block.offset:,} is damaged"
            self._problems.note(f"{self._sealed}: {text}")

    def _insert(self, block: SealedBlock) -> None:
        """Add a member in the order of the records, whatever its position in the file."""
        index = self.index
        at = bisect_right(index, block.first, key=_first)
        if (at and index[at - 1].last >= block.first) or (
            at < len(index) and index[at].first <= block.last
        ):
            text = f"{_bytes(block)} repeat records of other parts; they are left out"
            self._problems.note(f"{self._sealed}: {text}")
            return
        if at < len(index):
            text = "its parts are not in the order of their records; they are read in that order"
            self._problems.note(f"{self._sealed}: {text}")
            self._checked, self._joined = min(at, self._checked), min(at, self._joined)
        index.insert(at, block)

    def _join(self) -> None:
        """Check each member against its predecessor, after all were sorted in."""
        while self._joined < len(self.index):
            block = self.index[self._joined]
            before = self.index[self._joined - 1] if self._joined else None
            last = before.last if before else 0
            if block.first > last + 1:
                self._problems.note_missing(str(self._sealed), last + 1, block.first - 1)
            if before and block.t0 < before.t1:
                self._problems.note_earlier(str(self._sealed), block.first)
            self._joined += 1

    def _step_over(self, fd: int, start: int, stop: int) -> None:
        """Keep the records that can be recovered between two bytes, where the file is damaged."""
        self._end = stop
        self._open = False
        what = f"{self._sealed}: bytes {start:,} to {stop:,} are damaged"
        raw = read_at(fd, start, min(stop - start, LONGEST_LINE))
        header = read_header(fd, start)
        if header is not None and self._log and header.log not in (0, self._log):
            self._problems.note(f"{what}; they are part of another log")
            return
        found = recover(raw, header, 0)
        at = bisect_right(self.index, found.records[0].seq if found.records else 0, key=_first)
        before = self.index[at - 1].last if at else 0
        records = [r for r in found.records if r.seq > before]
        if not records and (found.whole or stop - start == END_SIZE):
            self._problems.note(f"{what}; no record was in them")
        elif not records:
            self._problems.note(f"{what}; no record can be read there")
        else:
            span = span_of(records)
            more = "" if found.whole else "; what follows them there is lost"
            words = f"records {span.first} to {span.last} can still be read{more}"
            self._problems.note(f"{what}; {words}")
            place = (start, stop - start, RECORDS)
            block = SealedBlock(
                span.first, span.last, span.t0, span.t1, span.count, *place, damaged=True
            )
            self._insert(block)

    def _assemble(self, sealed: int) -> None:
        version = (sealed, *(n for t in self._tails.values() for n in (t.first, t.last)))
        if version == self._assembled:
            return
        self._assembled = version
        hot: list[Record] = []
        last = sealed
        for _, tail in sorted(self._tails.items()):
            fresh = [r for r in tail.records if r.seq > last]
            # Records missing at the beginning of the tail are noted by decode_lines.
            if fresh and min(tail.first, first_of(fresh[0])) > last + 1:
                self._problems.note_missing(str(self._sealed), last + 1, tail.first - 1)
            if fresh:
                hot += fresh
                last = hot[-1].seq
        self.hot = hot

    def load(self, block: SealedBlock) -> list[Record]:
        """The records of one sealed member; of a damaged one, those that can be recovered."""
        with closing_fd(open_regular(self._sealed)) as fd:
            if block.damaged:
                return _recovered(fd, block).records
            try:
                data = unpack(fd, block)
            except BlockError:
                return self._report(fd, block)
        where = str(self._sealed)
        return decode_lines(data, block.first - 1, where, self._problems, offset=block.offset)

    def check(self, deadline: float) -> bool:
        """Verify the bytes of each member, once, until ``deadline`` (of ``time.monotonic()``).

        False if bytes are left to be checked.
        """
        if self._checked >= len(self.index):
            return True
        with closing_fd(open_regular(self._sealed)) as fd:
            while self._checked < len(self.index):
                if time.monotonic() >= deadline:
                    return False
                block = self.index[self._checked]
                if not block.damaged and not is_intact(fd, block):
                    self._report(fd, block)
                self._checked += 1
        return True

    def _report(self, fd: int, block: SealedBlock) -> list[Record]:
        """The recovered records of a member that is damaged behind its header."""
        records = _recovered(fd, block).records
        some = f"{len(records):,}" if records else "none"
        text = f"of records {block.first} to {block.last}, {some} can still be read"
        self._problems.note(f"{self._sealed}: {_bytes(block)} are damaged; {text}")
        return records


def _bytes(block: SealedBlock) -> str:
    return f"bytes {block.offset:,} to {block.end:,}"


def _recovered(fd: int, block: SealedBlock) -> Recovered:
    raw = read_at(fd, block.offset, min(block.size, LONGEST_LINE))
    return recover(raw, read_header(fd, block.offset), block.first - 1)


class _Tail:
    """The complete lines of one tail, decoded as they are appended."""

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
        with closing_fd(fd):
            self._read(fd, os.fstat(fd).st_size)

    def _read(self, fd: int, size: int) -> None:
        wanted = PIECE
        while self._offset < size:
            data = read_at(fd, self._offset, min(wanted, size - self._offset))
            complete = data.rfind(b"\n") + 1
            if not complete:
                # A torn line: being written, or its writer was killed. Not kept, as it may change.
                if len(data) < wanted or wanted >= LONGEST_LINE:
                    return
                wanted *= 4
                continue
            fresh = decode_lines(
                data[:complete],
                self.last,
                str(self._path),
                self._problems,
                offset=self._offset,
            )
            if fresh:
                self.records += fresh
                self.last = fresh[-1].seq
            self._offset += complete


def sealed_path(path: Path) -> bool:
    """Whether a gzip file begins with a member that fuzztui wrote."""
    with closing_fd(open_regular(path)) as fd:
        return next(walk(fd, 0, os.fstat(fd).st_size), None) is not None


def open_source(path: Path, problems: Problems) -> RunLog | PlainLog:
    """Return the source for a run, its log directory, or a file. Raises LogError, OSError."""
    if not path.exists():
        raise LogError(f"{path}: no such file or directory")
    if path.is_dir():
        directory = path / "log" if (path / "log").is_dir() else path
        known = directory.name == "log" or (directory / SEALED).exists() or list_tails(directory)
        if not known:
            raise LogError(f"{path}: no campaign log in it; give a run, which has log/{SEALED}")
        return RunLog(directory, directory / SEALED, problems)
    if path.suffix == ".gz":
        if sealed_path(path):
            return RunLog(None, path, problems)
        return GzipLog(path, problems)
    return PlainLog(open_regular(path), str(path), problems)
