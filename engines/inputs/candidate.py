"""An input that is about to be tried, and how it was made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["NO_ENTRY", "Candidate", "from_label"]

NO_ENTRY = -1


@dataclass(frozen=True, slots=True)
class Candidate:
    """``op`` names the operation as in AFL's file names (``havoc,rep:4``).

    ``src`` and ``src2`` are the ids of the queue entries it was made from, or
    ``NO_ENTRY``. ``origin`` is the seed's file name, ``peer`` the instance that it
    was imported from (then ``src`` is the peer's id).
    """

    data: bytes
    op: str
    src: int = NO_ENTRY
    src2: int = NO_ENTRY
    origin: str = ""
    peer: str = ""
    recovered: bool = False
    """Was this trial begun before, by a worker that died? Then it counts no more."""
    begun: Callable[[], None] | None = None
    """Called when the journal holds the input: from then on it cannot get lost."""

    @property
    def label(self) -> str:
        """Origin, peer or operation in one string, as the journal keeps it."""
        if self.peer:
            return f"sync:{self.peer}"
        return f"orig:{self.origin}" if self.origin else self.op


def from_label(data: bytes, label: str, src: int, src2: int) -> Candidate:
    """The candidate that a worker was running when it died."""
    kind, _, name = label.partition(":")
    if kind == "sync" and name:
        return Candidate(data, "sync", src, peer=name, recovered=True)
    if kind == "orig" and name:
        return Candidate(data, "seed", origin=name, recovered=True)
    return Candidate(data, label or "unknown", src, src2, recovered=True)
