"""Keeps the history of a share's price: a CSV file by day becomes a record for each month."""

from __future__ import annotations

import csv
import datetime
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import NewType

from lambdas.events import Record, records
from lambdas.storage import Item, StoredObject, fetch, get_item, text, write_items

HISTORY = "history"
SYMBOL = re.compile(r"[A-Za-z]{1,5}(?:-[A-Za-z])?")
FIRST = datetime.date(1985, 1, 1)
JUMP = Decimal("0.4")
FORMATS = ("%Y-%m-%d", "%m/%d/%Y", "%d.%m.%Y", "%Y%m%d")


Symbol = NewType("Symbol", str)


class BadHistory(Exception):
    """The file cannot be taken for a history of prices."""


@dataclass(frozen=True)
class Day:
    date: datetime.date
    opened: Decimal
    highest: Decimal
    lowest: Decimal
    closed: Decimal
    volume: int

    @property
    def is_possible(self) -> bool:
        within = self.lowest <= min(self.opened, self.closed)
        return within and max(self.opened, self.closed) <= self.highest and self.lowest > 0


@dataclass
class Month:
    first: Day
    last: Day
    highest: Decimal
    lowest: Decimal
    volume: int
    splits: int = 0

    def add(self, day: Day) -> None:
        if day.opened * 2 <= self.last.closed and day.volume > 2 * self.last.volume:
            self.splits += 1
        self.highest = max(self.highest, day.highest)
        self.lowest = min(self.lowest, day.lowest)
        self.volume += day.volume
        self.last = day

    @property
    def trend(self) -> str:
        change = (self.last.closed - self.first.opened) / self.first.opened
        if abs(change) > JUMP:
            return "volatile"
        if change > 0:
            return "rising"
        return "falling" if change < 0 else "flat"


def handler(event: dict[str, object], context: object) -> dict[Symbol, int]:
    """How many months were written, by symbol."""
    written: dict[Symbol, int] = {}
    for record in records(event):
        if not record.created:
            continue
        symbol = symbol_of(record)
        if symbol is not None:
            written[symbol] = written.get(symbol, 0) + take(record, symbol)
    return written


def symbol_of(record: Record) -> Symbol | None:
    """``history/ACME.csv`` is about ACME."""
    name = record.key.rsplit("/", 1)[-1]
    stem, _, suffix = name.rpartition(".")
    if suffix.lower() != "csv" or not SYMBOL.fullmatch(stem):
        return None
    return Symbol(stem.upper())


def take(record: Record, symbol: Symbol) -> int:
    stored = fetch(record.bucket, record.key)
    if stored is None:
        return 0
    days = sorted(read(stored), key=lambda day: day.date)
    months = by_month(days, until=stored.last_modified.date())
    items = []
    for (year, month), data in months.items():
        item = record_of(symbol, f"{year}-{month:02}", data)
        if is_news(item):
            items.append(item)
    write_items(HISTORY, items)
    return len(items)


def read(stored: StoredObject) -> Iterator[Day]:
    reader = csv.reader(io.StringIO(stored.body.decode("utf-8", "replace")))
    try:
        for row in reader:
            if len(row) < 6 or row[0].strip().lower() in ("date", ""):
                continue
            if "null" in row:  # a day without trade
                continue
            yield parsed(row)
    except csv.Error as e:
        raise BadHistory(f"{stored.key}, line {reader.line_num}: {e}") from e


def parsed(row: list[str]) -> Day:
    date = parsed_date(row[0].strip())
    try:
        opened, highest, lowest, closed = (Decimal(cell.strip().lstrip("$")) for cell in row[1:5])
        volume = int(row[5].replace(",", ""))
    except (InvalidOperation, ValueError) as e:
        raise BadHistory(f"{date}: {e}") from e
    if not all(price.is_finite() for price in (opened, highest, lowest, closed)):
        raise BadHistory(f"{date}: no price")
    return Day(date, opened, highest, lowest, closed, volume)


def parsed_date(said: str) -> datetime.date:
    for form in FORMATS:
        try:
            return datetime.datetime.strptime(said, form).date()
        except ValueError:
            continue
    raise BadHistory(f"{said!r} is no date")


def by_month(days: Iterable[Day], until: datetime.date) -> dict[tuple[int, int], Month]:
    """Weekends, impossible days and those that the file cannot know yet are left out."""
    months: dict[tuple[int, int], Month] = {}
    for day in days:
        if day.date < FIRST or day.date > until:
            continue
        if day.date.weekday() >= 5 or not day.is_possible:
            continue
        month = months.get((day.date.year, day.date.month))
        if month is None:
            months[day.date.year, day.date.month] = Month(
                day, day, day.highest, day.lowest, day.volume
            )
        elif day.date != month.last.date:
            month.add(day)
    return months


def record_of(symbol: Symbol, month: str, data: Month) -> Item:
    item = Item(
        {
            "symbol": {"S": symbol},
            "month": {"S": month},
            "open": {"N": f"{data.first.opened:.2f}"},
            "close": {"N": f"{data.last.closed:.2f}"},
            "high": {"N": f"{data.highest:.2f}"},
            "low": {"N": f"{data.lowest:.2f}"},
            "trend": {"S": data.trend},
            "until": {"S": data.last.date.isoformat()},
        }
    )
    if data.volume > 0:
        item["volume"] = {"N": str(data.volume)}
    if data.splits:
        item["splits"] = {"N": str(data.splits)}
    return item


def is_news(item: Item) -> bool:
    """Unless we know more of that month."""
    known = get_item(HISTORY, {"symbol": text(item, "symbol"), "month": text(item, "month")})
    return known is None or text(known, "until") < text(item, "until")
