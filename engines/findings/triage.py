"""Triage: classify failing executions and describe them for users."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from fuzztui.engines.execute.executor import Execution, Executor
from fuzztui.engines.execute.failures import (
    Failure,
    failure_of,
    frames_of_error,
    hang_of,
    hang_text,
    printable,
    stack_frames,
    title_of,
    traceback_text,
)
from fuzztui.engines.findings.findings import Description
from fuzztui.engines.instrument.guard import Stack
from fuzztui.kernel.wire.frames import Rules, frame_rows

FLAKY: Final = "Flaky: the same input, run again at once, did not fail so."

UNMADE: Final = " while the input was made"
"""Suffix of signatures if the generator or strategy failed, before the target was called."""


class FailureTriage:
    """Classifies and describes executions that ended as FAILURE or TIMEOUT."""

    def __init__(self, executor: Executor, files: Collection[str]) -> None:
        """``files``: source files of the application."""
        self._executor = executor
        self.files = files
        self.rules: Rules = ()
        """About frames that do not count for signatures."""

    def classify(self, execution: Execution) -> Failure:
        """Classify the last execution by type and location; of a timeout, where the guard ended it.

        A failure while the input was made gets another signature than one of the target at the
        same location.
        """
        if execution.error is not None:
            failure = failure_of(
                execution.error,
                self.files,
                execution.matched,
                execution.matched_before,
                self.rules,
            )
        else:
            guard = self._executor.guard
            failure = hang_of(guard.lasting, guard.where, self.files, self.rules)
        if execution.unmade:
            before = failure.before and failure.before + UNMADE
            failure = replace(failure, signature=failure.signature + UNMADE, before=before)
        return failure

    def describe(
        self, execution: Execution, stack: Stack, lasting: Stack, *, flaky: bool
    ) -> Description:
        """Describe a failure. ``flaky``: the failure did not recur.

        ``stack``, ``lasting``: of a timeout, as in :func:`hang_of`.
        """
        executor, error = self._executor, execution.error
        when = UNMADE if execution.unmade else ""
        if error is not None:
            name = type(error).__name__
            title = executor.guarded(lambda: title_of(error, when), name + when)
            detail = executor.guarded(lambda: traceback_text(error), f"{name}, and no traceback")
            frames = frames_of_error(error, self.files)
        else:
            title = f"timeout{when}: longer than {executor.guard.timeout_s:g} s"
            detail = hang_text(stack)
            frames = stack_frames(lasting, self.files, lines=False)
        if execution.matched:
            detail = f"A failure because of its message ([oracle]).\n{detail}"
        if flaky:
            detail = f"{FLAKY}\n{detail}"
        return Description(title, detail, self.shown(execution.data), frame_rows(frames))

    def shown(self, data: bytes) -> str:
        """A short form of the input; for choices, of the input that the generator makes."""
        executor = self._executor
        if not executor.form.choices:
            return printable(data)
        argument = executor.guarded(lambda: repr(executor.form.build(data)), "")
        return printable(argument.encode("utf-8", "backslashreplace"))
