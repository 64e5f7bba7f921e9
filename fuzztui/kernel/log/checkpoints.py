"""Checkpoints on disk: a cache, in the log's container, that may be deleted at any time.

A checkpoint is JSON data of :mod:`fuzztui.kernel.model.checkpoint`; this module only stores
it, as two members: the changes since the previous checkpoint (``CHANGES``: an object,
then the event list's records, one per line) and the rest (``HEAD``), which is
unpacked only for the checkpoint that is restored.

Checkpoints also prove how long the log was: :func:`last_noted_record`.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from pathlib import Path
from typing import Any

from fuzztui.kernel.base.atomic import replace_bytes, write_all
from fuzztui.kernel.base.files import closing_fd, read_json
from fuzztui.kernel.log.blocks import CHANGES, HEAD, RecordRange, SealedBlock, pack, unpack, walk
from fuzztui.kernel.log.files import CHECKPOINTS, SEALED, STALE, LogError, open_regular, read_at
from fuzztui.kernel.wire.codec import MAX_SEQ

EVERY = 1000
"""Work between checkpoints, in ordinary records: a seek folds at most this many, in about 15 ms.
In a day's log of 4 million events checkpoints take 40% of the log's own size (every 2000: 20%, but
30 ms)."""

_LOCK_S = 1.0
"""Seconds for which a writer waits for the file's lock, which a draft holds for an instant."""

_dumps = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class CheckpointFile:
    """The checkpoints in a log directory at the time of opening; there may be none."""

    def __init__(self, directory: Path, name: str = CHECKPOINTS) -> None:
        self.path = directory / name
        self.pairs: list[tuple[SealedBlock, SealedBlock]] = []
        self.version: _Version | None = None
        with contextlib.suppress(OSError, LogError), closing_fd(open_regular(self.path)) as fd:
            self.version = _version(fd)
            self.pairs = _pairs(fd)

    def changes(self, n: int) -> dict[str, Any]:
        """The changes of checkpoint ``n`` (from 0). Raises LogError, OSError, ValueError."""
        lines = self._read(self.pairs[n][0]).decode("ascii").splitlines()
        data = _loads(lines[0] if lines else "")
        data["recent"] = lines[1:]
        return data

    def head(self, n: int) -> dict[str, Any]:
        """The rest of checkpoint ``n``. Raises LogError, OSError, ValueError."""
        return _loads(self._read(self.pairs[n][1]))

    def _read(self, block: SealedBlock) -> bytes:
        with closing_fd(open_regular(self.path)) as fd:
            return unpack(fd, block)


def _loads(text: str | bytes) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(data, dict):
        raise ValueError("no JSON object")
    return data


_Version = tuple[int, int, int, int]
"""Device, inode, size and modification time: they differ if the content was changed."""


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
    """Adds checkpoints to a log directory; for the log's writer only.

    ``keep``: how many of the existing checkpoints are good; later ones are cut off.
    ``last_seq``: the log's last record; a checkpoint beyond it contains records that
    were never flushed. For the same reason, call :meth:`write` only after a flush.
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
        """Whether to write a checkpoint, ``work`` records after the previous one.

        All checkpoints together never take more bytes than the sealed log.
        """
        return work >= EVERY and self._size + self._expected <= self._log_size()

    def _log_size(self) -> int:
        try:
            return self._sealed.stat().st_size
        except OSError:
            return 0

    def write(self, data: dict[str, Any]) -> bool:
        """Add a checkpoint; False, with the file unchanged, if there is no room for it."""
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
        """Close the file and release its lock."""
        os.close(self._fd)


def _members(data: dict[str, Any]) -> bytes:
    seq, t = data["seq"], data["t"]
    span = RecordRange(seq, seq, t, t, 1)
    changes = {k: v for k, v in data.items() if k not in ("head", "recent")}
    lines = "\n".join([_dumps(changes), *data["recent"], ""])
    members = pack(lines.encode("ascii"), CHANGES, span)
    return members + pack(_dumps(data["head"]).encode("ascii") + b"\n", HEAD, span)


def _open_locked(path: Path) -> int:
    """Open the file and lock it until it is closed; it is certain to be the one named ``path``.

    Without the lock, a draft could replace the file that the writer extends.
    Raises LogError, OSError.
    """
    until = time.monotonic() + _LOCK_S
    while True:
        fd = open_regular(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            if _lock(fd) and os.path.samestat(os.fstat(fd), path.stat()):
                return fd
        except FileNotFoundError:
            pass
        except OSError:  # a file system without locks: the log's own lock must suffice
            return fd
        os.close(fd)
        if time.monotonic() >= until:
            raise LogError(f"{path}: another process writes these checkpoints; stop it first")
        time.sleep(_LOCK_S / 100)


def _lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class CheckpointDraft:
    """Checkpoints in memory of a log that another process may write; see :meth:`save`.

    ``file``: the checkpoints when the log was opened; the first ``keep`` of them are good.
    """

    def __init__(self, file: CheckpointFile, keep: int) -> None:
        self._path = file.path
        self._version = file.version
        self._kept = self._size = file.pairs[keep - 1][1].end if keep else 0
        self._drafted: list[bytes] = []
        self._expected = 0

    def due(self, work: int, log_bytes: int) -> bool:
        """Whether to write a checkpoint, ``work`` records after the previous one.

        All checkpoints together stay below ``log_bytes``, the size of the sealed log up to here.
        """
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
        """Replace the file on the disk; False, with the file unchanged, if that is not safe.

        Not safe: a :class:`CheckpointWriter` has the file open, another process has changed it
        since the log was opened, or the directory belongs to another user, who could not extend
        a file of this user. Raises LogError, OSError.
        """
        if not self._drafted or self._path.parent.stat().st_uid != os.geteuid():
            return False
        with closing_fd(open_regular(self._path, os.O_RDWR | os.O_CREAT)) as fd:
            if not _lock(fd) or not os.path.samestat(os.fstat(fd), self._path.stat()):
                return False
            now = _version(fd)
            if now != self._version if self._version else now[2]:
                return False
            kept = read_at(fd, 0, self._kept)
            replace_bytes(self._path, b"".join([kept, *self._drafted]))
        return True


_OFFSETS = "supervisor/offsets.json"


def last_noted_record(directory: Path) -> tuple[int, Path]:
    """The last record that a file next to the log mentions, and that file; 0 if there is none.

    These files are the checkpoints and the supervisor's relay offsets; both are written only
    after a flush. Call this before reading the log, because the log may be growing.
    """
    files = [CheckpointFile(directory, name) for name in (CHECKPOINTS, STALE)]
    known = [(file.pairs[-1][1].last if file.pairs else 0, file.path) for file in files]
    offsets = directory.parent / _OFFSETS
    seq = (read_json(offsets) or {}).get("seq")
    seq = seq if type(seq) is int and 0 <= seq < MAX_SEQ else 0
    return max(*known, (seq, offsets))
