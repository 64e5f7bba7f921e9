"""What an execution may have done to the worker: lowered a limit, used up the memory."""

from __future__ import annotations

from typing import Final

from fuzztui.engines.directory import journal as j
from fuzztui.engines.execute.executor import Execution, Outcome
from fuzztui.engines.execute.limits import memory_used_up
from fuzztui.engines.findings.findings import Findings
from fuzztui.engines.findings.triage import FailureTriage
from fuzztui.engines.loop.context import Context

_FRESH_TRIALS: Final = 100
"""Trials of a worker in which an input, and not a leak, is blamed for a lack of memory."""


class AfterEffects:
    """Examines executions of one worker for harm that outlives them."""

    def __init__(self, context: Context, triage: FailureTriage, findings: Findings) -> None:
        self._fixture = context.executor.fixture
        self._journal, self._triage, self._findings = context.journal, triage, findings
        self._fresh_until = self._journal.counters[j.TRIAL] + _FRESH_TRIALS

    def check_error(self, execution: Execution) -> None:
        """Raise ``Limited`` if the failure comes from a resource limit that was lowered."""
        if execution.outcome is Outcome.FAILURE:
            self._fixture.check_error(execution.error)

    def starved(self, execution: Execution) -> bool:
        """Whether a fresh worker must run the input: out of memory, perhaps by an earlier leak.

        False for known signatures: else every input that allocates too much would cost a worker.
        """
        if not self._out_of_memory(execution):
            return False
        return self._triage.classify(execution) not in self._findings

    def leaked(self, execution: Execution) -> bool:
        """Whether memory ran out, and is still used up after the trial."""
        error = execution.error
        if error is None or not self._out_of_memory(execution):
            return False
        BaseException.with_traceback(error, None)  # its frames refer to the trial's memory
        return memory_used_up()

    def _out_of_memory(self, execution: Execution) -> bool:
        used = self._journal.counters[j.TRIAL] > self._fresh_until
        failed = execution.outcome is Outcome.FAILURE
        return used and failed and issubclass(type(execution.error), MemoryError)
