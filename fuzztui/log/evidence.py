"""Files next to a log that prove that the log was longer."""

from __future__ import annotations

import json
import os
from pathlib import Path

from fuzztui.log.checkpoints import CheckpointFile
from fuzztui.log.files import CHECKPOINTS, STALE, LogError, open_regular, read_at

_OFFSETS = "supervisor/offsets.json"
_MAX_BYTES = 1 << 24


def last_noted_record(directory: Path) -> tuple[int, Path]:
    """The last record that a file next to the log mentions, and that file; 0 if there is none.

    These files are the checkpoints and the supervisor's relay offsets; both are written only
    after a flush. Call this before reading the log, because the log may be growing.
    """
    files = [CheckpointFile(directory, name) for name in (CHECKPOINTS, STALE)]
    known = [(file.pairs[-1][1].last if file.pairs else 0, file.path) for file in files]
    offsets = directory.parent / _OFFSETS
    return max(*known, (_seq_of(offsets), offsets))


def _seq_of(path: Path) -> int:
    try:
        fd = open_regular(path)
        try:
            data = json.loads(read_at(fd, 0, min(os.fstat(fd).st_size, _MAX_BYTES)))
        finally:
            os.close(fd)
        seq = data["seq"]
    except (OSError, LogError, ValueError, TypeError, LookupError, RecursionError):
        return 0
    return seq if type(seq) is int and 0 <= seq < 1 << 62 else 0
