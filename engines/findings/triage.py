"""Triage: classify failing executions and describe them for users, under rules about frames."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
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
from fuzztui.kernel.base.files import read_if_regular
from fuzztui.kernel.wire.frames import (
    MAX_RULES,
    MAX_TEXT,
    RULES_FILE,
    Rules,
    frame_rows,
    rule_problem,
)

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


_MAX_SIZE = MAX_RULES * MAX_TEXT * 4


class FrameRules:
    """The file with the rules of a run, which its supervisor writes: one rule on a line."""

    def __init__(self, sync_dir: Path) -> None:
        """``sync_dir``: the directory that contains the instances of the run."""
        self._file = sync_dir / RULES_FILE
        self._seen: object = None
        self.rules: Rules = ()
        self.changed()

    def changed(self) -> bool:
        """Read the file again if it was changed. Returns whether the rules are others now."""
        try:
            status = os.stat(self._file)  # noqa: PTH116 - 20 times a second
        except OSError:
            seen = None
        else:
            seen = status.st_ino, status.st_size, status.st_mtime_ns
        if seen == self._seen:
            return False
        self._seen, before = seen, self.rules
        raw = read_if_regular(self._file, _MAX_SIZE) or b""
        lines = raw.decode(errors="replace").split("\n")
        self.rules = tuple(line for line in lines if line and not rule_problem(line))[:MAX_RULES]
        return self.rules != before
