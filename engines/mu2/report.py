"""Report the progress of mutation analysis regularly, and run the exact pass at the end."""

from __future__ import annotations

import contextlib
import time
from typing import Any, Final

from fuzztui.engines.base.errors import Stopping
from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.events import EventLog
from fuzztui.engines.mu2.analysis import Analysis
from fuzztui.engines.mu2.backlog import Backlog
from fuzztui.engines.mu2.exact_pass import Unsettled
from fuzztui.engines.mu2.table import INVALID
from fuzztui.kernel.base.text import several
from fuzztui.kernel.wire.events import MutationStats

_EVERY_S: Final = 2.0, 15.0
"""Seconds between reports: at first, and after :data:`_LATER_S`; a campaign may take weeks."""
_LATER_S: Final = 600.0
_RUNS_EVERY_S: Final = 10.0
_SAVE_EVERY_S: Final = 2.0
_COUNT_SHARE: Final = 100
"""Unsettled pairs are counted for at most a hundredth of the time."""

_SECONDS: Final = {
    j.ORIGINAL_NS: "original_s",
    j.MUTANTS_NS: "mutants_s",
    j.COMPILE_NS: "compile_s",
    j.REST_NS: "rest_s",
}
_NUMBERS: Final = {
    j.MUTANT_RUNS: "runs",
    j.DEAD: "dead",
    j.SKIPPED: "skipped",
    j.UNEXECUTED: "unexecuted",
    j.UNINFECTED: "uninfected",
    j.PUT_OFF: "put_off",
    j.AUDITS: "audits",
    j.AUDIT_KILLS: "audit_kills",
}
"""The journal's counters that are kept when a worker ends, with their fields in the event."""


class MutationReport:
    """Writes :class:`MutationStats` every few seconds, :class:`MutantRuns` less often."""

    def __init__(self, parts: Analysis, backlog: Backlog, log: EventLog, *, exact: bool) -> None:
        """``exact``: whether to run an exact pass at the end."""
        self._backlog, self._log, self._exact_at_end = backlog, log, exact
        self._probes, self._schedule, self._table = parts.probes, parts.schedule, parts.table
        self._pipeline, self._runner, self._program = parts.pipeline, parts.runner, parts.program
        self._criterion, self._isolation = parts.criterion, parts.isolation
        self._words = parts.journal.counters
        # The journal has the totals of earlier workers, since a worker may die at any time.
        self._before = {word: max(0, self._words[word]) for word in (*_SECONDS, *_NUMBERS)}
        self._began = self._ticked = time.perf_counter_ns()
        self._started = time.monotonic()
        self._due = self._runs_due = self._save_due = 0.0
        self._problems = 0
        self._was_exact = False
        self._left = Unsettled(-1, 0, 0)
        self._left_due = 0.0

    def tick(self) -> None:
        """Update counters, save and report when due. Called between trials."""
        self._backlog.collect_results()
        clock = time.perf_counter_ns()
        if self._words[j.PAUSED]:
            self._began += clock - self._ticked  # pauses do not count
        self._ticked = clock
        self._count(clock)
        now = time.monotonic()
        if self._was_exact and not self._backlog.exact:
            self._left_due = 0.0
            self._say_score()
        self._was_exact = self._backlog.exact
        # Kills are written first, because settled pairs are not run again.
        if now >= self._save_due and self._log.flush() and self._backlog.save():
            self._save_due = now + _SAVE_EVERY_S
        if now < self._due:
            return
        self._due = now + _EVERY_S[now - self._started > _LATER_S]
        if now >= self._runs_due:
            self._runs_due = now + _RUNS_EVERY_S
            self._table.report_runs()
        self._report()

    def finish(self) -> None:
        """Run the exact pass after the budget is used up, unless a stop is requested; report."""
        if self._exact_at_end:
            self._backlog.begin_exact()
            self._was_exact = True
            with contextlib.suppress(Stopping):
                while self._backlog.exact and self._backlog.pulse():
                    self._backlog.work()
            if self._backlog.exact:
                self._backlog.end_exact("it was stopped")
        self._left_due = 0.0
        self.tick()
        self._table.report_runs()
        self._report()

    def _report(self) -> None:
        self._count(time.perf_counter_ns())
        self._log.write(self._stats())
        for problem in self._criterion.problems[self._problems :]:
            self._log.message("warning", problem)
        self._problems = len(self._criterion.problems)

    def _say_score(self) -> None:
        rows = self._table.rows
        valid = sum(row.base != INVALID for row in rows)
        score = 100 * self._table.dead / max(1, valid)
        killed = f"{self._table.dead} of {several(valid, 'mutant')}, {score:.1f}%"
        if not self._backlog.cut:
            self._log.message("info", f"exact pass: this corpus kills {killed}")
            return
        left = several(self._backlog.unsettled().pairs, "pair")
        self._log.message(
            "warning",
            f"exact pass cut short, {self._backlog.cut}: this corpus kills at least {killed};"
            f" {left} of mutants and inputs were not run (engine.exact_budget)",
        )

    def _count(self, clock: int) -> None:
        """Update the totals in the journal. ``clock``: the current time in nanoseconds."""
        compiled, original = self._program.compile_ns, self._probes.original_ns
        # The runner's time includes its compiling.
        mutants = self._runner.ns - self._runner.compile_ns
        rest = max(0, clock - self._began - original - mutants - compiled)
        tally = self._pipeline.tally
        done = (
            original, mutants, compiled, rest, self._runner.runs, tally.dead, tally.skipped,
            tally.unexecuted, tally.uninfected, tally.deferred, tally.audits, tally.audit_kills,
        )  # fmt: skip
        for word, value in zip(self._before, done, strict=True):
            self._words[word] = max(self._words[word], self._before[word] + value)

    def _unsettled(self) -> Unsettled:
        """What is not settled. For a large corpus, whose count takes long, the last result."""
        began = time.monotonic()
        if began >= self._left_due:
            self._left = self._backlog.unsettled()
            now = time.monotonic()
            self._left_due = now + _COUNT_SHARE * (now - began)
        return self._left

    def _stats(self) -> MutationStats:
        w = self._words
        left = self._unsettled()
        seconds: dict[str, Any] = {n: round(w[word] / 1e9, 3) for word, n in _SECONDS.items()}
        return MutationStats(
            instance=self._log.instance,
            **seconds,
            **{name: w[word] for word, name in _NUMBERS.items()},
            flaky=len(self._isolation.flaky),
            share=round(self._schedule.share, 3),
            backlog=len(self._backlog),
            phase="exact" if self._backlog.exact else "",
            unsettled=left.pairs,
            left_s=round(self._backlog.left_s(left), 1),
            pass_share=round(min(1.0, self._backlog.pass_share), 3),
            uncompared=self._criterion.uncompared,
        )
