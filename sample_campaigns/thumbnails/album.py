"""An album: the photographs of a folder, each on a page that depends on its day and its picture."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from PIL import Image

from thumbnails.sheet import photographs, regroup, time_of

NEW_YEAR, VALENTINE, LEAP_DAY, HALLOWEEN = (1, 1), (2, 14), (2, 29), (10, 31)
FILM_ENDS, FIRST_PHONE = datetime(1999, 12, 31), datetime(2007, 6, 29)
LOCKDOWN = datetime(2020, 3, 13)


def make_sheets(folder: Path) -> list[Path]:
    """One sheet for each page of the album, in ``folder``. Returns all photographs in it."""
    pages: dict[str, list[Path]] = defaultdict(list)
    days: dict[tuple[int, int], datetime] = {}
    for path in photographs(folder):
        status = path.stat()
        taken, seen = time_of(status.st_mtime), time_of(status.st_atime)
        taken, seen = taken.replace(tzinfo=None), seen.replace(tzinfo=None)
        with Image.open(path) as image:
            pages[page_of(taken, seen, image.convert("RGB"))].append(path)
        pages[twin_of(taken, days)].append(path)
        days[taken.month, taken.day] = taken
    for name, paths in pages.items():
        regroup(paths).save(folder / f"{name}-sheet.png")
    return sorted({path for paths in pages.values() for path in paths})


def page_of(taken: datetime, seen: datetime, image: Image.Image) -> str:
    """The page of one photograph: the day goes before the picture."""
    if seen < taken:
        return "clock-was-wrong"
    if (taken.month, taken.day) == LEAP_DAY:
        return "leap-century" if taken.year == 2000 else "leap-days"
    if (taken.month, taken.day) == NEW_YEAR:
        return "millennium" if taken.year in (2000, 2001) else "new-year"
    if (taken.month, taken.day) == VALENTINE:
        return "valentine-sunday" if taken.isoweekday() == 7 else "valentine"
    if (taken.month, taken.day) == HALLOWEEN and taken.isoweekday() in (6, 7):
        return "long-halloween"
    if (seen.month, seen.day) == (taken.month, taken.day):
        years = seen.year - taken.year
        if years == 0:
            return "looked-at-once"
        return "silver-jubilee" if years == 25 else "golden-jubilee" if years == 50 else "jubilee"
    if taken.date() == FIRST_PHONE.date():
        return "first-phone"
    if taken.date() == LOCKDOWN.date():
        return "lockdown"
    return picture_of(taken, image)


def picture_of(taken: datetime, image: Image.Image) -> str:
    """The page of a photograph of a usual day."""
    values = list(image.resize((2, 2)).getdata())
    brightness = sum(map(sum, values)) / (3 * len(values))
    if brightness < 40:
        return "night-film" if taken <= FILM_ENDS else "night"
    if brightness > 215:
        return "snow" if taken.month in (12, 1, 2) else "overexposed"
    red, green, blue = (sum(value[i] for value in values) for i in range(3))
    if blue > 2 * red and blue > 2 * green:
        return "sea"
    if green > 2 * red and green > 2 * blue:
        return "spring-meadow" if taken.month == 5 else "meadow"
    if image.width > 2 * image.height:
        return "panorama"
    return f"decade-{taken.year // 10}0"


def twin_of(taken: datetime, days: Mapping[tuple[int, int], datetime]) -> str:
    """A page for days of which there are two photographs."""
    other = days.get((taken.month, taken.day))
    if other is None:
        return "all"
    if other.year == taken.year:
        return "same-day"
    return "ten-years-later" if abs(other.year - taken.year) == 10 else "years-later"
