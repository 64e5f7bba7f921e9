"""One sheet with the photographs of a month that were last looked at in a certain year."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from thumbnails.sheet import photographs, regroup, time_of

YEAR, JULY = 2008, 7
LAST_SEEN = 2019


def time_taken(path: Path) -> datetime:
    """When the file was last changed."""
    return time_of(path.stat().st_mtime)


def time_seen(path: Path) -> datetime:
    """When it was last read."""
    return time_of(path.stat().st_atime)


def make_sheet(folder: Path) -> list[Path]:
    """The holiday's photographs; their thumbnails are in ``folder/holiday-sheet.png``."""
    found = []
    for path in photographs(folder):
        taken = time_taken(path)
        if taken.year == YEAR:
            if taken.month == JULY:
                if time_seen(path).year == LAST_SEEN:
                    found.append(path)
    if found:
        regroup(found).save(folder / "holiday-sheet.png")
    return found
