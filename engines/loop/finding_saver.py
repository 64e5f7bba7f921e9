"""Saving the inputs of failing trials: is it known, flaky, or only slow?"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.store import candidate_tail
from fuzztui.engines.execute.executor import Execution, Outcome
from fuzztui.engines.execute.failures import Failure
from fuzztui.engines.findings.differential import DifferentialOracle
from fuzztui.engines.findings.findings import Description, Findings
from fuzztui.engines.findings.triage import FLAKY, FailureTriage
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.loop.context import Context
from fuzztui.engines.loop.input_reports import InputReports
from fuzztui.engines.loop.parts import Parts
from fuzztui.engines.loop.reruns import Reruns


class FindingSaver:
    """Decides which failing inputs are new findings, and saves these."""

    def __init__(
        self,
        context: Context,
        parts: Parts,
        findings: Findings,
        triage: FailureTriage,
        *,
        reruns: Reruns,
        reports: InputReports,
    ) -> None:
        self._parts, self._journal, self._log = parts, context.journal, context.log
        self._findings, self._triage = findings, triage
        self._reruns, self._reports = reruns, reports
        self._confirm = context.spec.target.timeout_confirm
        """How many time limits an input has when a hang is confirmed."""
        self._guard = parts.executor.guard
        self._timeouts: dict[str, int] = {}
        """Timeouts by signature that are not saved as a hang."""

    def failed(self, candidate: Candidate, execution: Execution) -> None:
        """Save the input of a FAILURE or TIMEOUT if its signature is new.

        Raises as :meth:`Loop.run`.
        """
        failure = self._triage.classify(execution)
        if self._findings.count_known(failure):
            return
        if execution.outcome is Outcome.TIMEOUT:
            self._hung(candidate, execution, failure)
            return
        guard = self._guard
        stack, lasting = guard.where, guard.lasting
        second = self._reruns.again(execution.data)
        same = second.outcome is execution.outcome and self._triage.classify(second) == failure
        self._save(
            failure,
            candidate,
            execution.data,
            lambda: self._triage.describe(execution, stack, lasting, flaky=not same),
        )

    def _hung(self, candidate: Candidate, execution: Execution, failure: Failure) -> None:
        """Save a hang if the input does not end within a longer time limit either.

        At a place where inputs did end, ever fewer timeouts are confirmed: the first, second,
        fourth, eighth, ...
        """
        seen = self._timeouts[failure.signature] = self._timeouts.get(failure.signature, 0) + 1
        if seen & seen - 1:
            return
        guard = self._guard
        stack, lasting = guard.where, guard.lasting
        second = self._reruns.again(execution.data, self._confirm)
        if second.outcome is Outcome.TIMEOUT:
            self._save(
                failure,
                candidate,
                execution.data,
                lambda: self._triage.describe(execution, stack, lasting, flaky=False),
            )
        elif second.outcome is Outcome.FAILURE:
            self.failed(candidate, second)
        elif seen == 1:
            limit = self._guard.timeout_s
            self._log.message(
                "info",
                f"an input took longer than {limit:g} s in {failure.place}, and ended within"
                f" {self._confirm * limit:g} s: it is slow, and not saved as a hang. Raise"
                " target.timeout if such inputs are usual",
            )

    def contrast(
        self, differential: DifferentialOracle, candidate: Candidate, execution: Execution
    ) -> None:
        """Run the second implementation on the input, and save a difference as a finding.

        Raises as :meth:`Loop.run`.
        """
        data = execution.data
        # The journal may still contain the input of an attempt to trim this one.
        self._journal.begin(time.monotonic_ns(), replace(candidate, data=data), counts=False)
        difference = differential.differs(execution)
        self._journal.judging()
        if difference is None or self._findings.count_known(difference.failure):
            return
        second = self._reruns.again(data)
        self._journal.again(time.monotonic_ns())
        again = differential.differs(second)
        self._journal.judging()
        detail = difference.detail
        if again is None or again.failure != difference.failure:
            detail = f"{FLAKY}\n{detail}"
        self._save(
            difference.failure,
            candidate,
            data,
            lambda: Description(difference.title, detail, self._triage.shown(data)),
        )

    def _save(
        self,
        failure: Failure,
        candidate: Candidate,
        data: bytes,
        describe: Callable[[], Description],
    ) -> None:
        counters = self._journal.counters
        tail = candidate_tail(candidate, counters[j.RUN_MS], counters[j.TRIAL])
        file = self._findings.save(failure, data, tail, describe)
        self._parts.saved(candidate, file.partition("/")[0])
        self._parts.found(file, data)  # with the bytes that the generator has drawn
        self._reports.show(file, data)
