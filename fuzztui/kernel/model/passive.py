"""Passive instances: directories that others import from and in which nothing fuzzes."""

from __future__ import annotations

from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.state import Instance

MUTANT_INPUTS = "handed"
"""The id of the inputs that fuzz-first transfers from mutants to the target."""

ORACLE = "oracle"
"""The id of the program oracle's findings, and the name of its directory."""

SEEDS = "seeds"
"""The id of the seeds on which an AFL++ target fails: findings from the start."""

ADDED = "added"
"""The passive instance with the seeds that were added during the campaign."""

OURS = frozenset({MUTANT_INPUTS, ORACLE, SEEDS})
"""Passive instances that the supervisor fills itself; ``PassiveInstance`` reports the others."""

HUB = "hub_"
"""Prefix of the passive instances on a host that contain the entries of a passive instance of the
hub: ``hub_added`` for ``added``."""


def is_passive(instance: Instance) -> bool:
    """Whether an instance is passive: it contains saved inputs and executes no commands."""
    return bool(instance.passive) or instance.id in OURS


def to_look_at(pending: int) -> str:
    """Return how many entries the oracle has still to judge, as a text; empty: 0 or unknown."""
    return f"{several(pending, 'entry', 'entries')} to look at" if pending > 0 else ""
