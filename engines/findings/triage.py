"""What a failing execution is, and how it is told to people."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from fuzztui.engines.execute.executor import Execution, Executor
from fuzztui.engines.execute.failures import (
    Failure,
    failure_of,
    hang_of,
    hang_text,
    printable,
    title_of,
    traceback_text,
)
from fuzztui.engines.findings.findings import Description
from fuzztui.engines.instrument.frames import Stack

__all__ = ["FLAKY", "UNMADE", "FailureTriage"]

FLAKY: Final = "Flaky: the same input, run again at once, did not fail so."

UNMADE: Final = " while the input was made"
"""Ends the name of what was not the target's doing: its generator, or strategies, failed."""


class FailureTriage:
    """Looks at executions that ended as FAILURE or TIMEOUT, as soon as they have ended."""

    def __init__(self, executor: Executor, files: Collection[str]) -> None:
        """``files``: those of the application."""
        self._executor = executor
        self.files = files

    def classify(self, execution: Execution) -> Failure:
        """Type and place; a timeout's place is where the guard struck.

        What is met while an input is made hides nothing that the target does at the same place.
        """
        if execution.error is not None:
            failure = failure_of(execution.error, self.files, execution.said, execution.said_before)
        else:
            failure = hang_of(self._executor.guard.where, self.files)
        if execution.unmade:
            before = failure.before and failure.before + UNMADE
            failure = replace(failure, signature=failure.signature + UNMADE, before=before)
        return failure

    def describe(self, execution: Execution, stack: Stack, *, flaky: bool) -> Description:
        """``stack``: where the guard struck, if it did. ``flaky``: it does not happen again."""
        executor, error = self._executor, execution.error
        when = UNMADE if execution.unmade else ""
        if error is not None:
            name = type(error).__name__
            title = executor.guarded(lambda: title_of(error, when), name + when)
            detail = executor.guarded(lambda: traceback_text(error), f"{name}, and no traceback")
        else:
            title = f"timeout{when}: longer than {executor.guard.timeout_s:g} s"
            detail = hang_text(stack)
        if execution.said:
            detail = f"A failure because of its message ([oracle]).\n{detail}"
        if flaky:
            detail = f"{FLAKY}\n{detail}"
        return Description(title, detail, self.shown(execution.data))

    def shown(self, data: bytes) -> str:
        """The input in short; of choices what the generator makes of them."""
        executor = self._executor
        if not executor.form.choices:
            return printable(data)
        argument = executor.guarded(lambda: repr(executor.form.build(data)), "")
        return printable(argument.encode("utf-8", "backslashreplace"))
