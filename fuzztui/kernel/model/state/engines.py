"""What engines report of their mixture of mutators and of uncovered goals."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MixtureChange:
    """The last change of an instance's mixture of mutators: when, by whom, to what."""

    instance: str
    havoc: float
    text: float
    splice: float
    adaptive: bool = False
    t: float = -1.0
    """Campaign time of the change; -1: the mixture of the instance's first report."""
    by: str = ""
    """The user who set the mixture; an empty string: no command did (a file was edited)."""
    trials: int = 0
    """Inputs made until the change."""
    havocs: int = 0
    """Havoc steps taken until the change."""


@dataclass(frozen=True, slots=True)
class UncoveredGoal:
    """A goal that one spoton instance has not covered."""

    frontier: bool = False
    reached: int = 0
    """The number of ``checked_trials`` that reached its decision, as last reported."""
    checked_trials: int = 0
    types: tuple[tuple[str, int], ...] = ()
    """Names and distances of types, nearest first; empty: the goal cannot be targeted."""
