"""What oracles find in the queues of programs: a sibling of the instances that never fuzzes."""

from __future__ import annotations

from fuzztui.base.text import several
from fuzztui.model.fuzzfirst import HANDED

__all__ = ["FUZZLESS", "ORACLE", "to_look_at"]

ORACLE = "oracle"
"""What it is called, also its directory."""

FUZZLESS = frozenset({HANDED, ORACLE})
"""Siblings that only have finds: there is nobody to steer."""


def to_look_at(pending: int) -> str:
    """How far it is behind, in words; ``pending``: entries, -1 where nobody has counted."""
    return f"{several(pending, 'entry', 'entries')} to look at" if pending > 0 else ""
