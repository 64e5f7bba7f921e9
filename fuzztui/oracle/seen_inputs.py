"""Which inputs were looked at: a file of their keys that outlives the process that writes it."""

from __future__ import annotations

import os
import struct
from hashlib import blake2b
from pathlib import Path
from typing import Final

from fuzztui.base.files import open_regular

__all__ = ["Looked"]

_KEY: Final = struct.Struct("<Q")
_MOST: Final = 64 << 20


class Looked:
    """A set of 64-bit keys. Each is a record of 8 bytes at the end of the file.

    The first is of the ``question`` that was asked: for another one all is to be looked at again.
    What is lost of the end, or cannot be written, is asked once more, by the next process.
    """

    def __init__(self, file: Path, question: str) -> None:
        """Raises OSError."""
        head = blake2b(question.encode(errors="surrogateescape"), digest_size=_KEY.size).digest()
        self._fd = open_regular(file, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        data = os.pread(self._fd, _MOST, 0)
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
        """It was looked at. On a full disk that is written with a later one."""
        self._keys.add(key)
        self._unwritten += _KEY.pack(key)
        try:
            # A torn record is in nobody's way: the rest of it comes first the next time.
            self._unwritten = self._unwritten[os.write(self._fd, self._unwritten) :]
        except OSError:
            return
