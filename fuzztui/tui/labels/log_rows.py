"""The campaign's log as rows of a table, however long it is.

Without a filter, row *n* is the record with that sequence number, read a page at a
time when it comes into view. With one, the log is scanned from its end backwards and
then followed: the newest matches are there at once. No Textual and no files in here;
:mod:`fuzztui.tui.screens.log.screen` reads in a thread and hands in what was read.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fuzztui.tui.labels.events import FIGURES, describe
from fuzztui.wire.events import Message, Record

PAGE = 500
"""Records that are read together."""

PAGES = 40
"""Pages that are kept."""

CHUNK = 10_000
"""Records that are scanned together: some 50 ms."""


@dataclass(frozen=True, slots=True)
class Query:
    """What to show. ``group`` "" is everything; "events" everything but figures."""

    group: str = "events"
    instance: str = ""
    text: str = ""

    @property
    def everything(self) -> bool:
        """No need to look at the records."""
        return not (self.group or self.instance or self.text.strip())

    def matches(self, record: Record) -> bool:
        """Whether ``record`` is to be shown."""
        described = describe(record.event)
        if self.group == "events":
            if described.group == FIGURES:
                return False
        elif self.group and described.group != self.group:
            return False
        if self.instance and described.instance != self.instance:
            return False
        if not self.text:
            return True
        hay = f"{described.label}\n{described.instance}\n{described.text}".casefold()
        return all(word in hay for word in self.text.casefold().split())


class LogSource:
    """A table's source (see :class:`~fuzztui.tui.base.rows.RowModel`) over log records.

    ``want`` is called when a row is asked for whose page is not there;
    :attr:`wanted` then holds the numbers of the missing pages.
    """

    def __init__(self, want: Callable[[], None]) -> None:
        self._want = want
        self._pages: OrderedDict[int, dict[int, Record]] = OrderedDict()
        self._low = self._high = 0
        self._found: list[int] = []
        self.query = Query()
        self.bound = 0
        """The last record that may be shown: in a replay, of its moment."""
        self.wanted: set[int] = set()

    # ------------------------------------------------------------- Source

    def __len__(self) -> int:
        if self.query.everything:
            return self.bound
        return bisect_right(self._found, self.bound)

    def key(self, index: int) -> str:
        """The record's number in words."""
        return str(index + 1 if self.query.everything else self._found[index])

    def position(self, key: str) -> int | None:
        """Where the record is shown."""
        seq = int(key)
        if seq > self.bound:
            return None
        if self.query.everything:
            return seq - 1
        index = bisect_left(self._found, seq)
        return index if index < len(self._found) and self._found[index] == seq else None

    def row(self, key: str) -> Record | None:
        """The record; None while it is read."""
        seq = int(key)
        number = (seq - 1) // PAGE
        page = self._pages.get(number)
        if page is not None and seq in page:
            self._pages.move_to_end(number)
            return page[seq]
        if page is not None and any(s > seq for s in page):
            lost = Message("warning", "this record is missing: the log was damaged here")
            return Record(seq, 0.0, lost)
        if number not in self.wanted:
            self.wanted.add(number)
            self._want()
        return None

    # -------------------------------------------------------------- pages

    def after(self, number: int) -> tuple[int, int]:
        """What to read for a page: after which record, and how many at most."""
        page = self._pages.get(number, {})
        done = max(page, default=number * PAGE)
        return done, (number + 1) * PAGE - done

    def put(self, number: int, records: Sequence[Record]) -> list[str]:
        """Records of a page were read; the keys of those that are new."""
        self.wanted.discard(number)
        page = self._pages.setdefault(number, {})
        page.update((r.seq, r) for r in records if (r.seq - 1) // PAGE == number)
        self._pages.move_to_end(number)
        while len(self._pages) > PAGES:
            self._pages.popitem(last=False)
        return [str(r.seq) for r in records]

    # --------------------------------------------------------------- scan

    def ask(self, query: Query) -> None:
        """Show what matches ``query``; a scan is due (see :meth:`due`)."""
        if query != self.query:
            self.query = query
            self._low = self._high = 0
            self._found = []

    def due(self, last: int) -> tuple[int, int] | None:
        """The next records to scan, ``(after, count)``, in a log of ``last`` records.

        New ones first, then backwards; None when all are known.
        """
        if self.query.everything or last <= 0:
            return None
        if self._high == 0:
            self._low = self._high = last
        if self._high < last:
            return self._high, min(CHUNK, last - self._high)
        if self._low > 0:
            count = min(CHUNK, self._low)
            return self._low - count, count
        return None

    def scanned(self, query: Query, after: int, count: int, found: Sequence[int]) -> None:
        """A scan that :meth:`due` asked for is done; an outdated one is forgotten."""
        if query != self.query:
            return
        if after == self._high:
            self._high = after + count
            self._found += found
        elif after + count == self._low:
            self._low = after
            self._found[:0] = found

    def progress(self, last: int) -> float:
        """Share of a log of ``last`` records that is scanned."""
        if self.query.everything or last <= 0:
            return 1.0
        return (self._high - self._low) / last
