"""The settled pairs of mutants and saved inputs, kept from worker to worker of one monitor.

A mutant is *settled* with an input if it need not be run on the input any more: it was soundly
pruned or has run. An exact pass over a large corpus takes long and a mutant may kill the worker, so
the next worker continues from this file. After a restart of the engine nothing is reused, because
the program, the harness or the interpreter may have changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.atomic import replace_text

NEVER: Final = -1
"""All bits: no mutant is ever run on the input."""

_FILE: Final = ".settled"
_LINES_TIMES: Final = 4
_LINES_PLUS: Final = 1000
"""The file is rewritten when it has more lines than 4 times the number of entries plus 1000."""
_PASS: Final = "pass"
_STARTED: Final = 19
"""Index of a process's start time among the fields after its name in /proc/PID/stat."""


def bits_of(indices: Iterable[int]) -> int:
    """An integer with the bits of these indices set."""
    bits = 0
    for at in indices:
        bits |= 1 << at
    return bits


class Settled:
    """The settled mutants of each entry, as bits by the entry's id.

    They are kept in a file. Its first line identifies the process and the program for which it is
    valid. Each other line has an entry's id and its bits in hexadecimal, or the word ``pass`` and
    :attr:`exact_pass`; a later line replaces an earlier one.
    """

    def __init__(self, directory: Path) -> None:
        self._file = directory / _FILE
        self._bits: dict[int, int] = {}
        self._left: dict[int, int] = {}
        """Bits from an earlier worker, of entries that are not in the corpus yet."""
        self.exact_pass = ""
        """The running exact pass, as text; an empty string if none is running."""
        self._saved_pass = ""
        self._mask = 0
        self._changed: set[int] = set()
        self._head = ""
        self._lines = 0

    def __getitem__(self, entry: int) -> int:
        """The bits of an entry; :data:`NEVER` if it is unknown."""
        return self._bits.get(entry, NEVER)

    def __setitem__(self, entry: int, bits: int) -> None:
        if self._bits.get(entry) != bits:
            self._bits[entry] = bits
            self._changed.add(entry)

    def begin(self, entry: int, bits: int) -> None:
        """Add an entry of the corpus with these bits and those from an earlier worker."""
        self[entry] = self._bits.get(entry, 0) | self._left.pop(entry, 0) | bits

    def reopen(self, bits: int) -> None:
        """Make these mutants unsettled with every input."""
        for entry, settled in self._bits.items():
            if settled != NEVER:
                self[entry] = settled & ~bits
        self._left.clear()
        # If the worker dies before the next save, the old bits must not be read again.
        self._lines = sys.maxsize
        with contextlib.suppress(OSError):
            self._file.unlink()

    # ------------------------------------------------------------------- restarts

    def load(self, mutants: Iterable[str], program: Iterable[str] = ()) -> None:
        """Read the file of an earlier worker of the same parent process, if nothing has changed.

        ``mutants``: a text for each mutant, by index; mutants found later are not saved.
        ``program``: texts that change when the program changes.
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
                if entry == _PASS:
                    self.exact_pass = bits
                    continue
                try:
                    self._left[int(entry)] = int(bits, 16)
                except ValueError:
                    continue
        self._rewrite()

    def save(self) -> None:
        """Write changes. A failed write only causes repeated runs after a restart."""
        if self._lines > _LINES_TIMES * len(self._bits) + _LINES_PLUS:
            self._rewrite()
        elif self._changed or self.exact_pass != self._saved_pass:
            lines = self._lines_of(self._changed)
            try:
                with self._file.open("a", encoding="ascii") as file:
                    file.writelines(lines)
            except OSError:
                self._lines = sys.maxsize  # rewrite the file: its last line may be torn
            else:
                self._lines += len(lines)
                self._changed.clear()
                self._saved_pass = self.exact_pass

    def _rewrite(self) -> None:
        with contextlib.suppress(OSError):
            lines = self._lines_of({**self._left, **self._bits})
            replace_text(self._file, "".join([f"{self._head}\n", *lines]))
            self._lines = len(lines)
            self._changed.clear()
            self._saved_pass = self.exact_pass

    def _lines_of(self, entries: Iterable[int]) -> list[str]:
        lines = [f"{_PASS} {self.exact_pass}\n"] if self.exact_pass or self._saved_pass else []
        for entry in sorted(entries):
            bits = self._bits.get(entry, self._left.get(entry, 0))
            lines.append(f"{entry} {bits if bits == NEVER else bits & self._mask:x}\n")
        return lines


def _head(words: Iterable[str]) -> str:
    """Identify the parent process and these texts; an empty string without /proc."""
    parent = os.getppid()
    try:
        stat = Path(f"/proc/{parent}/stat").read_text(errors="replace")
        started = stat.rpartition(")")[2].split()[_STARTED]
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except (OSError, IndexError):
        return ""
    digest = hashlib.sha256("\n".join(words).encode("utf-8", "backslashreplace")).hexdigest()
    return f"{boot} {parent} {started} {digest}"
