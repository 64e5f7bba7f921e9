"""Writing the log: stamp, buffer, flush to a tail; seal full tails in a thread."""

from __future__ import annotations

import contextlib
import fcntl
import os
import queue
import threading
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from fuzztui.log.blocks import RECORDS, Span, pack
from fuzztui.log.files import SEALED, LogError, open_regular, read_at, tail_name, write_all
from fuzztui.log.lines import span_of
from fuzztui.log.recover import Leftover, mend_sealed, take_tails
from fuzztui.wire.codec import encode_record
from fuzztui.wire.events import Event, Record

__all__ = ["TAIL_BYTES", "TAIL_RECORDS", "LogError", "LogWriter"]

TAIL_RECORDS = 1000
"""A tail with so many records is full: it becomes one sealed member."""

TAIL_BYTES = 1 << 20
"""So is one with so many bytes, whatever its records."""


class LogWriter:
    """The only writer of a log directory, which it creates or goes on with.

    Raises :class:`LogError` when another process writes the log or something in the
    directory is no file of ours, OSError when the disk does not take it.

    For one thread. Nothing is visible to readers, or safe from SIGKILL, before
    :meth:`flush`; call it every 100 ms or sooner while there is something to write.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        sealed = directory / SEALED
        fd = open_regular(sealed, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            _lock(fd, directory)
            self.last_seq, self.last_t = mend_sealed(fd, sealed)
            leftovers = take_tails(directory, self.last_seq)
        except BaseException:
            os.close(fd)
            raise
        self._sealer = _Sealer(fd)
        self._waiting: deque[tuple[Record, bytes]] = deque()
        self._chunk = b""
        """What a flush could not write whole: it goes first, to the same tail."""
        self._tail: _Tail | None = None
        for leftover in leftovers:
            self._adopt(leftover, leftover is leftovers[-1])

    def _adopt(self, leftover: Leftover, is_last: bool) -> None:
        span = leftover.span
        assert span is not None
        self.last_seq, self.last_t = span.last, max(self.last_t, span.t1)
        if is_last and leftover.whole and not _full(span.count, len(leftover.data)):
            fd = open_regular(leftover.path, os.O_WRONLY | os.O_APPEND)
            self._tail = _Tail(leftover.path, fd, span.count, len(leftover.data), span)
        else:
            self._sealer.submit(_Job(leftover.path, span, leftover.data))

    def append(self, event: Event, t: float) -> Record:
        """Stamp ``event`` with the next number and campaign time ``t`` (never going back).

        Raises ValueError, and stamps nothing, for an event that JSON cannot hold
        (infinite numbers, which an engine's line may have).
        """
        stamp = round(t, 4)
        if not stamp >= self.last_t:
            stamp = self.last_t
        record = Record(self.last_seq + 1, stamp, event)
        line = encode_record(record).encode() + b"\n"
        self.last_seq, self.last_t = record.seq, stamp
        self._waiting.append((record, line))
        return record

    def flush(self) -> None:
        """Hand everything that was appended to the kernel.

        Raises OSError when it does not take all of it (disk full): what it did not take
        is kept and goes first the next time.
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
        """Move records for the current tail, or a new one, from waiting to the chunk."""
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
        tail.span = Span(first, grown.last, t0, grown.t1, tail.count)
        self._chunk = b"".join(lines)

    def _roll(self) -> _Tail:
        """Begin the next tail; the full one is sealed in the background."""
        path = self._directory / tail_name(self._waiting[0][0].seq)
        fd = open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        old = self._tail
        self._tail = tail = _Tail(path, fd, 0, 0, None)
        if old is not None:
            os.close(old.fd)
            assert old.span is not None
            self._sealer.submit(_Job(old.path, old.span, None))
        return tail

    def close(self, *, at_rest: bool = False) -> None:
        """Flush, wait for what is being sealed, let go of the log. Raises as :meth:`flush`.

        ``at_rest``: seal the hot tail too. A log that is done is one file for zcat.
        """
        try:
            self.flush()
        finally:
            tail, self._tail = self._tail, None
            if tail is not None:
                os.close(tail.fd)
                whole = not self._chunk and not self._waiting
                if at_rest and whole and tail.span is not None:
                    self._sealer.submit(_Job(tail.path, tail.span, None))
            self._sealer.close()


@dataclass(slots=True)
class _Tail:
    path: Path
    fd: int
    count: int
    bytes: int
    span: Span | None


def _full(count: int, size: int) -> bool:
    return count >= TAIL_RECORDS or size >= TAIL_BYTES


def _lock(fd: int, directory: Path) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise LogError(f"{directory}: another process writes this log; stop it first") from None
    except OSError:
        pass  # a file system without locks: the supervisor's own lock must do


@dataclass(slots=True)
class _Job:
    path: Path
    span: Span
    data: bytes | None
    """None: what the file holds."""
    written: bool = False
    """The member stands in the sealed file, but perhaps not yet on the disk."""


class _Sealer:
    """Turns tails into members, in order, in a thread: compressing and fdatasync take long.

    A member that cannot be written (disk full) is tried again with the next one and
    when closing; until then its tail stays, which readers do not mind.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
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
        # Whole, the member stays whatever the disk says: a reader may have it already.
        os.fdatasync(self._fd)
        with contextlib.suppress(OSError):  # a tail that stays is removed at the next opening
            job.path.unlink()

    def _write(self, job: _Job) -> None:
        data = job.data
        if data is None:
            fd = open_regular(job.path)
            try:
                data = read_at(fd, 0, os.fstat(fd).st_size)
            finally:
                os.close(fd)
        start = os.fstat(self._fd).st_size
        try:
            write_all(self._fd, pack(data, RECORDS, job.span))
        except OSError:
            with contextlib.suppress(OSError):  # to readers it was a torn end
                os.ftruncate(self._fd, start)
            raise

    def close(self) -> None:
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
        os.close(self._fd)
