"""The statistics block: settings and counters of a text mutator, a file of 64 KiB (``block.h``).

Only the mutator writes the file. Neither writers nor :func:`read_block` map the file: the target
runs as the same user and may truncate it, and a process that reads a mapped page beyond the end is
killed by SIGBUS.
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
from fuzztui.kernel.wire.commands import MAX_MUTATOR_WEIGHT

BLOCK: Final = ".text"
"""Name of the file in an instance's directory."""

SIZE: Final = 65536
MAGIC: Final = b"fuzztui text 1\n\0"

_HEAD: Final = struct.Struct("<16sQQdddQQddd6I8x")
_ARM: Final = struct.Struct("<8Q")
_SEQUENCE: Final = slice(16, 24)
_ADAPTIVE: Final = 1
_USED: Final = _HEAD.size + len(ARMS) * _ARM.size
_MOST: Final = 1 << 53
_MAX_WISH: Final = 1 + 1000 * MAX_MUTATOR_WEIGHT
_BOUNDS: Final = (_MOST, _MOST, _MOST, _MOST, 1_000_000, 1 << 30, 1 << 20, _MAX_WISH)
_TRIES: Final = 3

MAX_RECENT: Final = 1 << 30
"""Bound of the counters of recent inputs: a block has 32 bits for each."""

assert (_HEAD.size, _ARM.size) == (128, 64)


@dataclass(slots=True)
class MutatorCounters:
    """The counters of one mutator; ``weight``: millionths within its class.

    ``tried``: draws; ``applied``: inputs that it changed; ``found``, ``crashes``: changed inputs
    that became a queue entry, or a crash or hang. ``wish``: 1 more than the weight that a user has
    set, in thousandths; 0: none.
    """

    tried: int = 0
    applied: int = 0
    found: int = 0
    crashes: int = 0
    weight: int = 0
    window_applied: int = 0
    window_found: int = 0
    wish: int = 0

    @property
    def wished(self) -> int:
        """The user's weight in thousandths; 1000 if no user has set one."""
        return self.wish - 1 if self.wish else 1000


@dataclass(slots=True)
class StatsBlock:
    """The probabilities of the three classes, whose sum is 1, and the counters in ARMS' order.

    ``wish``: the probabilities that a user has set, from which the adaptive mode starts.
    ``made``, ``kept``: recent inputs with a step of each class (text, splice, havoc), and how many
    of them became queue entries.
    """

    havoc: float = 0.25
    text: float = 0.75
    splice: float = 0.0
    adaptive: bool = False
    trials: int = 0
    arms: list[MutatorCounters] = field(default_factory=lambda: [MutatorCounters() for _ in ARMS])
    wish: tuple[float, float, float] | None = None
    made: list[int] = field(default_factory=lambda: [0, 0, 0])
    kept: list[int] = field(default_factory=lambda: [0, 0, 0])


def read_block(path: Path) -> StatsBlock | None:
    """Read the file. None if it is missing, malformed, or changes during each attempt."""
    for _ in range(_TRIES):
        data = _read(path)
        sequence = data[_SEQUENCE]
        if sequence == _read(path)[_SEQUENCE] and not (sequence and sequence[0] & 1):
            return _decode(data)[0]
    return None


def _read(path: Path) -> bytes:
    """The used part of the file; empty if there is no such regular file."""
    try:
        # The target may replace the file: a FIFO must not block, a link must not be followed.
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
    """The block and its sequence number; None and 0 if the data is malformed."""
    if len(data) < _USED:
        return None, 0
    magic, sequence, flags, havoc, text, splice, trials, arms, *more = _HEAD.unpack_from(data)
    wish = more[:3]
    made, kept = ([min(n, MAX_RECENT) for n in part] for part in (more[3:6], more[6:]))
    if magic != MAGIC or arms != len(ARMS) or not _is_mixture(havoc, text, splice):
        return None, 0
    found = [_arm(data, i) for i in range(arms)]
    adaptive = bool(flags & _ADAPTIVE)
    wished = (wish[0], wish[1], wish[2]) if _is_mixture(*wish) else None
    trials = min(trials, _MOST)
    block = StatsBlock(havoc, text, splice, adaptive, trials, found, wished, made, kept)
    return block, sequence


def _is_mixture(*parts: float) -> bool:
    return all(map(math.isfinite, parts)) and min(parts) >= 0 and abs(sum(parts) - 1) <= 1e-6


def _arm(data: bytes, index: int) -> MutatorCounters:
    """One mutator's counters, bounded, because the file may contain arbitrary numbers."""
    numbers = _ARM.unpack_from(data, _HEAD.size + index * _ARM.size)
    return MutatorCounters(*map(min, numbers, _BOUNDS))


class Writer:
    """The only writer of the file: writes :attr:`block` when :meth:`publish` is called."""

    def __init__(self, path: Path, settings: StatsBlock) -> None:
        """Continue with the file's content, or start with ``settings`` if there is none."""
        self._path = path
        found, sequence = _decode(_read(path))
        self.block = found if found is not None else settings
        if found is not None and sequence & 1:  # the writer was killed during a change
            found.havoc, found.text, found.splice = settings.havoc, settings.text, settings.splice
            found.adaptive, found.wish = settings.adaptive, settings.wish
        self._sequence = sequence & ~1
        self.publish(settings=True)

    def publish(self, *, settings: bool = False) -> bool:
        """Write the block. ``settings``: the probabilities or weights have changed.

        Returns whether it was written; a full disk, for example, does not stop the fuzzer.
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
        """Write the next odd or even sequence number, also after an incomplete attempt."""
        self._sequence += 1 + ((self._sequence & 1) == odd)
        self._sequence %= 1 << 64
        os.pwrite(fd, self._sequence.to_bytes(8, "little"), _SEQUENCE.start)

    def _image(self) -> bytes:
        b = self.block
        flags = _ADAPTIVE if b.adaptive else 0
        parts = (b.havoc, b.text, b.splice)
        wish = b.wish or (0.0, 0.0, 0.0)
        recent = (*wish, *b.made, *b.kept)
        head = _HEAD.pack(MAGIC, self._sequence, flags, *parts, b.trials, len(b.arms), *recent)
        arms = (
            _ARM.pack(a.tried, a.applied, a.found, a.crashes, a.weight, a.window_applied,
                      a.window_found, a.wish)
            for a in b.arms
        )  # fmt: skip
        return head + b"".join(arms)
