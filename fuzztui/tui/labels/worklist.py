"""The queue of mutants that are fuzzed one by one: whose turn it is, and when. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heapreplace

from fuzztui.model.fuzzfirst import (
    AT_WORK,
    Outlook,
    brought,
    fuzzed_for,
    outlook,
    phase,
    queue,
    share_of,
    tally,
    trials_of,
)
from fuzztui.model.mutation_score import score_of
from fuzztui.model.state import Changes, Mutant, State
from fuzztui.tui.labels.mutants import SIGNS, MutantGlyph

__all__ = ["STAGES", "FuzzfirstSummary", "Worklist", "stage_sign"]

STAGES: dict[str, MutantGlyph] = {
    sign.state: sign
    for sign in (
        MutantGlyph("fuzzing", "▶", "█", "running"),
        MutantGlyph("collecting", "◐", "▓", "running"),
        MutantGlyph("pruning", "◑", "▓", "running"),
        MutantGlyph("built", "◉", "▒", "primary"),
        MutantGlyph("building", "◍", "▒", "pending"),
        MutantGlyph("queued", "◌", "░", "muted"),
        MutantGlyph("done", "✓", "█", "finished"),
        MutantGlyph("refused", "⊗", "×", "hang"),
        MutantGlyph("failed", "✗", "×", "failed"),
        MutantGlyph("dropped", "=", "≡", "muted"),
    )
}
"""How far a mutant's fuzzing can have come, from the one at work to the one that never will be."""


def stage_sign(mutant: Mutant) -> MutantGlyph:
    """How far it has come, or that it will not go on."""
    word = mutant.listed_stage
    return STAGES.get(word) or SIGNS.get(word) or MutantGlyph(word, "?", "?", "muted")


@dataclass(frozen=True, slots=True)
class FuzzfirstSummary:
    """Stage 1 of a campaign at a glance."""

    stage: str
    stage_t: float
    """Campaign time at which the stage began."""
    view: Outlook
    phases: Counter[str] = field(default_factory=Counter)
    """How many mutants are in each of :data:`PHASES`."""
    working: tuple[tuple[Mutant, float, float], ...] = ()
    """Those at work: what they have used of their budget, and that."""
    killed: int = 0
    judged: int = 0
    """Of how many there is a verdict: the score is the part of them that is killed."""
    brought: dict[str, int] = field(default_factory=dict)
    """What mutants brought to the target so far."""

    @property
    def score(self) -> float | None:
        """Killed of those that are judged."""
        return score_of(self.killed, self.judged)

    @property
    def share(self) -> float:
        """How much of the mutants' budget is used, 0 to 1."""
        return min(1.0, self.view.used / self.view.of) if self.view.of > 0 else 0.0


class Worklist:
    """The order of a campaign's mutants; :meth:`take` must be told of all changes."""

    def __init__(self, campaign: Callable[[], State]) -> None:
        self._campaign = campaign
        self._stale = True
        self._waiting: list[Mutant] = []
        self._working: list[Mutant] = []
        self._tally = (0, 0)
        self._brought: dict[str, int] = {}
        self._phases: Counter[str] = Counter()
        self._numbers: dict[str, int] = {}

    def take(self, changes: Changes) -> None:
        """The campaign changed."""
        if changes.reset or changes.mutants:
            self._stale = True

    def _refresh(self) -> None:
        if not self._stale:
            return
        self._stale = False
        state = self._campaign()
        self._waiting = queue(state)
        self._numbers = {m.id: n for n, m in enumerate(self._waiting, 1)}
        self._working = [m for m in state.mutants.values() if m.stage in AT_WORK]
        self._tally = tally(state.mutants.values())
        self._brought = brought(state.mutants.values())
        self._phases = Counter(phase(m) for m in state.mutants.values())

    @property
    def numbers(self) -> dict[str, int]:
        """The places of those that wait, from 1."""
        self._refresh()
        return self._numbers

    def glance(self, now: float) -> FuzzfirstSummary | None:
        """At campaign time ``now``; None for campaigns that fuzz no mutants first."""
        state = self._campaign()
        if not state.stage:
            return None
        self._refresh()
        view = outlook(state, now, self._waiting)
        return FuzzfirstSummary(
            state.stage,
            state.stage_t,
            view,
            self._phases,
            tuple((m, self.used(m, view, now), share_of(state, m)) for m in self._working),
            *self._tally,
            self._brought,
        )

    def used(self, mutant: Mutant, view: Outlook, now: float) -> float:
        """What it has used of its budget so far, in the budget's unit."""
        state = self._campaign()
        return trials_of(state, mutant) if view.trials else fuzzed_for(state, mutant, now)

    def waits(self, view: Outlook, now: float) -> dict[str, float]:
        """Until the turn of each that will have one, by id: in the budget's unit."""
        self._refresh()
        state = self._campaign()
        ahead = self._waiting[: view.left]
        rests = [max(0.0, share_of(state, m) - self.used(m, view, now)) for m in self._working]
        if view.trials:
            return _one_after_the_other(state, ahead, sum(rests))
        abreast = max(1, int(min(state.plan.get("abreast", 1.0), len(ahead) + 1)))
        lanes = sorted(rests)[:abreast]
        lanes += [0.0] * (abreast - len(lanes))
        heapify(lanes)
        out: dict[str, float] = {}
        for mutant in ahead:
            out[mutant.id] = lanes[0]
            heapreplace(lanes, lanes[0] + share_of(state, mutant))
        return out


def _one_after_the_other(state: State, ahead: Sequence[Mutant], before: float) -> dict[str, float]:
    out: dict[str, float] = {}
    for mutant in ahead:
        out[mutant.id] = before
        before += share_of(state, mutant)
    return out
