"""How far the fuzzing of a mutant has come, what it is called, and what it came to.

One rule for what lists print, what legends count and what selections name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Protocol

__all__ = ["AT_WORK", "PHASES", "WAITING", "phase", "tally", "together", "verdict"]


class Progressing(Protocol):
    """The part of :class:`fuzztui.model.state.Mutant` that decides here."""

    @property
    def state(self) -> str:
        """Its state: one of ``MUTANT_STATES``."""

    @property
    def stage(self) -> str:
        """How far its latest turn is; an empty string before the first."""

    @property
    def begun(self) -> float:
        """Campaign time at which its latest turn began to fuzz; -1: it has not."""

    @property
    def earlier(self) -> Mapping[str, int]:
        """What its turns before the latest have transferred."""


WAITING = ("queued", "building", "built")
"""Stages of a mutant whose turn is still to come."""

AT_WORK = ("pruning", "fuzzing", "collecting")

PHASES = (
    "at work", "waiting", "done", "refused", "failed", "dropped", "skipped", "equivalent",
)  # fmt: skip
"""Where mutants are, in the order in which they are shown."""


def phase(mutant: Progressing) -> str:
    """One of :data:`PHASES`, as far as its state and stage are known words.

    What a user put aside before its turn is called after that, and so is what turned out to
    be the program itself.
    """
    if mutant.stage in AT_WORK:
        return "at work"
    if mutant.stage in WAITING:
        return "waiting" if mutant.state == "pending" else mutant.state
    if mutant.stage == "dropped" and mutant.state == "equivalent":
        return "equivalent"
    return mutant.stage or "unknown"


def verdict(mutant: Progressing) -> str:
    """killed, alive, or "" where nothing can be said: rows, counts and the score go by this.

    A kill is permanently, also while it waits for another turn. Alive is what was fuzzed, however
    long, and not killed; of one that a user calls equivalent there is nothing to tell.
    """
    if mutant.state == "killed" or mutant.earlier.get("kills", 0) > 0:
        return "killed"
    fuzzed = mutant.stage == "done" and mutant.begun >= 0
    if mutant.state == "alive" or (fuzzed and mutant.state != "equivalent"):
        return "alive"
    return ""


def tally(mutants: Iterable[Progressing]) -> tuple[int, int]:
    """What the score is made of: how many are killed, and of how many there is a verdict."""
    verdicts = Counter(map(verdict, mutants))
    return verdicts["killed"], verdicts["killed"] + verdicts["alive"]


def together(earlier: Mapping[str, int], latest: Mapping[str, int]) -> dict[str, int]:
    """What several turns of a mutant brought. Its kills are counted over all of them already."""
    sums = {name: earlier.get(name, 0) + latest.get(name, 0) for name in {**earlier, **latest}}
    if "kills" in sums:
        sums["kills"] = max(earlier.get("kills", 0), latest.get("kills", 0))
    return sums
