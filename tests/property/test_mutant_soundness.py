"""Pruning is sound: a mutant that is not said to be infected behaves as the program does.

Random functions of random values, among them objects whose operators do as they like. Each
is run plainly, with probes, and as every mutant of it.
"""

from __future__ import annotations

import copy
import itertools
import math
import random
from types import ModuleType
from typing import Any

import pytest
from examples import examples
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from random_programs import PRELUDE, VALUES, Writer

from fuzztui.engines.instrument.edges import CoverageMap, EdgeTable
from fuzztui.engines.instrument.guard import Guard, TrialTimeout
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.mutants.operators import OPERATORS
from fuzztui.engines.mutants.program import CannotSwap, Program

pytestmark = pytest.mark.filterwarnings("ignore")  # of the compiler, about random code


class Subject:
    """Random functions f0, f1, ... as a program."""

    def __init__(self, functions: list[str]) -> None:
        self.coverage, self.guard = CoverageMap(), Guard(0.02)
        application = Application([], [], EdgeTable(), self.coverage, self.guard)
        self.program = Program(application, [o.name for o in OPERATORS])
        self.module = ModuleType("m")
        self.module.__dict__["NAN"] = math.nan
        self.source = PRELUDE + "\n".join(functions)
        exec(application.compile("m", "m.py", self.source.encode()), self.module.__dict__)
        self.program.scan()

    def run(self, name: str, arguments: tuple[Any, ...]) -> tuple[str, int]:
        """Everything that can be seen of a call, and its coverage."""
        fresh = copy.deepcopy(arguments)
        self.module.LOG.clear()
        self.coverage.clear()
        self.guard.start()
        try:
            seen = repr(getattr(self.module, name)(*fresh))
        except (Exception, TrialTimeout) as e:
            seen = f"{type(e).__name__}: {e}"
        finally:
            self.guard.stop()
        return f"{seen} {self.module.LOG} {self.guard.expired}", self.coverage.collect()


# Not shrunk: a smaller seed is no smaller a program.
PHASES = [Phase.explicit, Phase.reuse, Phase.generate]


@pytest.mark.slow
@settings(max_examples=examples(20), phases=PHASES)
@given(st.integers(0, 2**32))
def test_mutants_that_are_not_infected_do_as_the_program_does(seed: int) -> None:
    audit(seed)


@pytest.mark.nightly
@pytest.mark.slow
def test_so_do_very_many() -> None:
    assert sum(audit(seed) for seed in range(120)) > 20_000


def audit(seed: int) -> int:
    """Run random functions; returns how many pairs of mutant and input were pruned."""
    rng = random.Random(seed)
    writer = Writer(rng)
    names = [f"f{i}" for i in range(4)]
    subject = Subject([writer.function(name) for name in names])
    inputs = [tuple(rng.choices(VALUES, k=3)) for _ in range(4)]
    program = subject.program
    probing = program.probing()
    probing.want(range(len(program.mutants)))
    pruned = 0
    for name, arguments in itertools.product(names, inputs):
        program.install(None)
        plain = subject.run(name, arguments)
        units = program.units_of(plain[1])
        probing.cover(units)
        program.install(probing)
        probing.clear()
        probed = subject.run(name, arguments)
        assert probed == plain, (name, 0, arguments, probed, plain, subject.source)
        infected = set(probing.infected())
        assert infected <= set(probing.reached())
        for mutant in program.mutants:
            unit = mutant.unit
            if unit is None or mutant.index in infected:
                continue
            if unit in units and mutant.index not in probing.watched:
                continue
            pruned += unit in units
            try:
                program.enter(mutant)
            except CannotSwap:  # a constant condition has become another
                continue
            result = subject.run(name, arguments)[0]
            program.leave()
            assert result == plain[0], (
                *(mutant.id, mutant.line, mutant.before, mutant.after, arguments),
                *(result, plain[0], subject.source),
            )
        assert subject.run(name, arguments) == plain
    return pruned
