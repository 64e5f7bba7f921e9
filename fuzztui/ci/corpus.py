"""The kept corpus: a directory that a cache of a CI server carries from run to run.

``inputs/`` has the inputs, by the hash of their content, and whatever files a user puts there;
``findings/`` has inputs that failed, which are run again each time; ``constants.json``, for a
target with a generator, gives the choices in inputs their meaning. Inputs are only added: one that
is needed for a mutant which this run has not made is never lost.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fuzztui.base.atomic import PART, replace_bytes
from fuzztui.base.files import read_if_regular

INPUTS: Final = "inputs"
FINDINGS: Final = "findings"
CONSTANTS: Final = "constants.json"
MAX_INPUT_BYTES: Final = 16 << 20
_DIGITS: Final = 32


@dataclass(frozen=True, slots=True)
class KeptCorpus:
    """The directory of one campaign's kept corpus; it need not exist."""

    path: Path

    @property
    def inputs(self) -> Path:
        """The directory of inputs."""
        return self.path / INPUTS

    @property
    def findings(self) -> Path:
        """The directory of inputs that failed."""
        return self.path / FINDINGS

    @property
    def constants(self) -> Path:
        """The constants that a generator draws."""
        return self.path / CONSTANTS

    def make(self) -> None:
        """Make the directories. Raises OSError."""
        for folder in (self.inputs, self.findings):
            folder.mkdir(parents=True, exist_ok=True)

    def files(self) -> list[Path]:
        """Return all inputs in a fixed order: those that failed come last."""
        return [file for folder in (self.inputs, self.findings) for file in files_in(folder)]

    def add(self, file: Path, folder: Path) -> Path | None:
        """Copy an input into ``folder``; None if it cannot be read. Raises OSError.

        The name is the hash of the content, so that an input is there once.
        """
        data = read_if_regular(file, MAX_INPUT_BYTES + 1)
        if data is None or len(data) > MAX_INPUT_BYTES:
            return None
        kept = folder / hashlib.sha256(data).hexdigest()[:_DIGITS]
        if read_if_regular(kept, MAX_INPUT_BYTES) != data:
            replace_bytes(kept, data)
        return kept


def files_in(folder: Path) -> list[Path]:
    """Return the regular files at and below a directory, or a file itself, by name."""
    return [
        file
        for file in ([folder] if folder.is_file() else sorted(folder.rglob("*")))
        if file.is_file() and not file.is_symlink() and not file.name.startswith(PART)
    ]


def needed(
    kept: Iterable[frozenset[int]], new: Mapping[Path, frozenset[int]], killers: Iterable[Path]
) -> Iterator[Path]:
    """Yield the new inputs that the kept corpus needs.

    ``kept``: what each kept input covers; ``new``: what each new one covers; ``killers``: inputs
    that kill a mutant which no kept input kills. All of these are needed; of the others, the
    smallest that together cover everything.
    """
    wanted = [file for file in dict.fromkeys(killers) if file in new]
    covered: set[int] = set().union(*kept, *(new[file] for file in wanted))
    yield from wanted
    for file in sorted(new.keys() - {*wanted}, key=_by_size):
        if not new[file] <= covered:
            covered |= new[file]
            yield file


def _by_size(file: Path) -> tuple[int, str]:
    try:
        return file.lstat().st_size, file.name
    except OSError:
        return MAX_INPUT_BYTES, file.name
