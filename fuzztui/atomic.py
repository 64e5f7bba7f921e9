"""Replace a file as a whole: a reader sees the old content or the new, never a part of either.

For the supervisor, the commands and the engines: standard library only.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from pathlib import Path

__all__ = ["PART", "replace_bytes", "replace_text"]

PART = ".part-"
"""Prefix of the files that content is written to before the rename; a number follows."""

_MAX_PARTS = 100
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY


def replace_text(path: Path, text: str) -> None:
    """:func:`replace_bytes` with text in UTF-8; bytes of names that are no UTF-8 are kept."""
    replace_bytes(path, text.encode("utf-8", "surrogateescape"))


def replace_bytes(path: Path, data: bytes, folder: Path | None = None) -> None:
    """Write ``data`` to a file next to ``path``, then rename the file to ``path``; mode 0600.

    ``folder``: where the content is written first, on the same file system; the folder of
    ``path`` if None. Raises OSError; ``path`` is then as it was.

    A kill in between leaves at most one :data:`PART` file, which the next call for the same
    folder writes over and renames: such files do not pile up.
    """
    fd, part = _open_part(path.parent if folder is None else folder)
    try:
        os.ftruncate(fd, 0)
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        part.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):  # a full disk: the bytes are needed elsewhere
            part.unlink()
        raise
    finally:
        os.close(fd)


def _open_part(folder: Path) -> tuple[int, Path]:
    """The first part file that no living writer has, locked. Raises OSError."""
    for number in range(_MAX_PARTS):
        part = folder / f"{PART}{number}"
        try:
            fd = os.open(part, _FLAGS, 0o600)
        except OSError:
            if _in_the_way(part):  # a symlink, FIFO or directory that someone else made
                continue
            raise
        if _is_ours(fd, part):
            return fd, part
        os.close(fd)
    raise FileExistsError(f"{folder}: {_MAX_PARTS} files {PART}N are in the way; remove them")


def _in_the_way(part: Path) -> bool:
    try:
        return not stat.S_ISREG(part.lstat().st_mode)
    except OSError:
        return False


def _is_ours(fd: int, part: Path) -> bool:
    """Whether the open file is regular, still named ``part``, and locked for this writer.

    The kernel drops the lock of a writer that dies, whose file is then free again.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: one writer a folder at a time
        pass
    try:
        # The writer before may have renamed the file between our open and our lock.
        found = os.fstat(fd)
        return stat.S_ISREG(found.st_mode) and os.path.samestat(found, part.lstat())
    except OSError:
        return False
