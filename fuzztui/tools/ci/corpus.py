"""The kept corpus: a directory that a cache of a CI server carries from run to run.

``inputs/`` has the inputs, by the hash of their content, and whatever files a user puts there;
``findings/`` has inputs that failed, which are run again each time; ``constants.json``, for a
target with a generator, gives the choices in inputs their meaning; ``outcomes.json`` has what the
inputs did. Inputs are only added: one that
is needed for a mutant which this run has not made is never lost.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.atomic import replace_bytes
from fuzztui.kernel.base.files import files_in, read_if_regular

INPUTS: Final = "inputs"
FINDINGS: Final = "findings"
CONSTANTS: Final = "constants.json"
OUTCOMES: Final = "outcomes.json"
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

    @property
    def outcomes(self) -> Path:
        """What the inputs did in an earlier run."""
        return self.path / OUTCOMES

    def make(self) -> None:
        """Make the directories. Raises OSError."""
        for folder in (self.inputs, self.findings):
            folder.mkdir(parents=True, exist_ok=True)

    def files(self) -> list[Path]:
        """Return all inputs in a fixed order: those that failed come last."""
        return [*files_in((self.inputs, self.findings))]

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
