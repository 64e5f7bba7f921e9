"""The survivors that ran most, in the right part of the Overview."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import nlargest

from fuzztui.kernel.model.mutants import RAN, survivor_group
from fuzztui.kernel.model.state import Changes, Mutant, State
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import TextSpan
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.overview_line import MAX_LISTED, AsideList, AsideRow
from fuzztui.tui.labels.mutants import GROUP_LABELS, brief_change, brief_place


class Survivors(AsideList):
    """A row for each survivor; only changed mutants are looked at again."""

    TAB = "mutants"
    TITLE = f"Survivors: {GROUP_LABELS[RAN]}"
    RIGHT = "runs"

    def __init__(self) -> None:
        self._runs: dict[str, int] | None = None
        """By id: how often survivors ran; None: all mutants have to be looked at."""
        self._changed: set[str] = set()
        """Mutants that have changed since."""
        self._mutants: Sequence[Mutant] = ()

    def note(self, changes: Changes) -> None:
        """Remember which mutants have changed."""
        if changes.reset:
            self._runs = None
            self._changed.clear()
        elif self._runs is not None:
            self._changed |= changes.mutants

    def look(self, state: State) -> bool:
        """Take the survivors that ran most; none of a fuzz-first campaign, which has a worklist."""
        self._mutants = [] if state.stage else self._most(state)
        return bool(self._mutants)

    def _most(self, state: State) -> Sequence[Mutant]:
        runs = self._runs
        if runs is None:
            runs = self._runs = {}
            changed = list(state.mutants)
        else:
            changed = [*self._changed]
        self._changed.clear()
        for id in changed:
            mutant = state.mutants.get(id)
            if mutant is not None and survivor_group(mutant) == RAN:
                runs[id] = mutant.runs
            else:
                runs.pop(id, None)
        top = nlargest(MAX_LISTED, runs, key=lambda id: (runs[id], id))
        return [state.mutants[id] for id in top if id in state.mutants]

    def rows(self, width: int) -> Iterator[AsideRow]:
        """Yield place and change of each mutant, and how often it ran."""
        for mutant in self._mutants:
            change = plain(brief_change(mutant.before, mutant.after))
            left = [TextSpan(f" {plain(brief_place(mutant))}  ", "muted"), TextSpan(change)]
            yield AsideRow(mutant.id, left, TextSpan(f"  {format.count(mutant.runs)} ", "alive"))


def lists() -> list[AsideList]:
    """The lists that the feature adds to the Overview."""
    return [Survivors()]
