"""Which lines of the application are executed, on import and by single inputs.

Cells of the coverage map are blocks, and an exception may leave a block in the middle. So queue
entries run once more with each line observed: by ``sys.monitoring`` from Python 3.12 on, before by
a trace function, which leaves functions alone of which every line was seen.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any, Final

_TOOLS: Final = (3, 4)
"""Ids for ``sys.monitoring`` without a predefined purpose."""

MAX_FILES: Final = 10_000
"""Names of files that are remembered as not recorded: a target may compile code under new names."""


class LineRecorder:
    """Records executed lines of some files."""

    def __init__(self, wanted: Callable[[str], bool] = lambda file: False) -> None:
        """``wanted``: whether to record lines of a file that was not passed to :meth:`add`."""
        self._wanted = wanted
        self._seen: dict[str, set[int] | None] = {}
        """By file: the lines that were executed; None: lines of the file are not recorded."""
        self._new: dict[str, set[int]] = {}
        self._left: dict[tuple[str, int, str], set[int]] = {}
        """By function: its lines that were not seen (before Python 3.12)."""
        self._depth = 0
        self._before: Any = None
        self._tool = _free_tool()
        """The id for ``sys.monitoring``; -1: none is free, so that no lines are recorded."""
        if sys.version_info >= (3, 12) and self._tool >= 0:
            monitoring = sys.monitoring
            monitoring.use_tool_id(self._tool, "fuzztui lines")
            silent = monitoring.DISABLE

            def line(code: CodeType, number: int) -> Any:
                self._see(code.co_filename, number)
                return silent  # each line is reported once

            monitoring.register_callback(self._tool, monitoring.events.LINE, line)

    def add(self, file: str) -> None:
        """Record lines of this file from now on."""
        if self._seen_in(file) is None:
            self._seen[file] = set()

    def _seen_in(self, file: str) -> set[int] | None:
        if file in self._seen:
            return self._seen[file]
        seen: set[int] | None = set() if self._wanted(file) else None
        if seen is not None or len(self._seen) < MAX_FILES:
            self._seen[file] = seen
        return seen

    def take(self) -> dict[str, set[int]]:
        """Return the lines that were executed for the first time since the last call."""
        new, self._new = self._new, {}
        return new

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Record what is executed in the context. Contexts may be nested."""
        self._depth += 1
        try:
            if self._depth == 1:
                self._start()
            yield
        finally:
            self._depth -= 1
            if self._depth == 0:
                self._stop()

    @contextlib.contextmanager
    def suspended(self) -> Iterator[None]:
        """Record nothing in the context, because it is the engine's own work."""
        if self._depth == 0:
            yield
            return
        self._stop()
        try:
            yield
        finally:
            self._start()

    # ---------------------------------------------------------------- observing

    def _start(self) -> None:
        if sys.version_info >= (3, 12):
            if self._tool >= 0:
                sys.monitoring.set_events(self._tool, sys.monitoring.events.LINE)
        else:
            self._before = sys.gettrace()
            sys.settrace(self._call)

    def _stop(self) -> None:
        if sys.version_info >= (3, 12):
            if self._tool >= 0:
                sys.monitoring.set_events(self._tool, 0)
        else:
            sys.settrace(self._before)
            self._before = None

    def _see(self, file: str, line: int) -> None:
        seen = self._seen_in(file)
        if seen is not None and line not in seen:
            seen.add(line)
            self._new.setdefault(file, set()).add(line)

    def _call(self, frame: FrameType, event: str, argument: object) -> Any:
        code = frame.f_code
        file = code.co_filename
        seen = self._seen_in(file)
        if seen is None:
            return None
        key = file, code.co_firstlineno, code.co_qualname
        left = self._left.get(key)
        if left is None:
            left = self._left[key] = {n for *_, n in code.co_lines() if n} - seen
        if not left:
            return None

        def line(frame: FrameType, event: str, argument: object) -> Any:
            if event == "line" and frame.f_lineno in left:
                left.discard(frame.f_lineno)
                self._see(file, frame.f_lineno)
            return line

        return line


def _free_tool() -> int:
    if sys.version_info >= (3, 12):
        return next((tool for tool in _TOOLS if sys.monitoring.get_tool(tool) is None), -1)
    return -1
