"""What a failing execution is, and how it is told to people."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from fuzztui.engines.core.executor import Execution, Executor
from fuzztui.engines.core.failures import (
    Failure,
    Stack,
    failure_of,
    hang_of,
    hang_text,
    printable,
    title_of,
    traceback_text,
)
from fuzztui.engines.core.findings import Description

__all__ = ["FLAKY", "Triage"]

FLAKY: Final = "Flaky: the same input, run again at once, did not fail so."


class Triage:
    """Looks at executions that ended as FAILURE or TIMEOUT, as soon as they have ended."""

    def __init__(self, executor: Executor, files: Collection[str]) -> None:
        """``files``: those of the application."""
        self._executor = executor
        self.files = files

    def classify(self, execution: Execution) -> Failure:
        """Type and place; a timeout's place is where the guard struck."""
        if execution.error is not None:
            return failure_of(execution.error, self.files, execution.said)
        return hang_of(self._executor.guard.where, self.files)

    def describe(self, execution: Execution, stack: Stack, *, flaky: bool) -> Description:
        """``stack``: where the guard struck, if it did. ``flaky``: it does not happen again."""
        executor, error = self._executor, execution.error
        if error is not None:
            name = type(error).__name__
            title = executor.guarded(lambda: title_of(error), name)
            detail = executor.guarded(lambda: traceback_text(error), f"{name}, and no traceback")
        else:
            title = f"timeout: longer than {executor.guard.timeout_s:g} s"
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
