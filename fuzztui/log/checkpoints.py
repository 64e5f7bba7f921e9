"""Checkpoints on disk: a cache, in the log's container, that may be deleted at any time.

A checkpoint is JSON data that :mod:`fuzztui.model.checkpoint` makes and understands;
here it is only kept. It takes two members: what changed since the one before
(``CHANGES``: an object, then the event list's records a line each) and the rest
(``HEAD``), which is unpacked for the one checkpoint that is wanted.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from fuzztui.log.blocks import CHANGES, HEAD, Block, Span, pack, unpack, walk
from fuzztui.log.files import CHECKPOINTS, SEALED, LogError, open_regular, write_all

__all__ = ["EVERY", "CheckpointFile", "CheckpointWriter"]

EVERY = 1000
"""Work between checkpoints, in ordinary records: what a seek folds at most, about 15 ms. In a
day's log of 4 million events they take 40% of the log's own size (every 2000: 20%, but 30 ms)."""

_dumps = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class CheckpointFile:
    """The checkpoints that a log directory has, as of when it was opened; maybe none."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / CHECKPOINTS
        self.pairs: list[tuple[Block, Block]] = []
        with contextlib.suppress(OSError, LogError):
            fd = open_regular(self._path)
            try:
                self.pairs = _pairs(fd)
            finally:
                os.close(fd)

    def changes(self, n: int) -> dict[str, Any]:
        """What checkpoint ``n`` (from 0) changed. Raises LogError, OSError, ValueError."""
        lines = self._read(self.pairs[n][0]).decode("ascii").splitlines()
        data: dict[str, Any] = json.loads(lines[0])
        data["recent"] = lines[1:]
        return data

    def head(self, n: int) -> dict[str, Any]:
        """The rest of checkpoint ``n``. Raises LogError, OSError, ValueError."""
        data: dict[str, Any] = json.loads(self._read(self.pairs[n][1]))
        return data

    def _read(self, block: Block) -> bytes:
        fd = open_regular(self._path)
        try:
            return unpack(fd, block)
        finally:
            os.close(fd)


def _pairs(fd: int) -> list[tuple[Block, Block]]:
    pairs = []
    changes: Block | None = None
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
        self._fd = open_regular(directory / CHECKPOINTS, os.O_RDWR | os.O_CREAT | os.O_APPEND)
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
        seq, t = data["seq"], data["t"]
        span = Span(seq, seq, t, t, 1)
        changes = {k: v for k, v in data.items() if k not in ("head", "recent")}
        lines = "\n".join([_dumps(changes), *data["recent"], ""])
        members = pack(lines.encode("ascii"), CHANGES, span)
        members += pack(_dumps(data["head"]).encode("ascii") + b"\n", HEAD, span)
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
        self.seq = seq
        return True

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._fd)
