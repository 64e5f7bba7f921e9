"""Gather the seeds of a campaign into one directory, because afl-fuzz accepts only one."""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from fuzztui.kernel.base.text import several
from fuzztui.run.campaign.rundir import SupervisorError

_MADE_UP = "made-up"
_TEXT = b"0\n"


def gather_seeds(paths: list[str], directory: Path, progress: Callable[[str], None]) -> None:
    """Copy seeds into ``directory``; if there are none, write one. Raises :class:`SupervisorError`.

    If some paths no longer exist, the seeds gathered by an earlier start are kept, for instances
    that are added later.
    """
    made_up = directory / _MADE_UP
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        if not paths:
            if not made_up.exists():
                made_up.write_bytes(_TEXT)
                progress(f"engine.seeds is missing: starting from {_TEXT!r}, a poor seed")
            return
        made_up.unlink(missing_ok=True)
        gone = [path for path in paths if not Path(path).exists()]
        if gone and any(directory.iterdir()):
            progress(
                f"{', '.join(gone)}: no longer there; continuing with the seeds gathered before"
            )
        elif gone:
            raise SupervisorError(f"engine.seeds: {', '.join(gone)}: there is no such file")
        found = [file for path in paths for file in _files(Path(path))]
        if not found and gone:
            return
        good = [file for file in found if file.stat().st_size]
        if not good:
            have = f"all {len(found)} files are empty" if found else "there are no files"
            have = "the only file is empty" if len(found) == 1 else have
            raise SupervisorError(f"engine.seeds: {', '.join(paths)}: {have}: name one good input")
        progress(f"gathering {several(len(good), 'seed')}")
        if not gone:  # a seed that the user has removed (it crashes) must not come back
            for copy in directory.iterdir():
                copy.unlink()
        for file in good:
            _copy(file, directory)
    except OSError as e:
        raise SupervisorError(
            f"engine.seeds: {e.filename or directory} cannot be copied: {e.strerror or e}"
        ) from None


def _files(path: Path) -> Iterator[Path]:
    """Yield the regular files at or below a path, sorted by name."""
    if path.is_file():
        yield path
        return
    for where, directories, names in os.walk(path):
        directories.sort()
        yield from (file for name in sorted(names) if (file := Path(where, name)).is_file())


def _copy(file: Path, directory: Path) -> None:
    """Copy a file under its name, or under a similar one if another seed has this name."""
    # Not a hard link: afl-fuzz hard-links its seeds, so its queue would contain the user's file.
    copy, number = directory / file.name, 1
    while copy.exists():
        if filecmp.cmp(file, copy, shallow=False):
            return
        number += 1
        copy = directory / f"{number}-{file.name}"
    shutil.copyfile(file, copy)
