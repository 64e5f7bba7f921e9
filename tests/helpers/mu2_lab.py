"""The parts of a mu2 engine around a small program, without processes and without a loop."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mutant_lab import Subject

from fuzztui.engines.directory.events import EventLog, read_reported
from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.execute.executor import Execution, Executor, Outcome
from fuzztui.engines.execute.fixture import Fixture
from fuzztui.engines.execute.forks import ChildHost
from fuzztui.engines.execute.isolation import Isolation
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.inputs.inputs import InputForm
from fuzztui.engines.inputs.reduce import shrink
from fuzztui.engines.loop.corpus import WHOLE, Corpus, CorpusEntry, Steerable, ZestScheduler
from fuzztui.engines.loop.feedback import CoverageFeedback
from fuzztui.engines.mu2.analysis import Analysis
from fuzztui.engines.mu2.backlog import Backlog
from fuzztui.engines.mu2.feedback import KillFeedback
from fuzztui.engines.mu2.isolated import IsolatedRunner
from fuzztui.engines.mu2.kill_criterion import KillCriterion
from fuzztui.engines.mu2.mutant_executor import MutantExecutor
from fuzztui.engines.mu2.pipeline import Pipeline
from fuzztui.engines.mu2.probe_selection import ProbeSelection
from fuzztui.engines.mu2.runner import Runner
from fuzztui.engines.mu2.schedule import MutantSchedule
from fuzztui.engines.mu2.settled import Settled
from fuzztui.engines.mu2.table import MutantTable


class Lab:
    """``source`` defines ``run(data)``. Static mutants cannot be made here: see the e2e tests."""

    def __init__(
        self, source: str, directory: Path, schedule: MutantSchedule | None = None
    ) -> None:
        self.directory = directory
        self.subject = Subject(source)
        self.program = program = self.subject.program
        self.rng = random.Random(7)
        self.journal = TrialJournal(directory / ".cur_input", 4096)
        self.log = EventLog(directory / "events.jsonl", "main")
        self.executor = Executor(
            self.subject.module.run,
            InputForm(),
            (ValueError,),
            coverage=self.subject.coverage,
            guard=self.subject.guard,
            fixture=Fixture(directory),
        )
        self.isolation = Isolation.load(directory)
        self.criterion = KillCriterion("differential", None, self.executor.guarded)
        self.told = read_reported(directory / "events.jsonl")
        self.table = MutantTable(self.log, self.journal, self.told)
        self.runner = Runner(
            executor=self.executor,
            program=program,
            criterion=self.criterion,
            journal=self.journal,
            table=self.table,
            isolation=self.isolation,
        )
        self.schedule = schedule or MutantSchedule()
        self.pipeline = Pipeline(self.table, self.rng, self.log.message)
        self.probes = ProbeSelection(program, self.table)
        self.executor.observers.append(self.probes)
        self.corpus = Corpus()
        self.scheduler = Steerable(ZestScheduler(self.corpus), self.corpus)
        self.isolated = IsolatedRunner(
            MutantExecutor(self.executor, program, self.criterion),
            self._reload,
            ChildHost("", silence_s=3.0),
            import_s=0.1,
            import_periods=0,
        )
        parts = Analysis(
            executor=self.executor,
            program=program,
            table=self.table,
            runner=self.runner,
            isolated=self.isolated,
            pipeline=self.pipeline,
            schedule=self.schedule,
            probes=self.probes,
            criterion=self.criterion,
            isolation=self.isolation,
            journal=self.journal,
        )
        self.settled = Settled(directory)
        self.backlog = Backlog(
            parts,
            settled=self.settled,
            corpus=self.corpus,
            scheduler=self.scheduler,
            instance="main",
        )
        self.coverage = CoverageFeedback(self.subject.coverage)
        self.feedback = KillFeedback(parts, self.coverage, self.backlog)
        self.table.add(program.mutants, set())
        self.settled.load(f"{m.id} {m.hash}" for m in program.mutants)
        self.subject.coverage.clear()
        self.subject.guard.arm()

    def _reload(self, mutant: object) -> Executor:
        raise AssertionError("no static mutants in here")

    def close(self) -> None:
        self.subject.guard.disarm()
        self.journal.close()

    # ------------------------------------------------------------------- the loop's part

    def trial(
        self, data: bytes, shrink_runs: int = 0, op: str = "test", peer: str = ""
    ) -> CorpusEntry | None:
        """One trial; the entry if the input was kept."""
        candidate = Candidate(data, op, peer=peer)
        self.journal.begin(1, candidate)
        self.feedback.before(candidate)
        execution = self.executor.run(data)
        self.journal.judging()
        if execution.outcome not in (Outcome.SUCCESS, Outcome.INVALID):
            self.journal.end()
            return None
        reasons = (*self.coverage.judge(execution), *self.feedback.judge(execution))
        entry = None
        if reasons:
            whole = execution
            if shrink_runs and WHOLE not in reasons:
                execution = self._shrink(execution, shrink_runs)
            entry = self.keep(execution, reasons)
            if execution.data != whole.data and (also := self.feedback.whole()):
                self.keep(whole, also)
        self.journal.end()
        return entry

    def _shrink(self, execution: Execution, runs: int) -> Execution:
        best = execution

        def keeps(data: bytes) -> bool:
            nonlocal best
            tried = self.executor.run(data)
            if tried.outcome is not execution.outcome or not all(
                f.keeps(execution, tried) for f in (self.coverage, self.feedback)
            ):
                return False
            best = tried
            return True

        shrink(execution.data, keeps, runs)
        return best

    def keep(self, execution: Execution, reasons: tuple[str, ...] = ("seed",)) -> CorpusEntry:
        """Into the corpus, as the loop does it."""
        number = len(self.corpus)
        edges = self.subject.coverage.count(execution.observed)
        entry = CorpusEntry(number, f"id:{number}", execution.data, edges, reasons=reasons)
        for feedback in (self.coverage, self.feedback):
            feedback.learn(execution, entry)
        self.corpus.add(entry)
        return entry

    def fill(self, inputs: Iterable[bytes]) -> None:
        """Put inputs into the corpus untried."""
        for data in inputs:
            self.keep(self.executor.run(data))

    def exact(self) -> None:
        """The exact pass to its end."""
        self.backlog.begin_exact()
        for _ in range(10_000):
            if not self.backlog.exact:
                return
            self.backlog.work()
        raise AssertionError("the exact pass does not end")

    # -------------------------------------------------------------------------- the truth

    def at(self, part: str) -> int:
        """The index of the one mutant whose id has this in it."""
        (found,) = [m.index for m in self.program.mutants if part in m.id]
        return found

    def dead(self) -> set[str]:
        return {row.id for row in self.table.rows if row.base == "killed"}

    def truth(self, inputs: Iterable[bytes]) -> dict[str, set[bytes]]:
        """Who is killed by what, by brute force: no pruning, no fuel, fresh caches."""
        found: dict[str, set[bytes]] = {}
        self.probes.install(None)
        for data in inputs:
            self.program.clear_caches()
            original = self.executor.call(data)
            if not self.criterion.judges(original.outcome):
                continue
            for mutant in self.program.mutants:
                self.program.enter(mutant)
                mutated = self.executor.call(data)
                self.program.leave()
                if self.criterion.verdict(original, mutated) is not None:
                    found.setdefault(mutant.id, set()).add(data)
        return found

    def events(self, kind: str) -> list[dict[str, Any]]:
        lines = (self.directory / "events.jsonl").read_text().splitlines()
        return [e for e in map(json.loads, lines) if e["k"] == kind]
