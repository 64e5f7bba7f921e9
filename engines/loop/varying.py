"""Entries whose coverage varies between two runs: propose the fixed clock, once in a run."""

from __future__ import annotations

from fuzztui.engines.directory import journal as j
from fuzztui.engines.execute.unrepeatable import MAX_RUNS, advice, calls_of
from fuzztui.engines.loop.context import Context
from fuzztui.engines.loop.reruns import Reruns
from fuzztui.kernel.wire.events import VARYING

_ENOUGH = 3
"""Varying entries from which on the clock is proposed."""


class VaryingEntries:
    """Runs varying entries again to see what they call. The first instance reports for all."""

    def __init__(self, context: Context, reruns: Reruns) -> None:
        self._journal, self._log, self._reruns = context.journal, context.log, reruns
        self._reported = context.reported
        self._calls: dict[str, str] = {}
        wanted = context.spec.instance == "main" and not context.spec.target.clock
        self._runs_left = MAX_RUNS if wanted and not context.reported.varying else 0

    def note(self, data: bytes) -> None:
        """Examine an entry that varies, which is counted already. Raises as :meth:`Loop.run`."""
        if not self._runs_left:
            return
        self._runs_left -= 1
        self._calls = {**calls_of(lambda: self._reruns.again(data)), **self._calls}
        counters = self._journal.counters
        varying = counters[j.CORPUS_VARIABLE]
        if self._calls and varying >= _ENOUGH:
            self._runs_left, self._reported.varying = 0, True
            text = f"{varying:,} of {counters[j.CORPUS]:,} entries vary between two runs"
            self._log.message("warning", f"{text}; {advice(self._calls)}", VARYING)
