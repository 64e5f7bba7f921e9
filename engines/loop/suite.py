"""The parts of the loop that a suite needs: one corpus for each property, and turns.

An input counts as new if it covers a cell that its property has not covered before, even if another
property has: each property checks the same code for something else.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from fuzztui.engines.directory import journal as j
from fuzztui.engines.execute.executor import INVALID, Execution, Observer
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.inputs.inputs import GeneratedInput
from fuzztui.engines.instrument.recorder import OperandRecorder
from fuzztui.engines.loop.comparisons import Comparisons
from fuzztui.engines.loop.context import Context
from fuzztui.engines.loop.corpus import Corpus, CorpusEntry, Steerable, SteerError, ZestScheduler
from fuzztui.engines.loop.feedback import CoverageFeedback, Feedback
from fuzztui.engines.loop.mutate import (
    ChoiceMutator,
    CopyMutator,
    Geometric,
    Mutator,
    YieldMutators,
)
from fuzztui.engines.loop.shares import Shares, Yield
from fuzztui.engines.loop.stages import Seed
from fuzztui.engines.loop.structure import ChoiceParts, StructureMutator
from fuzztui.engines.loop.work import TRIAL, work_of
from fuzztui.engines.suite.properties import KEY_SIZE, Property, Suite, uncollected_text
from fuzztui.kernel.wire.afl import EXAMPLE_SEED
from fuzztui.kernel.wire.commands import Command, WeighProperty
from fuzztui.kernel.wire.events import PropertiesFound, PropertyFigures

TURN: Final = 20_000.0
"""Work of a turn."""

_REST_TURNS: Final = 20
"""Turns from one rest, at which all fixtures may be torn down, to the next. Not each turn is
followed by a rest, because setting up the fixtures of a session may take long."""

_CHOICE_WORK: Final = 5.0
"""The work of drawing a byte of choices."""

_FIRST: Final = 20
"""Random inputs that each property gets first."""
_FRESH: Final = 0.1
"""Share of random inputs afterwards."""
_SMALL: Final = 0.3
"""Share of the random inputs whose first choices are random and whose others are zeros."""
_SIMPLE: Final = bytes(1024)
"""Choices of the simplest value of each draw: 0, an empty text."""

FINDING_WORTH: Final = 5.0
"""New cells that a new finding is worth."""

_REPORT_S: Final = 3.0
"""Least seconds between two reports."""
_GROWN: Final = 0.05
"""Part by which trials must have grown for a report, if nothing else has changed."""

MAX_PART: Final = 100_000
"""Characters of the rows of one event: the supervisor skips long events."""
_AROUND: Final = 8
"""Quotes and commas."""

_T = TypeVar("_T")


@dataclass(slots=True, eq=False)
class PropertyCorpus:
    """One property with its corpus, its coverage, and what makes its inputs."""

    of: Property
    corpus: Corpus
    scheduler: Steerable
    coverage: CoverageFeedback
    mutator: YieldMutators
    comparisons: Comparisons | None
    yielded: Yield = field(default_factory=Yield)
    begun: bool = False
    """Whether it had a turn."""
    trials: int = 0
    invalid: int = 0
    findings: int = 0
    entries: int = 0
    cpu_ns: int = 0

    def count(self) -> int:
        """The trials until now."""
        return self.trials

    def add(self, entry: CorpusEntry) -> None:
        """Count an entry, and add it to the corpus unless it is an ``@example``.

        Examples have no choices to mutate.
        """
        self.entries += 1
        if entry.data.startswith(self.of.key):
            self.corpus.add(entry)

    def figures(self, share: float) -> dict[str, Any]:
        """The row of :class:`~fuzztui.kernel.wire.events.PropertyFigures`."""
        return {
            "trials": self.trials,
            "invalid": self.invalid,
            "entries": self.entries,
            "edges": self.coverage.edges,
            "findings": self.findings,
            "cpu_ms": self.cpu_ns // 1_000_000,
            "work": round(self.yielded.work),
            "share": round(share * 1_000_000),
            "weight": self.yielded.weight,
        }

    def continue_from(self, reported: dict[str, Any]) -> None:
        """Continue the counts that an earlier worker has reported."""

        def number(key: str) -> int:
            value = reported.get(key)
            return value if type(value) is int and value > 0 else 0

        self.trials, self.invalid = number("trials"), number("invalid")
        self.findings, self.cpu_ns = number("findings"), number("cpu_ms") * 1_000_000
        self.yielded.work = float(number("work"))
        self.begun = self.trials > 0
        weight = reported.get("weight")
        if isinstance(weight, (int, float)) and weight >= 0:
            self.yielded.weight = float(weight)


class SuiteCorpus(Feedback, Observer):
    """All properties: proposes candidates in turns, and judges executions.

    It is a stage, a feedback and an observer of the loop.
    """

    def __init__(self, context: Context, suite: Suite, rng: random.Random) -> None:
        self._suite, self._rng, self._log = suite, rng, context.log
        self._counters = context.journal.counters
        self.corpus = Corpus()
        """The entries of all properties."""
        self.coverage = CoverageFeedback(context.executor.coverage)
        self.scheduler = _SuiteScheduler(self)
        form = context.executor.form
        assert isinstance(form, GeneratedInput)
        recorder = OperandRecorder(context.application)
        parts = ChoiceParts(context, form)
        self.each = [
            self._property(context, one, recorder, parts) for one in suite.all if not one.reason
        ]
        self._by_key = {key: one for one in self.each for key in (one.of.example_key, one.of.key)}
        self._by_entry: dict[int, PropertyCorpus] = {}
        self._shares = Shares([one.yielded for one in self.each], rng)
        self._size = Geometric(16.0, rng)
        self._turn: PropertyCorpus | None = None
        self._until = 0.0
        self._turns = 0
        self._running: PropertyCorpus | None = None
        self._since_ns = time.process_time_ns()
        self._reported: dict[str, dict[str, Any]] = dict(context.reported.properties)
        self._due = 0.0
        reasons = {one.name: one.reason for one in suite.all}
        for part in in_parts(reasons):
            context.log.write(PropertiesFound(context.log.instance, part, suite.others))
        # Only the main instance warns; after a restart only if a reason is new.
        known = context.reported.property_reasons
        new = {name: why for name, why in reasons.items() if known.get(name) != why}
        if uncollected_text(new) and context.log.instance == "main":
            context.log.message("warning", uncollected_text(reasons))

    def _property(
        self, context: Context, one: Property, recorder: OperandRecorder, parts: ChoiceParts
    ) -> PropertyCorpus:
        rng, corpus = self._rng, Corpus()
        scheduler = Steerable(ZestScheduler(corpus), corpus)
        coverage = CoverageFeedback(context.executor.coverage)
        havoc: Mutator = _KeepsKey(ChoiceMutator(rng))
        structure = StructureMutator(rng, corpus, parts, havoc, context.spec.engine.max_size)
        copy = CopyMutator(rng, KEY_SIZE, context.spec.engine.max_size)
        mutator = YieldMutators(
            [
                ("havoc", 0.75, havoc.mutate),
                ("structure", 0.1, structure.mutate),
                ("copy", 0.25, copy.mutate),
            ],
            rng,
        )
        made = PropertyCorpus(one, corpus, scheduler, coverage, mutator, None)
        if context.spec.engine.comparisons:
            made.comparisons = Comparisons(
                context, corpus, scheduler, coverage, recorder=recorder, trials=made.count
            )
        made.continue_from(context.reported.properties.get(one.name, {}))
        return made

    def of(self, data: bytes) -> PropertyCorpus | None:
        """The property that an input is for; None if there is none."""
        return self._by_key.get(data[:KEY_SIZE])

    # ------------------------------------------------------------------ a stage

    def propose(self) -> Candidate:
        """The next candidate of the property that has the turn."""
        while True:
            turn = self._turn
            if turn is None or self.is_between():
                turn = self._next_turn()
            if (candidate := self._of(turn)) is not None:
                return candidate

    def _next_turn(self) -> PropertyCorpus:
        while True:
            able = [at for at, one in enumerate(self.each) if not one.of.reason]
            if not able:
                raise RuntimeError("no property of the suite can be run any more")
            turn = self._turn = self.each[self._shares.next(able)]
            self._turns += 1
            self._until = turn.yielded.work + TURN
            if turn.of is self._suite.current or self._suite.enter(turn.of):
                return turn
            self._log.message("warning", f"{turn.of.name} is not run any more: {turn.of.reason}")

    def _fresh(self, turn: PropertyCorpus) -> Candidate:
        """A random input. The first one of a property is the simplest; :data:`_SMALL` of the others
        have some random choices, then zeros.
        """
        key = turn.of.key
        if not turn.begun:
            turn.begun = True
            return Candidate(key + _SIMPLE, "fresh")
        if self._rng.random() < _SMALL:
            return Candidate(key + self._rng.randbytes(self._size()) + _SIMPLE, "fresh")
        return Candidate(key, "fresh")

    def _of(self, turn: PropertyCorpus) -> Candidate | None:
        if turn.trials < _FIRST or not len(turn.corpus) or self._rng.random() < _FRESH:
            return self._fresh(turn)
        if turn.comparisons is not None:
            candidate = turn.comparisons.propose()
            if candidate is not None:
                return candidate
        entry = turn.scheduler.pick()
        if entry is None:
            return self._fresh(turn)
        if not entry.fuzzed:
            turn.corpus.picked(entry)
            # The entry is in this corpus, too, which counts pending entries by itself.
            self.corpus.pending -= 1
            self.corpus.pending_favored -= entry.favored
        return turn.mutator.mutate(entry)

    def before(self, candidate: Candidate) -> None:
        """Count a trial, and the CPU time since the one before."""
        self.begin(candidate.data)
        if self._running is not None:
            self._running.trials += 1

    def begin(self, data: bytes) -> None:
        """Count the CPU time from now on for the property of this input."""
        now = time.process_time_ns()
        if self._running is not None:
            self._running.cpu_ns += now - self._since_ns
        self._since_ns = now
        self._running = self.of(data)

    # ------------------------------------------------------- an observer

    def finish(self, execution: Execution) -> None:
        """Count the work of an execution, and its outcome."""
        one = self.of(execution.data)
        if one is None:
            return
        one.yielded.add(work_of(execution.turns) + _CHOICE_WORK * len(execution.data))
        if execution.outcome is INVALID:
            one.invalid += 1

    # ------------------------------------------------------------------ mutants

    def turn(self) -> bytes:
        """The key of the property that has the turn; empty before the first one."""
        return b"" if self._turn is None else self._turn.of.key

    def is_between(self) -> bool:
        """Whether the turn is over."""
        return self._turn is None or self._turn.yielded.work >= self._until

    def is_rest(self) -> bool:
        """Whether all fixtures may be torn down: between turns, after each :data:`_REST_TURNS`."""
        return self._turns % _REST_TURNS == 0 and self.is_between()

    def leave(self) -> None:
        """Tear down all fixtures."""
        self._suite.leave()

    def key_of(self, data: bytes) -> bytes:
        """The key of the property of an input; empty if there is none."""
        one = self.of(data)
        return b"" if one is None else one.of.key

    def name_of(self, entry: int) -> str:
        """The name of the property of an entry; empty if there is none."""
        one = self._by_entry.get(entry)
        return "" if one is None else one.of.name

    def count_work(self, data: bytes, cost: int, runs: int, kills: int) -> None:
        """Count runs of mutants on an input as work of its property, and kills as new cells."""
        if (one := self.of(data)) is not None:
            one.yielded.add(TRIAL * runs + cost)
            one.yielded.find(kills)

    # ------------------------------------------------------------------ a feedback

    def judge(self, execution: Execution) -> tuple[str, ...]:
        """Reasons to keep the input: ``property`` if its new cells are new to its property alone,
        because others have covered them; else those of the coverage of all properties.
        """
        one = self.of(execution.data)
        if one is None or not one.coverage.judge(execution):
            return ()
        return self.coverage.judge(execution) or ("property",)

    def keeps(self, execution: Execution, smaller: Execution) -> bool:
        """Whether ``smaller`` covers what is new for the property."""
        one = self.of(execution.data)
        return one is not None and one.coverage.keeps(execution, smaller)

    def learn(self, execution: Execution, entry: CorpusEntry) -> None:
        """Add an entry to its property."""
        one = self.of(entry.data)
        if one is None:
            return
        before = one.coverage.edges
        covers = bool(one.coverage.judge(execution))
        one.coverage.learn(execution, entry)
        one.add(entry)
        self._by_entry[entry.id] = one
        if covers:  # else it is kept for its kills
            one.yielded.find(one.coverage.edges - before or 0.5)
        self.coverage.learn(execution, entry)

    def recall(self, execution: Execution, entry: CorpusEntry) -> bool:
        """Add an entry to its property again."""
        one = self.of(entry.data)
        if one is None:
            return False
        new = one.coverage.recall(execution, entry)
        one.add(entry)
        self._by_entry[entry.id] = one
        self.coverage.learn(execution, entry)
        return new

    def saved(self, candidate: Candidate, folder: str) -> None:
        """Count what a mutator has found."""
        one = self.of(candidate.data)
        if one is None:
            return
        one.mutator.saved(candidate, folder)
        if folder != "queue":
            one.findings += 1
            one.yielded.find(FINDING_WORTH)

    # ------------------------------------------------------------------- steering

    def execute(self, command: Command) -> str:
        """Set a user's weight. Raises :class:`SteerError`."""
        if not isinstance(command, WeighProperty):
            raise SteerError(f"this engine has no command {command.name}")
        if command.problem:
            raise SteerError(command.problem)
        one = next((one for one in self.each if one.of.name == command.property), None)
        if one is None or one.of.reason:
            why = f": {one.of.reason}" if one is not None else ""
            raise SteerError(f"no property {command.property!r:.200} is run{why}")
        others = any(p.yielded.weight and not p.of.reason for p in self.each if p is not one)
        if not command.weight and not others:
            raise SteerError(f"{one.of.name} is the last property whose weight is not 0")
        one.yielded.weight = float(command.weight)
        self._turn = None
        self.report(last=True)  # before the answer: a new worker reads the weight there
        if not command.weight:
            return f"{one.of.name} gets no more turns"
        return f"{one.of.name} gets {self._share_of(one):.1%} of the work now"

    def _share_of(self, one: PropertyCorpus) -> float:
        return self.shares().get(one.of.name, 0.0)

    def shares(self) -> dict[str, float]:
        """The share of each property that is run, by name."""
        able = [at for at, one in enumerate(self.each) if not one.of.reason]
        return {self.each[at].of.name: n for at, n in self._shares.shares(able).items()}

    # ------------------------------------------------------------------- reports

    def tick(self) -> None:
        """Report figures that have changed, when it is due."""
        now = time.monotonic()
        last = bool(self._counters[j.STOP])
        if last or now >= self._due:
            self.report(last=last)
            self._due = now + _REPORT_S

    def done(self) -> None:
        """Report all figures that have changed: the budget is used up."""
        self.report(last=True)

    def report(self, *, last: bool) -> None:
        """Report the figures that have changed enough; ``last``: all that have changed."""
        shares = self.shares()
        rows: dict[str, Any] = {}
        for one in self.each:
            row = one.figures(shares.get(one.of.name, 0.0))
            reported = self._reported.get(one.of.name)
            if reported is None or (row != reported if last else _grown(row, reported)):
                rows[one.of.name] = self._reported[one.of.name] = row
        for part in in_parts(rows):
            self._log.write(PropertyFigures(self._log.instance, part))


def in_parts(rows: dict[str, _T]) -> Iterator[dict[str, _T]]:
    """Rows by name of property, in parts that fit into an event each."""
    part: dict[str, _T] = {}
    size = 0
    for name, row in rows.items():
        part[name] = row
        size += len(name) + len(str(row)) + _AROUND
        if size > MAX_PART:
            yield part
            part, size = {}, 0
    if part:
        yield part


def example_seeds(suite: Suite) -> list[Seed]:
    """The seeds of all properties that can be run, property by property."""
    return [
        Seed(f"{EXAMPLE_SEED}{one.name.rpartition('::')[2]}-{number}", data)
        for one in suite.running
        for number, data in enumerate(one.example_inputs(), 1)
    ]


def _grown(row: dict[str, Any], reported: dict[str, Any]) -> bool:
    if any(row[key] != reported.get(key) for key in ("entries", "findings", "weight")):
        return True
    trials = reported.get("trials")
    return not isinstance(trials, int) or row["trials"] > trials * (1 + _GROWN)


class _KeepsKey:
    """A mutator that changes all choices except for the property's key."""

    def __init__(self, mutator: ChoiceMutator) -> None:
        self._mutator = mutator

    def mutate(self, entry: CorpusEntry) -> Candidate:
        """Make a child for the same property."""
        child = self._mutator.mutate(entry)
        return Candidate(entry.data[:KEY_SIZE] + child.data[KEY_SIZE:], child.op, child.src)


class _SuiteScheduler(Steerable):
    """The schedulers of all properties as one, for commands about entries and for statistics."""

    def __init__(self, suite: SuiteCorpus) -> None:
        super().__init__(ZestScheduler(suite.corpus), suite.corpus)
        self._suite = suite

    @property
    def cycles(self) -> int:
        """The fewest cycles of a property."""
        each = [one.scheduler.cycles for one in self._suite.each if len(one.corpus)]
        return min(each, default=0)

    @property
    def position(self) -> int:
        """No position: each property has its own."""
        return -1

    def _of(self, entry: int) -> Steerable:
        found = self._corpus.by_id.get(entry)
        one = None if found is None else self._suite.of(found.data)
        if one is None:
            raise SteerError(f"there is no queue entry {entry}")
        if entry not in one.corpus.by_id:
            raise SteerError(f"queue entry {entry} is an @example, which is not mutated")
        one.scheduler.on_change = self.on_change
        return one.scheduler

    def skip(self, entry: int) -> str:
        return self._of(entry).skip(entry)

    def promote(self, entry: int) -> str:
        return self._of(entry).promote(entry)

    def demote(self, entry: int) -> str:
        return self._of(entry).demote(entry)

    def reset(self, entry: int) -> str:
        return self._of(entry).reset(entry)

    def steer_of(self, entry: int) -> str:
        try:
            return self._of(entry).steer_of(entry)
        except SteerError:
            return ""
