"""The seven functions in ``lambdas``, each called in a world that is made for it.

A world is what may be there, whatever the function makes of it: a bucket with files of all kinds
under names of all kinds, tables with items, and an event about some of the files.
"""

from __future__ import annotations

import datetime
import gzip
from collections.abc import Callable, Mapping
from decimal import Decimal

from fuzztui.aws import Aws, Table, World
from fuzztui.generators import (
    Csv,
    S3Object,
    Source,
    gen_csv,
    gen_date,
    gen_item,
    gen_json,
    gen_number,
    gen_png,
    gen_ppm,
    gen_s3_event,
    gen_s3_object,
    gen_text,
    gen_word,
    gen_xml,
    gen_zip,
    generator,
)

# isort: split
# AWS is mocked by now: the application makes its clients when it is imported.
from lambdas import csvload, grades, match, survey, thumbnail, ticker, unzip

# ---- the application's buckets and tables, and how it is called

PHOTOGRAPHS = Aws(buckets=["incoming", thumbnail.THUMBNAILS])
ARCHIVES = Aws(buckets=["incoming", unzip.UNPACKED])
EXPORTS = Aws(
    buckets=["incoming", csvload.REJECTED],
    tables=[
        Table("loads", {"table": "S"}),
        Table("customers", {"id": "S"}),
        Table("products", {"sku": "S"}),
        Table("orders", {"id": "S"}),
    ],
)
GRADES = Aws(buckets=["incoming"], tables=[Table("averages", {"student": "S", "sheet": "S"})])
SHARES = Aws(buckets=["incoming"], tables=[Table("history", {"symbol": "S", "month": "S"})])
CUSTOMERS = Aws(buckets=["incoming"], tables=[Table("customers", {"customer": "S"})])
SURVEYS = Aws(
    buckets=["incoming"],
    tables=[Table("surveys", {"survey": "S"}), Table("answers", {"survey": "S", "user": "S"})],
)


def make_thumbnail(world: World) -> object:
    PHOTOGRAPHS.populate(world)
    return thumbnail.handler(world.event, None)


def unpack(world: World) -> object:
    ARCHIVES.populate(world)
    return unzip.handler(world.event, None)


def load_csv(world: World) -> object:
    EXPORTS.populate(world)
    return csvload.handler(world.event, None)


def average_grades(world: World) -> object:
    GRADES.populate(world)
    return grades.handler(world.event, None)


def take_history(world: World) -> object:
    SHARES.populate(world)
    return ticker.handler(world.event, None)


def match_item(world: World) -> object:
    CUSTOMERS.populate(world)
    return match.handler(world.event, None)


def take_survey(world: World) -> object:
    SURVEYS.populate(world)
    return survey.handler(world.event, None)


# ---- names


class Key(str):
    """An object's key: a type of its own, so that it can be aimed at."""

    __slots__ = ()


@generator
def gen_part(r: Source) -> str:
    """A word, or now and then a date, as people put them into names."""
    if r.below(4):
        return gen_word(r)
    return gen_date(r).isoformat().replace("-", r.choose(["", "-"]))


@generator
def gen_key(r: Source, suffix: str) -> Key:
    folders = [gen_part(r) for _ in r.more(0, 3, continues=0.5)]
    name = r.choose("_-. ").join(gen_part(r) for _ in r.more(1, 3, continues=0.5))
    return Key("/".join([*folders, name + suffix]))


@generator
def gen_export_key(r: Source, suffix: str) -> Key:
    """``orders_20240501_full.zip``: which table, of what day, and how much of it."""
    table, day, part = gen_word(r), gen_date(r).isoformat().replace("-", ""), gen_word(r)
    return Key(f"{table}_{day}_{part}{suffix}")


# ---- files


Column = Callable[[Source], str]


def day(r: Source) -> str:
    return gen_date(r).isoformat()


@generator
def gen_price(r: Source) -> Decimal:
    return Decimal(f"{r.integer(1, 1000)}.{r.below(100):02}")


@generator(Decimal)
def gen_amount(r: Source) -> str:
    """One that somebody has typed."""
    return gen_number(r)


@generator(Decimal)
def gen_points(r: Source) -> str:
    """Up to 100, or a share of them."""
    return f"{r.integer(0, 100)}{r.weighted([(12, ''), (2, '.5'), (2, '%')])}"


def price(r: Source) -> str:
    return str(gen_price(r))


def volume(r: Source) -> str:
    return str(r.integer(0, 1_000_000))


def now_and_then(column: Column) -> Column:
    """Some cells are left empty, or have a word in them that says why."""
    return lambda r: column(r) if r.below(12) else r.choose(["", gen_word(r)])


def encoded(make: Callable[[Source], str]) -> Callable[[Source], bytes]:
    return lambda r: make(r).encode()


def zipped(make: Callable[[Source], bytes]) -> Callable[[Source], bytes]:
    return lambda r: gen_zip(r, content=make)


def gzipped(make: Callable[[Source], bytes]) -> Callable[[Source], bytes]:
    return lambda r: gzip.compress(make(r), 1, mtime=0)


Kind = tuple[str, Callable[[Source], bytes]]

KINDS: Mapping[str, Kind] = {
    ".png": ("image/png", lambda r: gen_png(r, most=40)),
    ".ppm": ("image/x-portable-pixmap", lambda r: gen_ppm(r, most=40)),
    ".zip": ("application/zip", gen_zip),
    ".csv": ("text/csv", encoded(gen_csv)),
    ".csv.gz": ("application/gzip", gzipped(encoded(gen_csv))),
    ".json": ("application/json", encoded(gen_json)),
    ".xml": ("application/xml", encoded(gen_xml)),
    ".txt": ("text/plain", encoded(gen_text)),
}
"""By suffix: the type and what is in it."""


def gen_file(
    r: Source, kinds: Mapping[str, Kind], key: Callable[[Source, str], Key] = gen_key
) -> S3Object:
    suffix = r.choose(list(kinds))
    content_type, body = kinds[suffix]
    return gen_s3_object(
        r,
        bucket="incoming",
        key=lambda r: key(r, suffix),
        body=body,
        content_types=[content_type],
    )


# ---- worlds


@generator
def gen_world(
    r: Source,
    wanted: Mapping[str, Kind],
    tables: Mapping[str, Table] | None = None,
    key: Callable[[Source, str], Key] = gen_key,
) -> World:
    """Half of the files are of those ``wanted``, under such a ``key``; now and then the last one
    is deleted already.
    """
    objects = [
        gen_file(r, wanted, key) if r.boolean() else gen_file(r, KINDS)
        for _ in r.more(1, 4, continues=0.4)
    ]
    event = gen_s3_event(r, objects, most=2)
    if r.below(16) == 0:
        objects.pop()
    items = {
        table.name: [gen_item(r, keys=table.keys) for _ in r.more(0, 4, continues=0.6)]
        for table in (tables or {}).values()
    }
    return World(event, objects, items)


def only(*suffixes: str) -> Mapping[str, Kind]:
    return {suffix: KINDS[suffix] for suffix in suffixes}


def gen_photographs(r: Source) -> World:
    return gen_world(r, only(".png", ".ppm"))


def gen_archives(r: Source) -> World:
    return gen_world(r, only(".zip"))


@generator
def gen_export(r: Source) -> Csv:
    schema = r.choose(list(csvload.SCHEMAS.values()))
    columns: dict[str, Column] = dict.fromkeys(schema.required, gen_word)
    columns |= dict.fromkeys(schema.numbers, gen_amount)
    columns |= dict.fromkeys(schema.dates, now_and_then(day))
    return gen_csv(r, columns=columns | {"remark": lambda r: gen_text(r, most=3)}, rows=12)


def gen_exports(r: Source) -> World:
    wanted = {
        ".csv.gz": ("application/gzip", gzipped(encoded(gen_export))),
        ".zip": ("application/zip", zipped(encoded(gen_export))),
    }
    return gen_world(r, wanted, EXPORTS.tables, gen_export_key)


@generator
def gen_sheet(r: Source) -> Csv:
    """The grades of a few students."""
    students = [gen_word(r) for _ in r.more(1, 4)]
    columns: dict[str, Column] = {
        "student": lambda r: r.choose(students),
        "exam": gen_word,
        "points": now_and_then(gen_points),
    }
    return gen_csv(r, columns=columns, rows=12)


def gen_grades(r: Source) -> World:
    return gen_world(r, {".csv": ("text/csv", encoded(gen_sheet))}, GRADES.tables)


@generator
def gen_following(r: Source, before: datetime.date) -> datetime.date:
    """A few days later."""
    days = before.toordinal() + r.integer(1, 4)
    return datetime.date.fromordinal(min(days, datetime.date.max.toordinal()))


@generator
def gen_history(r: Source) -> Csv:
    """Prices by day, in order."""
    last = gen_date(r)

    def following(r: Source) -> str:
        nonlocal last
        last = gen_following(r, last)
        return last.isoformat()

    columns: dict[str, Column] = {"date": following}
    columns |= dict.fromkeys(["open", "high", "low", "close"], price)
    return gen_csv(r, columns=columns | {"volume": volume}, rows=12)


def gen_histories(r: Source) -> World:
    return gen_world(r, {".csv": ("text/csv", encoded(gen_history))}, SHARES.tables)


def gen_uploads(r: Source) -> World:
    return gen_world(r, KINDS, CUSTOMERS.tables)


def gen_surveys(r: Source) -> World:
    return gen_world(r, only(".json"), SURVEYS.tables)
