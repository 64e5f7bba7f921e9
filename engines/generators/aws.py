"""Generators of S3 objects, S3 events and DynamoDB items: plain objects, without AWS's
libraries.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NewType
from urllib.parse import quote_plus

from fuzztui.engines.generators.scope import generator
from fuzztui.engines.generators.text import (
    ERRONEOUS,
    gen_date,
    gen_datetime,
    gen_number,
    gen_path,
    gen_text,
    gen_word,
    mistake,
)
from fuzztui.engines.inputs.source import Source

Item = NewType("Item", dict[str, Any])
"""A DynamoDB item in its JSON form: ``{"name": {"S": "..."}, "grade": {"N": "1.5"}}``."""

S3Event = NewType("S3Event", dict[str, Any])
"""The event with which a Lambda function is called when objects of a bucket change."""

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_LAST: Final = datetime.datetime(9999, 12, 31, tzinfo=datetime.UTC)


@dataclass(frozen=True, slots=True)
class S3Object:
    """An object in a bucket."""

    bucket: str
    key: str
    body: bytes
    content_type: str
    last_modified: datetime.datetime
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def stored_at(self) -> datetime.datetime:
        """``last_modified`` as S3 reports it: UTC (also naive times), whole seconds, from
        1970 on.
        """
        when = self.last_modified
        if when.tzinfo is None:
            when = when.replace(tzinfo=datetime.UTC)
        try:
            when = when.astimezone(datetime.UTC)
        except OverflowError:  # the time is in the year 1 or 9999
            when = _EPOCH if when.year == 1 else _LAST
        return max(_EPOCH, when.replace(microsecond=0, fold=0))


@dataclass(frozen=True, slots=True)
class World:
    """The content of AWS when a function is called, and the event with which it is called."""

    event: S3Event
    objects: Sequence[S3Object] = ()
    items: Mapping[str, Sequence[Item]] = field(default_factory=dict)
    """Items by name of the table."""


def _text(r: Source) -> bytes:
    return gen_text(r).encode()


@generator
def gen_s3_object(
    r: Source,
    *,
    bucket: str = "bucket",
    body: Callable[[Source], bytes] = _text,
    key: Callable[[Source], str] | None = None,
    content_types: Sequence[str] = ("text/plain", "image/png", "application/zip", "text/csv"),
    erroneous: float = ERRONEOUS,
) -> S3Object:
    """An object with content from ``body`` and a key from ``key`` (default: a path)."""
    name = key(r) if key is not None else str(gen_path(r)).lstrip("/")
    content_type = r.choose(content_types)
    metadata = {gen_word(r): _metadata_value(r) for _ in r.more(0, 3, continues=0.4)}
    if mistake(r, erroneous):
        content_type = r.choose(["", "*/*", "text", "application/x-unknown"])
    return S3Object(bucket, name, body(r), content_type, gen_datetime(r), metadata)


@generator
def _metadata_value(r: Source) -> str:
    kind = r.below(4)
    if kind == 0:
        return gen_date(r).isoformat()
    return gen_number(r, erroneous=0) if kind == 1 else gen_text(r, most=3 - kind, erroneous=0)


@generator(S3Event)
def gen_s3_event(r: Source, objects: Sequence[S3Object], *, most: int = 3) -> S3Event:
    """An event about some of the ``objects``; about a new object if the sequence is empty."""
    records = [_record(r, r.choose(objects) if objects else gen_s3_object(r))]
    records += [_record(r, r.choose(objects)) for _ in r.more(0, most - 1 if objects else 0)]
    return S3Event({"Records": records})


@generator
def _record(r: Source, thing: S3Object) -> dict[str, Any]:
    name = r.choose(["ObjectCreated:Put", "ObjectCreated:Copy", "ObjectRemoved:Delete"])
    about: dict[str, Any] = {"key": quote_plus(thing.key, safe="/", errors="replace")}
    if name.startswith("ObjectCreated:"):  # events about removed objects do not have these
        about["size"] = len(thing.body)
        about["eTag"] = hashlib.md5(thing.body, usedforsecurity=False).hexdigest()
    return {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "awsRegion": "us-east-1",
        "eventTime": thing.stored_at.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        "eventName": name,
        "s3": {
            "s3SchemaVersion": "1.0",
            "bucket": {"name": thing.bucket, "arn": f"arn:aws:s3:::{thing.bucket}"},
            "object": about,
        },
    }


@generator(Item)
def gen_item(
    r: Source,
    *,
    keys: Mapping[str, str] | None = None,
    most: int = 5,
    depth: int = 1,
    erroneous: float = ERRONEOUS,
) -> Item:
    """An item. ``keys``: attributes of every item and their types: ``{"id": "S", "n": "N"}``.

    ``depth``: nesting of lists and maps. A mistake: an attribute is missing or of another type.
    """
    item = {name: _key(r, kind) for name, kind in (keys or {"id": "S"}).items()}
    for _ in r.more(0, most):
        item[gen_word(r)] = _attribute(r, r.choose(_KINDS if depth else _FLAT), depth)
    if mistake(r, erroneous):
        name = r.choose(list(item))
        if r.boolean():
            del item[name]
        else:
            item[name] = _attribute(r, r.choose(_FLAT), 0)
    return Item(item)


@generator
def _key(r: Source, kind: str) -> dict[str, Any]:
    if kind == "B":
        return {"B": r.bytes(r.integer(1, 8))}
    if kind == "N":
        return {"N": gen_number(r, erroneous=0)}
    return {"S": r.choose("- _/").join(gen_word(r) for _ in r.more(1, 3, continues=0.25))}


_FLAT = ("S", "N", "BOOL", "NULL", "SS", "NS")
_KINDS = (*_FLAT, "L", "M")


@generator
def _attribute(r: Source, kind: str, depth: int) -> dict[str, Any]:
    if kind == "N":
        return {"N": gen_number(r, erroneous=0)}
    if kind == "BOOL":
        return {"BOOL": r.boolean()}
    if kind == "NULL":
        return {"NULL": True}
    if kind in ("SS", "NS"):
        one = gen_word if kind == "SS" else _whole
        return {kind: list(dict.fromkeys(one(r) for _ in r.more(1, 4)))}
    if kind in ("L", "M") and depth > 0:
        inner = [_attribute(r, r.choose(_FLAT), depth - 1) for _ in r.more(0, 4)]
        return {"L": inner} if kind == "L" else {"M": {gen_word(r): value for value in inner}}
    return {"S": gen_text(r, most=4)}


@generator
def _whole(r: Source) -> str:
    return str(r.integer(-1000, 1000))
