"""Sparse code: trials without the probes of covered cells, and what they observe nevertheless."""

import gc
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from mutant_lab import Subject

from fuzztui.engines.execute.executor import Executor
from fuzztui.engines.execute.fixture import Fixture
from fuzztui.engines.inputs.inputs import InputForm
from fuzztui.engines.instrument.edges import CoverageMap, EdgeTable
from fuzztui.engines.instrument.guard import Guard
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.instrument.sparse import SparseProbes
from fuzztui.engines.instrument.units import Census
from fuzztui.engines.loop.corpus import CorpusEntry
from fuzztui.engines.loop.feedback import CoverageFeedback


class Bench:
    """A module that defines ``run(data)``, and the trials of a loop without its other parts."""

    def __init__(self, source: str, directory: Path, first_trials: int = 0) -> None:
        coverage, guard = CoverageMap(), Guard(1.0)
        application = Application(["bench"], [], EdgeTable(), coverage, guard)
        self.module: Any = ModuleType("bench")
        exec(application.compile("bench", "/src/bench.py", source.encode()), self.module.__dict__)
        self.census = Census(application)
        self.census.scan()
        self.sparse = SparseProbes(application, self.census, first_trials)
        self.executor = Executor(
            self.module.run,
            InputForm(),
            (ValueError,),
            coverage=coverage,
            guard=guard,
            fixture=Fixture(directory),
        )
        self.executor.sparse = self.sparse
        self.feedback = CoverageFeedback(coverage)

    def trial(self, data: bytes) -> tuple[tuple[str, ...], int]:
        """The reasons to keep the input, and the cells: those observed, or all of a kept one."""
        self.sparse.advance(self.feedback.seen_valid)
        execution = self.executor.trial(data, self.feedback.seen_valid)
        reasons = self.feedback.judge(execution)
        if reasons:
            self.executor.complete(execution)
            self.feedback.learn(execution, CorpusEntry(0, "", data, 0))
        return reasons, execution.observed


def test_only_what_can_be_new_is_observed(tmp_path: Path) -> None:
    bench = Bench(
        "def run(data):\n    if data == b'a':\n        return 1\n    elif data == b'b':\n"
        "        raise ValueError\n    return [x for x in data if x]\n",
        tmp_path,
    )
    all_cells = bench.sparse.left
    reasons, covered = bench.trial(b"a")
    assert reasons == ("edge", "valid-edge")
    assert covered == bench.executor.run(b"a").observed
    assert bench.trial(b"a") == ((), 0)
    assert bench.sparse.left == all_cells - 2
    # An invalid input's cell keeps its probe: a valid input may cover it yet.
    assert bench.trial(b"b")[0] == ("edge",)
    for _ in range(4):
        reasons, observed = bench.trial(b"b")
        assert not reasons
        assert observed
    assert bench.trial(b"c")[0] == ("edge", "valid-edge")
    # All runs but those of trials have all probes.
    assert bench.executor.run(b"a").observed == covered


def test_the_calls_of_an_input_are_counted_repeatably(tmp_path: Path) -> None:
    bench = Bench(
        "def run(data):\n    return [step(x) for x in data]\ndef step(x):\n    return abs(x)\n",
        tmp_path,
    )
    executor = bench.executor
    assert executor.calls(b"x" * 90) - executor.calls(b"") > 170, "90 of step, and 90 of abs"
    executor.guard.arm()  # its alarms, of which this input meets some, do not count
    try:
        counted = {executor.calls(b"x" * 250_000) for _ in range(4)}
    finally:
        executor.guard.disarm()
    assert len(counted) == 1
    assert counted.pop() > 500_000


def test_what_costs_more_is_counted_up_to_a_limit(tmp_path: Path) -> None:
    bench = Bench("def run(data):\n    for _ in range(2_000_000):\n        abs(1)\n", tmp_path)
    assert bench.executor.calls(b"") == 1 << 20


def test_units_are_compiled_at_each_doubling(tmp_path: Path) -> None:
    bench = Bench("def run(data):\n    if data:\n        return 1\n", tmp_path, 4)
    bench.trial(b"")
    left = []
    for _ in range(9):
        bench.trial(b"a")
        left.append(bench.sparse.left)
    assert left == [2, 2, 2, 2, 2, 2, 0, 0, 0]  # after 4 trials, compiling would not have paid


def test_a_target_that_remembers_its_inputs(tmp_path: Path) -> None:
    """The second run takes another path: what the first one alone covers is not lost."""
    source = (
        "known = set()\ndef run(data):\n    if data in known:\n        return 1\n"
        "    known.add(data)\n    return [x for x in data if x > 97] and slow()\n"
        "def slow():\n    return 2\n"
    )
    found = []
    for first in (0, sys.maxsize):
        bench = Bench(source, tmp_path, first)
        found.append([bench.trial(data) for data in (b"", b"a", b"a", b"b", b"b", b"a", b"c")])
    sparse, full = found
    assert [reasons for reasons, _ in sparse] == [reasons for reasons, _ in full]
    assert [cells for reasons, cells in sparse if reasons] == [c for r, c in full if r]
    assert full[3][0] == ("edge", "valid-edge")


def test_functions_that_trials_create(tmp_path: Path) -> None:
    source = (
        "made = []\ndef run(data):\n    if not made:\n        made.append(maker())\n"
        "    return made[0](data)\n"
        "def maker():\n    def inner(data):\n        if data == b'b':\n            return 1\n"
        "        return 0\n    return inner\n"
    )
    bench = Bench(source, tmp_path)
    _, covered = bench.trial(b"a")
    bench.trial(b"a")
    # The function was created by code with all probes, and runs sparse code since.
    assert bench.trial(b"a") == ((), 0)
    bench.module.made.clear()
    assert bench.trial(b"a") == ((), 0)  # now created by sparse code
    reasons, cells = bench.trial(b"b")
    assert reasons == ("edge", "valid-edge")
    assert cells == bench.executor.run(b"b").observed
    assert bench.executor.run(b"a").observed & covered
    # The target decides how long such functions live.
    bench.module.made.clear()
    gc.collect()
    assert not [f for f, *_ in bench.census.others()]


def test_a_running_generator_keeps_its_code(tmp_path: Path) -> None:
    source = (
        "def run(data):\n    return next(steps)\n"
        "def step():\n    n = 0\n    while True:\n        n += 1\n        yield n\n"
        "        if n == 4:\n            n += 10\nsteps = step()\n"
    )
    bench = Bench(source, tmp_path)
    reasons = [bench.trial(b"")[0] for _ in range(5)]
    assert reasons[0] == ("edge", "valid-edge")
    assert next(bench.module.steps) > 10
    assert any(reasons[1:])  # n == 4 is seen


def test_probes_for_mutants_replace_sparse_code() -> None:
    subject = Subject("def f(n):\n    if n > 1:\n        n += 1\n    return n + 1\n")
    program = subject.program
    observed = subject.observed("f", 2)
    sparse = SparseProbes(subject.application, program.census, 0)
    sparse.advance(observed)
    sparse.use_sparse()
    assert subject.observed("f", 2) == 0
    assert subject.observed("f", 0) != 0
    probing = program.probing()
    probing.want(range(len(program.mutants)))
    probing.cover(program.units)
    program.install(probing)
    probing.clear()
    assert subject.observed("f", 2) == observed
    assert probing.reached()
    sparse.use_all_probes()
    sparse.use_sparse()
    assert subject.observed("f", 2) == observed
    for mutant in program.mutants:
        with subject.mutated(mutant):
            assert subject.observed("f", 2) == 0
    assert subject.observed("f", 2) == observed
    program.quiet(program.units)
    assert subject.observed("f", 0) == 0
    program.end_quiet()
    program.install(None)
    assert subject.observed("f", 2) == 0
    assert subject.observed("f", 0) != 0
    with subject.mutated(program.mutants[0]):
        assert subject.observed("f", 0) == 0
    assert subject.observed("f", 0) != 0
    sparse.use_all_probes()
    assert subject.observed("f", 2) == observed
