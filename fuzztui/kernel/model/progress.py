"""The progress and the verdict of a mutant, and their names.

Lists, legends and selections all use these functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Progressing(Protocol):
    """The attributes of :class:`fuzztui.kernel.model.state.Mutant` that this module reads."""

    @property
    def state(self) -> str:
        """Its state: one of ``MUTANT_STATES``."""

    @property
    def stage(self) -> str:
        """The progress of its latest turn; an empty string: not a fuzz-first campaign."""

    @property
    def turn_began_s(self) -> float:
        """Running time at which its latest turn began to fuzz; -1: it has not."""

    @property
    def earlier_results(self) -> Mapping[str, int]:
        """Results of its turns before the latest, by name."""


WAITING = ("queued", "building", "built")
"""Stages of a mutant whose turn is still to come."""

NO_TURN = "no turn"
"""For users, the progress of a mutant that still waited when the target's phase began."""

AT_WORK = ("pruning", "fuzzing", "collecting")

TURN_OVER = ("done", "refused")
"""Stages of a mutant whose turn is over."""

PHASES = (
    "at work", "done", "waiting", "refused", "failed", "dropped", "skipped", "equivalent",
)  # fmt: skip
"""The status of a mutant, in the order in which screens and lists show mutants."""


def phase(mutant: Progressing) -> str:
    """Return one of :data:`PHASES`; an unknown stage is returned as it is.

    A mutant that a user skipped or marked before its turn, or that equals the original, is named
    by its state.
    """
    if mutant.stage in AT_WORK:
        return "at work"
    if mutant.stage in WAITING:
        return "waiting" if mutant.state == "pending" else mutant.state
    if mutant.stage == "dropped" and mutant.state == "equivalent":
        return "equivalent"
    return mutant.stage or "unknown"


def shown_progress(listed_stage: str, *, mutants_phase: bool) -> str:
    """Return the progress of a mutant for users: its listed stage, or :data:`NO_TURN`.

    ``mutants_phase``: waiting mutants can still have a turn.
    """
    return listed_stage if mutants_phase or listed_stage not in WAITING else NO_TURN


def verdict(mutant: Progressing) -> str:
    """Return "killed", "alive", or an empty string: no verdict. Rows, counts and scores use this.

    A kill is permanent, also while the mutant waits for another turn. A mutant that was fuzzed,
    for any time, and not killed is alive. Equivalent mutants have no verdict.
    """
    if mutant.state == "killed" or mutant.earlier_results.get("kills", 0) > 0:
        return "killed"
    fuzzed = mutant.stage == "done" and mutant.turn_began_s >= 0
    if mutant.state == "alive" or (fuzzed and mutant.state != "equivalent"):
        return "alive"
    return ""


def together(earlier: Mapping[str, int], latest: Mapping[str, int]) -> dict[str, int]:
    """Return the results of all turns of a mutant. Its kills already cover all turns."""
    sums = {name: earlier.get(name, 0) + latest.get(name, 0) for name in {**earlier, **latest}}
    if "kills" in sums:
        sums["kills"] = max(earlier.get("kills", 0), latest.get("kills", 0))
    return sums
