"""Warnings and hints that afl-fuzz prints, as messages for the log: each once for each start."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from fuzztui.kernel.base.files import closing_fd, open_regular, read_regular
from fuzztui.kernel.wire.events import PRINTED, Message
from fuzztui.run.afl.refusal import NOISE, START, TOO_LONG

MAX_WARNINGS = 20
"""Warnings of one start that are in the log."""

MAX_TEXT = 500

_CHUNK = 1 << 20
"""Bytes that are read at once: afl-fuzz prints a line for each entry that it fuzzes."""

_MAX_LOG = 16 << 20
"""Bytes at the end of a log in which the last start is searched."""

_WARNING = re.compile(r"\[!\] WARNING: (?!Not binding to a CPU core|Unable to load stats file)(.*)")
"""Without what fuzztui itself has set, and what 4.04c prints at each first start."""
_HINT = re.compile(r"\[-\]\s*(?!\s|PROGRAM ABORT|SYSTEM ERROR)(.*)")
_CONTINUED = re.compile(r" {2,}(\S.*)")
"""The next line of a hint's paragraph."""


class PrintedWarnings:
    """Reads what an instance appends to its ``worker.log``.

    ``known``: the warnings of its last start that the log has.
    """

    def __init__(self, directory: Path, name: str, known: Collection[str]) -> None:
        self._path, self._name = directory / "worker.log", name
        self._next = set(known)
        """The warnings that are in the log already of the next start that is read."""
        self._seen: set[str] | None = None
        """The warnings since the last start; None: none was read yet."""
        self._offset = _last_start(self._path)
        self._hint: list[str] = []
        self._rest = b""

    def look(self) -> list[Message]:
        """Return new warnings; none if the file cannot be read."""
        try:
            with closing_fd(open_regular(self._path, os.O_RDONLY)) as fd:
                if os.fstat(fd).st_size < self._offset:  # emptied, in the middle of a start
                    self._offset, self._rest = 0, b""
                data = os.pread(fd, _CHUNK, self._offset)
        except OSError:
            return []
        self._offset += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[:_CHUNK]
        plain = (NOISE.sub("", line.decode(errors="replace")) for line in lines)
        found = [text for line in plain for text in self._read(line)]
        return [Message("warning", text, self._name, PRINTED) for text in found]

    def _read(self, line: str) -> Iterator[str]:
        """Yield the warnings that end in, or before, a line."""
        if self._hint and (more := _CONTINUED.match(line)):
            self._hint.append(more[1])
            return
        hint, self._hint = " ".join(self._hint), []
        yield from self._fresh(hint)
        if line.startswith(START) and (self._seen is None or not line.startswith(TOO_LONG)):
            self._seen, self._next = self._next, set()
        elif warning := _WARNING.search(line):
            yield from self._fresh(warning[1])
        elif begun := _HINT.search(line):
            self._hint = [begun[1]]

    def _fresh(self, text: str) -> Iterator[str]:
        text = " ".join(text.split())[:MAX_TEXT]
        seen = self._seen
        if text and seen is not None and text not in seen and len(seen) <= MAX_WARNINGS:
            seen.add(text)
            full = len(seen) > MAX_WARNINGS
            yield f"afl-fuzz has further warnings: see {self._path}" if full else text


def _last_start(path: Path) -> int:
    """The offset of the last start in a log; 0 without one."""
    try:
        size = path.lstat().st_size
        first = max(0, size - _MAX_LOG)
        at = read_regular(path, _MAX_LOG, first).rfind(f"\n{START}".encode())
    except OSError:
        return 0
    return first + at + 1 if at >= 0 else 0
