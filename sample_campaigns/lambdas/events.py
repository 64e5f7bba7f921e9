"""The events that S3 sends."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

CREATED = "ObjectCreated:"


@dataclass(frozen=True)
class Record:
    """One thing that happened to one object."""

    name: str
    time: datetime.datetime
    bucket: str
    key: str
    size: int

    @property
    def created(self) -> bool:
        return self.name.startswith(CREATED)


def records(event: dict[str, Any]) -> Iterator[Record]:
    """Those of S3; a test event of the console has none."""
    for record in event.get("Records", []):
        if record.get("eventSource") != "aws:s3":
            continue
        thing = record["s3"]["object"]
        yield Record(
            record["eventName"],
            datetime.datetime.fromisoformat(record["eventTime"]),
            record["s3"]["bucket"]["name"],
            unquote_plus(thing["key"]),
            int(thing.get("size", 0)),
        )
