"""The share of mutants in all work, and their order: the last filters of the pipeline.

The paper's analysis runs every surviving mutant that an input infects, on every input. On larger
programs this starves the fuzzer (section V-C): most of these runs are of mutants that have survived
a thousand times. The schedule ``full`` does so anyway. ``adaptive`` pays for runs of mutants from
an account that trials fill:

- *warm-up*: the engine is zest until coverage has stopped growing for the first time, at most for
  :data:`WARM_UP` trials: in the first seconds, new code kills more mutants than running them finds.
  Isolated mutants wait, too.
- *hand-over*: while coverage grows, trials run without probes, as zest's do, and only saved inputs
  are analysed. When no saved input waits, trials have probes. Both get more work, the longer
  coverage has not grown.
- *least executed first*, and *back-off*: a mutant that has survived n runs is run
  with probability ``PATIENCE / n``.
- *yield*: kills raise the rate at which the account is filled, runs without a kill lower it.

- *floor*: mutants get at most half of the time by the clock; the rest is the original's.

Costs are counted in iterations and calls, not in seconds, so that a seed repeats a run. Only the
floor looks at the clock, and not if the campaign's budget is in trials.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Final

from fuzztui.engines.loop.work import work_of
from fuzztui.engines.mu2.table import MutantRecord

_MOST_PENDING: Final = 2.0
"""Epochs with probes that are made up for later, after mutants had more than their share of the
time. More are dropped."""
WARM_UP: Final = 50_000
_WARM_UP_WORK: Final = 5_000_000.0
"""Trials of the instance, and their work, after which the warm-up ends in any case."""
EPOCH: Final = 128
"""Trials between two decisions whether trials have probes."""


class MutantSchedule:
    """Decides how many mutants run, and which first.

    This one is ``full``, Algorithms 2 and 3 as published: run everything that is not soundly
    pruned, at once.
    """

    everything = True
    """Whether each trial is analysed in full, and each saved input before the next trial."""
    trial_turns = 1.0
    """Average cost of a trial, in iterations and calls."""
    warming = False
    """Whether no mutants run yet."""

    @property
    def share(self) -> float:
        """The current share of mutants in all work, from 0 to 1; for display."""
        return 1.0

    def probes(self, trial: int, *, waiting: bool) -> bool:
        """Whether this trial has probes. ``waiting``: saved inputs wait for analysis."""
        return True

    def choose(self, rows: Iterable[MutantRecord], *, saved: bool) -> list[MutantRecord]:
        """Order and filter the mutants that an input infects. ``saved``: the input is a saved one,
        not that of a trial.
        """
        return sorted(rows, key=_rank)

    def may_work(self) -> bool:
        """Whether the account for saved inputs allows work."""
        return True

    def sample(self, turns: int) -> None:
        """Record the cost of a sampled trial, at least 1."""

    def trial(self, *, covered: bool, turns: int = 0) -> None:
        """Record the end of a trial. ``covered``: its input was kept for coverage.

        ``turns``: its counted loop iterations and calls.
        """

    def spent(self, cost: int, kills: int, *, saved: bool) -> None:
        """Record the cost and kills of mutant runs on an input. ``saved``: as in :meth:`choose`."""


def _rank(row: MutantRecord) -> tuple[bool, int, int, int]:
    return (not row.promoted, row.order, row.runs, row.mutant.index)


class AdaptiveSchedule(MutantSchedule):
    """The default schedule; the module's docstring describes it."""

    everything = False
    MOST = 0.5
    """Bound of the share of the time that mutants get, compiling included."""
    PATIENCE = 8
    """Runs without a kill after which a mutant is run less and less often."""
    MAX_SAVED_REPEATS = 16
    """Bound of the mutants with earlier runs that are run on one saved input."""
    SAVED_RATE = 0.05, 2.0
    """Payment of a trial into the account for saved inputs, as a share of the trial's cost:
    while coverage grows, and when it has stopped growing."""
    MIN_RATE, MAX_RATE = 0.05, 2.0
    """Bounds of the payment into the account for trials, as a share of the trial's cost."""
    FRUITLESS = 200
    """Cost of mutant runs without a kill, in average trials, after which the rate is lowered."""
    ADVANCE = 200
    """Initial balance of the account for saved inputs, in average trials, so that the first kills
    are found at once."""
    PROBED = 0.25, 1.0
    """Share of trials with probes when no saved input waits: while coverage grows, and when it has
    stopped growing."""

    def __init__(
        self, rng: random.Random, used: Callable[[], float] = float, warm_up: int = 0
    ) -> None:
        """``used`` returns the share of the time that mutants have got; 0: unknown.

        ``warm_up``: most trials before mutants run.
        """
        self._rng, self._used, self._warm_up = rng, used, warm_up
        self.warming = warm_up > 0
        self._work = 0.0
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
        """The current share of mutants in the counted cost, from 0 to 1."""
        if self.warming:
            return 0.0
        if self._working:
            rate = self._between(*self.SAVED_RATE)
        else:
            rate = self._rate * self._between(*self.PROBED)
        return rate / (1 + rate)

    def _between(self, flowing: float, dry: float) -> float:
        """A value from ``flowing``, while coverage grows, to ``dry``, if it has not grown in about
        a tenth of all trials.
        """
        return flowing + (dry - flowing) * min(1.0, self._dry) ** 3  # the power delays the change

    @property
    def _dry(self) -> float:
        """Trials without new coverage: 1 or more if they are about a tenth of all."""
        return (self._trials - self._dry_since) / (0.1 * self._trials + 1000)

    def probes(self, trial: int, *, waiting: bool) -> bool:
        """Whether this trial has probes; decided once in an epoch."""
        self._working = waiting
        if trial % EPOCH == 0:
            self._pending += self._between(*self.PROBED)
            self._probing = self._pending >= 1 and self._used() <= self.MOST
            if self._probing or self._pending > _MOST_PENDING:
                self._pending -= 1
        return self._probing and not waiting

    def choose(self, rows: Iterable[MutantRecord], *, saved: bool) -> list[MutantRecord]:
        """All promoted mutants and those without runs; others as back-off and account allow."""
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
        """Whether the account for saved inputs is not overdrawn, and mutants have not had more than
        :attr:`MOST` of the time.
        """
        return not self.warming and self._saved > 0 and self._used() <= self.MOST

    def sample(self, turns: int) -> None:
        """Update the moving average of a trial's cost, which changes as inputs grow."""
        if not self._samples:
            self._saved += self.ADVANCE * turns
        self._samples = min(64, self._samples + 1)
        self.trial_turns += (turns - self.trial_turns) / self._samples

    def trial(self, *, covered: bool, turns: int = 0) -> None:
        """Add a trial's part to the accounts."""
        self._trials += 1
        if covered:
            self._dry_since = self._trials
        if self.warming:
            self._work += work_of(turns)
            within = self._trials < self._warm_up and self._work < _WARM_UP_WORK
            self.warming = within and self._dry < 1
        elif self._working:
            self._saved += self._between(*self.SAVED_RATE) * self.trial_turns
        elif self._probing:
            most = 64 * self.trial_turns
            self._account = min(most, self._account + self._rate * self.trial_turns)

    def spent(self, cost: int, kills: int, *, saved: bool) -> None:
        """Withdraw the cost; adjust the rate to the kills."""
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
