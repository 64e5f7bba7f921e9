"""One sheet with all photographs of a year."""

from __future__ import annotations

from pathlib import Path

from thumbnails.sheet import photographs, regroup, time_of

YEAR = 2008


def year_taken(path: Path) -> int:
    """The year of the file's last change."""
    attributes = path.stat()
    return time_of(attributes.st_mtime).year


def make_sheet(folder: Path) -> list[Path]:
    """The year's photographs; their thumbnails are in ``folder/YEAR-sheet.png``."""
    found = []
    for path in photographs(folder):
        if year_taken(path) == YEAR:
            found.append(path)
    if found:
        regroup(found).save(folder / f"{YEAR}-sheet.png")
    return found
