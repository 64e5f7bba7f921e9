"""Directories of findings that a resumed afl-fuzz has renamed: ``crashes`` to ``crashes.DATE``."""

from __future__ import annotations

import os
from pathlib import Path

MAX_RESUMED = 200
"""Maximal number of folders of earlier starts in which a file is searched."""


def renamed(directory: Path, folder: str) -> list[Path]:
    """Return the directories ``directory/folder.DATE``, the latest first."""
    try:
        names = os.listdir(directory)  # noqa: PTH208 - names only
    except (OSError, ValueError):  # a NUL: a log can contain any name
        return []
    return [
        directory / name for name in sorted(names, reverse=True) if name.startswith(f"{folder}.")
    ]


def present_file(directory: Path, folder: str, name: str) -> Path | None:
    """Return the present path of ``directory/folder/name``; None if it is nowhere. Blocking."""
    places = (directory / folder, *renamed(directory, folder)[:MAX_RESUMED])
    for place in places:
        # Path.is_file() raises PermissionError in another user's directory.
        if os.path.isfile(path := place / name):  # noqa: PTH113
            return path
    return None
