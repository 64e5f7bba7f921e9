"""The uncovered goals, kept up to date as the corpus grows; no input is kept for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Literal

from fuzztui.engines.execute.executor import Execution
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.loop.corpus import CorpusEntry
from fuzztui.engines.loop.feedback import CoverageFeedback, Feedback
from fuzztui.engines.spoton.distances import Distances
from fuzztui.engines.spoton.goals import Goal, Goals
from fuzztui.kernel.base.text import listed
from fuzztui.kernel.wire.targeting import have_changed, label_in, type_label

Mode = Literal["frontier", "global"]

_EACH: Final = 32
"""One of this many trials is examined for the decisions that it reached."""


class GoalFeedback(Feedback):
    """Updates goals and distances. Runs before the coverage feedback, to see which cells are new.

    Algorithm 1, line 29: a covered branch is no longer a goal. Distances are then recomputed from
    the uncovered goals; in the mode "frontier" from those on the frontier.
    """

    def __init__(
        self, goals: Goals, distances: Distances, coverage: CoverageFeedback, mode: Mode
    ) -> None:
        self.goals, self.distances = goals, distances
        self._coverage, self._mode = coverage, mode
        self._targeted_type = ""
        """The type in the label of the current candidate; empty: the mutation is random."""
        self._trials = 0
        self.samples = False
        """Whether the current trial is examined for the decisions that it reaches."""
        self.sampled_trials = 0
        self.reached: dict[str, int] = {}
        """How many of the sampled trials reached a goal's decision; by location."""
        self.pinned = ""
        """The location of the only goal used until it is covered; empty: none is pinned."""
        self.ignored: frozenset[str] = frozenset()
        """The locations of goals that no mutation is directed at; never the pinned one."""
        self.suspended_pin = ""
        self.suspended: frozenset[str] = frozenset()
        """Pin and ignored goals in modules that have changed since the analysis: they are active
        again when the analysis fits the module."""
        self.uncertain: frozenset[str] = frozenset()
        """Locations of settings made for an earlier version of the file; reported once."""
        self.on_covered: Callable[[str], None] = lambda location: None
        """Called with the location when the pinned goal is covered, which removes the pin."""
        self.on_lost: Callable[[str], None] = lambda message: None
        """Called with a message when a pin or an ignore is suspended or removed because its goal
        is gone or may have moved."""

    def begin(self, candidate: Candidate) -> None:
        """Begin a trial: remember the type that its candidate is directed at."""
        self._targeted_type = label_in(candidate.op)
        self._trials += 1
        self.samples = self._trials % _EACH == 0

    def renew(self) -> list[str]:
        """Update the goals after modules were loaded.

        Returns the files among them that have changed since the analysis.
        """
        changed = self.goals.add_loaded()
        self._reactivate()
        self._drop_lost()
        self._warn_uncertain()
        self._cover(self._coverage.seen)
        self.distances.set_goals(self.targeted_goals())
        return changed

    def _reactivate(self) -> None:
        """Make suspended settings active whose goal is found, or whose goal no analysis found:
        the latter are removed next.
        """
        goals = self.goals

        def stays(at: str) -> bool:
            return goals.was_analysed(at) and goals.find(at) is None

        back = {at for at in self.suspended if not stays(at)}
        self.suspended -= back
        if (pin := self.suspended_pin) and not stays(pin):
            self.pinned, self.suspended_pin = pin, ""
        self.ignored = (self.ignored | back) - {self.pinned}

    def _warn_uncertain(self) -> None:
        """Warn about settings whose location may be another branch now; the settings remain."""
        pins = sorted(self.uncertain & {self.pinned, self.suspended_pin})
        others = sorted(self.uncertain & (self.ignored | self.suspended))
        self.uncertain = frozenset()
        if not pins and not others:
            return
        files = sorted({at.partition(":")[0] for at in [*pins, *others]})
        parts = [f"{at}, which is pinned," for at in pins]
        parts += [f"{listed(others)}, which {_are(others)} ignored,"] if others else []
        noun = "another branch" if len(pins) + len(others) == 1 else "other branches"
        self.on_lost(f"{have_changed(files)}: {listed(parts)} may be {noun} now")

    def _drop_lost(self) -> None:
        """Suspend settings whose goal is gone and may return with the next analysis; remove the
        other settings whose goal is gone.
        """
        goals = self.goals
        lost = {at for at in self.ignored if goals.is_lost(at)}
        self.ignored -= lost
        suspended = {at for at in lost if goals.was_analysed(at)}
        self.suspended |= suspended
        if ended := sorted(lost - suspended):
            noun = "a goal" if len(ended) == 1 else "goals"
            self.on_lost(f"{listed(ended)} {_are(ended)} no longer ignored: not {noun} now")
        if (pinned := self.pinned) and goals.is_lost(pinned):
            self.pinned = ""
            if goals.was_analysed(pinned):
                self.suspended_pin = pinned
                self.on_lost(f"the pin of {pinned} is suspended until the next analysis")
            else:
                self.on_lost(f"{pinned} is no longer pinned: not a goal now")

    def pin(self, location: str) -> None:
        """Direct mutations at this uncovered goal alone, until it is covered; "": unpin."""
        self.pinned, self.suspended_pin = location, ""
        self.ignored -= {location}
        self.distances.set_goals(self.targeted_goals())

    def ignore(self, location: str, ignored: bool) -> None:
        """Direct no mutation at this goal, and unpin it; if not ``ignored``: allow them again."""
        if not ignored:
            self.ignored, self.suspended = self.ignored - {location}, self.suspended - {location}
        elif location not in self.suspended:
            self.ignored |= {location}
        if ignored and self.pinned == location:
            self.pinned = ""
        self.distances.set_goals(self.targeted_goals())

    def targeted_goals(self) -> list[Goal]:
        """The goals that mutations are directed at: the pinned one, else those on the frontier,
        else all uncovered ones that can be reached.
        """
        goals = self.goals
        if self.pinned and (number := goals.find(self.pinned)) in goals.uncovered:
            return goals.with_types([number])
        if self._mode == "frontier" and (rows := self._targetable(goals.frontier)):
            return rows
        return [t for t in self._targetable(goals.uncovered) if t.reachable]

    def _targetable(self, numbers: Iterable[int]) -> list[Goal]:
        """The goals with these numbers that have types and are not ignored."""
        return [t for t in self.goals.with_types(numbers) if t.location not in self.ignored]

    # ------------------------------------------------------- core's feedback

    def judge(self, execution: Execution) -> tuple[str, ...]:
        """Count the decisions that a sampled trial reached. Returns no reasons."""
        if self.samples:
            self.sampled_trials += 1
            for number in self.goals.met(execution.observed):
                location = self.goals.all[number].location
                self.reached[location] = self.reached.get(location, 0) + 1
        return ()

    def learn(self, execution: Execution, entry: CorpusEntry) -> None:
        """Credit new cells to the type that the mutation was directed at; update the goals."""
        seen = self._coverage.seen
        now = seen | execution.observed
        if self._targeted_type and (new := _cells(now) - _cells(seen)):
            for name in self.distances.stats_by_type:
                if type_label(name) == self._targeted_type:
                    self.distances.record_new(name, new)
        self._cover(now)

    def recall(self, execution: Execution, entry: CorpusEntry) -> bool:
        """Update the goals with an entry that is run again after a restart."""
        self._cover(self._coverage.seen | execution.observed)
        return False

    def _cover(self, seen: int) -> None:
        if not self.goals.cover(seen):
            return
        pinned = self.pinned
        covered = pinned and self.goals.find(pinned) not in (None, *self.goals.uncovered)
        if covered:
            self.pinned = ""
        if self.ignored:
            self.ignored -= self.goals.covered()
        self.distances.set_goals(self.targeted_goals())
        if covered:
            self.on_covered(pinned)


def _are(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _cells(observed: int) -> int:
    """The number of covered cells in an observation."""
    size = observed.bit_length() + 7 >> 3
    return size - observed.to_bytes(size, "little").count(0)
