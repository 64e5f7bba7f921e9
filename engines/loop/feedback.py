"""Feedback: decides after an execution whether its input is kept, and why."""

from __future__ import annotations

from fuzztui.engines.execute.executor import SUCCESS, Execution
from fuzztui.engines.instrument.edges import CoverageMap
from fuzztui.engines.loop.corpus import CorpusEntry


class Feedback:
    """One reason to keep inputs. The loop passes each execution that did not fail to each feedback.

    ``judge`` does not change what the feedback has learned; ``learn`` does, and is called after
    the input was added to the corpus.
    """

    def judge(self, execution: Execution) -> tuple[str, ...]:
        """Reasons to keep the input (``edge``, ``valid-edge``, ``kill`` ...); usually empty."""
        return ()

    def keeps(self, execution: Execution, smaller: Execution) -> bool:
        """Whether ``smaller`` shows everything that is new in ``execution``."""
        return True

    def learn(self, execution: Execution, entry: CorpusEntry) -> None:
        """Record what ``execution`` showed; its input was kept as ``entry``."""
        raise NotImplementedError

    def recall(self, execution: Execution, entry: CorpusEntry) -> bool:
        """Learn an entry again after a restart. Returns whether it shows anything new."""
        self.learn(execution, entry)
        return False


class CoverageFeedback(Feedback):
    """Zest's feedback: new coverage of any input, and new coverage of *valid* inputs."""

    def __init__(self, coverage: CoverageMap) -> None:
        self._coverage = coverage
        self.seen = 0
        self.seen_valid = 0

    def judge(self, execution: Execution) -> tuple[str, ...]:
        """``edge``, ``valid-edge``, both, or empty."""
        observed = execution.observed
        if not observed:
            return ()
        seen = self.seen
        new = observed | seen != seen
        if execution.outcome is SUCCESS:
            seen = self.seen_valid
            if observed | seen != seen:
                return ("edge", "valid-edge") if new else ("valid-edge",)
        return ("edge",) if new else ()

    def keeps(self, execution: Execution, smaller: Execution) -> bool:
        """Whether ``smaller`` covers all new cells; of a valid input, all new to valid inputs."""
        valid = execution.outcome is SUCCESS
        seen = self.seen_valid if valid else self.seen
        return not execution.observed & ~smaller.observed & ~seen

    def learn(self, execution: Execution, entry: CorpusEntry) -> None:
        """Add the covered cells."""
        self.seen |= execution.observed
        if execution.outcome is SUCCESS:
            self.seen_valid |= execution.observed

    def recall(self, execution: Execution, entry: CorpusEntry) -> bool:
        """Add the covered cells. Returns whether any of them is new."""
        new = bool(self.judge(execution))
        self.learn(execution, entry)
        return new

    @property
    def edges(self) -> int:
        """Number of cells that the corpus covers."""
        return self._coverage.count(self.seen)

    @property
    def edges_valid(self) -> int:
        """Number of cells that valid inputs of the corpus cover."""
        return self._coverage.count(self.seen_valid)
