"""``.rescue`` and ``.unsafe``: inputs of a dead worker that are run first, or never again."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Final

from fuzztui.engines.inputs.candidate import Candidate, from_label
from fuzztui.kernel.base.atomic import replace_bytes
from fuzztui.kernel.base.bounds import loads
from fuzztui.kernel.base.files import read_if_regular


class Rescue:
    """The file ``.rescue``: an input that the next worker runs before other candidates.

    The journal does not keep the input, because the next worker runs its queue first. Format: a
    line of JSON, then the bytes of the input.
    """

    def __init__(self, directory: Path) -> None:
        self._file = directory / ".rescue"

    def save(self, candidate: Candidate) -> None:
        """Write the file, unless it exists. Raises OSError."""
        if self._file.exists():
            return
        head = json.dumps([candidate.label, candidate.src, candidate.src2]).encode()
        replace_bytes(self._file, head + b"\n" + candidate.data)

    def load(self) -> Candidate | None:
        """The saved candidate, or None."""
        try:
            head, _, data = self._file.read_bytes().partition(b"\n")
            label, src, src2 = loads(head)
            return from_label(data, str(label), int(src), int(src2))
        except (OSError, ValueError, TypeError):
            return None

    def clear(self) -> None:
        """Remove the file: its input has run."""
        with contextlib.suppress(OSError):
            self._file.unlink()


UNSAFE: Final = ".unsafe"

UNRECORDED: Final = ".unrecorded"
"""The file for entries that killed a worker while their comparisons were recorded."""

UNLINED: Final = ".unlined"
"""The file for entries that killed a worker while their lines were recorded."""


_MAX_UNSAFE: Final = 1 << 20
_MAX_DIGITS: Final = 10


class Unsafe:
    """A file of ids of queue entries that killed a worker, one in each line.

    Entries in ``.unsafe`` are never run again; those in the other files only without a record.
    """

    def __init__(self, directory: Path, file: str = UNSAFE) -> None:
        self._file = directory / file

    def add(self, entry: int) -> None:
        """Add an entry. Raises OSError."""
        with self._file.open("a") as file:
            file.write(f"{entry}\n")

    def load(self) -> set[int]:
        """All ids; empty if the file cannot be read. The file may be a peer's: any bytes."""
        data = read_if_regular(self._file, _MAX_UNSAFE) or b""
        return {int(line) for line in data.split() if line.isdigit() and len(line) <= _MAX_DIGITS}
