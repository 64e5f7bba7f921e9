"""All checkpoints of a log, in memory: any of them is a state within milliseconds.

A link holds what changed in the growing tables since the link before, already as
rows, and how to get at the rest (its head). Restoring a link lays the changes of
all links up to it over each other: rows are frozen, so that states share them
and a table of 20,000 rows costs a millisecond.

How far links are apart is measured in the fold's work (:attr:`State.cost`), because
one record may list hundreds of mutants.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from fuzztui.kernel.model.checkpoint import CheckpointError, CheckpointMark, Tables, head_to_state
from fuzztui.kernel.model.state import RECENT_RECORDS, State
from fuzztui.kernel.wire.codec import decode_record


@dataclass(frozen=True, slots=True)
class Link:
    """One checkpoint: the state after record ``seq``, at campaign time ``t``."""

    seq: int
    cost: int
    t: float
    tables: Tables
    """What changed since the link before."""
    recent: list[str]
    """Encoded records of the event list since the link before."""
    head: Callable[[], dict[str, Any]]
    """Returns the head, the part of the checkpoint that does not grow; raises
    :class:`CheckpointError` if it cannot be read (any more)."""


@dataclass(slots=True)
class Chain:
    """Links in the order of the log, each made against the one before."""

    links: list[Link] = field(default_factory=list)

    @property
    def seq(self) -> int:
        """The sequence number of the last link, 0 if there is none."""
        return self.links[-1].seq if self.links else 0

    @property
    def cost(self) -> int:
        """The work of folding up to the last link."""
        return self.links[-1].cost if self.links else 0

    def upto_t(self, t: float) -> int:
        """How many links are not after campaign time ``t``."""
        return bisect_right(self.links, t, key=attrgetter("t"))

    def mark(self, n: int) -> CheckpointMark:
        """The growing tables at link ``n`` (from 1; 0: empty tables), from all links up to it."""
        whole = Tables()
        for link in self.links[:n]:
            whole.lay_over(link.tables)
        last = self.links[n - 1] if n else None
        return CheckpointMark(last.seq, last.cost, whole) if last else CheckpointMark()

    def restore(self, n: int) -> State:
        """The state at link ``n`` (from 1; 0: a new state). Raises :class:`CheckpointError`."""
        if n == 0:
            return State()
        link = self.links[n - 1]
        try:
            recent = [decode_record(line) for line in self._recent(n)]
            state = head_to_state(link.head(), self.mark(n).tables, recent)
        except (LookupError, TypeError, ValueError, AttributeError) as e:
            raise CheckpointError(f"a checkpoint cannot be read: {e}") from e
        if state.seq != link.seq:
            raise CheckpointError("the checkpoints were replaced while they were read")
        return state

    def _recent(self, n: int) -> list[str]:
        parts: list[list[str]] = []
        wanted = RECENT_RECORDS
        for link in reversed(self.links[:n]):
            if wanted <= 0:
                break
            parts.append(link.recent[-wanted:])
            wanted -= len(link.recent)
        return [line for part in reversed(parts) for line in part]
