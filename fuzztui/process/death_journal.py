"""Record which entry a helper process is working on, and which entries have killed the process.

Entries are identified by 64-bit keys.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import signal
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from fuzztui.base.atomic import replace_text
from fuzztui.base.files import read_if_regular

_MAX_DEATHS: Final = 10_000
_KEY: Final = struct.Struct("<Q")
_DEATHS: Final = re.compile(rb"^([0-9a-f]{16}) ([1-9])$", re.MULTILINE)


class DeathJournal:
    """The key of the entry being processed, and the keys of entries that killed the process.

    An entry that was being processed at two deaths is rejected; one death may be chance (the end of
    the campaign).
    """

    def __init__(self, directory: Path, name: str, cpu_s: float) -> None:
        """Open ``NAME.at`` and ``NAME.died`` in ``directory``. Raises OSError.

        ``cpu_s``: seconds of CPU time that one entry may take.
        """
        self._cpu_s = cpu_s
        self._file = directory / f"{name}.died"
        text = read_if_regular(self._file, 19 * _MAX_DEATHS) or b""
        self._deaths = {int(key, 16): int(n) for key, n in _DEATHS.findall(text)}
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(directory / f"{name}.at", flags, 0o600)
        try:
            os.ftruncate(fd, _KEY.size)
            self._now = mmap.mmap(fd, _KEY.size)
        finally:
            os.close(fd)
        if killer := _KEY.unpack_from(self._now)[0]:
            self._deaths[killer] = min(9, self._deaths.get(killer, 0) + 1)
            lines = [f"{key:016x} {n}\n" for key, n in self._deaths.items()]
            with contextlib.suppress(OSError):
                replace_text(self._file, "".join(lines[-_MAX_DEATHS:]))
            _KEY.pack_into(self._now, 0, 0)

    @property
    def rejected(self) -> set[int]:
        """Keys of the entries that must not be processed again."""
        return {key for key, n in self._deaths.items() if n > 1}

    @contextlib.contextmanager
    def at(self, key: int) -> Iterator[None]:
        """Context manager for processing one entry; SIGPROF kills the process after ``cpu_s``."""
        _KEY.pack_into(self._now, 0, key)
        signal.setitimer(signal.ITIMER_PROF, self._cpu_s)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            _KEY.pack_into(self._now, 0, 0)
