"""Passive instances: directories that others import from and in which nothing fuzzes."""

from __future__ import annotations

from fuzztui.kernel.model.fuzzfirst import MUTANT_INPUTS
from fuzztui.kernel.model.oracle import ORACLE
from fuzztui.kernel.model.state import Instance

OURS = frozenset({MUTANT_INPUTS, ORACLE})
"""Those that the supervisor fills itself; others are reported by ``PassiveInstance``."""


def is_passive(instance: Instance) -> bool:
    """Whether it contains saved inputs and executes no commands."""
    return bool(instance.passive) or instance.id in OURS
