"""Make a private copy of a Python package, or of a module that is one file."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from fuzztui.campaign.rundir import SupervisorError

MAX_BYTES = 64 << 20
MAX_FILES = 10_000
"""Limits of a package, because each mutant is a copy."""

_LEFT_OUT = ("__pycache__", ".git", ".hg", ".svn")


def copy_package(place: Path, copy: Path) -> None:
    """Copy a file, or a directory without bytecode; symbolic links are followed.

    Raises OSError, and :class:`SupervisorError` if the package exceeds the limits.
    """
    if place.is_file():
        shutil.copyfile(place, copy)
        return
    size = number = 0
    above: dict[str, frozenset[str]] = {str(place): frozenset()}
    for where, directories, names in os.walk(place, followlinks=True):
        real = os.path.realpath(where)
        if real in above[where]:  # a link to a directory above
            directories.clear()
            continue
        directories[:] = sorted(set(directories) - set(_LEFT_OUT))
        for name in directories:
            above[os.path.join(where, name)] = above[where] | {real}  # noqa: PTH118 - as os.walk
        into = copy / os.path.relpath(where, place)
        into.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in sorted(names):
            file = Path(where, name)
            if not file.is_file():
                continue
            size += file.stat().st_size
            number += 1
            if size > MAX_BYTES or number > MAX_FILES:
                raise SupervisorError(
                    f"mutants.sources: {place} has more than {MAX_BYTES >> 20} MiB or "
                    f"{MAX_FILES:,} files, too much for a copy for each mutant"
                )
            shutil.copyfile(file, into / name)
