"""Which mutants are settled with which saved input; outlives the worker, not its parent.

A mutant is *settled* with an input when it need not be run on it: soundly pruned, or run.
An exact pass over a large corpus takes long, and a mutant may kill the worker in the
middle of it: its successor continues from here. When the engine is started again, the
program, its harness or its interpreter may be others, so nothing is taken over then.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from fuzztui.base.atomic import replace_text

__all__ = ["NEVER", "Settled", "bits_of"]

NEVER: Final = -1
"""All bits: nothing is ever to be run on that input."""

_FILE: Final = ".settled"
_LINES_TIMES: Final = 4
_LINES_PLUS: Final = 1000
"""The file is written again when it has so many lines more than entries."""
_STARTED: Final = 19
"""The index of the time at which a process was started, behind its name in /proc/PID/stat."""


def bits_of(indices: Iterable[int]) -> int:
    """Each index as a bit."""
    bits = 0
    for at in indices:
        bits |= 1 << at
    return bits


class Settled:
    """Bits of mutants, by the id of a queue entry.

    The file is a line that says what it holds for, then a line an entry: its id and the
    bits in hexadecimal. A later line of an entry replaces an earlier one.
    """

    def __init__(self, directory: Path) -> None:
        self._file = directory / _FILE
        self._bits: dict[int, int] = {}
        self._left: dict[int, int] = {}
        """What an earlier worker has left, of entries that are not in the corpus yet."""
        self._mask = 0
        self._changed: set[int] = set()
        self._head = ""
        self._lines = 0

    def __getitem__(self, entry: int) -> int:
        """Of an entry that is not known: :data:`NEVER`."""
        return self._bits.get(entry, NEVER)

    def __setitem__(self, entry: int, bits: int) -> None:
        if self._bits.get(entry) != bits:
            self._bits[entry] = bits
            self._changed.add(entry)

    def begin(self, entry: int, bits: int) -> None:
        """The entry is in the corpus, with these bits beside what is known of it."""
        self[entry] = self._bits.get(entry, 0) | self._left.pop(entry, 0) | bits

    def reopen(self, bits: int) -> None:
        """These mutants are settled with nothing any more."""
        for entry, settled in self._bits.items():
            if settled != NEVER:
                self[entry] = settled & ~bits
        self._left.clear()
        # A worker that dies before the next save must not leave the old bits behind.
        self._lines = sys.maxsize
        with contextlib.suppress(OSError):
            self._file.unlink()

    # ------------------------------------------------------------------- restarts

    def load(self, mutants: Iterable[str], program: Iterable[str] = ()) -> None:
        """Take over what a worker of the same parent has left, if all these are as they were.

        ``mutants``: a word for each, by index; those that are found later are not kept.
        ``program``: words that change when the program does.
        """
        words = list(mutants)
        self._mask = (1 << len(words)) - 1
        self._head = _head([*words, *program])
        try:
            head, *lines = self._file.read_text("ascii").split("\n")
        except (OSError, ValueError):
            head, lines = "", []
        if self._head and head == self._head:
            for line in lines[:-1]:  # the last one is empty, or torn
                entry, _, bits = line.partition(" ")
                try:
                    self._left[int(entry)] = int(bits, 16)
                except ValueError:
                    continue
        self._rewrite()

    def save(self) -> None:
        """Write what has changed. A disk that is full costs time later, no result."""
        if self._lines > _LINES_TIMES * len(self._bits) + _LINES_PLUS:
            self._rewrite()
        elif self._changed:
            lines = self._lines_of(self._changed)
            try:
                with self._file.open("a", encoding="ascii") as file:
                    file.writelines(lines)
            except OSError:
                self._lines = sys.maxsize  # a torn line: nothing may be written behind it
            else:
                self._lines += len(lines)
                self._changed.clear()

    def _rewrite(self) -> None:
        with contextlib.suppress(OSError):
            lines = self._lines_of({**self._left, **self._bits})
            replace_text(self._file, "".join([f"{self._head}\n", *lines]))
            self._lines = len(lines)
            self._changed.clear()

    def _lines_of(self, entries: Iterable[int]) -> list[str]:
        lines = []
        for entry in sorted(entries):
            bits = self._bits.get(entry, self._left.get(entry, 0))
            lines.append(f"{entry} {bits if bits == NEVER else bits & self._mask:x}\n")
        return lines


def _head(words: Iterable[str]) -> str:
    """The parent process and the words; empty where there is no /proc to tell."""
    parent = os.getppid()
    try:
        stat = Path(f"/proc/{parent}/stat").read_text(errors="replace")
        started = stat.rpartition(")")[2].split()[_STARTED]
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except (OSError, IndexError):
        return ""
    digest = hashlib.sha256("\n".join(words).encode("utf-8", "backslashreplace")).hexdigest()
    return f"{boot} {parent} {started} {digest}"
