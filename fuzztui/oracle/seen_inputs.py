"""The inputs that were judged: a file of their keys that outlives the writing process."""

from __future__ import annotations

import os
import struct
from hashlib import blake2b
from pathlib import Path
from typing import Final

from fuzztui.base.files import open_regular

_KEY: Final = struct.Struct("<Q")
_MAX_SIZE: Final = 64 << 20


class SeenInputs:
    """A set of 64-bit keys in a file, 8 bytes each.

    The first key is that of ``request``: if the request has changed, the set is empty. Inputs whose
    keys are lost at the end of the file are judged again by the next process.
    """

    def __init__(self, file: Path, request: str) -> None:
        """Open or create the file. Raises OSError."""
        head = blake2b(request.encode(errors="surrogateescape"), digest_size=_KEY.size).digest()
        self._fd = open_regular(file, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        data = os.pread(self._fd, _MAX_SIZE, 0)
        whole = len(data) - len(data) % _KEY.size
        if data[: _KEY.size] != head:
            os.ftruncate(self._fd, 0)
            whole = 0
        elif whole < len(data):
            os.ftruncate(self._fd, whole)
        self._keys = {key for (key,) in _KEY.iter_unpack(data[_KEY.size : whole])}
        self._unwritten = b"" if whole else head

    def __contains__(self, key: int) -> bool:
        return key in self._keys

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, key: int) -> None:
        """Add a key. If the disk is full, the key is written together with a later one."""
        self._keys.add(key)
        self._unwritten += _KEY.pack(key)
        try:
            # After a partial write the rest is written first the next time.
            self._unwritten = self._unwritten[os.write(self._fd, self._unwritten) :]
        except OSError:
            return
