"""Names and ways of opening that every part of the log shares."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

__all__ = ["SEALED", "LogError", "list_tails", "open_regular", "read_at", "write_all"]

SEALED = "campaign.jsonl.gz"
CHECKPOINTS = "checkpoints.gz"
STALE = "checkpoints.gz.stale"
"""Checkpoints of the log as it was before a repair that is in progress, or was killed."""
_TAIL = re.compile(r"tail-(\d{1,18})\.jsonl")


class LogError(Exception):
    """The log cannot be used; the message names the file and says what to do."""


def tail_name(first_seq: int) -> str:
    """The file of the tail that begins with this record; sorts by it."""
    return f"tail-{first_seq:012d}.jsonl"


def list_tails(directory: Path) -> list[tuple[int, Path]]:
    """The tails there are now, with the sequence number each begins with, in order."""
    found = []
    for name in os.listdir(directory):  # noqa: PTH208 (called many times a second)
        match = _TAIL.fullmatch(name)
        if match:
            found.append((int(match[1]), directory / name))
    return sorted(found)


def open_regular(path: Path, flags: int = os.O_RDONLY) -> int:
    """A descriptor of a regular file. A FIFO or a device is refused without ever blocking.

    Raises :class:`LogError` for anything that is no regular file, OSError as open(2) does.
    """
    fd = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise LogError(f"{path}: not a regular file: move it out of the log directory")
    return fd


def read_at(fd: int, offset: int, size: int) -> bytes:
    """Up to ``size`` bytes from ``offset``; fewer only at the end of the file."""
    data = os.pread(fd, size, offset)
    if len(data) == size or not data:
        return data
    parts = [data]
    got = len(data)
    while got < size:
        data = os.pread(fd, size - got, offset + got)
        if not data:
            break
        parts.append(data)
        got += len(data)
    return b"".join(parts)


def write_all(fd: int, data: bytes) -> None:
    """Write all of ``data``; when OSError is raised, any prefix of it may be written."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
