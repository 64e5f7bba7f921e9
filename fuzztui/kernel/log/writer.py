"""Write the log: stamp, buffer and flush records to a tail; seal full tails in a thread."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import zlib
from collections import deque
from dataclasses import dataclass, replace
from pathlib import Path

from fuzztui.kernel.base.atomic import write_all
from fuzztui.kernel.base.files import closing_fd
from fuzztui.kernel.log.blocks import END, RECORDS, RecordRange, pack
from fuzztui.kernel.log.files import SEALED, open_regular, read_at, tail_name
from fuzztui.kernel.log.lines import span_of
from fuzztui.kernel.log.recover import Leftover, lock, mend
from fuzztui.kernel.wire.codec import encode_record
from fuzztui.kernel.wire.events import Event, Record

TAIL_RECORDS = 1000
"""Records in a full tail, which becomes one sealed member."""

TAIL_BYTES = 1 << 20
"""Bytes from which a tail is full, whatever the number of its records."""


class LogWriter:
    """The only writer of a log directory, which it creates or continues.

    Raises :class:`LogError` if another process writes the log or a file of the log
    is not a regular file, OSError if the disk does not accept the data.

    For one thread. A record is visible to readers, and safe from SIGKILL, only after
    :meth:`flush`; call that at least every 100 ms while there are new records.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        mended = mend(_open_locked(directory), directory / SEALED)
        self.repairs = mended.repairs
        """Messages: damage that was found when the log was opened, and how it was repaired."""
        self.last_seq, self.last_t = mended.last, mended.t
        self._sealer = _Sealer(mended.fd, mended.log)
        self._waiting: deque[tuple[Record, bytes]] = deque()
        self._chunk = b""
        """Bytes that the last flush could not write: the next one writes them first."""
        self._tail: _Tail | None = None
        try:
            for leftover in mended.tails:
                self._adopt(leftover)
        except BaseException:
            self.close()
            raise

    def _adopt(self, leftover: Leftover) -> None:
        """Continue a tail, and seal the one before. The last tail is not sealed.

        If it were, a writer killed now would leave a log that looks cut off.
        """
        span = leftover.span
        if span is not None:
            self.last_seq, self.last_t = span.last, max(self.last_t, span.t1)
        count = span.count if span else 0
        fd = open_regular(leftover.path, os.O_WRONLY | os.O_APPEND)
        before = self._tail
        self._tail = _Tail(leftover.path, fd, count, leftover.size, span)
        if before is not None:
            self._seal(before)

    def _seal(self, tail: _Tail) -> None:
        os.close(tail.fd)
        assert tail.span is not None
        self._sealer.submit(_Job(tail.path, tail.span))

    def append(self, event: Event, t: float, origin: Record | None = None) -> Record:
        """Stamp ``event`` with the next number and campaign time ``t``, which never goes back.

        ``origin``: the record of a host's log that the event comes from, with its ``host``.

        Raises ValueError, and stamps nothing, for an event that JSON cannot represent
        (an engine's line may contain infinite numbers).
        """
        stamp = round(t, 4)
        if not stamp >= self.last_t:
            stamp = self.last_t
        record = Record(self.last_seq + 1, stamp, event)
        if origin is not None:
            record = replace(record, host=origin.host, host_seq=origin.seq, host_t=origin.t)
        self.copy(record)
        return record

    def copy(self, record: Record) -> None:
        """Append a record of another log with the number and the time that it has there.

        Raises ValueError, and appends nothing, if the record is not after the last one.
        """
        if record.seq <= self.last_seq or record.t < self.last_t:
            raise ValueError(f"record {record.seq} is not after record {self.last_seq}")
        line = encode_record(record).encode() + b"\n"
        self.last_seq, self.last_t = record.seq, record.t
        self._waiting.append((record, line))

    def flush(self) -> None:
        """Write all appended records to the tail.

        Raises OSError if not all of it could be written (disk full). The rest is kept, and
        written first by the next flush.
        """
        while self._chunk or self._waiting:
            if not self._chunk:
                self._fill()
            tail = self._tail
            assert tail is not None
            while self._chunk:
                written = os.write(tail.fd, self._chunk)
                tail.bytes += written
                self._chunk = self._chunk[written:]

    def _fill(self) -> None:
        """Move waiting records for the current tail, or for a new one, to the chunk."""
        tail = self._tail
        if tail is None or _full(tail.count, tail.bytes):
            tail = self._roll()
        room = TAIL_RECORDS - tail.count
        size = tail.bytes
        lines: list[bytes] = []
        records: list[Record] = []
        while self._waiting and len(lines) < room and size < TAIL_BYTES:
            record, line = self._waiting.popleft()
            records.append(record)
            lines.append(line)
            size += len(line)
        tail.count += len(lines)
        grown = span_of(records)
        first, t0 = (tail.span.first, tail.span.t0) if tail.span else (grown.first, grown.t0)
        tail.span = RecordRange(first, grown.last, t0, grown.t1, tail.count)
        self._chunk = b"".join(lines)

    def _roll(self) -> _Tail:
        """Start the next tail; the full one is sealed in the background."""
        path = self._directory / tail_name(self._waiting[0][0].seq)
        fd = open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        old = self._tail
        self._tail = tail = _Tail(path, fd, 0, 0, None)
        if old is not None:
            self._seal(old)
        return tail

    def close(self, *, at_rest: bool = False) -> None:
        """Flush, wait until tails are sealed, and release the log. Raises as :meth:`flush`.

        ``at_rest``: seal the last tail too, so that a finished log is one file for zcat.
        """
        try:
            self.flush()
        finally:
            tail, self._tail = self._tail, None
            if tail is not None:
                os.close(tail.fd)
                whole = not self._chunk and not self._waiting
                if at_rest and whole and tail.span is not None:
                    self._sealer.submit(_Job(tail.path, tail.span, ends=True))
            self._sealer.close()


@dataclass(slots=True)
class _Tail:
    path: Path
    fd: int
    count: int
    bytes: int
    span: RecordRange | None


def _full(count: int, size: int) -> bool:
    return count >= TAIL_RECORDS or size >= TAIL_BYTES


def _open_locked(directory: Path) -> int:
    """Open and lock the sealed file; again if a repair replaced the file meanwhile."""
    path = directory / SEALED
    while True:
        fd = open_regular(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            lock(fd, directory)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(fd), path.stat()):
                    return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)


@dataclass(slots=True)
class _Job:
    path: Path
    span: RecordRange
    ends: bool = False
    """Whether to write the end mark behind the member."""
    written: bool = False
    """Whether the member is in the sealed file, but perhaps not yet on the disk."""


class _Sealer:
    """Turns tails into members, in order, in a thread, as compressing and fdatasync take long.

    A member that cannot be written (disk full) is tried again with the next one and
    on closing. Until then its tail stays, and readers read that.
    """

    def __init__(self, fd: int, log: int) -> None:
        self._fd = fd
        self._log = log
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._backlog: deque[_Job] = deque()
        self._thread: threading.Thread | None = None

    def submit(self, job: _Job) -> None:
        self._jobs.put(job)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="log-sealer", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._backlog.append(job)
            self._work()
        self._work()

    def _work(self) -> None:
        while self._backlog:
            try:
                self._seal(self._backlog[0])
            except OSError:
                return
            self._backlog.popleft()

    def _seal(self, job: _Job) -> None:
        if not job.written:
            self._write(job)
            job.written = True
        # A complete member stays even if this fails: a reader may have read it already.
        os.fdatasync(self._fd)
        with contextlib.suppress(OSError):  # the next opening removes a tail that stays
            job.path.unlink()

    def _write(self, job: _Job) -> None:
        with closing_fd(open_regular(job.path)) as fd:
            data = read_at(fd, 0, os.fstat(fd).st_size)
        span = job.span
        self._log = self._log or zlib.crc32(data.partition(b"\n")[0]) or 1
        members = pack(data, RECORDS, span, log=self._log)
        if job.ends:
            end = RecordRange(span.last, span.last, span.t1, span.t1, 0)
            members += pack(b"", END, end, log=self._log)
        start = os.fstat(self._fd).st_size
        try:
            write_all(self._fd, members)
        except OSError:
            with contextlib.suppress(OSError):  # readers took it for a torn end
                os.ftruncate(self._fd, start)
            raise

    def close(self) -> None:
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
        os.close(self._fd)
