"""``.rescue`` and ``.unsafe``: notes that a dead worker's successor goes by."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from fuzztui.base.atomic import replace_bytes
from fuzztui.base.bounds import loads
from fuzztui.engines.inputs.candidate import Candidate, from_label

__all__ = ["Rescue", "Unsafe"]


class Rescue:
    """An input that must run (again) before anything else, as a file of its own.

    The journal cannot keep it: the successor's first act is to run its queue.
    A line of JSON, then the bytes.
    """

    def __init__(self, directory: Path) -> None:
        self._file = directory / ".rescue"

    def save(self, candidate: Candidate) -> None:
        """Keep it until :meth:`clear`; what is kept already stays. Raises OSError."""
        if self._file.exists():
            return
        head = json.dumps([candidate.label, candidate.src, candidate.src2]).encode()
        replace_bytes(self._file, head + b"\n" + candidate.data)

    def load(self) -> Candidate | None:
        """What is kept, or None."""
        try:
            head, _, data = self._file.read_bytes().partition(b"\n")
            label, src, src2 = loads(head)
            return from_label(data, str(label), int(src), int(src2))
        except (OSError, ValueError, TypeError):
            return None

    def clear(self) -> None:
        """It has run."""
        with contextlib.suppress(OSError):
            self._file.unlink()


class Unsafe:
    """Queue entries that killed a worker when they were run again: an id a line."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / ".unsafe"

    def add(self, entry: int) -> None:
        """Never run this entry again. Raises OSError."""
        with self._file.open("a") as file:
            file.write(f"{entry}\n")

    def load(self) -> set[int]:
        """All of them."""
        try:
            return {int(line) for line in self._file.read_text().split() if line.isdigit()}
        except (OSError, ValueError):
            return set()
