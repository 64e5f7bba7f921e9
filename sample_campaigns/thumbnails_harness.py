"""Folders of real photographs from choices, for the application ``thumbnails``.

Each trial gets a directory of its own with PNG and JPEG files, as Pillow writes them, and times, as
the file system keeps them; nothing of it is left afterwards. As in Section II of the paper nearly
all choices are pixels: of some 1,200 about 1% are dates.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, time
from pathlib import Path

from PIL import Image
from thumbnails import album, holiday, year

from fuzztui.generators import Source, gen_date, gen_pixels, gen_word, generator

SIZE = 20, 20
# A choice for each byte of a pixel; "block": one for all of them.
EACH = os.environ.get("PIXELS", "each") != "block"


@dataclass
class Photo:
    name: Path
    image: Image.Image
    taken: datetime
    seen: datetime


@generator
def gen_moment(r: Source) -> datetime:
    """Noon of some day."""
    return datetime.combine(gen_date(r, low=1970, high=2069), time(12), UTC)


@generator
def gen_photograph(r: Source) -> Image.Image:
    width, height = SIZE
    return Image.frombytes("RGB", SIZE, gen_pixels(r, 3 * width * height, each=EACH))


@generator
def gen_name(r: Source) -> Path:
    """The application passes GIFs over."""
    return Path(gen_word(r) + r.weighted([(8, ".png"), (6, ".jpg"), (1, ".JPG"), (1, ".gif")]))


@generator
def gen_photo(r: Source) -> Photo:
    return Photo(gen_name(r), gen_photograph(r), gen_moment(r), gen_moment(r))


@generator
def gen_folder(r: Source) -> list[Photo]:
    """A folder with one photograph: each more would make it easier."""
    return [gen_photo(r)]


@generator
def gen_picture(r: Source) -> Image.Image:
    """Small, of any shape, and mostly of one colour."""
    size = 1 + r.below(12), 1 + r.below(12)
    if r.below(3):
        return Image.new("RGB", size, (r.below(256), r.below(256), r.below(256)))
    return Image.frombytes("RGB", size, gen_pixels(r, 3 * size[0] * size[1], each=EACH))


@generator
def gen_print(r: Source) -> Photo:
    return Photo(gen_name(r), gen_picture(r), gen_moment(r), gen_moment(r))


@generator
def gen_prints(r: Source) -> list[Photo]:
    """A folder with some photographs."""
    return [gen_print(r) for _ in r.more(1, 6)]


def in_folder(photos: list[Photo], make_sheet: Callable[[Path], list[Path]]) -> int:
    """How many of them are on the sheet."""
    with tempfile.TemporaryDirectory(prefix="photos-") as name:
        folder = Path(name)
        for photo in photos:
            file = folder / photo.name
            photo.image.save(file)
            os.utime(file, (photo.seen.timestamp(), photo.taken.timestamp()))
        return len(make_sheet(folder))


def of_a_year(photos: list[Photo]) -> int:
    return in_folder(photos, year.make_sheet)


def of_a_holiday(photos: list[Photo]) -> int:
    return in_folder(photos, holiday.make_sheet)


def of_an_album(photos: list[Photo]) -> int:
    return in_folder(photos, album.make_sheets)
