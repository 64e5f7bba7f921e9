"""A subject loaded into this process, with its mutants, for benchmarks that look inside."""

from __future__ import annotations

import random
import resource
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzztui.engines.base.spec import Spec, read_spec
from fuzztui.engines.execute.executor import Execution, Executor
from fuzztui.engines.execute.fixture import Fixture
from fuzztui.engines.inputs.inputs import GeneratedInput, InputForm, TextInput
from fuzztui.engines.instrument.edges import CoverageMap, EdgeTable
from fuzztui.engines.instrument.guard import Guard
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.instrument.target import Target, load_target
from fuzztui.engines.loop.corpus import CorpusEntry
from fuzztui.engines.loop.mutate import ChoiceMutator, Havoc, Mutator
from fuzztui.engines.mu2.engine import prepare
from fuzztui.engines.mu2.kill_criterion import KillCriterion
from fuzztui.engines.mu2.mutant_executor import MutantExecutor
from fuzztui.engines.mutants.program import CannotSwap, Probing, Program, PythonMutant
from lab.runs import Instance
from lab.subjects import Subject


@dataclass(frozen=True)
class Seen:
    """One run of the program with probes: the run, and indices of mutants."""

    original: Execution
    reached: list[int]
    infected: list[int]


@dataclass
class Loaded:
    """The program twice: ``plain`` as it is, and instrumented, with mutants to swap in."""

    subject: Subject
    plain: Callable[[Any], Any]
    form: InputForm
    program: Program
    executor: Executor
    attack: MutantExecutor
    oracle: KillCriterion

    @property
    def mutants(self) -> list[PythonMutant]:
        """The mutants that can be swapped in."""
        return [m for m in self.program.mutants if not m.static]

    def watch(self, probing: Probing, data: bytes) -> Seen:
        """Run the original with probes in every unit that the input enters."""
        self.program.install(None)
        entered = self.program.units_of(self.executor.run(data).observed)
        probing.cover(entered)
        return self.look(probing, data)

    def look(self, probing: Probing, data: bytes) -> Seen:
        """Run the original with the probes that earlier calls of :meth:`watch` have compiled."""
        self.program.install(probing)
        probing.clear()
        original = self.executor.run(data)
        return Seen(original, probing.reached(), probing.infected())

    def kills(self, original: Execution, mutants: Iterable[int]) -> list[int]:
        """The mutants that the input of ``original`` kills, without those that cannot be run."""
        found = []
        for at in mutants:
            try:
                verdict = self.attack.verdict(original, self.program.mutants[at])
            except CannotSwap:
                continue
            if verdict is not None:
                found.append(at)
        return found

    def inputs(self, corpus: Sequence[bytes], count: int) -> list[bytes]:
        """``count`` inputs as zest would try them next: mutations of inputs of the corpus."""
        rng = random.Random(1)
        choices = isinstance(self.form, GeneratedInput)
        mutator: Mutator = ChoiceMutator(rng) if choices else Havoc(rng, 10240, text=True)
        entries = [CorpusEntry(i, "", data, 1) for i, data in enumerate(corpus)]
        return [mutator.mutate(rng.choice(entries)).data for _ in range(count)]


def load(subject: Subject) -> Loaded:
    """Load the subject into this process, whose address space is limited to 2 GiB from now on.

    Call this at most once in a process.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, hard))
    folder = Path(tempfile.mkdtemp(prefix="mu2-bench-")).resolve()
    spec = read_spec(Instance(subject, "mu2", folder).spec())
    plain = plain_target(spec)
    guard, coverage, table = Guard(spec.target.timeout_s), CoverageMap(), EdgeTable()
    application = Application(subject.include, (), table, coverage, guard)
    program = prepare(spec, application)
    fixture = Fixture(folder)
    target = load_target(spec.target, application)
    fixture.loaded()
    coverage.grow(table.size)
    form: InputForm = TextInput()
    if target.generator is not None:
        form = GeneratedInput(target.generator, spec.engine.max_size, random.Random(0).randbytes)
    executor = Executor(
        target.function, form, target.expected, coverage=coverage, guard=guard, fixture=fixture
    )
    program.scan()
    program.remember(spec.target)
    guard.arm()
    oracle = KillCriterion("differential", target.compare, executor.guarded)
    return Loaded(
        subject=subject,
        plain=plain.function,
        form=form,
        program=program,
        executor=executor,
        attack=MutantExecutor(executor, program, oracle),
        oracle=oracle,
    )


def plain_target(spec: Spec) -> Target:
    """The target without instrumentation. Its modules are then removed from ``sys.modules``, so
    that they can be imported again with instrumentation.
    """
    before = set(sys.modules)
    target = load_target(spec.target, None)
    for name in set(sys.modules) - before:
        # Standard library modules may stay, unless they are the subject.
        if name.partition(".")[0] in _tops(spec) or getattr(sys.modules[name], "__file__", "") in (
            spec.target.function.rpartition(":")[0],
        ):
            del sys.modules[name]
    return target


def _tops(spec: Spec) -> set[str]:
    return {name.partition(".")[0] for name in spec.target.include}
