"""How much of the time goes to mutants, and which come first: the last stages of the pipeline.

The paper's analysis runs every surviving mutant that an input infects, on every
input. On larger programs that starves the fuzzer (section V-C): most of those runs are
of survivors that have survived a thousand times. ``full`` does it anyway.
``adaptive`` treats running a mutant as spending from an account that fuzzing fills:

- *hand-over*: while coverage still grows, trials run as zest's do, without probes;
  only inputs that were saved are analysed. When all of them have been, trials are
  probed. Both get the more, the longer coverage has been dry.
- *least executed first*, and *back-off*: a mutant that has survived n runs is run
  with probability ``PATIENCE / n``.
- *yield*: kills raise the rate at which the account fills, fruitless runs lower it.

Costs are counted in turns of loops and calls, not in seconds: a seed repeats a run.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Final, Protocol

from fuzztui.engines.mu2.table import MutantRecord

__all__ = ["EPOCH", "AdaptiveSchedule", "FullSchedule", "MutantSchedule"]

EPOCH: Final = 128
"""Trials between two decisions whether to probe."""


class MutantSchedule(Protocol):
    """Decides; knows nothing of how mutants are run."""

    everything: bool
    """Is each trial analysed in full, and each saved input before the next trial?"""
    trial_turns: float
    """What a trial costs on average, in turns of loops and calls."""

    @property
    def share(self) -> float:
        """For the screen: the part of the work, 0 to 1, that mutants get now."""

    def probes(self, trial: int, *, waiting: bool) -> bool:
        """Is this trial to run with probes? ``waiting``: saved inputs wait for analysis."""

    def choose(self, rows: Iterable[MutantRecord], *, saved: bool) -> list[MutantRecord]:
        """Order, back-off and budget for the mutants that an input infects."""

    def may_work(self) -> bool:
        """Is there something in the account for saved inputs?"""

    def sample(self, turns: int) -> None:
        """A trial, taken at random, has cost so much, which is more than nothing."""

    def trial(self, *, covered: bool) -> None:
        """A trial has ended; ``covered``: it was kept for its coverage."""

    def spent(self, cost: int, kills: int, *, saved: bool) -> None:
        """So much was spent on mutants of a saved input, or of a trial's."""


def _rank(row: MutantRecord) -> tuple[bool, int, int, int]:
    return (not row.promoted, row.order, row.runs, row.mutant.index)


class FullSchedule:
    """Algorithms 2 and 3 as they stand: everything that is not soundly pruned, at once."""

    everything = True
    trial_turns = 1.0
    share = 1.0

    def probes(self, trial: int, *, waiting: bool) -> bool:
        """Always."""
        return True

    def choose(self, rows: Iterable[MutantRecord], *, saved: bool) -> list[MutantRecord]:
        """All, in order."""
        return sorted(rows, key=_rank)

    def may_work(self) -> bool:
        """Always."""
        return True

    def sample(self, turns: int) -> None:
        """Nothing to count."""

    def trial(self, *, covered: bool) -> None:
        """Nothing to count."""

    def spent(self, cost: int, kills: int, *, saved: bool) -> None:
        """Nothing to count."""


class AdaptiveSchedule:
    """The default: see the module."""

    everything = False
    PATIENCE = 8
    """Fruitless runs after which a mutant is run less and less."""
    MAX_SAVED_REPEATS = 16
    """Mutants that have run before are run on a saved input: so many at most."""
    SAVED_RATE = 0.05, 2.0
    """What a trial pays into the account for saved inputs, as a part of its own cost:
    while coverage grows, and when it is dry."""
    MIN_RATE, MAX_RATE = 0.05, 2.0
    """Bounds of the same for the inputs of trials."""
    FRUITLESS = 200
    """So many trials' worth without a kill lower the rate."""
    ADVANCE = 200
    """Trials' worth that is in the account at the start: the first kills come at once."""
    PROBED = 0.25, 1.0
    """The part of trials that is probed, once no saved input waits: likewise."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._saved = 0.0
        self._account = 0.0
        self._rate = 0.5
        self._fruitless = 0.0
        self._trials = 0
        self._dry_since = 0
        self._pending = 0.0
        self._probing = False
        self._working = False
        self._samples = 0
        self.trial_turns = 1.0

    @property
    def share(self) -> float:
        """Of the cost, as it is counted."""
        if self._working:
            rate = self._between(*self.SAVED_RATE)
        else:
            rate = self._rate * self._between(*self.PROBED)
        return rate / (1 + rate)

    def _between(self, flowing: float, dry: float) -> float:
        """Coverage counts as dry when a tenth of all trials has brought none."""
        since = (self._trials - self._dry_since) / (0.1 * self._trials + 1000)
        return flowing + (dry - flowing) * min(1.0, since) ** 3  # late, but then decidedly

    def probes(self, trial: int, *, waiting: bool) -> bool:
        """Decided once an epoch."""
        self._working = waiting
        if trial % EPOCH == 0:
            self._pending += self._between(*self.PROBED)
            self._probing = self._pending >= 1
            if self._probing:
                self._pending -= 1
        return self._probing and not waiting

    def choose(self, rows: Iterable[MutantRecord], *, saved: bool) -> list[MutantRecord]:
        """Promoted and never run ones always; others as back-off and the account allow."""
        chosen: list[MutantRecord] = []
        room = self.MAX_SAVED_REPEATS if saved else int(self._account / self.trial_turns)
        for row in sorted(rows, key=_rank):
            if row.promoted or not row.runs:
                chosen.append(row)
            elif room > 0 and (
                row.runs <= self.PATIENCE or self._rng.random() * row.runs < self.PATIENCE
            ):
                room -= 1
                chosen.append(row)
        return chosen

    def may_work(self) -> bool:
        """Is the account for saved inputs not overdrawn?"""
        return self._saved > 0

    def sample(self, turns: int) -> None:
        """A mean that forgets slowly: inputs grow."""
        if not self._samples:
            self._saved += self.ADVANCE * turns
        self._samples = min(64, self._samples + 1)
        self.trial_turns += (turns - self.trial_turns) / self._samples

    def trial(self, *, covered: bool) -> None:
        """Fill the accounts."""
        self._trials += 1
        if covered:
            self._dry_since = self._trials
        if self._working:
            self._saved += self._between(*self.SAVED_RATE) * self.trial_turns
        elif self._probing:
            most = 64 * self.trial_turns
            self._account = min(most, self._account + self._rate * self.trial_turns)

    def spent(self, cost: int, kills: int, *, saved: bool) -> None:
        """Empty them; learn what it brought."""
        if saved:
            self._saved -= cost
            return
        self._account -= cost
        if kills:
            self._fruitless = 0.0
            self._rate = min(self.MAX_RATE, self._rate * 1.5)
        else:
            self._fruitless += cost / self.trial_turns
            if self._fruitless >= self.FRUITLESS:
                self._fruitless = 0.0
                self._rate = max(self.MIN_RATE, self._rate * 0.8)
