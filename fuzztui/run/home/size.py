"""The room that a run takes on disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

_BLOCK = 512
_EVERY = 1000


def disk_bytes(run: Path, on_files: Callable[[int], None] = lambda _: None) -> int:
    """Return the bytes that the files of a run occupy; a file with several names counts once.

    ``on_files`` is called from time to time with the number of files so far. What cannot be read is
    left out.
    """
    total = files = 0
    several: set[tuple[int, int]] = set()
    waiting = [os.fspath(run)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    files += 1
                    if files % _EVERY == 0:
                        on_files(files)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif status.st_nlink > 1:
                        name = (status.st_dev, status.st_ino)
                        if name in several:
                            continue
                        several.add(name)
                    total += status.st_blocks * _BLOCK
        except OSError:
            continue
    return total
