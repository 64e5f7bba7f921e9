"""The runs that record which lines an entry executes, which wait for their share of the work.

Recording makes a run several times slower, and screens only show what it finds: nothing decides by
lines. The entries wait in the order of their ids. The journal keeps the id up to which lines are
reported, so that the next worker records those that waited in this one.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Final

from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.rescue import UNLINED, Unsafe
from fuzztui.engines.execute.executor import Execution
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.loop.context import Context
from fuzztui.engines.loop.line_reports import LineReports
from fuzztui.engines.loop.work import work_of

_SHARE: Final = 0.05
"""Work of recorded runs and of listing lines, as a share of the work of the trials."""
_FACTOR: Final = 4.0
"""Work of a recorded run, in runs of the same input."""
_LAST_S: Final = 2.0
"""Seconds of a stop during which waiting entries are still recorded."""


class LineRuns:
    """Runs entries once more, with their lines recorded, and has these reported."""

    def __init__(self, context: Context, lines: LineReports) -> None:
        self._context, self._lines = context, lines
        self._journal, self._executor = context.journal, context.executor
        self._spent = 0.0
        self._unsafe = Unsafe(context.spec.dir, UNLINED).load()
        self.waiting: deque[tuple[int, bytes, int, float]] = deque()
        """Of each entry: id, data, observed cells, and the work of its recorded run."""
        # Setting up the fixtures of another property would cost more than the run.
        self._at_once = context.target.suite is not None

    def begin(self, *, fresh: bool) -> None:
        """Begin a worker, before its queue is run again. ``fresh``: the queue is empty."""
        if fresh or self._lines.must_rerun:
            self._journal.counters[j.LINES_DONE] = 1

    def lacks(self, entry: int) -> bool:
        """Whether the lines of an earlier worker's entry are not reported."""
        return 0 < self._journal.counters[j.LINES_DONE] <= entry + 1

    def add(self, entry: int, execution: Execution, *, at_once: bool = False) -> None:
        """Have the lines of an entry recorded later, or ``at_once``; of a suite's entry at once."""
        cost = _FACTOR * work_of(execution.turns)
        self.waiting.append((entry, execution.data, execution.observed, cost))
        if at_once or self._at_once:
            while self._lines.price:  # before again(): from there on the run has a time limit
                self._next()
            self._journal.again(time.monotonic_ns())
            self._record()
            self._journal.judging()

    def advance(self) -> None:
        """List a module, else record an entry, if the work of the trials allows its cost.

        Call this between trials if entries are :attr:`waiting`.
        """
        cost = self._lines.price or self.waiting[0][-1]
        if self._spent + cost <= _SHARE * self._context.work.done:
            self._next()

    def finish(self, pulse: Callable[[], bool]) -> None:
        """List all modules and record all waiting entries; when a stop is requested, for
        :data:`_LAST_S` seconds.

        ``pulse`` is called before each: :meth:`Loop.pulse`.
        """
        began = time.monotonic()
        while self._lines.price or self.waiting:
            if not pulse() and time.monotonic() - began >= _LAST_S:
                break
            self._next()

    def _next(self) -> None:
        if price := self._lines.price:
            self._spent += price
            self._lines.list_one()
        else:
            self._run()

    def _run(self) -> None:
        entry, data, *_ = self.waiting[0]
        again = Candidate(data, j.LINES, entry)
        self._journal.begin(time.monotonic_ns(), again, counts=False)
        self._record()
        self._journal.end()

    def _record(self) -> None:
        entry, data, observed, cost = self.waiting.popleft()
        patience = max(1.0, self._context.spec.target.timeout_confirm)
        if entry not in self._unsafe:
            self._executor.traced(data, self._lines.recorder, patience)
            self._executor.fixture.check_limits()
        self._lines.report(entry, observed)
        if self._context.log.flush():
            self._journal.counters[j.LINES_DONE] = entry + 2
        self._spent += cost
