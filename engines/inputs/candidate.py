"""The candidate: an input that is about to be tried, and how it was made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

NO_ENTRY = -1


@dataclass(slots=True)  # not frozen: making one would take a microsecond more in each trial
class Candidate:
    """An input to try, never changed.

    ``op`` names the operation as in AFL's file names (``havoc,rep:4``).
    ``src`` and ``src2`` are the ids of the queue entries that it was made from, or ``NO_ENTRY``.
    ``origin`` is the file name of a seed. ``peer`` is the instance that it was imported from; then
    ``src`` is the id there. Both are empty for other inputs.
    """

    data: bytes
    op: str
    src: int = NO_ENTRY
    src2: int = NO_ENTRY
    origin: str = ""
    peer: str = ""
    recovered: bool = False
    """Whether a worker that died had started this trial: then it is not counted again."""
    begun: Callable[[], None] | None = None
    """Called when the journal contains the input, so that it can no longer get lost."""

    @property
    def label(self) -> str:
        """Origin, peer or operation in one string, for the journal."""
        if self.peer:
            return f"sync:{self.peer}"
        return f"orig:{self.origin}" if self.origin else self.op


def from_label(data: bytes, label: str, src: int, src2: int) -> Candidate:
    """Make the candidate that a dead worker was running, from its bytes, label and parents."""
    kind, _, name = label.partition(":")
    if kind == "sync" and name:
        return Candidate(data, "sync", src, peer=name, recovered=True)
    if kind == "orig" and name:
        return Candidate(data, "seed", origin=name, recovered=True)
    return Candidate(data, label or "unknown", src, src2, recovered=True)
