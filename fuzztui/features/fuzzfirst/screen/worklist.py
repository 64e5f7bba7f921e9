"""The worklist of a fuzz-first campaign: turns and waiting times. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heapreplace

from fuzztui.features.fuzzfirst.fold import (
    Outlook,
    brought,
    fuzzed_for,
    most_of,
    outlook,
    queue,
    share_of,
    trials_of,
    turns_follow,
)
from fuzztui.kernel.model.progress import AT_WORK, NO_TURN, phase, shown_progress
from fuzztui.kernel.model.state import Changes, Mutant, State
from fuzztui.tui.labels.mutants import SIGNS, MutantGlyph

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
        MutantGlyph(NO_TURN, "○", "░", "muted"),
    )
}
"""Progress of a mutant: first those with a turn, last those that will never have one."""
_LABELS = {
    "at work": "running",
    "collecting": "transferring",
    "refused": "rejected",
    "failed": "build failed",
    "dropped": "duplicate",
}


def progress_label(progress: str) -> str:
    """Return the label of a mutant's progress, or of a group of it, for users."""
    return _LABELS.get(progress, progress)


def progress_glyph(mutant: Mutant, *, mutants_phase: bool = True) -> MutantGlyph:
    """Return the glyph of a mutant's progress, or of the state that excludes it.

    ``mutants_phase``: waiting mutants can still have a turn.
    """
    word = shown_progress(mutant.listed_stage, mutants_phase=mutants_phase)
    return STAGES.get(word) or SIGNS.get(word) or MutantGlyph(word, "?", "?", "muted")


@dataclass(frozen=True, slots=True)
class FuzzfirstSummary:
    """The mutant phase at a glance."""

    stage: str
    stage_t: float
    """Campaign time at which the phase began, in seconds."""
    view: Outlook
    phases: Counter[str] = field(default_factory=Counter)
    """Number of mutants by progress."""
    working: tuple[tuple[Mutant, float, float], ...] = ()
    """Mutants with a turn: the mutant, the used part of what it may use, and that."""
    brought: dict[str, int] = field(default_factory=dict)
    """What mutants have transferred to the target."""
    can_run: bool = True
    """Whether waiting mutants can still have a turn."""
    round: int = -1
    """The number of phases of mutants so far, if the target comes first; else -1."""
    why: str = ""
    """Why the phase began."""

    @property
    def between(self) -> bool:
        """Whether the target is fuzzed now, and mutants have turns again."""
        return self.can_run and self.stage == "target"

    @property
    def share(self) -> float:
        """Used share of the mutants' budget, 0 to 1."""
        return min(1.0, self.view.used / self.view.of) if self.view.of > 0 else 0.0


class Worklist:
    """The order of a campaign's mutants; :meth:`take` must get all changes."""

    def __init__(self, campaign: Callable[[], State]) -> None:
        self._campaign = campaign
        self._stale = True
        self._waiting: list[Mutant] = []
        self._working: list[Mutant] = []
        self._brought: dict[str, int] = {}
        self._phases: Counter[str] = Counter()
        self._numbers: dict[str, int] = {}

    def take(self, changes: Changes) -> None:
        """Take changes of the campaign."""
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
        self._brought = brought(state.mutants.values())
        self._phases = Counter(phase(m) for m in state.mutants.values())

    @property
    def numbers(self) -> dict[str, int]:
        """Positions of waiting mutants by id, from 1, as of the last :meth:`glance`.

        Cells are drawn while another thread may change the state.
        """
        return self._numbers

    def glance(self, now: float) -> FuzzfirstSummary | None:
        """Return the summary at campaign time ``now``; None if not a fuzz-first campaign."""
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
            tuple(self._use(m, view, now) for m in self._working),
            self._brought,
            turns_follow(state, now),
            int(state.plan.get("round", -1)),
            state.stage_reason,
        )

    def _use(self, mutant: Mutant, view: Outlook, now: float) -> tuple[Mutant, float, float]:
        of = most_of(self._campaign(), mutant)
        return mutant, min(of, self.used(mutant, view, now)), of  # engines take time to end

    def used(self, mutant: Mutant, view: Outlook, now: float) -> float:
        """Return the used part of the mutant's budget, in the budget's unit."""
        state = self._campaign()
        return trials_of(state, mutant) if view.trials else fuzzed_for(state, mutant, now)

    def waits(self, view: Outlook, now: float) -> dict[str, float]:
        """Return the wait until each mutant's turn by id, in the budget's unit."""
        self._refresh()
        state = self._campaign()
        ahead = self._waiting[: view.left]

        def cost(mutant: Mutant) -> float:
            return view.cost(share_of(state, mutant))

        rests = [max(0.0, cost(m) - self.used(m, view, now)) for m in self._working]
        if view.trials:
            return _one_after_the_other(ahead, sum(rests), cost)
        abreast = max(1, int(min(state.plan.get("abreast", 1.0), len(ahead) + 1)))
        lanes = sorted(rests)[:abreast]
        lanes += [0.0] * (abreast - len(lanes))
        heapify(lanes)
        out: dict[str, float] = {}
        for mutant in ahead:
            out[mutant.id] = lanes[0]
            heapreplace(lanes, lanes[0] + cost(mutant))
        return out


def _one_after_the_other(
    ahead: Sequence[Mutant], before: float, cost: Callable[[Mutant], float]
) -> dict[str, float]:
    out: dict[str, float] = {}
    for mutant in ahead:
        out[mutant.id] = before
        before += cost(mutant)
    return out
