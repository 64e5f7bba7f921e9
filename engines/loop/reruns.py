"""Running an input again after its trial: complete, trimmed, confirmed, with its lines recorded."""

from __future__ import annotations

import time
from dataclasses import replace

from fuzztui.engines.base.errors import RecycleWorker
from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.directory.rescue import Rescue
from fuzztui.engines.execute.executor import Execution
from fuzztui.engines.inputs import reduce
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.loop.after_effects import AfterEffects
from fuzztui.engines.loop.line_reports import LineReports
from fuzztui.engines.loop.parts import Parts


class Reruns:
    """Runs inputs again, each time with the input in the journal in case the process dies."""

    def __init__(
        self,
        parts: Parts,
        journal: TrialJournal,
        rescue: Rescue,
        *,
        after_effects: AfterEffects,
        confirm: float,
        lines: LineReports | None,
    ) -> None:
        """``confirm``: how many time limits an input has with its lines recorded, at least one.

        ``lines``: reports which entries cover which lines first; None: it is not reported.
        """
        self._parts, self._journal, self._rescue = parts, journal, rescue
        self._after_effects, self._confirm, self._lines = after_effects, confirm, lines

    def complete(self, execution: Execution) -> None:
        """Observe all cells that a kept input covers."""
        if execution.lacks:
            self._parts.before_recall()
            self._journal.again(time.monotonic_ns())
            self._parts.executor.complete(execution)
            self._journal.judging()

    def shrink(self, candidate: Candidate, execution: Execution) -> Execution:
        """Trim the input. Returns the execution of the smallest input that is as interesting."""
        best = execution

        def keeps(data: bytes) -> bool:
            nonlocal best
            self._journal.begin(time.monotonic_ns(), replace(candidate, data=data), counts=False)
            tried = self._parts.executor.run(data)
            self._journal.judging()
            same = tried.outcome is execution.outcome
            if same and all(f.keeps(execution, tried) for f in self._parts.feedbacks):
                best = tried
                return True
            return False

        try:
            # A smaller input may kill the process: then the next worker runs this one.
            self._rescue.save(candidate)
        except OSError:
            return execution
        reduce.shrink(execution.data, keeps, self._parts.shrink_runs)
        return best

    def again(self, data: bytes, patience: float = 1.0) -> Execution:
        """Run an input again, within ``patience`` time limits. Raises as :meth:`Loop.run`."""
        self._journal.again(time.monotonic_ns())
        execution = self._parts.executor.run(data, patience)
        self._journal.judging()
        self._parts.executor.fixture.check_limits()  # before it is saved
        self._after_effects.check_error(execution)
        if self._after_effects.starved(execution):
            raise RecycleWorker
        return execution

    @property
    def lines_must_rerun(self) -> bool:
        """Whether entries of earlier workers must run again for their lines."""
        return self._lines is not None and self._lines.must_rerun

    def report_lines(self, entry: int, execution: Execution) -> None:
        """Run an entry once more, with its lines recorded, and report what is new."""
        lines = self._lines
        if lines is None:
            return
        self._journal.again(time.monotonic_ns())
        self._parts.executor.traced(execution.data, lines.recorder, max(1.0, self._confirm))
        self._journal.judging()
        self._parts.executor.fixture.check_limits()
        lines.report(entry, execution.observed)
