"""Records from a single file of JSON lines, which may grow."""

from __future__ import annotations

import contextlib
import os
import weakref

from fuzztui.kernel.log.blocks import RECORDS, RecordRange, SealedBlock
from fuzztui.kernel.log.files import read_at
from fuzztui.kernel.log.lines import Problems, decode_lines, span_of
from fuzztui.kernel.wire.codec import CodecError, decode_record
from fuzztui.kernel.wire.events import Record

PIECE = 4 << 20
"""Bytes per read."""

LONGEST_LINE = 64 << 20
"""Bytes. A longer line, and everything behind it, is left out."""

_CHUNK_LINES = 1000
_PEEK = 1 << 16


class PlainLog:
    """A file of JSON lines, such as the output of ``zcat campaign.jsonl.gz``; it may grow."""

    def __init__(self, fd: int, name: str, problems: Problems) -> None:
        self.index: list[SealedBlock] = []
        self.hot: list[Record] = []
        self._fd = fd
        self._name = name
        self._problems = problems
        self._end = 0
        self._hot_place = (0, 0)
        self._close = weakref.finalize(self, os.close, fd)

    def refresh(self) -> None:
        """Index appended lines; of a full chunk only the first and last line are decoded."""
        size = os.fstat(self._fd).st_size
        if size < self._end:
            self._problems.note(f"{self._name}: became shorter; the whole file is read again")
            self.index.clear()
            self._end = 0
        wanted = PIECE
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
            wanted = PIECE if at else wanted * 4
            if wanted > LONGEST_LINE * 4:
                text = "a line is longer than 64 MiB; this line and all behind it are left out"
                self._problems.note(f"{self._name}: {text}")
                return

    def _add(self, lines: bytes, offset: int) -> None:
        after = self.index[-1].last if self.index else 0
        parts = lines.splitlines()
        span = _ends(parts, after, self._name, self._following(offset + len(lines)))
        if span is None:
            decode_lines(lines, after, self._name, self._problems, offset=offset)  # counts them
            return
        if span.first > after + 1:
            self._problems.note_missing(self._name, after + 1, span.first - 1)
        self.index.append(
            SealedBlock(
                span.first, span.last, span.t0, span.t1, len(parts), offset, len(lines), RECORDS
            )
        )

    def _set_hot(self, lines: bytes, offset: int) -> None:
        if self._hot_place == (offset, len(lines)):
            return
        self._hot_place = (offset, len(lines))
        after = self.index[-1].last if self.index else 0
        self.hot = decode_lines(lines, after, self._name, self._problems, offset=offset)

    def load(self, block: SealedBlock) -> list[Record]:
        """The records of one chunk."""
        data = read_at(self._fd, block.offset, block.size)
        follower = self._following(block.end)
        after = block.first - 1
        return decode_lines(
            data, after, self._name, self._problems, follower=follower, offset=block.offset
        )

    def _following(self, offset: int) -> Record | None:
        """The record of the line at ``offset``, to check the one before; None if unreadable."""
        line, newline, _ = read_at(self._fd, offset, _PEEK).partition(b"\n")
        with contextlib.suppress(CodecError, OverflowError, RecursionError):
            return decode_record(line) if newline else None
        return None

    def check(self, deadline: float) -> bool:
        """Check only the end: all other bytes are read when the records are folded."""
        if os.fstat(self._fd).st_size > sum(self._hot_place):
            self._problems.note(f"{self._name}: the last line is cut off and is left out")
        return True


def _nth_newline(data: bytes, start: int, n: int) -> int:
    """The offset behind the ``n``-th line from ``start``; 0 if there are fewer lines."""
    at = start
    for _ in range(n):
        at = data.find(b"\n", at) + 1
        if not at:
            return 0
    return at


def _ends(lines: list[bytes], after: int, name: str, follower: Record | None) -> RecordRange | None:
    """The range of a chunk, from its first and last line alone if no record is missing."""
    first = last = None
    quiet = Problems()
    for line in lines:
        first = decode_lines(line, after, name, quiet)
        if first:
            break
    if not first:
        return None
    for line in reversed(lines):
        last = decode_lines(line, first[0].seq - 1, name, quiet, follower=follower)
        if last:
            break
    span = span_of([*first, *(last or first)])
    if span.last - span.first + 1 == len(lines):
        return span
    # The number of one of the two may be damaged: it would hide the records between or behind.
    return span_of(decode_lines(b"\n".join(lines), after, name, quiet, follower=follower) or first)
