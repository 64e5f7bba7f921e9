"""What is left to cover, kept up to date as the corpus grows; it judges nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Literal

from fuzztui.base.text import listed
from fuzztui.engines.execute.executor import Execution
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.loop.corpus import CorpusEntry
from fuzztui.engines.loop.feedback import CoverageFeedback
from fuzztui.engines.spoton.distances import Distances, label_of
from fuzztui.engines.spoton.goals import Goal, Goals
from fuzztui.engines.spoton.mutator import TYPED
from fuzztui.wire.analysed import have_changed

__all__ = ["GoalFeedback", "Mode"]

Mode = Literal["frontier", "global"]

_EACH: Final = 32
"""Trials between two that are asked which decisions they came to."""


class GoalFeedback:
    """Comes before the coverage feedback: what is new to that is new here.

    Algorithm 1, line 29: what is covered is no target any more. Here distances are made again when
    that happens, from the targets that are left and, in the mode "frontier", lie on it.
    """

    def __init__(
        self, targets: Goals, distances: Distances, coverage: CoverageFeedback, mode: Mode
    ) -> None:
        self.targets, self.distances = targets, distances
        self._coverage, self._mode = coverage, mode
        self._aimed = ""
        """At what the running trial's candidate aims, as its label has it."""
        self._trials = 0
        self.asked = 0
        """Trials that were asked."""
        self.reached: dict[str, int] = {}
        """How many of them came to the decision of a target; by location."""
        self.pinned = ""
        """The location of the one target that is aimed at until it is covered."""
        self.ignored: frozenset[str] = frozenset()
        """The locations of targets that are not aimed at. What is pinned is none of them."""
        self.resting_pin = ""
        self.resting: frozenset[str] = frozenset()
        """The same of targets whose modules are not what was analysed: until they are again."""
        self.doubted: frozenset[str] = frozenset()
        """Locations in files that were others when something was set there; told of once."""
        self.on_covered: Callable[[str], None] = lambda location: None
        """Told when the pinned target is covered, and so pinned no more."""
        self.on_lost: Callable[[str], None] = lambda words: None
        """Told in words what rests or has ended because its target is none, or may be another."""

    def begin(self, candidate: Candidate) -> None:
        """A trial begins."""
        op = candidate.op
        self._aimed = op[len(TYPED) :].rpartition(",rep:")[0] if op.startswith(TYPED) else ""

    def renew(self) -> list[str]:
        """Modules were loaded: aim again. Returns files that are not what was analysed."""
        changed = self.targets.place()
        self._take_up()
        self._end_lost()
        self._tell_doubts()
        self._cover(self._coverage.seen)
        self.distances.aim(self.wanted())
        return changed

    def _take_up(self) -> None:
        """What rested counts where its target is there; if an analysis found none, it ends next."""
        targets = self.targets

        def rests(at: str) -> bool:
            return targets.analysed(at) and targets.find(at) is None

        back = {at for at in self.resting if not rests(at)}
        self.resting -= back
        if (pin := self.resting_pin) and not rests(pin):
            self.pinned, self.resting_pin = pin, ""
        self.ignored = (self.ignored | back) - {self.pinned}

    def _tell_doubts(self) -> None:
        """Another branch may be where a user has set something: that is no reason to end it."""
        pins = sorted(self.doubted & {self.pinned, self.resting_pin})
        others = sorted(self.doubted & (self.ignored | self.resting))
        self.doubted = frozenset()
        if not pins and not others:
            return
        files = sorted({at.partition(":")[0] for at in [*pins, *others]})
        said = [f"{at}, which is pinned," for at in pins]
        said += [f"{listed(others)}, which {_are(others)} ignored,"] if others else []
        what = "another branch" if len(pins) + len(others) == 1 else "other branches"
        self.on_lost(f"{have_changed(files)}: {listed(said)} may be {what} now")

    def _end_lost(self) -> None:
        """What a user has set about targets that there are not aims at nothing: it rests where
        an analysis may bring them back, else it ends.
        """
        targets = self.targets
        lost = {at for at in self.ignored if targets.lost(at)}
        self.ignored -= lost
        resting = {at for at in lost if targets.analysed(at)}
        self.resting |= resting
        if ended := sorted(lost - resting):
            what = "target" if len(ended) == 1 else "targets"
            self.on_lost(f"{listed(ended)} {_are(ended)} ignored no more: no code {what} now")
        if (pinned := self.pinned) and targets.lost(pinned):
            self.pinned = ""
            if targets.analysed(pinned):
                self.resting_pin = pinned
                self.on_lost(f"{pinned} is pinned, which rests until the program is analysed again")
            else:
                self.on_lost(f"{pinned} is pinned no more: it is no goal now")

    def pin(self, location: str) -> None:
        """Aim at this target, which is uncovered, alone until it is covered; "": at all again."""
        self.pinned, self.resting_pin = location, ""
        self.ignored -= {location}
        self.distances.aim(self.wanted())

    def ignore(self, location: str, ignored: bool) -> None:
        """Leave this target out of what is aimed at, also if it is pinned; or do so no more."""
        if not ignored:
            self.ignored, self.resting = self.ignored - {location}, self.resting - {location}
        elif location not in self.resting:
            self.ignored |= {location}
        if ignored and self.pinned == location:
            self.pinned = ""
        self.distances.aim(self.wanted())

    def wanted(self) -> list[Goal]:
        """The targets that are aimed at now: pinned, or on the frontier, or any that is left."""
        targets = self.targets
        if self.pinned and (number := targets.find(self.pinned)) in targets.uncovered:
            return targets.with_types([number])
        if self._mode == "frontier" and (rows := self._minded(targets.frontier)):
            return rows
        return [t for t in self._minded(targets.uncovered) if t.reachable]

    def _minded(self, numbers: Iterable[int]) -> list[Goal]:
        """Those of them that some type decides about and nobody ignores."""
        return [t for t in self.targets.with_types(numbers) if t.location not in self.ignored]

    # ------------------------------------------------------- core's feedback

    def judge(self, execution: Execution) -> tuple[str, ...]:
        """No reasons; now and then what the trial reached is counted."""
        self._trials += 1
        if self._trials % _EACH == 0:
            self.asked += 1
            for number in self.targets.met(execution.observed):
                location = self.targets.all[number].location
                self.reached[location] = self.reached.get(location, 0) + 1
        return ()

    def keeps(self, execution: Execution, smaller: Execution) -> bool:
        """There is no news to be lost."""
        return True

    def learn(self, execution: Execution, entry: CorpusEntry) -> None:
        """Which type was aimed at, if it covered anything new; and what is left."""
        seen = self._coverage.seen
        now = seen | execution.observed
        if self._aimed and (new := _cells(now) - _cells(seen)):
            for name, standing in self.distances.standings.items():
                if label_of(name) == self._aimed:
                    standing.new_arms += new
        self._cover(now)

    def recall(self, execution: Execution, entry: CorpusEntry) -> bool:
        """The same after a restart, when nobody aimed."""
        self._cover(self._coverage.seen | execution.observed)
        return False

    def _cover(self, seen: int) -> None:
        if not self.targets.cover(seen):
            return
        pinned = self.pinned
        covered = pinned and self.targets.find(pinned) not in (None, *self.targets.uncovered)
        if covered:
            self.pinned = ""
        if self.ignored:
            self.ignored -= self.targets.covered()
        self.distances.aim(self.wanted())
        if covered:
            self.on_covered(pinned)


def _are(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _cells(observed: int) -> int:
    """How many cells an observation has."""
    size = observed.bit_length() + 7 >> 3
    return size - observed.to_bytes(size, "little").count(0)
