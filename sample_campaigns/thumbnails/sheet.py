"""What both have in common: finding photographs, and putting small ones on one sheet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from PIL import Image

SUFFIXES = {".png", ".jpg", ".jpeg"}
SIDE, COLUMNS = 12, 4


def photographs(folder: Path) -> Iterator[Path]:
    """All files in the folder that have an image's name, in order."""
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() in SUFFIXES:
            yield path


def time_of(seconds: float) -> datetime:
    """What the file system tells, as a date."""
    return datetime.fromtimestamp(seconds, UTC)


def regroup(paths: Sequence[Path]) -> Image.Image:
    """Thumbnails of all of them, row by row on one image."""
    rows = -(-len(paths) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * SIDE, rows * SIDE), "white")
    for number, path in enumerate(paths):
        row, column = divmod(number, COLUMNS)
        thumbnail = small(path)
        # In the middle of its place: photographs are wide or high.
        left = column * SIDE + (SIDE - thumbnail.width) // 2
        top = row * SIDE + (SIDE - thumbnail.height) // 2
        sheet.paste(thumbnail, (left, top))
    return sheet


def small(path: Path) -> Image.Image:
    """The photograph, no wider or higher than ``SIDE``."""
    with Image.open(path) as image:
        thumbnail = image.convert("RGB")
    thumbnail.thumbnail((SIDE, SIDE))
    return thumbnail
