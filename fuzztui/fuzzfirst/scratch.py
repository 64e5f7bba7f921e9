"""Inputs as files that strangers have named, and directories to run copies of them in."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fuzztui.base.files import read_regular
from fuzztui.campaign.rundir import SupervisorError

__all__ = ["MAX_INPUT", "read_input", "scratch", "sweep_scratch"]

MAX_INPUT = 1 << 20
"""Bytes; AFL reads no more of a file."""


def read_input(path: Path) -> bytes | None:
    """What is in a file, if AFL would take it for an input."""
    try:
        data = read_regular(path, MAX_INPUT + 1)
    except (OSError, ValueError):
        return None
    return data if 0 < len(data) <= MAX_INPUT else None


@contextmanager
def scratch(run: Path) -> Iterator[Path]:
    """A directory that :func:`sweep_scratch` removes if we do not come to it.

    Raises :class:`SupervisorError` where none can be made.
    """
    place = _place(run)
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = tempfile.TemporaryDirectory(
            prefix=f"{os.getpid()}-", dir=place, ignore_cleanup_errors=True
        )
    except OSError as e:
        raise SupervisorError(f"{e.filename or place}: {e.strerror or e}") from None
    with made as name:
        yield Path(name)


def sweep_scratch(run: Path) -> None:
    """Remove what passes of an earlier supervisor of a run have left."""
    for left in _place(run).glob("*-*"):
        if not left.name.startswith(f"{os.getpid()}-"):
            shutil.rmtree(left, ignore_errors=True)


def _place(run: Path) -> Path:
    return run / "mutants" / "scratch"
