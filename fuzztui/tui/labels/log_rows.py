"""The rows of the log screen's table, for a log of any length.

Without a filter, row *n* is the record with that sequence number, read a page at a time when it
becomes visible. With a filter, the log is scanned backwards from its end and then followed, so that
the newest matches appear first. No Textual and no files in here:
:mod:`fuzztui.tui.screens.log.screen` reads in a thread and passes the records.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fuzztui.kernel.model.hosts import host_of
from fuzztui.kernel.wire.conditions import FilterKey, RowFilter, parse_filter
from fuzztui.kernel.wire.events import Message, Record
from fuzztui.tui.labels.events import STATS, Described

PAGE = 500
"""Records per page; a page is read at once."""

PAGES = 40
"""Maximal number of cached pages."""

CHUNK = 10_000
"""Records per scan: about 50 ms."""


LogRow = tuple[Described, Record]
"""What a condition of the filter is applied to: a record's event as text, and the record."""

LOG_KEYS: Mapping[str, FilterKey[LogRow]] = {
    "event": FilterKey(lambda row: row[0].label),
    "instance": FilterKey(lambda row: row[0].instance),
    "host": FilterKey(lambda row: host_of(row[1])),
    "what": FilterKey(lambda row: row[0].text, listed=False),
    "time": FilterKey(lambda row: "", lambda row: row[1].t, listed=False),
    "#": FilterKey(lambda row: f"{row[1].seq}", lambda row: row[1].seq, listed=False),
}
"""The keys of the filter, by the titles of the columns; ``host`` has none."""


@dataclass(frozen=True, slots=True)
class Query:
    """The filter of the log screen. ``group``: "" for all records, "events": without statistics."""

    group: str = "events"
    instance: str = ""
    text: str = ""
    host: str = ""
    """Only records of this host."""

    @property
    def everything(self) -> bool:
        """Whether all records match, so that none must be read."""
        return not (self.group or self.instance or self.host or self.text.strip())

    @property
    def filter(self) -> RowFilter[LogRow]:
        """The words and conditions of the text."""
        return parse_filter(self.text, LOG_KEYS)

    def matches(self, described: Described, record: Record, found: RowFilter[LogRow]) -> bool:
        """Return whether an event matches, as it is described on the screen.

        ``found``: :attr:`filter`, which takes longer to make than to apply.
        """
        if self.group == "events":
            if described.group == STATS:
                return False
        elif self.group and described.group != self.group:
            return False
        if self.instance and described.instance != self.instance:
            return False
        if self.host and host_of(record) != self.host:
            return False
        if not self.text:
            return True
        hay = f"{described.label}\n{described.instance}\n{described.text}".casefold()
        row = described, record
        return all(word.casefold() in hay for word in found.words) and found.passes(row)


class LogSource:
    """The rows of log records; implements :class:`~fuzztui.tui.base.rows.RowModel`.

    ``want`` is called if a row is needed whose page was not read; :attr:`wanted` then contains the
    numbers of the missing pages.
    """

    def __init__(self, want: Callable[[], None]) -> None:
        self._want = want
        self._pages: OrderedDict[int, dict[int, Record]] = OrderedDict()
        self._low = self._high = 0
        self._found: list[int] = []
        self.query = Query()
        self.bound = 0
        """Sequence number of the last visible record; in a replay, the record at the current
        time."""
        self.wanted: set[int] = set()

    # ----------------------------------------------------------- RowModel

    def __len__(self) -> int:
        if self.query.everything:
            return self.bound
        return bisect_right(self._found, self.bound)

    def key(self, index: int) -> str:
        """Return the record's sequence number as text."""
        return str(index + 1 if self.query.everything else self._found[index])

    def position(self, key: str) -> int | None:
        """Return the record's row; None if it is not visible."""
        seq = int(key)
        if seq > self.bound:
            return None
        if self.query.everything:
            return seq - 1
        index = bisect_left(self._found, seq)
        return index if index < len(self._found) and self._found[index] == seq else None

    def row(self, key: str) -> Record | None:
        """Return the record; None until it was read."""
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
        """Return what to read for a page: the sequence number before it, and the maximal count."""
        page = self._pages.get(number, {})
        done = max(page, default=number * PAGE)
        return done, (number + 1) * PAGE - done

    def put(self, number: int, records: Sequence[Record]) -> list[str]:
        """Add the records of a page. Returns their keys."""
        self.wanted.discard(number)
        page = self._pages.setdefault(number, {})
        page.update((r.seq, r) for r in records if (r.seq - 1) // PAGE == number)
        self._pages.move_to_end(number)
        while len(self._pages) > PAGES:
            self._pages.popitem(last=False)
        return [str(r.seq) for r in records]

    # --------------------------------------------------------------- scan

    def ask(self, query: Query) -> None:
        """Set the filter; a scan is due afterwards (see :meth:`due`)."""
        if query != self.query:
            self.query = query
            self._low = self._high = 0
            self._found = []

    def due(self, last: int) -> tuple[int, int] | None:
        """Return the next records to scan, ``(after, count)``, in a log of ``last`` records.

        New records first, then backwards; None if all were scanned.
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
        """Add the result of a scan that :meth:`due` requested; an outdated one is ignored."""
        if query != self.query:
            return
        if after == self._high:
            self._high = after + count
            self._found += found
        elif after + count == self._low:
            self._low = after
            self._found[:0] = found

    def progress(self, last: int) -> float:
        """Return the scanned share of a log of ``last`` records."""
        if self.query.everything or last <= 0:
            return 1.0
        return (self._high - self._low) / last
