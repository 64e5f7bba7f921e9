"""Counted work: what trials cost, in units that take about a microsecond.

Work is counted, not timed, so that trial N is the same in every run with the same seed. It decides
how many children an entry gets, and when other work is done: new entries are fuzzed first; that
their comparisons and lines are recorded waits for a share of the work of the trials.
"""

from __future__ import annotations

from typing import Final

TRIAL: Final = 60.0
"""Work of a trial besides that of the program."""


def work_of(turns: int) -> float:
    """The work of a trial with so many counted loop iterations.

    A trial counts the iterations of loops that may be endless, which are often none.
    """
    return TRIAL + turns


class Work:
    """The work and the number of a worker's trials."""

    __slots__ = ("done", "trials")

    def __init__(self) -> None:
        self.done = 0.0
        self.trials = 0

    def add(self, turns: int) -> None:
        """Count a trial."""
        self.done += work_of(turns)
        self.trials += 1

    @property
    def mean(self) -> float:
        """The mean work of a trial; that of an empty program before the first."""
        return self.done / self.trials if self.trials else TRIAL
