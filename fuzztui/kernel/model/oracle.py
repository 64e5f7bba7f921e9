"""The passive instance with the findings of the program oracle."""

from __future__ import annotations

from fuzztui.kernel.base.text import several

ORACLE = "oracle"
"""The id of this instance and the name of its directory."""


def to_look_at(pending: int) -> str:
    """Return how many entries the oracle has still to judge, as a text; -1: unknown."""
    return f"{several(pending, 'entry', 'entries')} to look at" if pending > 0 else ""
