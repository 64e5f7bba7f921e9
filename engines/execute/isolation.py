"""``isolation.json``: mutants that run in child processes only, and flaky inputs.

A mutant shares its process with the fuzzer. A mutant that killed the process, or changed its
state so that later runs differ, is isolated from then on. The file is read by the next worker. The
worker monitor also writes it, but never while a worker lives.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

from fuzztui.engines.base.errors import RestartWorker
from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.bounds import loads

_MAX_FLAKY: Final = 5000
"""Flaky inputs that are kept: with an unstable target, nearly every input is flaky."""


def digest(data: bytes) -> str:
    """The digest that stands for an input in the file."""
    return hashlib.sha256(data).hexdigest()[:16]


@dataclass(slots=True)
class SuspectMutants:
    """The mutants that ran before the target's behaviour on ``data`` changed."""

    data: bytes
    ids: list[str]


@dataclass(slots=True)
class Isolation:
    """The content of the file; call :meth:`save` after every change."""

    path: Path
    outside: dict[str, str] = field(default_factory=dict)
    """Why each mutant is isolated, by its id."""
    flaky: dict[str, None] = field(default_factory=dict)
    """Digests of flaky inputs, the oldest first; only the latest are kept."""
    unexplained: int = 0
    """Times that the target's behaviour changed and no mutant was found to be the cause."""
    suspects: SuspectMutants | None = None

    @property
    def all_isolated(self) -> bool:
        """Whether all mutants are isolated: after three unexplained changes of behaviour."""
        return self.unexplained >= 3

    def is_flaky(self, data: bytes) -> bool:
        """Whether this input is known to be flaky."""
        return bool(self.flaky) and digest(data) in self.flaky

    def mark_flaky(self, data: bytes) -> None:
        """Mark this input as flaky: no mutant is judged by it any more."""
        self.flaky[digest(data)] = None
        while len(self.flaky) > _MAX_FLAKY:
            del self.flaky[next(iter(self.flaky))]
        self.save()

    def check_suspects(self, data: bytes, ids: list[str]) -> NoReturn:
        """Have the next worker check these mutants. Always raises :class:`RestartWorker`."""
        self.suspects = SuspectMutants(data, ids)
        self.save()
        raise RestartWorker

    @classmethod
    def load(cls, directory: Path) -> Isolation:
        """Read the file of the instance directory; empty if it is missing or damaged."""
        made = cls(directory / "isolation.json")
        try:
            read = loads(made.path.read_bytes())
            made.outside = {str(k): str(v) for k, v in read["outside"].items()}
            made.flaky = dict.fromkeys(map(str, read["flaky"]))
            made.unexplained = int(read["unexplained"])
            suspects = read["suspects"]
            if suspects is not None:
                made.suspects = SuspectMutants(
                    bytes.fromhex(suspects["data"]), list(map(str, suspects["ids"]))
                )
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            pass
        return made

    def save(self) -> None:
        """Replace the file. If writing fails, only this process uses the content."""
        suspects: dict[str, Any] | None = None
        if self.suspects is not None:
            suspects = {**asdict(self.suspects), "data": self.suspects.data.hex()}
        content = {
            "outside": self.outside,
            "flaky": list(self.flaky),
            "unexplained": self.unexplained,
            "suspects": suspects,
        }
        with contextlib.suppress(OSError):
            replace_text(self.path, json.dumps(content))


MUTANTS = "mutants.json"
"""The file of the mutants' ids and hashes, by index."""


def write_index(directory: Path, ids: Sequence[tuple[str, str]]) -> None:
    """Write ``mutants.json``; a failed write is ignored.

    The monitor finds the mutant of the journal's index in it. The next worker compares the hashes:
    reported states of a mutant with another hash are stale.
    """
    with contextlib.suppress(OSError):
        replace_text(directory / MUTANTS, json.dumps(ids))


def read_index(directory: Path) -> list[tuple[str, str]]:
    """Read ``mutants.json``; empty if it is missing or damaged."""
    try:
        return [(str(i), str(h)) for i, h in loads((directory / MUTANTS).read_bytes())]
    except (OSError, ValueError, TypeError):
        return []
