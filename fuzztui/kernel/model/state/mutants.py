"""A row about a mutant."""

from __future__ import annotations

from dataclasses import dataclass, field

from fuzztui.kernel.model.progress import phase

MUTANT_STATES = ("pending", "alive", "killed", "skipped", "equivalent", "invalid")
"""States of a mutant."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One mutant, over all instances. ``seq``, ``t``: of the first record that names it."""

    id: str
    module: str
    file: str
    path: str
    line: int
    function: str
    operator: str
    before: str
    after: str
    t: float
    seq: int = 0
    static: bool = False
    state: str = "pending"
    """One of :data:`MUTANT_STATES`."""
    instance: str = ""
    """The instance that reported the state."""
    killer: str = ""
    oracle: str = ""
    trial: int = -1
    killed_t: float = -1.0
    detail: str = ""
    reason: str = ""
    steer: str = ""
    counts: dict[str, list[int]] = field(default_factory=dict)
    """By instance: how often the mutant was reached, infected and run."""
    place: float = 0.0
    """The position in the worklist of a fuzz-first campaign: the sort key."""
    stage: str = ""
    """The progress of its turn; an empty string: not a fuzz-first campaign."""
    slot: str = ""
    """The instance of its present or latest turn."""
    turn_began_s: float = -1.0
    """Running time of the campaign at which its latest turn began to fuzz; -1: it has not."""
    fuzzed_s: float = 0.0
    """Seconds of running time spent fuzzing the mutant, without a turn that is still fuzzing."""
    costs: dict[str, float] = field(default_factory=dict)
    """Seconds by name: build, prune, start, handover."""
    turn_results: dict[str, int] = field(default_factory=dict)
    """Results of its latest turn, by name (:class:`~fuzztui.kernel.wire.events.MutantProgress`)."""
    earlier_results: dict[str, int] = field(default_factory=dict)
    """Results of its turns before it was queued again, by name."""
    near: dict[str, list[str]] = field(default_factory=dict)
    """By instance: the first of the entries that came nearest to killing the mutant, and how near:
    reached, infected, ran."""
    accepted: bool = False
    """Whether a user has accepted that the mutant survives (``State.accepted_mutants``)."""
    by_property: str = ""
    """The property that has killed the mutant, in a campaign on a test suite; else empty."""
    column: int = -1
    """Column of its expression on ``line``: from 1, in characters; -1: not known."""
    end_line: int = -1
    end_column: int = -1
    """The column after the expression on ``end_line``."""
    roadblock: int = -1
    """The line of the condition that it changes and that all inputs passed in the same way."""
    hides: int = -1
    """The number of lines of the target behind its roadblock, never executed; -1: it has none."""

    @property
    def survives(self) -> bool:
        """Whether the mutant is alive or pending: no input has killed it, but one could."""
        return self.state in ("alive", "pending")

    @property
    def listed_stage(self) -> str:
        """The stage as lists and selections name it."""
        where = phase(self)
        return self.stage if where in ("at work", "waiting") else where

    @property
    def reached(self) -> int:
        """The number of inputs, over all instances, that executed the mutated expression."""
        return sum(counts[0] for counts in self.counts.values())

    @property
    def infected(self) -> int:
        """The number of these inputs on which the value of the expression differed."""
        return sum(counts[1] for counts in self.counts.values())

    @property
    def runs(self) -> int:
        """The number of runs, over all instances; at least 1 if the mutant is killed or alive.

        An engine reports counts later than states, and a worker that dies takes counts with it.
        """
        runs = sum(counts[2] for counts in self.counts.values())
        return runs or int(self.state in ("killed", "alive") and not self.stage)
