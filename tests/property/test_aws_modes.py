"""A world that is put into moto's storage reads like one that was made by calls."""

from __future__ import annotations

import datetime
import functools
import warnings
from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from hypothesis import example, given
from hypothesis import strategies as st

from fuzztui.aws import Aws, Table, World
from fuzztui.generators import Item, S3Event, S3Object

BUCKETS = ["incoming", "outgoing"]
TABLES = [Table("plain", {"id": "S"}), Table("sorted", {"n": "N", "part": "S"}),
          Table("binary", {"raw": "B"})]  # fmt: skip
KEYS = {table.name: table.keys for table in TABLES}

words = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=8)
keys = st.one_of(
    words,
    st.text(max_size=12),
    st.text("ab/ +%?#&=.~'\"<>\\", min_size=1, max_size=12),
    st.sampled_from(["", "/", "a//b", ".", "..", "a/../b", "?acl", "x" * 1024, "é" * 600, "\r\n"]),
)
objects = st.builds(
    S3Object,
    st.sampled_from(BUCKETS),
    keys,
    st.binary(max_size=50),
    st.one_of(st.sampled_from(["text/csv", "", "*/*", "image/png; a=1"]), st.text(max_size=5)),
    st.datetimes(timezones=st.one_of(st.none(), st.just(datetime.UTC), st.builds(
        lambda m: datetime.timezone(datetime.timedelta(minutes=m)), st.integers(-1439, 1439)))),
    st.dictionaries(st.one_of(words, st.text(max_size=4)), st.text(max_size=5) | words, max_size=3),
)  # fmt: skip
numbers = st.one_of(
    st.integers(-1000, 1000).map(str),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.sampled_from(["1e125", "1E126", "-0", "007", "1_0", "٣", "", "NaN", "0.1e-129", "1" * 39]),
)
flat = st.one_of(
    st.builds(lambda s: {"S": s}, st.text(max_size=5)),
    st.builds(lambda n: {"N": n}, numbers),
    st.builds(lambda b: {"B": b}, st.binary(max_size=4)),
    st.builds(lambda b: {"BOOL": b}, st.booleans()),
    st.just({"NULL": True}),
    st.builds(lambda v: {"SS": v}, st.lists(words, max_size=3)),
    st.builds(lambda v: {"NS": v}, st.lists(numbers, max_size=3)),
)
values = st.recursive(
    flat,
    lambda inner: st.one_of(
        st.builds(lambda v: {"L": v}, st.lists(inner, max_size=3)),
        st.builds(lambda v: {"M": v}, st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    ),
    max_leaves=4,
)


def items_of(table: Table) -> st.SearchStrategy[Item]:
    fitting = {"S": words, "N": st.integers(-9, 9).map(str), "B": st.binary(max_size=3)}
    good = st.fixed_dictionaries({k: st.builds(lambda v, kind=kind: {kind: v}, fitting[kind])
                                  for k, kind in table.keys.items()})  # fmt: skip
    more = st.dictionaries(st.sampled_from([*table.keys, "a", "b c", "", "#"]), values, max_size=3)
    return st.builds(
        lambda a, b, c: Item({**a, **b} if c else {**b, **a}), good, more, st.booleans()
    )


worlds = st.builds(
    World,
    st.just(S3Event({"Records": []})),
    st.lists(objects, max_size=4),
    st.fixed_dictionaries({t.name: st.lists(items_of(t), max_size=3) for t in TABLES}),
)


@functools.cache
def clients() -> tuple[Any, Any]:
    return boto3.client("s3"), boto3.client("dynamodb")


@functools.cache
def aws(mode: Any) -> Aws:
    return Aws(buckets=BUCKETS, tables=TABLES, mode=mode)


def said(call: Callable[[], Any]) -> Any:
    try:
        answer = call()
    except ClientError as e:
        return e.response["Error"]
    headers = answer["ResponseMetadata"].pop("HTTPHeaders")
    headers.pop("x-amz-content-sha256", None)  # moto hands out what the writer's request had
    if "Body" in answer:
        answer["Body"] = answer["Body"].read()
    return answer, headers


def read(world: World) -> list[Any]:
    """All that there is, and the answers about what may not be."""
    s3, dynamodb = clients()
    found = [said(s3.list_buckets)]
    for bucket in BUCKETS:
        found.append(said(lambda b=bucket: s3.list_objects_v2(Bucket=b)))
        found.append(said(lambda b=bucket: s3.list_object_versions(Bucket=b)))
        found.append(said(lambda b=bucket: s3.list_multipart_uploads(Bucket=b)))
        found.append(said(lambda b=bucket: s3.get_bucket_policy(Bucket=b)))
    for thing in world.objects:
        if thing.key and thing.key.isprintable():
            where = {"Bucket": thing.bucket, "Key": thing.key}
            found.append(said(lambda w=where: s3.get_object(**w)))
            found.append(said(lambda w=where: s3.head_object(**w)))
            found.append(said(lambda w=where: s3.get_object_acl(**w)))
            found.append(said(lambda w=where: s3.get_object_tagging(**w)))
    found.append(said(dynamodb.list_tables))
    for table in TABLES:
        name = {"TableName": table.name}
        found.append(said(lambda n=name: dynamodb.describe_table(**n)))
        scanned = said(lambda n=name: dynamodb.scan(**n))
        found.append(scanned)
        for item in scanned[0]["Items"]:
            key = {k: item[k] for k in table.keys}
            found.append(said(lambda n=name, k=key: dynamodb.get_item(**n, Key=k)))
            first = next(iter(table.keys))
            found.append(said(lambda n=name, i=item, f=first: dynamodb.query(
                **n, KeyConditionExpression="#k = :k", ExpressionAttributeNames={"#k": f},
                ExpressionAttributeValues={":k": i[f]})))  # fmt: skip
    return found


TWICE = Item({"id": {"S": "a"}})


@pytest.mark.slow
@given(worlds)
@example(
    World(
        S3Event({}),
        [],
        {"plain": [Item({"id": {"S": "a"}}), Item({"id": {"S": "a"}, "b": {"N": "1"}})]},
    )
)
def test_both_modes_read_alike(world: World) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ResourceWarning)  # what other tests left may be freed here
        aws("faithful").populate(world)
        faithful = read(world)
        aws("fast").populate(world)
        assert read(world) == faithful
        aws("faithful").populate(world)
        assert read(world) == faithful


def left_behind() -> None:
    """What a handler may do to its world."""
    s3, dynamodb = clients()
    s3.put_object(Bucket="incoming", Key="mine", Body=b"x" * 100)
    s3.create_bucket(Bucket="another")
    s3.create_multipart_upload(Bucket="outgoing", Key="parts")
    s3.put_bucket_policy(Bucket="outgoing", Policy='{"Statement": []}')
    s3.put_bucket_versioning(Bucket="outgoing", VersioningConfiguration={"Status": "Enabled"})
    s3.put_object(Bucket="outgoing", Key="versioned", Body=b"1")
    s3.put_object(Bucket="outgoing", Key="versioned", Body=b"2")
    tags = {"TagSet": [{"Key": "a", "Value": "b"}]}
    s3.put_object_tagging(Bucket="incoming", Key="mine", Tagging=tags)
    dynamodb.delete_table(TableName="plain")
    dynamodb.put_item(TableName="sorted", Item={"n": {"N": "1"}, "part": {"S": "p"}})
    dynamodb.create_table(**Table("other", {"k": "S"}).request())
    elsewhere = boto3.client("dynamodb", region_name="eu-west-1")
    elsewhere.create_table(**Table("far", {"k": "S"}).request())


@pytest.mark.parametrize("mode", ["fast", "faithful"])
def test_nothing_is_left_of_what_a_handler_did(mode: str) -> None:
    thing = S3Object("incoming", "a", b"1", "text/plain", datetime.datetime(2008, 7, 1), {"A": "b"})
    world = World(S3Event({"Records": []}), [thing], {"plain": [Item({"id": {"S": "x"}})]})
    aws(mode).populate(world)
    before = read(world)
    for _ in range(3):
        left_behind()
        aws(mode).populate(world)
        assert read(world) == before
        elsewhere = boto3.client("dynamodb", region_name="eu-west-1")
        assert elsewhere.list_tables()["TableNames"] == []
        assert clients()[0].list_objects_v2(Bucket="incoming")["Contents"][0]["LastModified"] == (
            datetime.datetime(2008, 7, 1, tzinfo=datetime.UTC)
        )
