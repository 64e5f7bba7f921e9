"""File names, and opening, reading and writing files, for all modules of the log."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

SEALED = "campaign.jsonl.gz"
CHECKPOINTS = "checkpoints.gz"
STALE = "checkpoints.gz.stale"
"""Checkpoints of the log before a repair that is in progress or was killed."""
_TAIL = re.compile(r"tail-(\d{1,18})\.jsonl")


class LogError(Exception):
    """The log cannot be used; the message names the file and what to do."""


def tail_name(first_seq: int) -> str:
    """The name of the tail that begins with this record; names sort in record order."""
    return f"tail-{first_seq:012d}.jsonl"


def list_tails(directory: Path) -> list[tuple[int, Path]]:
    """The existing tails, in order, each with the sequence number of its first record."""
    found = []
    for name in os.listdir(directory):  # noqa: PTH208 (called many times a second)
        match = _TAIL.fullmatch(name)
        if match:
            found.append((int(match[1]), directory / name))
    return sorted(found)


def open_regular(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open a regular file and return its descriptor; never blocks on a FIFO or a device.

    Raises :class:`LogError` if ``path`` is not a regular file, OSError as open(2) does.
    """
    # Readable for the group: whether anybody else can reach the log, its directory decides.
    fd = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o640)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise LogError(f"{path}: not a regular file; move it out of the log directory")
    return fd


def read_at(fd: int, offset: int, size: int) -> bytes:
    """Return ``size`` bytes from ``offset``; fewer only at the end of the file."""
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
