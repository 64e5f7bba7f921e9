"""Temporary files and directories, with errors that name the directory and what to do."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO


def temporary_directory(
    prefix: str = "fuzztui-", place: Path | None = None
) -> tempfile.TemporaryDirectory[str]:
    """Make a directory that is removed at the end. Raises OSError.

    ``place``: its parent directory; the one of temporary files if None.
    """
    if place is not None:
        return tempfile.TemporaryDirectory(prefix=prefix, dir=place, ignore_cleanup_errors=True)
    with _explained():
        return tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)


def temporary_file() -> IO[bytes]:
    """Make a file without a name. Raises OSError."""
    with _explained():
        return tempfile.TemporaryFile(prefix="fuzztui-")


def temporary_place() -> Path:
    """The directory of temporary files. Raises OSError if none is writable."""
    with _explained():
        return Path(tempfile.gettempdir())


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except OSError as e:
        why = e.strerror or str(e)
        raise OSError(
            e.errno,
            f"cannot create temporary files: {why}; free space there, or set TMPDIR to a"
            " writable directory",
            os.environ.get("TMPDIR") or "/tmp",
        ) from None
