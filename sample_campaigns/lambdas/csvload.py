"""Loads tables that a shop's other systems export, compressed CSV, into DynamoDB.

The names say what is in them: ``customers_20240501_full.csv.gz``, or ``..._delta.zip``.
"""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

from lambdas.events import Record, records
from lambdas.storage import Item, StoredObject, fetch, get_item, put_item, store, text, write_items

LOADS = "loads"
REJECTED = "rejected"
MAX_ROWS = 2000
LARGEST = 1 << 20


class BadExport(Exception):
    """The file is not what its name promises."""


@dataclass(frozen=True)
class Schema:
    key: str
    required: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()


SCHEMAS = {
    "customers": Schema("id", ("id", "name", "country"), dates=("since",)),
    "products": Schema("sku", ("sku", "price"), numbers=("price", "stock")),
    "orders": Schema("id", ("id", "customer", "total"), ("total",), ("placed", "shipped")),
}


@dataclass(frozen=True)
class Export:
    """What a name says."""

    table: str
    day: datetime.date
    is_full: bool
    packed: str


@dataclass
class Loaded:
    rows: int = 0
    requests: int = 0
    rejected: list[str] = field(default_factory=list)


def handler(event: dict[str, object], context: object) -> list[Loaded]:
    return [load(record) for record in records(event) if record.created]


def load(record: Record) -> Loaded:
    result = Loaded()
    export = named(record.key)
    if export is None:
        return result
    before = last_load(export)
    if before is not None and export.day <= before:
        return result  # delivered twice, or out of order
    if before is None and not export.is_full:
        raise BadExport(f"{record.key}: a delta, and nothing was loaded before")
    stored = fetch(record.bucket, record.key)
    if stored is None:
        return result
    schema = SCHEMAS[export.table]
    items: dict[str, Item] = {}
    for number, row in enumerate(rows(unpacked(stored, export), schema), 2):
        if number > MAX_ROWS:
            raise BadExport(f"{record.key}: more than {MAX_ROWS} rows")
        try:
            item = converted(row, schema)
        except ValueError as e:
            result.rejected.append(f"{number},{e}")
        else:
            items[text(item, schema.key)] = item  # the last one of a key counts
    if result.rejected and len(result.rejected) > len(items):
        raise BadExport(f"{record.key}: {len(result.rejected)} rows are wrong")
    result.rows = len(items)
    result.requests = write_items(export.table, list(items.values()))
    if result.rejected:
        body = "\n".join(["line,reason", *result.rejected]).encode("utf-8", "replace")
        store(REJECTED, f"{stored.name}.rejected.csv", body, "text/csv")
    remember(export, result)
    return result


def named(key: str) -> Export | None:
    stem, _, packed = key.rsplit("/", 1)[-1].rpartition(".")
    if packed not in ("gz", "zip"):
        return None
    parts = stem.removesuffix(".csv").split("_")
    if len(parts) != 3:
        return None
    table, day, kind = parts
    if table not in SCHEMAS or kind not in ("full", "delta"):
        return None
    try:
        date = datetime.datetime.strptime(day, "%Y%m%d").date()
    except ValueError:
        return None
    return Export(table, date, kind == "full", packed)


def last_load(export: Export) -> datetime.date | None:
    item = get_item(LOADS, {"table": export.table})
    if item is None:
        return None
    try:
        return datetime.date.fromisoformat(text(item, "day"))
    except ValueError:
        return None


def remember(export: Export, result: Loaded) -> None:
    item = Item(
        {
            "table": {"S": export.table},
            "day": {"S": export.day.isoformat()},
            "rows": {"N": str(result.rows)},
            "full": {"BOOL": export.is_full},
        }
    )
    put_item(LOADS, item)


def unpacked(stored: StoredObject, export: Export) -> str:
    try:
        if export.packed == "gz":
            with gzip.GzipFile(fileobj=io.BytesIO(stored.body)) as stream:
                body = stream.read(LARGEST + 1)
        else:
            with zipfile.ZipFile(io.BytesIO(stored.body)) as archive:
                tables = [i for i in archive.infolist() if i.filename.lower().endswith(".csv")]
                if len(tables) != 1:
                    raise BadExport(f"{stored.key}: {len(tables)} tables in the archive")
                with archive.open(tables[0]) as member:
                    body = member.read(LARGEST + 1)
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as e:
        raise BadExport(f"{stored.key}: {e}") from e
    if len(body) > LARGEST:
        raise BadExport(f"{stored.key}: too large")
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")  # the old till


def rows(table: str, schema: Schema) -> Iterator[dict[str, str]]:
    reader = csv.DictReader(io.StringIO(table), strict=True)
    missing = set(schema.required) - set(reader.fieldnames or ())
    if missing:
        raise BadExport(f"no column {', '.join(sorted(missing))}")
    try:
        for row in reader:
            if None in row or None in row.values():
                raise BadExport(f"line {reader.line_num} has another number of columns")
            yield row
    except csv.Error as e:
        raise BadExport(f"line {reader.line_num}: {e}") from e


def converted(row: dict[str, str], schema: Schema) -> Item:
    """The row as an item; what is empty is left out. Raises ValueError."""
    item: Item = Item({})
    for name, value in row.items():
        if not name:
            continue
        if not value.strip():
            if name in schema.required:
                raise ValueError(f"no {name}")
        elif name in schema.numbers:
            try:
                amount = Decimal(value)
            except InvalidOperation:
                raise ValueError(f"{name} is no number") from None
            if not amount.is_finite() or abs(amount) > 10**12:
                raise ValueError(f"{name} is out of range")
            item[name] = {"N": f"{amount:.2f}"}
        elif name in schema.dates:
            item[name] = {"S": datetime.date.fromisoformat(value).isoformat()}
        else:
            item[name] = {"S": value.strip()}
    return item
