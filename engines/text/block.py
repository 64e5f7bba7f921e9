"""The block: what a text mutator does and has done, in a file of 64 KiB (``block.h``).

Its writer is the mutator; everybody else reads. The file is neither mapped by its writers
nor by :func:`read_block`: the target runs as the same user and may cut it, and who touches
a mapped page that is gone dies of SIGBUS.
"""

from __future__ import annotations

import math
import os
import stat
import struct
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fuzztui.engines.text.table import ARMS

__all__ = ["BLOCK", "SIZE", "MutatorCounters", "StatsBlock", "Writer", "read_block"]

BLOCK: Final = ".text"
"""What it is called in an instance's directory."""

SIZE: Final = 65536
MAGIC: Final = b"fuzztui text 1\n\0"

_HEAD: Final = struct.Struct("<16sQQdddQQddd32x")
_ARM: Final = struct.Struct("<8Q")
_SEQUENCE: Final = slice(16, 24)
_ADAPTIVE: Final = 1
_USED: Final = _HEAD.size + len(ARMS) * _ARM.size
_MOST: Final = 1 << 53
_BOUNDS: Final = (_MOST, _MOST, _MOST, _MOST, 1_000_000, 1 << 30, 1 << 20)
_TRIES: Final = 3

assert (_HEAD.size, _ARM.size) == (128, 64)


@dataclass(slots=True)
class MutatorCounters:
    """One operator's, or other way's, counters; ``weight`` is of 1,000,000 within its class.

    ``tried``: drawn; ``applied``: inputs that it changed; ``found``, ``crashes``: those of them
    that became a queue entry, or a crash or hang.
    """

    tried: int = 0
    applied: int = 0
    found: int = 0
    crashes: int = 0
    weight: int = 0
    window_applied: int = 0
    window_found: int = 0


@dataclass(slots=True)
class StatsBlock:
    """The probabilities of the three classes, which add to 1, and the arms in ARMS' order.

    ``wish``: those that somebody has set, from which the adaptive mode goes out.
    """

    havoc: float = 0.25
    text: float = 0.75
    splice: float = 0.0
    adaptive: bool = False
    trials: int = 0
    arms: list[MutatorCounters] = field(default_factory=lambda: [MutatorCounters() for _ in ARMS])
    wish: tuple[float, float, float] | None = None


def read_block(path: Path) -> StatsBlock | None:
    """What is in the file now; None where there is none, or it makes no sense, or changes."""
    for _ in range(_TRIES):
        data = _read(path)
        sequence = data[_SEQUENCE]
        if sequence == _read(path)[_SEQUENCE] and not (sequence and sequence[0] & 1):
            return _decode(data)[0]
    return None


def _read(path: Path) -> bytes:
    """The used part, b"" where there is no such file."""
    try:
        # The target runs as the same user: a FIFO must not block, a link not lead elsewhere.
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.pread(fd, _USED, 0) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(fd)


def _decode(data: bytes) -> tuple[StatsBlock | None, int]:
    """The block and its sequence."""
    if len(data) < _USED:
        return None, 0
    magic, sequence, flags, havoc, text, splice, trials, arms, *wish = _HEAD.unpack_from(data)
    if magic != MAGIC or arms != len(ARMS) or not _is_mixture(havoc, text, splice):
        return None, 0
    found = [_arm(data, i) for i in range(arms)]
    adaptive = bool(flags & _ADAPTIVE)
    wished = (wish[0], wish[1], wish[2]) if _is_mixture(*wish) else None
    return StatsBlock(havoc, text, splice, adaptive, min(trials, _MOST), found, wished), sequence


def _is_mixture(*parts: float) -> bool:
    return all(map(math.isfinite, parts)) and min(parts) >= 0 and abs(sum(parts) - 1) <= 1e-6


def _arm(data: bytes, index: int) -> MutatorCounters:
    """Somebody may have written anything there: no counter becomes too large to reckon with."""
    numbers = _ARM.unpack_from(data, _HEAD.size + index * _ARM.size)
    return MutatorCounters(*map(min, numbers, _BOUNDS))


class Writer:
    """The file's one writer: keeps ``block`` and writes it whenever :meth:`publish` is called."""

    def __init__(self, path: Path, settings: StatsBlock) -> None:
        """Go on with what is there, or else begin with ``settings``."""
        self._path = path
        found, sequence = _decode(_read(path))
        self.block = found if found is not None else settings
        if found is not None and sequence & 1:  # cut off in the middle of a change
            found.havoc, found.text, found.splice = settings.havoc, settings.text, settings.splice
            found.adaptive, found.wish = settings.adaptive, settings.wish
        self._sequence = sequence & ~1
        self.publish(settings=True)

    def publish(self, *, settings: bool = False) -> bool:
        """Write it. ``settings``: the probabilities or the weights have changed.

        A disk that is full, or a file that is none, does not stop the fuzzer. Was it written?
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with suppress(OSError):
            fd = os.open(self._path, flags, 0o600)
            try:
                return self._write(fd, settings)
            finally:
                os.close(fd)
        return False

    def _write(self, fd: int, settings: bool) -> bool:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return False
        if status.st_size != SIZE:
            os.ftruncate(fd, SIZE)
        if settings:
            self._count(fd, odd=True)
        os.pwrite(fd, self._image(), 0)
        if settings:
            self._count(fd, odd=False)
        return True

    def _count(self, fd: int, *, odd: bool) -> None:
        """The next odd or even number: an attempt that failed half-way leaves no trace in it."""
        self._sequence += 1 + ((self._sequence & 1) == odd)
        self._sequence %= 1 << 64
        os.pwrite(fd, self._sequence.to_bytes(8, "little"), _SEQUENCE.start)

    def _image(self) -> bytes:
        b = self.block
        flags = _ADAPTIVE if b.adaptive else 0
        parts = (b.havoc, b.text, b.splice)
        wish = b.wish or (0.0, 0.0, 0.0)
        head = _HEAD.pack(MAGIC, self._sequence, flags, *parts, b.trials, len(b.arms), *wish)
        arms = (
            _ARM.pack(a.tried, a.applied, a.found, a.crashes, a.weight, a.window_applied,
                      a.window_found, 0)
            for a in b.arms
        )  # fmt: skip
        return head + b"".join(arms)
