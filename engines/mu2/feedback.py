"""Keep inputs that kill mutants: lines 8 to 10 of Algorithm 2."""

from __future__ import annotations

from typing import Final

from fuzztui.engines.directory import journal as j
from fuzztui.engines.execute.executor import Execution
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.loop.corpus import WHOLE, CorpusEntry
from fuzztui.engines.loop.feedback import Feedback
from fuzztui.engines.mu2.analysis import Analysis
from fuzztui.engines.mu2.backlog import Backlog
from fuzztui.engines.mu2.runner import Kill
from fuzztui.engines.mu2.schedule import EPOCH

_MAX_KILLS_TO_TRIM: Final = 8
"""An input with more kills is not trimmed: each attempt would run all these mutants again."""
_WIDE_EVERY: Final = 16
"""Every so many epochs, one has probes for all survivors instead of the fresh ones."""
_MAX_MUTANTS: Final = 8
"""Mutants that are run on the input of one trial, unless the schedule analyses everything."""
_MAX_ITERATIONS: Final = 20_000
"""Estimated iterations and calls of these mutants, which bounds the time for which commands wait;
at least two mutants are run anyway."""
_SAMPLE_EVERY: Final = 256
_INFECTING_COST: Final = 2
"""Cost of an input that infects mutants, in average trials."""


class KillFeedback(Feedback):
    """Keeps an input that kills a mutant which no saved input has killed."""

    def __init__(self, parts: Analysis, coverage: Feedback, backlog: Backlog) -> None:
        self._coverage, self._backlog, self._table = coverage, backlog, parts.table
        self._runner, self._pipeline, self._probes = parts.runner, parts.pipeline, parts.probes
        self._schedule, self._criterion, self._isolation = (
            parts.schedule, parts.criterion, parts.isolation,
        )  # fmt: skip
        self._words = parts.journal.counters
        self._kills: list[Kill] = []
        self._infected_promoted: set[int] = set()
        """Promoted mutants that the input infects, if they are the only reason to keep it."""
        self._sampled = False
        self._is_seed = self._has_run = self._warming = False
        """``_has_run``: all mutants that the trial's input may kill have run on it. ``_warming``:
        none of them runs."""

    def before(self, candidate: Candidate) -> None:
        """Install the probes for the next trial."""
        self._is_seed, self._has_run = candidate.op == "seed", False
        if self._table.promoted:
            self._schedule.warming = False
        self._warming = self._schedule.warming and not candidate.peer
        if self._isolation.all_isolated or self._warming:
            self._probes.install(None)
        elif candidate.peer:
            self._probes.watch_all()  # a peer may have saved the entry for its kills
        else:
            trial = self._words[j.TRIAL]
            probed = self._schedule.probes(trial, waiting=self._backlog.waits(candidate.data))
            if probed and (self._schedule.everything or trial // EPOCH % _WIDE_EVERY == 0):
                self._probes.watch_all()
            elif probed or self._table.promoted:
                self._probes.watch_fresh(renew=trial % EPOCH == 0)
            else:
                self._probes.install(None)
        self._probes.in_trial = True

    def judge(self, execution: Execution) -> tuple[str, ...]:
        """Run mutants on the trial's input. Returns the reason ``kill``, or ``infection`` for one
        of the first inputs that infect a promoted mutant. A seed is kept if it may kill.
        """
        covers = bool(self._coverage.judge(execution))
        self._schedule.trial(covered=covers, turns=execution.turns)
        self._kills = []
        self._infected_promoted.clear()
        if not self._criterion.judges(execution.outcome) or self._isolation.is_flaky(
            execution.data
        ):
            self._has_run = True
            return ()
        reasons = () if self._warming else self._run_mutants(execution, covers=covers)
        return self.whole() if self._is_seed and not (covers or reasons) else reasons

    def whole(self) -> tuple[str, ...]:
        """The reason to keep the trial's input also untrimmed: it may kill mutants that have not
        run yet, or that run in child processes; a trimmed version may not. Empty if none are left.
        """
        return () if self._has_run and not self._table.isolates else (WHOLE,)

    def _run_mutants(self, execution: Execution, *, covers: bool) -> tuple[str, ...]:
        if not self._sampled or self._words[j.TRIAL] % _SAMPLE_EVERY == 1:
            self._sample(execution)
        if self._probes.installed is None:
            self._pipeline.count_unprobed()
            return ()
        seen = self._pipeline.read_probes(self._probes.installed)
        rows = self._pipeline.todo(seen, self._schedule, saved=False)
        if covers:  # the input is kept in any case, and the backlog will run the others
            rows = self._pipeline.defer(rows, [row for row in rows if row.promoted])
        if not self._schedule.everything:  # bounds one trial's work: the others run another time
            fits = max(2, int(_MAX_ITERATIONS / self._schedule.trial_turns))
            rows = self._pipeline.defer(rows, rows[: min(fits, _MAX_MUTANTS)])
        probed = len(seen.watched) == len(self._table.survivors)
        self._has_run = probed and len(rows) == len(seen.infected)
        if not rows:
            return ()
        audits = self._pipeline.audit(
            seen, runs=self._runner.runs, everything=self._schedule.everything
        )
        cost, runs = self._runner.cost, self._runner.runs
        todo = [*(row.mutant.index for row in rows), *audits]
        turns = int(self._schedule.trial_turns) * _INFECTING_COST
        self._kills = self._runner.kills(execution, todo, audits=audits, turns=turns)
        cost, runs = self._runner.cost - cost, self._runner.runs - runs
        self._schedule.spent(cost, len(self._kills), saved=False)
        self._backlog.count_work(execution.data, cost, runs, 0)  # kills count when it is saved
        self._pipeline.audited(self._kills, audits)
        if self._kills:
            return ("kill",)
        promoted = [row.mutant.index for row in rows if row.promoted]
        self._infected_promoted.update(at for at in promoted if self._table.grant_energy(at))
        return ("infection",) if self._infected_promoted else ()

    def _sample(self, execution: Execution) -> None:
        # Without probes, a trial begins with the state that the last one has left.
        turns = self._runner.measure(execution, cold=self._probes.installed is not None)
        if turns:  # else it is flaky
            self._sampled = True
            self._schedule.sample(turns)

    def keeps(self, execution: Execution, smaller: Execution) -> bool:
        """Whether a smaller input still has all kills, or the infections that it is kept for."""
        watched = self._probes.installed
        if self._infected_promoted and not (
            watched and self._infected_promoted.issubset(watched.infected())
        ):
            return False
        if len(self._kills) > _MAX_KILLS_TO_TRIM:
            return False
        turns = int(self._schedule.trial_turns)
        return all(self._runner.kills(smaller, (at,), turns=turns) for at, _ in self._kills)

    def learn(self, execution: Execution, entry: CorpusEntry) -> None:
        """Record the kills of the new entry and queue it for the other mutants."""
        kills, self._kills = self._kills, []
        new = self._backlog.commit(entry, kills)
        self._backlog.count_work(entry.data, 0, 0, new)
        self._backlog.add(execution, entry, (at for at, _ in kills))

    def recall(self, execution: Execution, entry: CorpusEntry) -> bool:
        """Queue an entry after a restart. Returns whether it has kills."""
        entry.kills, entry.isolated_kills = self._table.kills_of(entry.id)
        self._backlog.add(execution, entry, ())
        return entry.kills > 0
