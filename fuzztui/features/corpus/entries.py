"""The inputs of runs and directories, each content once, as copies with harmless names.

Names are untrusted, and a live afl-fuzz deletes and creates its entries when it trims them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.files import files_in, read_if_regular, status

MAX_INPUT_BYTES: Final = 16 << 20
_FOLDERS: Final = ("queue", "*/queue")
"""Where AFL's output directories have their entries."""


@dataclass(frozen=True, slots=True)
class CorpusInput:
    """One input."""

    name: str
    """``INSTANCE/FILE`` in a run; else the path below the directory."""
    path: Path
    """The file itself; it may be gone."""
    copy: Path
    sha256: str
    size: int

    @property
    def file(self) -> str:
        """The name, as :func:`~fuzztui.features.corpus.cover.greedy_cover` needs it."""
        return self.name


@dataclass(slots=True)
class CorpusInputs:
    """The inputs of some sources."""

    entries: list[CorpusInput] = field(default_factory=list)
    same: dict[str, list[str]] = field(default_factory=dict)
    """Names of further files with the content of an entry, by its hash."""
    left_out: list[tuple[str, str]] = field(default_factory=list)
    """Names of files that cannot be read, and why."""

    @property
    def files(self) -> int:
        """The number of files with an input."""
        return len(self.entries) + sum(map(len, self.same.values()))


def run_inputs(run: Path, directory: Path) -> CorpusInputs:
    """Return the queue entries of all instances of a run, with copies in ``directory``.

    Raises OSError.
    """
    found = CorpusInputs()
    for queue in sorted((run / "out").glob("*/queue")):
        instance = queue.parent.name
        files = ((file, f"{instance}/{file.relative_to(queue)}") for file in files_in([queue]))
        _take(found, files, directory)
    return found


def directory_inputs(directory: Path, copies: Path) -> CorpusInputs:
    """Return the inputs in a directory; of one of AFL's, those of its queues. Raises OSError."""
    found = CorpusInputs()
    queues = sorted(queue for part in _FOLDERS for queue in directory.glob(part) if queue.is_dir())
    files = ((file, str(file.relative_to(directory))) for file in files_in(queues or [directory]))
    _take(found, files, copies)
    return found


def _take(found: CorpusInputs, files: Iterable[tuple[Path, str]], directory: Path) -> None:
    known = {entry.sha256 for entry in found.entries}
    for path, name in files:
        data = read_if_regular(path, MAX_INPUT_BYTES + 1)
        if data is None:
            if status(path) is not None:  # else it was trimmed or deleted just now
                found.left_out.append((name, "cannot be read"))
            continue
        if len(data) > MAX_INPUT_BYTES:
            found.left_out.append((name, f"is larger than {MAX_INPUT_BYTES >> 20} MiB"))
            continue
        sha = hashlib.sha256(data).hexdigest()
        if sha in known:
            found.same.setdefault(sha, []).append(name)
            continue
        known.add(sha)
        copy = directory / f"{len(found.entries):07}"
        copy.write_bytes(data)
        found.entries.append(CorpusInput(name, path, copy, sha, len(data)))
