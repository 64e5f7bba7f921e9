"""Checkpoints on disk: a cache, in the log's container, that may be deleted at any time.

A checkpoint is JSON data that :mod:`fuzztui.model.checkpoint` makes and understands;
here it is only kept. It takes two members: what changed since the one before
(``CHANGES``: an object, then the event list's records a line each) and the rest
(``HEAD``), which is unpacked for the one checkpoint that is wanted.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from pathlib import Path
from typing import Any

from fuzztui.base.atomic import replace_bytes
from fuzztui.log.blocks import CHANGES, HEAD, RecordRange, SealedBlock, pack, unpack, walk
from fuzztui.log.files import CHECKPOINTS, SEALED, LogError, open_regular, read_at, write_all

__all__ = ["EVERY", "CheckpointDraft", "CheckpointFile", "CheckpointWriter"]

EVERY = 1000
"""Work between checkpoints, in ordinary records: what a seek folds at most, about 15 ms. In a
day's log of 4 million events they take 40% of the log's own size (every 2000: 20%, but 30 ms)."""

_LOCK_S = 1.0
"""How long a writer waits for the lock of the file, which a draft holds for an instant."""

_dumps = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class CheckpointFile:
    """The checkpoints that a log directory has, as of when it was opened; maybe none."""

    def __init__(self, directory: Path, name: str = CHECKPOINTS) -> None:
        self.path = directory / name
        self.pairs: list[tuple[SealedBlock, SealedBlock]] = []
        self.version: _Version | None = None
        with contextlib.suppress(OSError, LogError):
            fd = open_regular(self.path)
            try:
                self.version = _version(fd)
                self.pairs = _pairs(fd)
            finally:
                os.close(fd)

    def changes(self, n: int) -> dict[str, Any]:
        """What checkpoint ``n`` (from 0) changed. Raises LogError, OSError, ValueError."""
        lines = self._read(self.pairs[n][0]).decode("ascii").splitlines()
        data = _loads(lines[0] if lines else "")
        data["recent"] = lines[1:]
        return data

    def head(self, n: int) -> dict[str, Any]:
        """The rest of checkpoint ``n``. Raises LogError, OSError, ValueError."""
        return _loads(self._read(self.pairs[n][1]))

    def _read(self, block: SealedBlock) -> bytes:
        fd = open_regular(self.path)
        try:
            return unpack(fd, block)
        finally:
            os.close(fd)


def _loads(text: str | bytes) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(data, dict):
        raise ValueError("no JSON object")
    return data


_Version = tuple[int, int, int, int]
"""Device, inode, size and time of the last change: what another content would differ in."""


def _version(fd: int) -> _Version:
    found = os.fstat(fd)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _pairs(fd: int) -> list[tuple[SealedBlock, SealedBlock]]:
    pairs = []
    changes: SealedBlock | None = None
    for block in walk(fd, 0, os.fstat(fd).st_size):
        if block.kind == CHANGES and changes is None:
            changes = block
        elif block.kind == HEAD and changes is not None and block.last == changes.last:
            pairs.append((changes, block))
            changes = None
        else:
            break
    return pairs


class CheckpointWriter:
    """Adds checkpoints to a log directory. Only the log's writer may have one.

    ``keep`` says how many of those that are there are good: later ones are cut off.
    ``last_seq`` is the log's last record: a checkpoint beyond it tells of records that
    were never flushed. For the same reason :meth:`write` only after a flush.
    Raises LogError, OSError.
    """

    def __init__(self, directory: Path, last_seq: int, keep: int | None = None) -> None:
        self._sealed = directory / SEALED
        self._fd = _open_locked(directory / CHECKPOINTS)
        pairs = [p for p in _pairs(self._fd)[:keep] if p[1].last <= last_seq]
        self._size = pairs[-1][1].end if pairs else 0
        self._expected = 0
        self.seq = pairs[-1][1].last if pairs else 0
        os.ftruncate(self._fd, self._size)

    def due(self, work: int) -> bool:
        """Whether one should be written after so much work since the last one.

        All checkpoints together never take more than the sealed log.
        """
        return work >= EVERY and self._size + self._expected <= self._log_size()

    def _log_size(self) -> int:
        try:
            return self._sealed.stat().st_size
        except OSError:
            return 0

    def write(self, data: dict[str, Any]) -> bool:
        """Add one; False, and as if nothing was done, when there is no room for it."""
        members = _members(data)
        self._expected = len(members)
        if self._size + len(members) > self._log_size():
            return False
        try:
            write_all(self._fd, members)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._size)
            return False
        self._size += len(members)
        self.seq = data["seq"]
        return True

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._fd)


def _members(data: dict[str, Any]) -> bytes:
    """A checkpoint as it stands in the file."""
    seq, t = data["seq"], data["t"]
    span = RecordRange(seq, seq, t, t, 1)
    changes = {k: v for k, v in data.items() if k not in ("head", "recent")}
    lines = "\n".join([_dumps(changes), *data["recent"], ""])
    members = pack(lines.encode("ascii"), CHANGES, span)
    return members + pack(_dumps(data["head"]).encode("ascii") + b"\n", HEAD, span)


def _open_locked(path: Path) -> int:
    """The file, locked for as long as it is open, and still the one of that name.

    Without it a draft could replace the file that the writer extends. Raises LogError, OSError.
    """
    until = time.monotonic() + _LOCK_S
    while True:
        fd = open_regular(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            if _lock(fd) and os.path.samestat(os.fstat(fd), path.stat()):
                return fd
        except FileNotFoundError:
            pass
        except OSError:  # a file system without locks: the log's own lock must do
            return fd
        os.close(fd)
        if time.monotonic() >= until:
            raise LogError(f"{path}: another process writes these checkpoints")
        time.sleep(_LOCK_S / 100)


def _lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class CheckpointDraft:
    """Checkpoints made in memory, of a log that another process may write: see :meth:`save`.

    ``file`` is what there was when the log was opened; its first ``keep`` checkpoints are good.
    """

    def __init__(self, file: CheckpointFile, keep: int) -> None:
        self._path = file.path
        self._version = file.version
        self._kept = self._size = file.pairs[keep - 1][1].end if keep else 0
        self._drafted: list[bytes] = []
        self._expected = 0

    def due(self, work: int, log_bytes: int) -> bool:
        """As :meth:`CheckpointWriter.due`; ``log_bytes``: of the sealed log up to there."""
        return work >= EVERY and self._size + self._expected <= log_bytes

    def write(self, data: dict[str, Any], log_bytes: int) -> bool:
        """As :meth:`CheckpointWriter.write`."""
        members = _members(data)
        self._expected = len(members)
        if self._size + len(members) > log_bytes:
            return False
        self._drafted.append(members)
        self._size += len(members)
        return True

    def save(self) -> bool:
        """Replace the file on the disk; False if that is not to be.

        So it is while a :class:`CheckpointWriter` has the file, when another process has changed
        it since the log was opened, and in a directory of another user's, who could not write on
        in a file of ours. Raises LogError, OSError.
        """
        if not self._drafted or self._path.parent.stat().st_uid != os.geteuid():
            return False
        fd = open_regular(self._path, os.O_RDWR | os.O_CREAT)
        try:
            if not _lock(fd) or not os.path.samestat(os.fstat(fd), self._path.stat()):
                return False
            now = _version(fd)
            if now != self._version if self._version else now[2]:
                return False
            kept = read_at(fd, 0, self._kept)
            replace_bytes(self._path, b"".join([kept, *self._drafted]))
        finally:
            os.close(fd)
        return True
