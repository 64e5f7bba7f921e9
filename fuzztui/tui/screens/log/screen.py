"""The Log screen: every record of the campaign."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from textual.geometry import Size

from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.model.hosts import host_of
from fuzztui.kernel.model.selectors import wall_time
from fuzztui.kernel.model.state import Changes, State
from fuzztui.kernel.wire.codec import encode_record
from fuzztui.kernel.wire.conditions import FilterKey
from fuzztui.kernel.wire.events import CommandApplied, Record
from fuzztui.tui.base import format
from fuzztui.tui.base.background import in_thread
from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.columns import Cell, Column
from fuzztui.tui.base.filterbar import FilterBar
from fuzztui.tui.base.text import plain, plain_lines
from fuzztui.tui.frame.action_context import ActionContext
from fuzztui.tui.frame.listing import ListingScreen
from fuzztui.tui.frame.table import BigTable
from fuzztui.tui.labels.details import pair, title
from fuzztui.tui.labels.event_rows import describe_known
from fuzztui.tui.labels.events import KINDS, MUTANTS, Described, describe, describe_record
from fuzztui.tui.labels.log_rows import LOG_KEYS, LogSource, Query

GROUPS = ("events", *KINDS, "")
"""The groups that ``f`` cycles through: events without statistics, each kind, all records."""

CLOCK = "log.clock"
"""The user's choice to see the time of day."""

HOURS, DAYS = "%H:%M:%S", "%m-%d %H:%M:%S"
DAY_S = 86_400.0
"""Seconds of a campaign from which on the time of day has its date."""

BREATH_S = 0.01
"""Seconds between two chunks of a scan, so that the screen stays responsive."""


class LogScreen(ListingScreen[Record, None]):
    """A row for each record; at its end the table follows the campaign."""

    TAB = "log"
    DEFAULT_CSS = "LogScreen BigTable { width: 2fr; } LogScreen DetailPane { width: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self._reader: LogReader | None = None
        self._last = 0
        self._problem = ""
        self._turn = asyncio.Lock()
        self._raw = False
        self.source = LogSource(self._request)

    def make_table(self) -> BigTable[Record]:
        """Return the table, oldest record first, with the cursor at the end."""
        return BigTable(
            self._columns(), source=self.source, follow=True, empty="waiting for the first event…"
        )

    def _columns(self) -> Sequence[Column[Record]]:
        return (
            # Not the last column: the caption would cover its title.
            Column("seq", "#", lambda r: (f"{r.seq}", "muted"), None, "right", max=9, needs=70),
            Column("t", "time", self._time, None, "right", min=8, max=14),
            Column("kind", "event", _label, None, min=9, max=12),
            Column("instance", "instance", _instance, None, max=24, needs=60),
            Column("text", "what", self._text, None, min=20, max=300, flex=True),
        )

    def _time(self, record: Record) -> Cell:
        """Campaign time, or the time of day; with the date if the campaign lasts longer."""
        state = self.campaign
        wall = wall_time(state, record.t) if CLOCK in self.host.choices else 0.0
        if not wall:
            return format.clock(record.t), "muted"
        return format.wall_clock(wall, DAYS if state.t > DAY_S else HOURS), "muted"

    def do_log_clock(self) -> None:
        """Show the time of day, or the time since the campaign started."""
        self.host.choose(CLOCK, CLOCK not in self.host.choices)
        self.table.remeasure("t")
        self.table.invalidate()

    def _text(self, record: Record) -> Cell:
        """The record's event as text, in the words of the event list."""
        described = describe_known(record, self.campaign)
        return described.text, "muted" if described.style == "muted" else ""

    def show(self, changes: Changes) -> None:
        """Show new records, or another moment of a replay."""
        if not (changes.records or changes.reset):
            return
        self.source.bound = self.campaign.seq
        self.table.sync()
        self._touch_answers()
        self._scan()
        self._title()

    def _touch_answers(self) -> None:
        """Draw the answers to commands again: what came since then grows."""
        source = self.table.source
        rows = ((key := source.key(i), source.row(key)) for i in self.table.in_view)
        keys = [key for key, row in rows if row and isinstance(row.event, CommandApplied)]
        self.table.touch(keys)
        if self.table.cursor in keys:
            self.show_detail()

    # -------------------------------------------------- reading in a thread

    def _request(self) -> None:
        self.run_worker(self._load_pages(), group="pages", exclusive=False)

    async def _read(self, after: int, count: int) -> list[Record]:
        """Read records of the log; one thread uses the reader at a time."""

        def work() -> list[Record]:
            if self._reader is None:
                self._reader = self.host.open_reader()
            self._reader.refresh()
            self._last = self._reader.last_seq
            return list(self._reader.records(after, count)) if count else []

        async with self._turn:
            try:
                records = await in_thread(work)
                self._problem = ""
            except Exception as e:  # LogError, OSError: the log stays readable elsewhere
                self._problem = f"cannot read the log: {e}"
                self._reader = None
                records = []
            return records

    async def _load_pages(self) -> None:
        await asyncio.sleep(0)  # one paint requests several rows
        for number in sorted(self.source.wanted):
            after, count = self.source.after(number)
            keys = self.source.put(number, await self._read(after, count))
            self.table.touch(keys)
        self.show_detail()
        self._title()

    def _scan(self) -> None:
        if not any(w.group == "scan" and not w.is_finished for w in self.workers):
            self.run_worker(self._scan_all(), group="scan", exclusive=True)

    async def _scan_all(self) -> None:
        """Scan for the filter's matches, a chunk at a time."""
        await self._read(0, 0)
        while (due := self.source.due(self._last)) is not None:
            query = self.source.query
            after, count = due
            records = await self._read(after, count)
            if self._problem:
                break
            # In a damaged log, the records returned may lie behind the requested ones.
            part = [r for r in records if r.seq <= after + count]
            found = await in_thread(partial(_matching, query, part, self.campaign))
            self.source.scanned(query, after, count, found)
            self.table.sync()
            self._title()
            await asyncio.sleep(BREATH_S)
        self._title()

    # -------------------------------------------------------------- filter

    def narrow(self, text: str) -> None:
        """Scan for the words and conditions of the filter."""
        query = replace(self.source.query, text=text)
        self.query_one(FilterBar).say(query.filter.problem)
        self._ask(query)

    def keys(self) -> Mapping[str, FilterKey[Any]]:
        """Return the keys of a query."""
        return LOG_KEYS

    def values_of(self, key: str) -> Iterable[str]:
        """Return the kinds of events, the instances, or the hosts."""
        if key in ("instance", "host"):
            return [*(self.campaign.instances if key == "instance" else self.campaign.hosts)]
        seen = (self.table.source.row(self.table.source.key(i)) for i in self.table.in_view)
        return (describe(r.event).label for r in seen if r is not None and key == "event")

    def _ask(self, query: Query) -> None:
        self.source.ask(query)
        self.table.sync(reveal=True)
        self._scan()
        self._title()

    def do_table_unfilter(self) -> None:
        """Remove all filters at once; from the details: go to the table."""
        on_table = self.focused is not self.pane
        super().do_table_unfilter()
        if on_table and self.source.query != (default := Query()):
            self._ask(default)

    def do_log_kind(self) -> None:
        """Show the next group of events."""
        query = self.source.query
        state = self.campaign
        groups = [g for g in GROUPS if g != MUTANTS or state.mutants or state.stage]
        at = groups.index(query.group) + 1 if query.group in groups else 0
        group = groups[at % len(groups)]
        self._ask(replace(query, group=group))

    def do_log_fields(self) -> None:
        """Show all fields of each record, or only what they mean."""
        self._raw = not self._raw
        self.show_detail()

    def do_log_instance(self) -> None:
        """Show only records of the current row's instance or host; pressed again: all records."""
        query = self.source.query
        if query.instance or query.host:
            self._ask(replace(query, instance="", host=""))
            return
        record = self.table.current
        name = "" if record is None else describe_record(record).instance
        if record is not None and name and name == host_of(record):
            self._ask(replace(query, host=name))
        elif name:
            self._ask(replace(query, instance=name))
        else:
            self.notify("This event belongs to no instance.")

    def _title(self) -> None:
        query = self.source.query
        shown = query.group or "everything"
        if query.instance or query.host:
            shown += f" of {query.instance or f'host {query.host}'}"
        if query.text.strip():
            shown += plain(f' with "{query.text.strip()}"')
        share = self.source.progress(self._last)
        empty = f"no {shown} to show yet"
        if share < 1 and not self._problem:
            scanned = format.percent(share, 1)
            empty = f"looking for {shown} in the log: {scanned} is read"
            shown += f", {scanned} of the log is read"
        self.table.empty = self._problem or empty
        if self._problem:
            self.table.set_caption(self._problem, "not everything was read")
        else:
            self.table.set_caption(
                f"shown: {shown}", shown, query.group or query.instance or query.host
            )
        self._count()

    def _count(self) -> None:
        self.query_one(FilterBar).count(len(self.source), self.source.bound)

    def reveal(self, key: str) -> None:
        """Put the cursor on a record; remove the filter if it may hide the record."""
        if not self.table.go_to(key):
            self._ask(Query(group=""))
            super().reveal(key)

    # ------------------------------------------------------------- details

    def details(self, row: Record, preview: None, size: Size) -> Sequence[Line]:
        """Return what happened, and on request all fields of the record."""
        described = describe_known(row, self.campaign)
        wall = wall_time(self.campaign, row.t)
        return record_lines(row, described, wall, raw=self._raw)

    def describe_row(self) -> ActionContext:
        """Return whether there is a record under the cursor."""
        return ActionContext(row=self.table.current is not None)


def _matching(query: Query, records: Sequence[Record], state: State) -> list[int]:
    """Sequence numbers of the records that match ``query``. Called in a thread.

    Only looks up single rows of ``state``, which is safe while another thread changes it.
    """
    found = query.filter
    return [r.seq for r in records if query.matches(describe_known(r, state), r, found)]


def _label(record: Record) -> Cell:
    described = describe(record.event)
    return described.label, described.style


def _instance(record: Record) -> Cell:
    return describe_record(record).instance, "muted"


def record_lines(record: Record, described: Described, wall: float, *, raw: bool) -> list[Line]:
    """Return a log record: as the screens describe it, and its fields if ``raw``.

    ``wall``: its Unix time; 0: unknown.
    """
    lines: list[Line] = [
        [TextSpan(plain(described.label), f"bold {described.style}".strip())],
        *([TextSpan(text)] for text in plain_lines(described.text)),
        [],
        pair("time", format.clock(record.t)),
    ]
    if wall:
        lines.append(pair("clock", format.wall_clock(wall, "%Y-%m-%d %H:%M:%S")))
    if described.instance and described.instance != host_of(record):
        lines.append(pair("instance", described.instance))
    if host_of(record):
        lines.append(pair("host", host_of(record)))
    lines.append(pair("record", f"{record.seq:,}"))
    if record.host:
        there = f"record {record.host_seq:,} at {format.clock(record.host_t)} of its own log"
        lines.append(pair("there", there))
    if not raw:
        return [*lines, [], [TextSpan("v shows all fields", "muted")]]
    return [*lines, [], title("fields"), *_fields(record)]


def _fields(record: Record) -> list[Line]:
    """All fields of a record, by their names in the log."""
    try:
        data = json.loads(encode_record(record))
    except ValueError:  # NaN, from a log that another program wrote
        return [[TextSpan("this record cannot be shown", "hang")]]
    lines: list[Line] = []
    for key, value in data.items():
        if isinstance(value, str) and "\n" in value:
            lines.append(pair(key, ""))
            lines += [[TextSpan("  "), TextSpan(text)] for text in plain_lines(value)]
        else:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            lines.append(pair(key, text))
    return lines
