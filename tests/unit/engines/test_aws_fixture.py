"""AWS by moto: what is there, what is left out, what is refused, and that nothing gets out."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import urllib.request
import warnings
from pathlib import Path

import boto3
import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.aws import Aws, NotMocked, Table, World
from fuzztui.engines.core.source import Source
from fuzztui.engines.fixtures.storable import storable_item, storable_object
from fuzztui.generators import (
    Item,
    S3Event,
    S3Object,
    gen_item,
    gen_s3_event,
    gen_s3_object,
    gen_zip,
)

NOTHING = S3Event({"Records": []})
WHEN = datetime.datetime(2008, 7, 1, 12, 0, 0, 999)


def thing(**other: object) -> S3Object:
    given = {"bucket": "incoming", "key": "a", "body": b"1", "content_type": "text/plain",
             "last_modified": WHEN, **other}  # fmt: skip
    return S3Object(**given)  # type: ignore[arg-type]


def source(data: bytes) -> Source:
    return Source(data, 1 << 16, bytes)


@pytest.mark.slow
def test_what_is_there() -> None:
    aws = Aws(buckets=["incoming"], tables=[Table("t", {"id": "S", "n": "N"})])
    item = Item({"id": {"S": "x"}, "n": {"N": "1"}, "of": {"L": [{"BOOL": True}]}})
    aws.populate(World(NOTHING, [thing(metadata={"Taken": "2001"})], {"t": [item]}))
    got = boto3.client("s3").get_object(Bucket="incoming", Key="a")
    assert got["Body"].read() == b"1"
    assert (got["ContentType"], got["Metadata"]) == ("text/plain", {"taken": "2001"})
    assert got["LastModified"] == datetime.datetime(2008, 7, 1, 12, tzinfo=datetime.UTC)
    dynamodb = boto3.client("dynamodb")
    key = {"id": {"S": "x"}, "n": {"N": "1"}}
    assert dynamodb.get_item(TableName="t", Key=key)["Item"] == item


def test_a_handler_cannot_change_what_the_next_trial_is_given() -> None:
    """moto must not keep the generator's own dicts."""
    aws = Aws(tables=[Table("t", {"id": "S"})])
    item = Item({"id": {"S": "x"}, "tags": {"L": [{"S": "a"}]}, "count": {"N": "1"}})
    world = World(NOTHING, [], {"t": [item]})
    kept = json.dumps(item)
    for _ in range(2):
        aws.populate(world)
        boto3.client("dynamodb").update_item(
            TableName="t",
            Key={"id": {"S": "x"}},
            UpdateExpression="SET tags = list_append(tags, :b), more = :b REMOVE #c",
            ExpressionAttributeNames={"#c": "count"},
            ExpressionAttributeValues={":b": {"L": [{"S": "b"}]}},
        )
        assert json.dumps(item) == kept


@pytest.mark.parametrize("mode", ["fast", "faithful"])
def test_it_says_the_same_each_time(mode: str) -> None:
    aws = Aws(buckets=["incoming"], mode=mode)  # type: ignore[arg-type]
    s3 = boto3.client("s3")

    def answers() -> list[object]:
        aws.populate(World(NOTHING, [thing()]))
        versioned = {"Status": "Enabled"}
        s3.put_bucket_versioning(Bucket="incoming", VersioningConfiguration=versioned)
        put = s3.put_object(Bucket="incoming", Key="b", Body=b"2")
        upload = s3.create_multipart_upload(Bucket="incoming", Key="c")
        listed = s3.list_objects_v2(Bucket="incoming")
        return [put, upload, listed]

    first = answers()
    assert first == answers()
    assert first[2]["Contents"][1]["LastModified"].year == 2024  # type: ignore[index]


def test_what_is_not_there() -> None:
    aws = Aws(buckets=["incoming"], tables=[Table("t", {"id": "S"})])
    with pytest.raises(ValueError, match="bucket 'other': Aws has incoming"):
        aws.populate(World(NOTHING, [thing(bucket="other")]))
    with pytest.raises(ValueError, match="table 'u': Aws has t"):
        aws.populate(World(NOTHING, [], {"u": []}))
    with pytest.raises(ClientError, match="NoSuchBucket"):
        aws.populate(World(NOTHING))
        boto3.client("s3").get_object(Bucket="other", Key="a")


@pytest.mark.parametrize(
    ("words", "made"),
    [
        ("bucket 'ab'", lambda: Aws(buckets=["ab"])),
        ("bucket 'With Space'", lambda: Aws(buckets=["With Space"])),
        ("mode='quick'", lambda: Aws(mode="quick")),  # type: ignore[arg-type]
        ("Table\\('t', {}\\)", lambda: Table("t", {})),
        ("one or two attributes", lambda: Table("t", {"a": "X"})),
    ],
)
def test_wrong_declarations(words: str, made: object) -> None:
    with pytest.raises(ValueError, match=words):
        made()  # type: ignore[operator]


@pytest.mark.parametrize(
    "other",
    [{"key": ""}, {"key": "x" * 1025}, {"key": "\ud800"}, {"metadata": {"a b": "c"}},
     {"metadata": {"a": "ä"}}, {"content_type": "a\nb"}],
)  # fmt: skip
def test_objects_that_s3_would_not_take(other: dict[str, object]) -> None:
    assert storable_object(thing())
    assert not storable_object(thing(**other))


@pytest.mark.parametrize(
    "item",
    [
        {},
        {"id": {"N": "1"}},
        {"id": {"S": ""}},
        {"id": {"S": "x" * 2049}},
        {"id": {"S": "x"}, "a": {"NS": ["1", "1.0"]}},
        {"id": {"S": "x"}, "a": {"SS": []}},
        {"id": {"S": "x"}, "a": {"N": "1e126"}},
        {"id": {"S": "x"}, "a": {"N": "nan"}},
        {"id": {"S": "x"}, "": {"S": "y"}},
        {"id": {"S": "x"}, "a": {"S": "y", "N": "1"}},
    ],
)
def test_items_that_a_table_would_not_take(item: dict[str, object]) -> None:
    assert storable_item({"id": {"S": "x"}, "a": {"N": "1e125"}}, {"id": "S"})
    assert not storable_item(item, {"id": "S"})


def test_a_call_that_is_not_mocked_says_so() -> None:
    client = boto3.client("s3", endpoint_url="http://localhost:9")
    with pytest.raises(NotMocked, match="GET http://localhost:9/b"):
        client.list_objects_v2(Bucket="bucket")


@pytest.mark.slow
def test_no_settings_of_the_users_get_in(tmp_path: Path) -> None:
    """Neither credentials nor endpoints nor a profile; and a client made before says so."""
    code = (
        "import boto3\n"
        "early = boto3.client('s3', region_name='us-east-1', aws_access_key_id='a',"
        " aws_secret_access_key='b')\n"
        "from fuzztui.aws import Aws, NotMocked, World\n"
        "Aws(buckets=['incoming']).populate(World({'Records': []}))\n"
        "print(boto3.client('s3').list_buckets()['Buckets'][0]['Name'])\n"
        "try: early.list_buckets()\n"
        "except NotMocked as e: print('made before' in str(e))\n"
    )
    env = {
        **os.environ,
        "AWS_ENDPOINT_URL": "http://localhost:9",
        "AWS_ENDPOINT_URL_S3": "http://localhost:9",
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
    }
    env.pop("AWS_PROFILE", None)
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["incoming", "True"], done.stderr


@pytest.mark.parametrize("missing", ["boto3", "moto"])
def test_without_the_extra(missing: str) -> None:
    code = f"import sys; sys.modules['{missing}'] = None; import fuzztui.aws"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "pip install 'fuzztui[aws]'" in done.stderr.splitlines()[-1]


@pytest.mark.slow
@given(st.binary(max_size=200))
def test_an_event_agrees_with_its_object(data: bytes) -> None:
    r = source(data)
    made = gen_s3_object(r, bucket="incoming", key=lambda r: "a b/" + r.text("ä+%&", 1, 4))
    aws = Aws(buckets=["incoming"])
    for record in gen_s3_event(r, [made])["Records"]:
        aws.populate(World(NOTHING, [made]))
        about = record["s3"]["object"]
        key = urllib.request.unquote(about["key"].replace("+", " "))
        assert key == made.key
        head = boto3.client("s3").head_object(Bucket="incoming", Key=key)
        if record["eventName"].startswith("ObjectCreated:"):
            assert (about["size"], f'"{about["eTag"]}"') == (head["ContentLength"], head["ETag"])
        when = datetime.datetime.fromisoformat(record["eventTime"])
        assert when == head["LastModified"]


@given(st.binary(max_size=200))
def test_most_items_can_be_stored(data: bytes) -> None:
    keys = {"id": "S", "n": "N", "raw": "B"}
    item = gen_item(source(data), keys={k: keys[k] for k in ("id", "raw")}, erroneous=0)
    assert storable_item(item, {"id": "S", "raw": "B"})


@given(st.binary(max_size=200))
def test_a_name_twice_in_an_archive_is_no_warning(data: bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ResourceWarning)  # what other tests left may be freed here
        gen_zip(source(data))
        gen_zip(source(b""))
