"""The sample functions for AWS Lambda do what they say, on inputs made by hand."""

import datetime
import gzip
import io
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import boto3
import pytest

import fuzztui
from fuzztui.aws import World
from fuzztui.generators import Item, S3Event, S3Object

SAMPLES = Path(fuzztui.__file__).parent / "sample_campaigns"
WHEN = datetime.datetime(2008, 7, 1, 12, tzinfo=datetime.UTC)


@pytest.fixture(scope="module")
def harness() -> Any:
    sys.path.insert(0, str(SAMPLES))
    try:
        import lambdas_harness  # type: ignore[import-not-found]

        yield lambdas_harness
    finally:
        sys.path.remove(str(SAMPLES))


def put(key: str, body: bytes, kind: str, **metadata: str) -> S3Object:
    return S3Object("incoming", key, body, kind, WHEN, metadata)


def world(*things: S3Object, removed: bool = False, **items: list[Item]) -> World:
    name = "ObjectRemoved:Delete" if removed else "ObjectCreated:Put"
    records = [
        {
            "eventSource": "aws:s3",
            "eventName": name,
            "eventTime": "2008-07-01T12:00:00.000Z",
            "s3": {
                "bucket": {"name": thing.bucket},
                "object": {"key": thing.key, "size": len(thing.body)},
            },
        }
        for thing in things
    ]
    return World(S3Event({"Records": records}), things, items)


def stored(bucket: str) -> list[str]:
    listed = boto3.client("s3").list_objects_v2(Bucket=bucket)
    return [row["Key"] for row in listed.get("Contents", [])]


def scanned(table: str) -> list[Any]:
    items = boto3.client("dynamodb").scan(TableName=table)["Items"]
    assert isinstance(items, list)
    return items


def png(width: int, height: int, mode: str = "RGB") -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.new(mode, (width, height), "red" if mode != "L" else 9).save(out, "PNG")
    return out.getvalue()


@pytest.mark.slow
def test_thumbnail(harness: Any) -> None:
    files = [
        put("a/wide.png", png(40, 20), "image/png", rotation="90"),
        put("scan.png", png(30, 30), "image/png", taken="1950-12-24"),
        put("text.txt", b"no", "text/plain"),
        put("broken.png", b"no", "image/png"),
    ]
    report = harness.make_thumbnail(world(*files[:3]))
    assert (report.made, report.skipped) == (["2008/07/wide.png", "1950/12/scan.png"], ["text.txt"])
    got = boto3.client("s3").get_object(Bucket="thumbnails", Key="2008/07/wide.png")
    assert got["Metadata"] == {"width": "6", "height": "12", "season": "summer"}
    with pytest.raises(harness.thumbnail.UnsupportedImage):
        harness.make_thumbnail(world(files[3]))


def archive(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for name in names:
            made.writestr(zipfile.ZipInfo(name, (2001, 2, 3, 4, 5, 6)), "text of " + name)
    return out.getvalue()


@pytest.mark.slow
def test_unzip(harness: Any) -> None:
    zipped = "application/zip"
    (done,) = harness.unpack(world(put("x/docs.zip", archive("a.txt", "b/c.csv", "d/"), zipped)))
    assert done.removed
    assert stored("unpacked") == ["docs/a.txt", "docs/b/c.csv"]
    assert stored("incoming") == []
    (done,) = harness.unpack(world(put("docs.zip", archive("a.txt", ".hidden"), zipped)))
    assert (done.left_out, done.removed) == ([".hidden"], False)
    for names in (["../a"], ["/a"], [f"{n}.txt" for n in range(9)]):
        with pytest.raises(harness.unzip.UnsafeArchive):
            harness.unpack(world(put("docs.zip", archive(*names), zipped)))
        assert stored("unpacked") == []


def test_csv_loader(harness: Any) -> None:
    table = "sku,price,stock\nA1,2.50,7\nA2,,1\nA1,3,\n"
    packed = gzip.compress(table.encode(), mtime=0)
    file = put("exports/products_20240501_full.csv.gz", packed, "application/gzip")
    (loaded,) = harness.load_csv(world(file))
    assert (loaded.rows, loaded.requests, loaded.rejected) == (1, 1, ["3,no price"])
    assert scanned("products") == [{"sku": {"S": "A1"}, "price": {"N": "3.00"}}]
    assert stored("rejected") == ["products_20240501_full.csv.gz.rejected.csv"]
    (last,) = scanned("loads")
    assert last["day"] == {"S": "2024-05-01"}
    (again,) = harness.load_csv(world(file, loads=[last]))
    assert again.rows == 0
    delta = put("products_20240502_delta.zip", archive("a.csv"), "application/zip")
    with pytest.raises(harness.csvload.BadExport, match="nothing was loaded before"):
        harness.load_csv(world(delta))
    with pytest.raises(harness.csvload.BadExport, match="no column price, sku"):
        harness.load_csv(world(delta, loads=[last]))


def test_grades(harness: Any) -> None:
    sheet = b"student,exam,points\nAda,final,100\nAda,quiz,50%\nAda,quiz,90\nBob,final,excused\n"
    report = harness.average_grades(world(put("s1.csv", sheet, "text/csv")))
    assert report == {"s1.csv": "A"}
    (item,) = scanned("averages")
    assert (item["average"], item["grades"]) == ({"N": "98.6"}, {"N": "3"})
    old = Item({**item, "average": {"N": "99"}})
    harness.average_grades(world(put("s1.csv", sheet, "text/csv"), averages=[old]))
    assert scanned("averages")[0]["trend"] == {"S": "down"}
    with pytest.raises(harness.grades.BadSheet):
        harness.average_grades(world(put("s1.csv", b"Ada,final,101\n", "text/csv")))


def test_ticker(harness: Any) -> None:
    history = (
        "Date,Open,High,Low,Close,Volume\n"
        "2008-06-02,10,12,9,11,1000\n2008-06-03,$5,6,4,5,9000\n2008-06-01,1,1,1,1,1\n"
        "2008-07-15,5,6,4,5,10\n2008-05-30,5,4,4,5,10\n"
    )
    file = put("history/acme.csv", history.encode(), "text/csv")
    assert harness.take_history(world(file)) == {"ACME": 1}
    (item,) = scanned("history")
    assert (item["month"], item["trend"], item["splits"]) == (
        {"S": "2008-06"}, {"S": "volatile"}, {"N": "1"})  # fmt: skip
    assert harness.take_history(world(file, history=[item])) == {"ACME": 0}
    with pytest.raises(harness.ticker.BadHistory, match="no date"):
        harness.take_history(world(put("A.csv", b"today,1,1,1,1,1\n", "text/csv")))


def customer(**more: Any) -> Item:
    return Item({"customer": {"S": "acme"}, **more})


def test_match(harness: Any) -> None:
    file = put("Acme/a.csv", b"1", "text/csv", plan="basic")
    assert harness.match_item(world(file)) == ["created"]
    (item,) = scanned("customers")
    assert (item["plan"], item["state"]) == ({"S": "basic"}, {"S": "new"})
    assert harness.match_item(world(file, customers=[item])) == ["activated"]
    (active,) = scanned("customers")
    assert (active["state"], active["files"]) == ({"S": "active"}, {"N": "2"})
    assert harness.match_item(world(file, customers=[active])) == ["booked"]
    frozen = customer(state={"S": "frozen"})
    assert harness.match_item(world(file, customers=[frozen])) == ["quarantined"]
    assert harness.match_item(world(file, removed=True, customers=[active])) == ["released"]
    for item in (customer(state={"S": "closed"}), customer(files={"N": "3"})):
        with pytest.raises(harness.match.Refused):
            harness.match_item(world(file, customers=[item]))
        assert stored("incoming") == []


def test_survey(harness: Any) -> None:
    def take(key: str, document: object, **items: list[Item]) -> str:
        file = put(key, json.dumps(document).encode(), "application/json")
        said = harness.take_survey(world(file, **items))[key]
        assert isinstance(said, str)
        return said

    assert take("surveys/nps.json", {"until": "2024-06-01"}) == "open"
    survey = Item(scanned("surveys")[0])
    key = "answers/nps/2024-05-01/ada.json"
    assert take(key, {"value": 9}, surveys=[survey]) == "promoters"
    assert scanned("surveys")[0]["promoters"] == {"N": "1"}
    known = Item(scanned("answers")[0])
    assert take(key, {"value": 9}, surveys=[survey], answers=[known]) == "known"
    assert take(key, {"value": 9}) == "too late"
    assert take("drafts/choice/2024-05-01/ada.json", {"value": ["a"]}) == "draft"
    assert take("answers/comment/ada.json", {"text": "well"}) == "kept"
    assert take("answers/comment/x/y/ada.json", {}) == "ignored"
    with pytest.raises(harness.survey.BadAnswer):
        take(key, {"value": 11}, surveys=[survey])
