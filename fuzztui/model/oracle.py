"""The passive instance with the findings of the program oracle."""

from __future__ import annotations

from fuzztui.base.text import several
from fuzztui.model.fuzzfirst import MUTANT_INPUTS

ORACLE = "oracle"
"""The id of this instance and the name of its directory."""

FUZZLESS = frozenset({MUTANT_INPUTS, ORACLE})
"""Passive instances: they contain saved inputs and execute no commands."""


def to_look_at(pending: int) -> str:
    """Return how many entries the oracle has still to judge, as a text; -1: unknown."""
    return f"{several(pending, 'entry', 'entries')} to look at" if pending > 0 else ""
