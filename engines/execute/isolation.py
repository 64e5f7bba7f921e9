"""``isolation.json``: what mutants must not run in this process, and inputs not to trust.

A mutant shares its process with the fuzzer. One that killed the process, or left
something behind that changed the program's later runs, is *outside* from then on: it
runs in child processes only. The file outlives the worker; the parent process, which
sees it die, writes it too (never while a worker lives).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

from fuzztui.base.atomic import replace_text
from fuzztui.base.bounds import loads
from fuzztui.engines.base.errors import RestartWorker

__all__ = ["Isolation", "SuspectMutants", "digest", "read_index", "write_index"]


_FLAKY_AT_MOST: Final = 5000
"""Of a target that is hardly ever the same, nearly every input is flaky."""


def digest(data: bytes) -> str:
    """How an input is named in the file."""
    return hashlib.sha256(data).hexdigest()[:16]


@dataclass(slots=True)
class SuspectMutants:
    """After these mutants had run, the program no longer did on ``data`` what it had done."""

    data: bytes
    ids: list[str]


@dataclass(slots=True)
class Isolation:
    """The file's content; :meth:`save` after every change."""

    path: Path
    outside: dict[str, str] = field(default_factory=dict)
    """Mutant ids, and why."""
    flaky: dict[str, None] = field(default_factory=dict)
    """Digests of inputs that do not always end alike: the latest, in their order."""
    unexplained: int = 0
    """Times that the program's behaviour changed and no mutant was found guilty."""
    suspects: SuspectMutants | None = None

    @property
    def all_outside(self) -> bool:
        """More than twice unexplained: the target's state is not to be trusted to mutants."""
        return self.unexplained >= 3

    def distrusts(self, data: bytes) -> bool:
        """Is this input known to be flaky?"""
        return bool(self.flaky) and digest(data) in self.flaky

    def distrust(self, data: bytes) -> None:
        """This input does not always end alike: no mutant is judged by it any more."""
        self.flaky[digest(data)] = None
        while len(self.flaky) > _FLAKY_AT_MOST:
            del self.flaky[next(iter(self.flaky))]
        self.save()

    def accuse(self, data: bytes, ids: list[str]) -> NoReturn:
        """Have the next worker find out who did it. Raises :class:`RestartWorker`."""
        self.suspects = SuspectMutants(data, ids)
        self.save()
        raise RestartWorker

    @classmethod
    def load(cls, directory: Path) -> Isolation:
        """What the instance directory's file says; empty when there is none, or it is torn."""
        made = cls(directory / "isolation.json")
        try:
            read = loads(made.path.read_bytes())
            made.outside = {str(k): str(v) for k, v in read["outside"].items()}
            made.flaky = dict.fromkeys(map(str, read["flaky"]))
            made.unexplained = int(read["unexplained"])
            told = read["suspects"]
            if told is not None:
                made.suspects = SuspectMutants(
                    bytes.fromhex(told["data"]), list(map(str, told["ids"]))
                )
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            pass
        return made

    def save(self) -> None:
        """Replace the file; without a disk to write on, this process continues knowing."""
        told: dict[str, Any] | None = None
        if self.suspects is not None:
            told = {**asdict(self.suspects), "data": self.suspects.data.hex()}
        content = {
            "outside": self.outside,
            "flaky": list(self.flaky),
            "unexplained": self.unexplained,
            "suspects": told,
        }
        with contextlib.suppress(OSError):
            replace_text(self.path, json.dumps(content))


MUTANTS = "mutants.json"
"""The mutants' ids and hashes by index, as the worker has numbered them."""


def write_index(directory: Path, ids: Sequence[tuple[str, str]]) -> None:
    """For the parent, which sees an index in the journal; and for the next worker, to which
    a changed hash says that what was told of a mutant is stale."""
    with contextlib.suppress(OSError):
        replace_text(directory / MUTANTS, json.dumps(ids))


def read_index(directory: Path) -> list[tuple[str, str]]:
    """The inverse; empty when there is no such file, or it is torn."""
    try:
        return [(str(i), str(h)) for i, h in loads((directory / MUTANTS).read_bytes())]
    except (OSError, ValueError, TypeError):
        return []
