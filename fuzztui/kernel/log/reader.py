"""Read a log in order, from any record on, while the log grows."""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

from fuzztui.kernel.log.blocks import SealedBlock
from fuzztui.kernel.log.lines import Problems
from fuzztui.kernel.log.sources import open_source
from fuzztui.kernel.wire.events import Record

KEPT_BLOCKS = 4
"""Decoded blocks that are kept, so that paging and nearby seeks decode nothing."""

_last = attrgetter("last")
_seq = attrgetter("seq")


class LogReader:
    """Reads a log, also while a writer in another process extends it; any number of readers.

    ``path``: a run, its log directory, or a ``.jsonl`` or ``.jsonl.gz`` file. Raises
    :class:`LogError` if there is no log, OSError if the log cannot be read. Damaged
    parts are left out and described in ``problems``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.last_seq = 0
        self.last_t = 0.0
        self.problems = Problems()
        self._source = open_source(path, self.problems)
        self._cache: OrderedDict[SealedBlock, list[Record]] = OrderedDict()
        self.refresh()

    def refresh(self) -> None:
        """Find appended records. Takes microseconds if there are none."""
        source = self._source
        source.refresh()
        if source.hot:
            self.last_seq, self.last_t = source.hot[-1].seq, source.hot[-1].t
        elif source.index:
            self.last_seq, self.last_t = source.index[-1].last, source.index[-1].t1

    def check(self, deadline: float = math.inf) -> bool:
        """Look for damage in the whole log, until ``deadline`` (of ``time.monotonic()``).

        False if a part of the log is still unchecked. No part is checked twice.
        """
        return self._source.check(deadline)

    def records(self, after_seq: int = 0, limit: int | None = None) -> Iterator[Record]:
        """Yield the records behind ``after_seq`` as of the last refresh, at most ``limit``.

        After a call of :meth:`refresh` in between, the iteration includes the new records.
        """
        left = sys.maxsize if limit is None else limit
        while left > 0:
            batch = self.batch(after_seq, left)
            if not batch:
                return
            yield from batch
            left -= len(batch)
            after_seq = batch[-1].seq

    def batch(self, after_seq: int, limit: int) -> list[Record]:
        """Return the next records, between 1 and ``limit``; an empty list only at the log's end."""
        index = self._source.index
        i = bisect_right(index, after_seq, key=_last)
        while i < len(index):
            records = self._load(index[i])
            start = bisect_right(records, after_seq, key=_seq)
            if start < len(records):
                return records[start : start + limit]
            i += 1  # a damaged block
        hot = self._source.hot
        start = bisect_right(hot, after_seq, key=_seq)
        return hot[start : start + limit]

    def sealed(self) -> tuple[int, int]:
        """The number of the last sealed record, and the offset at which its member ends."""
        index = self._source.index
        return (index[-1].last, index[-1].end) if index else (0, 0)

    def bytes_upto(self, seq: int) -> int:
        """The offset in the sealed (or single) file at which the piece with record ``seq`` ends."""
        index = self._source.index
        i = bisect_right(index, seq - 1, key=_last)
        return index[min(i, len(index) - 1)].end if index else 0

    def _load(self, block: SealedBlock) -> list[Record]:
        records = self._cache.get(block)
        if records is None:
            records = self._cache[block] = self._source.load(block)
            while len(self._cache) > KEPT_BLOCKS:
                self._cache.popitem(last=False)
        else:
            self._cache.move_to_end(block)
        return records
