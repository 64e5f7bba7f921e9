"""The generators that are ready to use: what they make is what it says, and by every source."""

import csv
import datetime
import importlib.util
import io
import json
import random
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import PurePosixPath
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spoton_lab import Bench

import fuzztui.generators as ready
from fuzztui.engines.inputs.constants import ConstantPool
from fuzztui.engines.inputs.source import Source

MAGIC = ConstantPool(["name", "id", "a"], [b"PK"], [2008, 4096])
ALL: dict[str, Callable[[Source], Any]] = {
    name: getattr(ready, name)
    for name in ready.__all__
    if name.startswith("gen_") and name not in ("gen_image", "gen_pixels", "gen_s3_event")
}
ALL["gen_pixels"] = lambda r: ready.gen_pixels(r, 12)
ALL["gen_pixels each"] = lambda r: ready.gen_pixels(r, 12, each=True)
ALL["gen_s3_event"] = lambda r: ready.gen_s3_event(r, [ready.gen_s3_object(r)])
ALL["gen_s3_event of nothing"] = lambda r: ready.gen_s3_event(r, [])
if importlib.util.find_spec("PIL"):
    ALL["gen_image"] = ready.gen_image


@pytest.mark.parametrize("name", ALL)
@given(seed=st.integers(0, 10**6), constants=st.booleans())
def test_every_source_makes_the_same(name: str, seed: int, constants: bool) -> None:
    magic = MAGIC if constants else None
    bench = Bench(ALL[name], magic, seed)
    data, value = bench.fresh()
    assert ALL[name](Source(data, 10240, lambda n: pytest.fail("it draws more"), magic)) == value
    parent = bench.form.annotate(data)
    assert parent.data == data
    assert len(parent) == len(parent.start) - 1
    assert bench.child(data, parent) == (data, value)


def some(make: Callable[[Source], Any], count: int = 150) -> list[Any]:
    return [make(Source(b"", 10240, random.Random(seed).randbytes)) for seed in range(count)]


def test_documents_are_what_they_say() -> None:
    for text in some(lambda r: ready.gen_csv(r, columns=["id", "n"], erroneous=0)):
        rows = list(csv.reader(io.StringIO(text)))
        assert rows[0] == ["id", "n"]
        assert all(len(row) == 2 for row in rows)
    columns = {"day": lambda r: ready.gen_date(r).isoformat(), "n": lambda r: str(r.below(9))}
    for text in some(lambda r: ready.gen_csv(r, columns=columns, erroneous=0)):
        head, *rows = csv.reader(io.StringIO(text))
        assert head == ["day", "n"]
        assert all(datetime.date.fromisoformat(day) and int(n) < 9 for day, n in rows)
    made = some(lambda r: ready.gen_csv(r, columns=columns, erroneous=0.2))
    assert any(len(row) < 2 for text in made for row in csv.reader(io.StringIO(text)))
    for text in some(lambda r: ready.gen_json(r, erroneous=0)):
        json.loads(text)
    for text in some(lambda r: ready.gen_xml(r, erroneous=0)):
        ElementTree.fromstring(text)
    names = {e.tag for t in some(lambda r: ready.gen_xml(r, names=["a", "b"], erroneous=0))
             for e in ElementTree.fromstring(t).iter()}  # fmt: skip
    assert names == {"a", "b"}


def test_mistakes_are_made_as_often_as_asked() -> None:
    def broken(erroneous: float) -> int:
        count = 0
        for text in some(lambda r: ready.gen_json(r, erroneous=erroneous), 400):
            try:
                json.loads(text)
            except ValueError:
                count += 1
        return count

    assert broken(0) == 0
    assert broken(1) > 100
    numbers = some(lambda r: ready.gen_number(r, erroneous=0), 400)
    assert all(float(number) is not None for number in numbers)


def test_images() -> None:
    for data in some(lambda r: ready.gen_png(r, erroneous=0), 60):
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        at, kinds, body, head = 8, [], b"", b""
        while at < len(data):
            size = int.from_bytes(data[at : at + 4], "big")
            kind, chunk = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
            assert zlib.crc32(kind + chunk) == int.from_bytes(data[at + 8 + size :][:4], "big")
            kinds.append(kind)
            body += chunk if kind == b"IDAT" else b""
            head = chunk if kind == b"IHDR" else head
            at += 12 + size
        assert (kinds[0], kinds[-1]) == (b"IHDR", b"IEND")
        width, height = int.from_bytes(head[:4], "big"), int.from_bytes(head[4:8], "big")
        channels = {0: 1, 4: 2, 2: 3, 6: 4}[head[9]]
        assert len(zlib.decompress(body)) == height * (1 + width * channels)
    for data in some(lambda r: ready.gen_ppm(r, erroneous=0), 60):
        kind, size, most, pixels = data.split(b"\n", 3)
        width, height = map(int, size.split())
        assert (len(pixels), most) == (width * height * {b"P5": 1, b"P6": 3}[kind], b"255")


def test_archives() -> None:
    members = 0
    for data in some(lambda r: ready.gen_zip(r, erroneous=0), 80):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            assert archive.testzip() is None
            members += len(archive.namelist())
    for compression in ("", "gz", "bz2", "xz"):
        make = partial(ready.gen_tar, compression=compression, erroneous=0)
        for data in some(make, 20):
            with tarfile.open(fileobj=io.BytesIO(data)) as tar:
                members += len(tar.getnames())
    assert members > 100


def test_aws() -> None:
    for event in some(lambda r: ready.gen_s3_event(r, [])):
        assert event["Records"][0]["s3"]["object"]["key"]
        json.dumps(event)
    for item in some(lambda r: ready.gen_item(r, keys={"id": "S", "n": "N"}, erroneous=0)):
        assert set(item["id"]) == {"S"}
        float(item["n"]["N"])
    assert {"S3Object"} == {type(o).__name__ for o in some(ready.gen_s3_object, 5)}


def test_dates_and_paths() -> None:
    dates = some(ready.gen_date, 600)
    assert {date.month for date in dates} == set(range(1, 13))
    assert sum(1970 <= date.year <= 2069 for date in dates) > 500
    assert {moment.tzinfo is None for moment in some(ready.gen_datetime)} == {True, False}
    paths = some(ready.gen_path)
    assert all(isinstance(path, PurePosixPath) for path in paths)
    assert len({path.suffix for path in paths}) >= 5


def test_types_that_can_be_aimed_at() -> None:
    makes = {name: ready.made_by(getattr(ready, name)) for name in ready.__all__ if name in ALL}
    where = "fuzztui.engines.generators"
    assert makes["gen_png"] == (f"{where}.images.Png",)
    assert makes["gen_item"] == (f"{where}.aws.Item",)
    assert makes["gen_s3_object"] == (f"{where}.aws.S3Object",)
    assert makes["gen_date"] == ("datetime.date",)
    assert makes["gen_text"] == makes["gen_value"] == ()


@pytest.mark.skipif(importlib.util.find_spec("PIL") is None, reason="Pillow is not installed")
def test_pillows_images() -> None:
    from PIL import Image

    images = some(lambda r: ready.gen_image(r, most=5), 200)
    assert {type(image) for image in images} == {Image.Image}
    assert {image.mode for image in images} == {"L", "LA", "RGB", "RGBA"}
    assert {image.size for image in images} == {(w, h) for w in range(1, 6) for h in range(1, 6)}
    for image in images[:20]:  # as whole as any
        file = io.BytesIO()
        image.save(file, "PNG")
        file.seek(0)
        again = Image.open(file)
        assert (again.mode, again.size, again.tobytes()) == (
            image.mode, image.size, image.tobytes(),
        )  # fmt: skip
    bench = Bench(partial(ready.gen_image, each=True))
    data, image = bench.fresh()
    made = bench.form.annotate(data)
    held = [bench.form.stacks.types(stack) for stack in made.stack]
    assert all("PIL.Image.Image" in types for types in held)
    pixels = "fuzztui.engines.generators.images.Pixels"
    assert sum(pixels in types for types in held) == len(image.tobytes())
    assert bench.child(data, made)[1].tobytes() == image.tobytes()


@pytest.mark.skipif(importlib.util.find_spec("PIL") is not None, reason="Pillow is installed")
def test_pillows_images_need_pillow() -> None:
    with pytest.raises(ImportError):
        ready.gen_image(Source(b"", 999, bytes))
