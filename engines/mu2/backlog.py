"""Run every survivor on every saved input that infects it, in small steps between trials.

For each input the *settled* mutants are recorded: those that are soundly pruned or have run. The
schedule decides how much of this work is done now. The exact pass is the same work without a
schedule: when every survivor is settled with every input, the mutation score is exact.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from fuzztui.engines.directory import journal as j
from fuzztui.engines.execute.executor import Execution
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.loop.corpus import Corpus, CorpusEntry, Steerable, SteerError
from fuzztui.engines.loop.suite import SuiteCorpus
from fuzztui.engines.mu2.analysis import Analysis
from fuzztui.engines.mu2.exact_pass import PassBudget, RunningPass, Unsettled
from fuzztui.engines.mu2.isolated import IsolatedResult
from fuzztui.engines.mu2.runner import Kill
from fuzztui.engines.mu2.schedule import MutantSchedule
from fuzztui.engines.mu2.settled import NEVER, Settled, bits_of
from fuzztui.engines.mu2.table import RAN
from fuzztui.engines.mu2.waiting import Group, WaitingEntries

_CHUNK: Final = 32
_CHUNK_TRIALS: Final = 2
"""Mutants that are run in one step, and the cost of a step in average trials. They bound the time
for which commands wait."""
_ISOLATED_INPUTS: Final = 16
_ISOLATED_INPUTS_EXACT: Final = 256
"""Inputs that one child process runs a mutant on: usually, and in the exact pass."""
_ISOLATED_SHARE: Final = 0.05
"""Share of the time in which a child process may run. Measured by the clock: no trial depends on
the results of children."""
_WAIT_S: Final = 0.005
_STRIKES: Final = 3
_EXACT: Final = MutantSchedule()


@dataclass(slots=True)
class _Job:
    """A saved input under analysis; ``left`` are the mutants still to run on it."""

    entry: CorpusEntry
    original: Execution
    left: deque[int] = field(default_factory=deque)
    audits: frozenset[int] = frozenset()
    turns: int = 0
    """Cost of one run, in iterations and calls."""


class Backlog:
    """The queue of saved inputs whose mutants are still to be run.

    It is a stage of the loop, to get its share of the work; it proposes no candidates.
    """

    def __init__(
        self,
        parts: Analysis,
        *,
        settled: Settled,
        corpus: Corpus,
        scheduler: Steerable,
        instance: str,
        budget: Callable[[], PassBudget] = PassBudget,
        properties: SuiteCorpus | None = None,
    ) -> None:
        """``budget`` returns the budget of an exact pass that starts now.

        ``properties``: the corpus of a suite; None: the target is no suite. As long as a schedule
        limits the work, only inputs of the property that has the turn are worked on: setting up
        another property for each input would take most of the time.
        """
        self._executor, self._program, self._table = parts.executor, parts.program, parts.table
        self._runner, self._isolated, self._pipeline = parts.runner, parts.isolated, parts.pipeline
        self._schedule, self._probes = parts.schedule, parts.probes
        self._criterion, self._isolation, self._journal = (
            parts.criterion,
            parts.isolation,
            parts.journal,
        )
        self._corpus, self._scheduler = corpus, scheduler
        self._instance = instance
        self._settled = settled
        self._runner.on_void = self.reopen
        self._strikes: dict[int, int] = {}
        self._waiting = WaitingEntries(properties.key_of if properties else lambda data: b"")
        self._properties = properties
        self._jobs: dict[Group, _Job] = {}
        self._isolated_turn = 0
        self._isolated_began = self._isolated_due = 0.0
        self._passed: dict[int, int] = {}
        """By isolated mutant: number of entries at the corpus' start that are settled with it."""
        self._isolated_results: Iterator[IsolatedResult | None] | None = None
        self._child_s = 0.0
        """Seconds that the last child has run."""
        self._isolated_at = -1
        self._isolated_open: set[int] = set()
        """The mutant that runs in the child, and the entries whose result is not known yet."""
        self._budget = budget
        self._pass: RunningPass | None = None
        self._last_share = -1.0
        self.cut = ""
        """Why the last exact pass ended before every pair was settled; empty if it did not."""
        self.on_kills: Callable[[CorpusEntry], None] = lambda entry: None
        """Called when an entry of the corpus has killed more mutants, or a kill was revoked."""
        self.on_exact: Callable[[], None] = lambda: None
        """Called before an exact pass."""
        self.pulse: Callable[[], bool] = lambda: True
        """Called during long work (:meth:`Loop.pulse`); False: stop at once."""

    def __len__(self) -> int:
        """The number of saved inputs that wait."""
        return len(self._waiting) + len(self._jobs)

    def waits(self, data: bytes) -> bool:
        """Whether a saved input waits that is for the same property as ``data``.

        If the target is no suite: whether any saved input waits.
        """
        group = self._waiting.group_of(data)
        return group in self._jobs or self._waiting.has(group)

    @property
    def exact(self) -> bool:
        """Whether an exact pass is running: work without a schedule until all is settled."""
        return self._pass is not None

    def add(self, execution: Execution, entry: CorpusEntry, ran: Iterable[int]) -> None:
        """Queue an input that was added to the corpus. ``ran``: mutants already run on it."""
        self._probes.entered(execution.observed)
        self._settled.begin(entry.id, bits_of(ran))
        self._waiting.add(entry)

    def commit(self, entry: CorpusEntry, kills: Iterable[Kill]) -> int:
        """Record the kills of an entry. Returns how many of the mutants were not killed before."""
        new = 0
        for at, verdict in kills:
            if self._table.alive(at):
                new += 1
                entry.isolated_kills += self._table.rows[at].isolated
                self._table.kill(at, verdict, f"{self._instance}/{entry.id}")
        entry.kills += new
        return new

    # ----------------------------------------------------------------- the work

    def propose(self) -> None:
        """Do a step of the work. Always returns None: it proposes no candidates."""
        self.work()

    def work(self) -> None:
        """Do one step if the schedule allows it; all steps if the schedule analyses everything."""
        words = self._journal.counters
        if self._pass is None and self._settled.exact_pass:
            self.begin_exact()  # the last worker died in it
        may_fork = self._may_fork()
        if (
            may_fork
            and self._isolated_results is None
            and not (self.exact or self._schedule.warming)
            and time.monotonic() >= self._isolated_due
            and self._start_isolated()
            and self._properties is not None
        ):
            self.collect_results()  # starts the child now, before fixtures are set up again
        self._work_step()
        while self._schedule.everything and len(self) and not words[j.STOP] and self.pulse():
            self._work_step()

    def _work_step(self) -> None:
        if not (self.exact or self._schedule.may_work()):
            return
        if self._pass is not None:
            if self._pass.over:
                self.end_exact(f"the budget of {self._pass.budget} is used up")
                return
            self._settled.exact_pass = self._pass.dump()
            if not len(self):
                self._isolate_survivors_of_import()
        if not (len(self) or self._table.isolated or self._isolated_results):
            self.end_exact()
            return
        cost_before, runs, began = self._runner.cost, self._runner.runs, time.monotonic()
        kills = 0
        waited = len(self)
        group = self._group()
        with self._runner.timed():
            job = self._jobs.get(group)
            if job is None and self._waiting.has(group) and self._probes.ready():
                entry = self._waiting.take(group)
                if self._properties is not None:
                    self._properties.begin(entry.data)
                job = self._begin(entry)
                self._count_run()
                if job is not None:
                    self._jobs[group] = job
            if job is not None:
                kills = self._continue(job)
                if not job.left:
                    del self._jobs[group]
                cost = self._runner.cost - cost_before
                self.count_work(job.entry.data, cost, self._runner.runs - runs, kills)
            elif self._pass is not None and self._isolated_results is not None:
                time.sleep(_WAIT_S)
                self.collect_results()
            elif self.exact and not self._waiting and not self._start_isolated():
                self.end_exact()
        if self._pass is not None:
            took = time.monotonic() - began
            self._pass.clock_s += took
            if waited:
                self._pass.runs += self._runner.runs - runs
                self._pass.inputs += waited - len(self)
                self._pass.inputs_s += took
        self._schedule.spent(self._runner.cost - cost_before, kills, saved=True)

    def _group(self) -> Group:
        """The group that is worked on now: that of the property which has the turn.

        Without a limit of the work (as in an exact pass) one group after the other.
        """
        if not (self.exact or self._schedule.everything):
            return b"" if self._properties is None else self._properties.turn()
        return next(iter(self._jobs), self._waiting.first())

    def _count_run(self) -> None:
        """Count a run of the original on an input, or of a mutant in a child."""
        if self._pass is not None:
            self._pass.runs += 1

    def _begin(self, entry: CorpusEntry) -> _Job | None:
        """Run the original on the input with all probes.

        Returns the mutants to run; None if there are none or the input cannot be judged.
        """
        table = self._table
        settled = self._settled[entry.id]
        if not table.mask & ~settled:
            return None
        self._runner.put_back()  # else the probes would miss code behind a filled cache
        before = self._probes.installed
        watch_all = self._probes.watch_all()
        self._mark(entry)
        original = self._executor.run(entry.data)
        self._journal.judging()
        self._probes.install(before)
        if not self._criterion.judges(original.outcome) or self._isolation.is_flaky(original.data):
            self._journal.end()
            self._strike(entry)
            return None
        self._criterion.look_at(original, entry.id)
        entered = self._program.units_of(original.observed)
        seen = self._pipeline.read_probes(watch_all, entered, entry.id)
        schedule = _EXACT if self.exact else self._schedule
        chosen = self._pipeline.todo(seen, schedule, saved=True, settled=settled)
        self._settled[entry.id] |= table.mask & ~bits_of(seen.infected)
        audits = self._pipeline.audit(seen, runs=self._runner.runs, everything=schedule.everything)
        left = deque([*(row.mutant.index for row in chosen), *audits])
        if any(row.promoted and self._table.grant_energy(row.mutant.index) for row in chosen):
            with contextlib.suppress(SteerError):  # an entry that cannot be mutated
                self._scheduler.promote(entry.id)
        turns = self._runner.measure(original) if left else 0
        self._journal.end()
        if left and not turns:
            self._settled[entry.id] = NEVER  # it is flaky
            return None
        return _Job(entry, original, left, frozenset(audits), turns)

    def _strike(self, entry: CorpusEntry) -> None:
        """Queue an input again that could not be judged, up to :data:`_STRIKES` times: the machine
        may have been busy.
        """
        self._strikes[entry.id] = self._strikes.get(entry.id, 0) + 1
        distrusted = self._isolation.is_flaky(entry.data)
        if distrusted or self._strikes[entry.id] >= _STRIKES:
            self._settled[entry.id] = NEVER
        else:
            self._waiting.add(entry)

    def _continue(self, job: _Job) -> int:
        part: list[int] = []
        fits = int(_CHUNK_TRIALS * self._schedule.trial_turns / max(1, job.turns))
        most = max(1, min(_CHUNK, fits))
        while job.left and len(part) < most:
            at = job.left.popleft()
            if at in self._table.survivors:
                part.append(at)
        kills: list[Kill] = []
        if part:
            self._mark(job.entry)
            self._journal.judging()
            if self._isolation.all_isolated:
                kills = self._in_child(part, job.entry)
            else:
                kills = self._runner.kills(
                    job.original,
                    part,
                    audits=job.audits,
                    turns=job.turns,
                    known=True,
                    verify=not job.left,
                )
            self._journal.end()
            self._settled[job.entry.id] |= bits_of(part)
            self._pipeline.audited(kills, job.audits.intersection(part))
            self._credit(job.entry, kills)
            self._table.came_near(set(part).difference(job.audits), RAN, job.entry.id)
            if self._isolation.is_flaky(job.original.data):
                self._settled[job.entry.id] = NEVER
                job.left.clear()
        return len(kills)

    def _mark(self, entry: CorpusEntry) -> None:
        """Record in the journal that the run is no trial, in case the process dies."""
        candidate = Candidate(entry.data, j.ANALYSE, entry.id)
        self._journal.begin(time.monotonic_ns(), candidate, counts=False)

    def _credit(self, entry: CorpusEntry, kills: list[Kill]) -> None:
        if self.commit(entry, kills):
            self.on_kills(entry)

    def count_work(self, data: bytes, cost: int, runs: int, kills: int) -> None:
        """Count runs of mutants on an input, and their kills, for the property of a suite.

        Must not be called for runs in child processes, because their number depends on the clock.
        """
        if self._properties is not None:
            self._properties.count_work(data, cost, runs, kills)

    # ------------------------------------------------------------ child processes

    def _may_fork(self) -> bool:
        """Whether a child process may start. For a suite only at a rest between two turns
        (:meth:`SuiteCorpus.is_rest`), because all fixtures are torn down first.

        They are torn down at every rest, so that trials do not depend on whether a child starts.
        """
        if self._properties is None:
            return True
        if rest := self._properties.is_rest():
            self._runner.put_back()
            self._properties.leave()
        return rest

    def _isolate_survivors_of_import(self) -> None:
        """Run the survivors whose code ran at import again, imported with the mutant."""
        rows = self._table.rows
        survivors = [at for at in self._table.survivors if rows[at].mutant.ran_at_import]
        if not survivors:
            return
        self._settled.reopen(bits_of(survivors))
        for at in survivors:
            self._passed[at] = 0
        self._table.isolate([rows[at].id for at in survivors])

    def _start_isolated(self) -> bool:
        """Start a child process that runs one isolated mutant on some unsettled inputs.

        Returns False if no isolated mutant has such inputs.
        """
        rows = self._table.rows
        waiting = [at for at in sorted(self._table.isolated) if self._has_unsettled(at)]
        waiting = [at for at in waiting if rows[at].promoted] or waiting
        if not waiting:
            return False
        at = waiting[self._isolated_turn % len(waiting)]
        self._isolated_turn += 1
        inputs = [e for e in self._corpus.entries[self._passed[at] :] if self._is_unsettled(e, at)]
        del inputs[_ISOLATED_INPUTS_EXACT if self.exact else _ISOLATED_INPUTS :]
        for entry in inputs:
            self._settled[entry.id] |= 1 << at
        self._isolated_at, self._isolated_open = at, {entry.id for entry in inputs}
        mutant = self._table.rows[at].mutant
        self._isolated_results = self._isolated.run([(mutant, e.id, e.data) for e in inputs])
        self._isolated_began = time.monotonic()
        return True

    def collect_results(self) -> None:
        """Record the results that the child process has sent, if one is running; does not wait."""
        if self._isolated_results is None:
            return
        for result in self._isolated_results:
            if result is None:
                return
            self._record_result(result)
        self._isolated_results = None
        self._isolated_open.clear()
        now = time.monotonic()
        self._child_s = now - self._isolated_began
        if self._pass is not None:
            self._pass.children += 1
            self._pass.children_s += self._child_s
        self._isolated_due = now + self._child_s * (1 / _ISOLATED_SHARE - 1)

    def _record_result(self, result: IsolatedResult) -> list[Kill]:
        self._count_run()
        if result.index == self._isolated_at:
            self._isolated_open.discard(result.key)
        if result.wrong:
            self._table.invalidate(result.index, result.wrong)
            return []
        if result.flaky:
            self._isolation.mark_flaky(self._corpus.by_id[result.key].data)
            return []
        self._table.ran(result.index)
        if result.verdict is None:
            self._table.came_near([result.index], RAN, result.key)
            return []
        kills = [(result.index, result.verdict)]
        self._credit(self._corpus.by_id[result.key], kills)
        return kills

    def _has_unsettled(self, at: int) -> bool:
        """Whether the mutant is unsettled with some entry."""
        entries, passed = self._corpus.entries, self._passed.get(at, 0)
        while passed < len(entries) and not self._is_unsettled(entries[passed], at):
            passed += 1
        self._passed[at] = passed
        return passed < len(entries)

    def _is_unsettled(self, entry: CorpusEntry, at: int) -> bool:
        return not self._settled[entry.id] >> at & 1

    def _in_child(self, mutants: list[int], entry: CorpusEntry) -> list[Kill]:
        """Run the mutants on one input in a child process and wait. For processes in which no
        mutant may run.
        """
        rows = self._table.rows
        kills: list[Kill] = []
        for result in self._isolated.run(
            [(rows[at].mutant, entry.id, entry.data) for at in mutants]
        ):
            if result is None:
                time.sleep(_WAIT_S)
            else:
                kills += self._record_result(result)
        return kills

    def save(self) -> bool:
        """Save the settled pairs for the next worker. Returns False if some are not certain yet."""
        certain = not self._runner.since and self._isolated_results is None
        if certain:
            self._settled.save()
        return certain

    # ------------------------------------------------------------------ steering

    def credit(self, killers: Iterable[str], kills: int) -> None:
        """Add ``kills`` to an entry (-1: revoke one) for each time that ``killers`` names it."""
        for killer in killers:
            instance, _, number = killer.rpartition("/")
            entry = self._corpus.by_id.get(int(number)) if instance == self._instance else None
            if entry is not None and entry.kills + kills >= 0:
                entry.kills += kills
                self.on_kills(entry)

    def reopen(self, mutants: Iterable[int]) -> None:
        """Queue the whole corpus for mutants that were promoted or requeued."""
        asked = bits_of(mutants)
        self._settled.reopen(asked)
        self._passed.clear()
        self._requeue(asked)
        self._probes.forget()

    # -------------------------------------------------------------- the exact pass

    def begin_exact(self) -> None:
        """Start an exact pass, or continue that of an earlier worker, with its budget."""
        began = time.monotonic()
        self.on_exact()
        self._requeue(self._table.mask)
        if self._pass is None:
            self._pass = RunningPass.resumed(self._settled.exact_pass, self._budget())
            if self._child_s:  # for the first estimate
                self._pass.children, self._pass.children_s = 1, self._child_s
            self._pass.clock_s += time.monotonic() - began
        self.cut = ""

    def end_exact(self, why: str = "") -> None:
        """End the exact pass. ``why``: what cuts it short; empty: every pair is settled."""
        if self._pass is not None:
            self._last_share = self._pass.share
        self._pass = None
        self.cut = why
        self._settled.exact_pass = ""
        if why and self._isolated_results is not None:
            self._isolated_results = None  # closed, it ends the child
            for entry in self._isolated_open:
                if self._settled[entry] != NEVER:
                    self._settled[entry] &= ~(1 << self._isolated_at)
            self._isolated_open.clear()
            self._passed.clear()

    def unsettled(self) -> Unsettled:
        """What an exact pass has still to do: nothing if the score is exact."""
        rows = self._table.rows
        imported = {at for at in self._table.survivors if rows[at].mutant.ran_at_import}
        again, here = bits_of(imported), self._table.mask & ~bits_of(imported)
        inside = bits_of(self._table.isolated)
        pairs = inputs = mutants = 0
        for entry in self._corpus.entries:
            settled = self._settled[entry.id]
            if settled == NEVER:
                continue
            left = again | inside & ~settled
            if entry.id in self._isolated_open:
                left |= inside & 1 << self._isolated_at
            mutants |= left
            pairs += (left | here & ~settled).bit_count()
            inputs += here & ~settled != 0
        return Unsettled(pairs, inputs, mutants.bit_count())

    def left_s(self, left: Unsettled) -> float:
        """Estimate the seconds until the exact pass ends; negative: not known, or none runs."""
        return -1.0 if self._pass is None else self._pass.left_s(left)

    @property
    def pass_share(self) -> float:
        """The used share of the running or last exact pass's budget; negative: there was none."""
        return self._last_share if self._pass is None else self._pass.share

    def _requeue(self, mask: int) -> None:
        waiting = {entry.id for entry in self._waiting}
        for entry in self._corpus.entries:
            open_ = mask & ~self._settled[entry.id]
            if open_ and entry.id not in waiting:
                self._waiting.add(entry)
