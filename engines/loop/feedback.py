"""Judging an execution: is its input worth keeping, and why?"""

from __future__ import annotations

from typing import Protocol

from fuzztui.engines.execute.executor import Execution, Outcome
from fuzztui.engines.instrument.edges import CoverageMap
from fuzztui.engines.loop.corpus import CorpusEntry

__all__ = ["CoverageFeedback", "Feedback"]


class Feedback(Protocol):
    """One kind of news. The loop asks every feedback about every execution that did not fail.

    ``judge`` changes nothing that ``learn``, called once the input is in the corpus,
    should.
    """

    def judge(self, execution: Execution) -> tuple[str, ...]:
        """Reasons to keep the input (``edge``, ``valid-edge``, ``kill`` ...); usually none."""

    def keeps(self, execution: Execution, smaller: Execution) -> bool:
        """Does the smaller input show all the news that ``execution`` has?"""

    def learn(self, execution: Execution, entry: CorpusEntry) -> None:
        """The input is kept as ``entry``: what it showed is no news any more."""

    def recall(self, execution: Execution, entry: CorpusEntry) -> bool:
        """After a restart: learn it again; was it the first to show something?"""


class CoverageFeedback:
    """Zest's: new coverage by any input, and new coverage by *valid* inputs."""

    def __init__(self, coverage: CoverageMap) -> None:
        self._coverage = coverage
        self.seen = 0
        self.seen_valid = 0

    def judge(self, execution: Execution) -> tuple[str, ...]:
        """``edge`` and ``valid-edge``."""
        observed = execution.observed
        seen = self.seen
        new = observed | seen != seen
        if execution.outcome is Outcome.SUCCESS:
            seen = self.seen_valid
            if observed | seen != seen:
                return ("edge", "valid-edge") if new else ("valid-edge",)
        return ("edge",) if new else ()

    def keeps(self, execution: Execution, smaller: Execution) -> bool:
        """All cells that are new, and that are new to valid inputs if it is one."""
        valid = execution.outcome is Outcome.SUCCESS
        seen = self.seen_valid if valid else self.seen
        return not execution.observed & ~smaller.observed & ~seen

    def learn(self, execution: Execution, entry: CorpusEntry) -> None:
        """Unite."""
        self.seen |= execution.observed
        if execution.outcome is Outcome.SUCCESS:
            self.seen_valid |= execution.observed

    def recall(self, execution: Execution, entry: CorpusEntry) -> bool:
        """Is any of it new?"""
        new = bool(self.judge(execution))
        self.learn(execution, entry)
        return new

    @property
    def edges(self) -> int:
        """Cells covered by the corpus."""
        return self._coverage.count(self.seen)

    @property
    def edges_valid(self) -> int:
        """Cells covered by its valid inputs."""
        return self._coverage.count(self.seen_valid)
