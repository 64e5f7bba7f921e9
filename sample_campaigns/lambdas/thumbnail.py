"""Makes a thumbnail in another bucket of each photograph that is put into one."""

from __future__ import annotations

import datetime
import io
from dataclasses import dataclass

from PIL import Image, ImageOps, UnidentifiedImageError

from lambdas.events import Record, records
from lambdas.storage import StoredObject, fetch, store

THUMBNAILS = "thumbnails"
LARGEST = 10 * 1024 * 1024
MAX_PIXELS = 40_000_000
SIDE = 12
SUPPORTED = {"image/png": "PNG", "image/jpeg": "JPEG", "image/x-portable-pixmap": "PPM"}
SUFFIXES = {"png": "image/png", "jpg": "image/jpeg", "ppm": "image/x-portable-pixmap"}
DIGITAL = datetime.date(1996, 1, 1)
"""Older pictures are scans: they are kept in grey, whatever the scanner said."""


class UnsupportedImage(Exception):
    """The object is no photograph that we can read."""


@dataclass
class Report:
    made: list[str]
    skipped: list[str]


def handler(event: dict[str, object], context: object) -> Report:
    report = Report([], [])
    for record in records(event):
        key = thumbnail(record)
        if key is None:
            report.skipped.append(record.key)
        else:
            report.made.append(key)
    return report


def thumbnail(record: Record) -> str | None:
    """The thumbnail's key, or None if there is none to be made."""
    if not record.created or record.bucket == THUMBNAILS:
        return None
    if record.size == 0 or record.size > LARGEST:
        return None
    stored = fetch(record.bucket, record.key)
    if stored is None:
        return None  # deleted meanwhile
    kind = image_type(stored)
    if kind is None:
        return None
    image = read(stored, kind)
    if image.width * image.height > MAX_PIXELS:
        return None
    taken = date_taken(stored)
    small = scale(turned(image, stored), is_scan=taken < DIGITAL)
    key = f"{taken.year}/{taken.month:02}/{stored.name}"
    out = io.BytesIO()
    small.save(out, SUPPORTED[kind])
    store(
        THUMBNAILS,
        key,
        out.getvalue(),
        kind,
        {"width": str(small.width), "height": str(small.height), "season": season(taken)},
    )
    return key


def image_type(stored: StoredObject) -> str | None:
    """By what the uploader said; browsers that do not know say nothing of use."""
    if stored.content_type in SUPPORTED:
        return stored.content_type
    if stored.content_type in ("", "binary/octet-stream", "application/octet-stream"):
        return SUFFIXES.get(stored.suffix)
    return None


def read(stored: StoredObject, kind: str) -> Image.Image:
    try:
        image = Image.open(io.BytesIO(stored.body), formats=[SUPPORTED[kind]])
        image.load()
    except (UnidentifiedImageError, OSError, SyntaxError) as e:
        raise UnsupportedImage(f"{stored.key}: {e}") from e
    return image


def date_taken(stored: StoredObject) -> datetime.date:
    """What the camera said, else when the file was stored."""
    said = stored.metadata.get("taken", "")
    if said:
        try:
            return datetime.date.fromisoformat(said[:10])
        except ValueError:
            pass
    return stored.last_modified.date()


def turned(image: Image.Image, stored: StoredObject) -> Image.Image:
    degrees = stored.metadata.get("rotation", "0")
    if degrees == "90":
        return image.transpose(Image.Transpose.ROTATE_270)
    if degrees == "180":
        return image.transpose(Image.Transpose.ROTATE_180)
    if degrees == "270":
        return image.transpose(Image.Transpose.ROTATE_90)
    return image


def scale(image: Image.Image, *, is_scan: bool) -> Image.Image:
    if image.mode in ("RGBA", "LA"):
        behind = Image.new("RGBA", image.size, "white")
        behind.alpha_composite(image.convert("RGBA"))
        image = behind.convert("RGB")
    if is_scan and image.mode != "L":
        image = ImageOps.grayscale(image)
    if image.width <= SIDE and image.height <= SIDE:
        return image
    if image.width > 2 * image.height or image.height > 2 * image.width:
        # A panorama would be a line: its middle is shown.
        return ImageOps.fit(image, (SIDE, SIDE))
    return ImageOps.contain(image, (SIDE, SIDE))


def season(day: datetime.date) -> str:
    if day.month in (12, 1, 2):
        return "winter"
    if day.month < 6:
        return "spring"
    return "summer" if day.month < 9 else "autumn"
