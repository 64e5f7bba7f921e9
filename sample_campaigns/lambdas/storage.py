"""What the functions need of S3 and DynamoDB, with types, which boto3 has none of."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NewType, Protocol, TypedDict, cast

import boto3
from botocore.exceptions import ClientError

Item = NewType("Item", dict[str, dict[str, Any]])
"""A DynamoDB item: ``{"id": {"S": "..."}, "count": {"N": "3"}}``."""

BATCH = 25
"""BatchWriteItem takes so many at a time."""


class StreamingBody(Protocol):
    def read(self, amt: int | None = None) -> bytes: ...


class GotObject(TypedDict):
    Body: StreamingBody
    ContentType: str
    ContentLength: int
    LastModified: datetime.datetime
    ETag: str
    Metadata: dict[str, str]


class S3(Protocol):
    def get_object(self, *, Bucket: str, Key: str) -> GotObject: ...  # noqa: N803
    def put_object(
        self,
        *,
        Bucket: str,  # noqa: N803
        Key: str,  # noqa: N803
        Body: bytes,  # noqa: N803
        ContentType: str = ...,  # noqa: N803
        Metadata: Mapping[str, str] = ...,  # noqa: N803
    ) -> object: ...
    def delete_object(self, *, Bucket: str, Key: str) -> object: ...  # noqa: N803


class GotItem(TypedDict, total=False):
    Item: Item


class DynamoDB(Protocol):
    def get_item(self, **request: Any) -> GotItem: ...
    def put_item(self, **request: Any) -> dict[str, Any]: ...
    def update_item(self, **request: Any) -> dict[str, Any]: ...
    def batch_write_item(self, **request: Any) -> dict[str, Any]: ...
    def query(self, **request: Any) -> dict[str, Any]: ...


s3 = cast(S3, boto3.client("s3"))
dynamodb = cast(DynamoDB, boto3.client("dynamodb"))


@dataclass(frozen=True)
class StoredObject:
    bucket: str
    key: str
    body: bytes
    content_type: str
    last_modified: datetime.datetime
    metadata: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.key.rsplit("/", 1)[-1]

    @property
    def suffix(self) -> str:
        """In lower case, without the dot; "" if there is none."""
        stem, dot, suffix = self.name.rpartition(".")
        return suffix.lower() if dot and stem else ""


def fetch(bucket: str, key: str) -> StoredObject | None:
    """The object, or None if there is none; other errors of S3 are raised."""
    try:
        got = s3.get_object(Bucket=bucket, Key=key)
    except ClientError as e:
        if e.response["Error"]["Code"] in ("NoSuchKey", "404"):
            return None
        raise
    return StoredObject(
        bucket, key, got["Body"].read(), got["ContentType"], got["LastModified"], got["Metadata"]
    )


def store(
    bucket: str,
    key: str,
    body: bytes,
    content_type: str,
    metadata: Mapping[str, str] | None = None,
) -> None:
    s3.put_object(
        Bucket=bucket, Key=key, Body=body, ContentType=content_type, Metadata=metadata or {}
    )


def delete(bucket: str, key: str) -> None:
    s3.delete_object(Bucket=bucket, Key=key)


def get_item(table: str, key: Mapping[str, str]) -> Item | None:
    """The item with this key, whose attributes are all strings."""
    answer = dynamodb.get_item(
        TableName=table, Key={name: {"S": value} for name, value in key.items()}
    )
    return answer.get("Item")


def put_item(table: str, item: Item) -> None:
    dynamodb.put_item(TableName=table, Item=item)


def write_items(table: str, items: Sequence[Item]) -> int:
    """In batches; how many requests that took."""
    requests = 0
    for batch in batches(items):
        left: list[dict[str, Any]] = [{"PutRequest": {"Item": item}} for item in batch]
        while left:
            answer = dynamodb.batch_write_item(RequestItems={table: left})
            left = answer.get("UnprocessedItems", {}).get(table, [])
            requests += 1
    return requests


def batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    for at in range(0, len(items), BATCH):
        yield items[at : at + BATCH]


def text(item: Item, name: str) -> str:
    """An attribute that is a string; "" if it is missing or something else."""
    return str(item.get(name, {}).get("S", ""))


def number(item: Item, name: str) -> Decimal | None:
    value = item.get(name, {}).get("N")
    return None if value is None else Decimal(value)
