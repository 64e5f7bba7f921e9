"""An exact pass: what it may use, what it has used, and how long the rest takes.

The budget is in time by the clock without pauses or, if the campaign's budget is in trials, in
runs: of a mutant on an input, and of the original on each input. So the same seed ends the pass at
the same run, except among mutants that run in child processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fuzztui.engines.directory import journal as j
from fuzztui.kernel.base.text import several

_SHARE: Final = 0.25
"""By default a pass may use this share of what the campaign has used."""
_MIN_S: Final = 60.0
_MIN_RUNS: Final = 50_000


@dataclass(frozen=True, slots=True)
class PassBudget:
    """Seconds or runs that a pass may use; without either it is not bounded."""

    seconds: float = 0.0
    runs: int = 0

    @classmethod
    def of(
        cls, option: tuple[float, int] | None, budget_trials: int, counters: memoryview[int]
    ) -> PassBudget:
        """``option``: seconds and trials of ``engine.exact_budget``; None: the default, a share of
        what the instance has done before the pass.
        """
        if option is not None:
            seconds, runs = option
            return cls(float(seconds), int(runs))
        if budget_trials:
            return cls(runs=max(_MIN_RUNS, int(counters[j.TRIAL] * _SHARE)))
        return cls(max(_MIN_S, counters[j.RUN_MS] / 1000 * _SHARE))

    def __str__(self) -> str:
        if self.runs:
            return several(self.runs, "run")
        return f"{self.seconds:g} s"


@dataclass(frozen=True, slots=True)
class Unsettled:
    """What is not settled: pairs, the inputs to be analysed here, the mutants for children."""

    pairs: int
    inputs: int
    mutants: int


class RunningPass:
    """A running pass. Several workers may share it, if some of them die."""

    def __init__(self, budget: PassBudget, spent: float = 0.0) -> None:
        """``spent``: what earlier workers used."""
        self.budget = budget
        self._before = spent
        self.clock_s = 0.0
        """Seconds of this worker's part of the pass; pauses do not count."""
        self.runs = 0
        """Runs of mutants and of the original in this worker's part of the pass."""
        self.inputs = 0
        """Inputs analysed in this process."""
        self.inputs_s = 0.0
        self.children = 0
        """Child processes that have ended; each ran one mutant on many inputs."""
        self.children_s = 0.0

    @property
    def spent(self) -> float:
        """What was used of the budget, in its unit."""
        if self.budget.runs:
            return self._before + self.runs
        return self._before + self.clock_s

    @property
    def over(self) -> bool:
        """Whether the budget is used up."""
        return self.share >= 1

    @property
    def share(self) -> float:
        """The used share of the budget, from 0 on; 0 if the pass is not bounded."""
        most = self.budget.runs or self.budget.seconds
        return self.spent / most if most > 0 else 0.0

    def left_s(self, left: Unsettled) -> float:
        """Estimate the seconds until the pass ends; negative: not known yet."""
        seconds = 0.0
        for todo, done, spent in (
            (left.inputs, self.inputs, self.inputs_s),
            (left.mutants, self.children, self.children_s),
        ):
            if todo and not done:
                return -1.0
            seconds += todo * spent / max(1, done)
        if self.budget.seconds:
            seconds = min(seconds, max(0.0, self.budget.seconds - self.spent))
        elif self.budget.runs and self.runs:
            rate = (self.inputs_s + self.children_s) / self.runs
            seconds = min(seconds, max(0.0, self.budget.runs - self.spent) * rate)
        return seconds

    def dump(self) -> str:
        """The budget and what was spent of it, for :meth:`resumed` in the next worker."""
        return f"{self.budget.seconds} {self.budget.runs} {self.spent}"

    @classmethod
    def resumed(cls, text: str, budget: PassBudget) -> RunningPass:
        """The pass of an earlier worker; a new one with this budget if ``text`` is empty."""
        try:
            seconds, runs, spent = text.split()
            return cls(PassBudget(float(seconds), int(runs)), float(spent))
        except ValueError:
            return cls(budget)
