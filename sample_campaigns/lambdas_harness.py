"""The seven functions in ``lambdas``, each called in a world that is made for it.

A world is what may be there, whatever the function makes of it: a bucket with files of all kinds
under names of all kinds, tables with items, and an event about some of the files.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping, Sequence

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


# ---- files


@generator
def gen_cell(r: Source) -> str:
    kind = r.below(8)
    if kind < 4:
        return gen_number(r)
    if kind < 6:
        return gen_date(r).isoformat()
    return gen_word(r) if kind == 6 else gen_text(r, most=3)


def gen_table(columns: Sequence[str] = ()) -> Callable[[Source], Csv]:
    return lambda r: gen_csv(r, columns=columns, cell=gen_cell, rows=12)


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
    ".csv": ("text/csv", encoded(gen_table())),
    ".csv.gz": ("application/gzip", gzipped(encoded(gen_table()))),
    ".json": ("application/json", encoded(gen_json)),
    ".xml": ("application/xml", encoded(gen_xml)),
    ".txt": ("text/plain", encoded(gen_text)),
}
"""By suffix: the type and what is in it."""


def gen_file(r: Source, kinds: Mapping[str, Kind]) -> S3Object:
    suffix = r.choose(list(kinds))
    content_type, body = kinds[suffix]
    return gen_s3_object(
        r,
        bucket="incoming",
        key=lambda r: gen_key(r, suffix),
        body=body,
        content_types=[content_type],
    )


# ---- worlds


@generator
def gen_world(
    r: Source, wanted: Mapping[str, Kind], tables: Mapping[str, Table] | None = None
) -> World:
    """Half of the files are of those ``wanted``. Now and then the last one is deleted already."""
    objects = [gen_file(r, wanted if r.boolean() else KINDS) for _ in r.more(1, 4, continues=0.4)]
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
    columns = dict.fromkeys([*schema.required, *schema.numbers, *schema.dates, "remark"])
    return gen_table(list(columns))(r)


def gen_exports(r: Source) -> World:
    wanted = {
        ".csv.gz": ("application/gzip", gzipped(encoded(gen_export))),
        ".zip": ("application/zip", zipped(encoded(gen_export))),
    }
    return gen_world(r, wanted, EXPORTS.tables)


def gen_grades(r: Source) -> World:
    sheet = encoded(gen_table(["student", "exam", "points"]))
    return gen_world(r, {".csv": ("text/csv", sheet)}, GRADES.tables)


def gen_histories(r: Source) -> World:
    history = encoded(gen_table(["date", "open", "high", "low", "close", "volume"]))
    return gen_world(r, {".csv": ("text/csv", history)}, SHARES.tables)


def gen_uploads(r: Source) -> World:
    return gen_world(r, KINDS, CUSTOMERS.tables)


def gen_surveys(r: Source) -> World:
    return gen_world(r, only(".json"), SURVEYS.tables)
