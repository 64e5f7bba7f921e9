"""A program of which only a part of the mutants is made."""

from types import ModuleType

import pytest

from fuzztui.engines.instrument.edges import CoverageMap, EdgeTable
from fuzztui.engines.instrument.guard import Guard
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.mutants.operators import DEFAULT_OPERATORS
from fuzztui.engines.mutants.program import Program
from fuzztui.kernel.base.shards import parse_shard

SOURCE = "\n".join(f"def f{n}(a, b):\n    return a + {n} if a < b else a * b\n" for n in range(20))


def program(shard, source=SOURCE):
    application = Application(["subject"], [], EdgeTable(), CoverageMap(), Guard(0.2))
    found = Program(application, DEFAULT_OPERATORS, (), shard)
    module = ModuleType("subject")
    exec(application.compile("subject", "/src/subject.py", source.encode()), module.__dict__)
    found.scan()
    return found, module


def test_shards_are_disjoint_and_complete_and_know_the_whole_program():
    whole, _ = program(None)
    parts = [program(parse_shard(f"{k}/3"))[0] for k in (1, 2, 3)]
    ids = [m.id for part in parts for m in part.mutants]
    assert sorted(ids) == sorted(m.id for m in whole.mutants)
    assert all(parts)
    assert {(p.program_sum.hex, p.program_sum.mutants) for p in parts} == {
        (whole.program_sum.hex, len(whole.mutants))
    }
    assert [[m.index for m in part.mutants] for part in parts] == [
        list(range(len(part.mutants))) for part in parts
    ]


@pytest.mark.parametrize("shard", ["1/3", "2/3", "3/3"])
def test_mutants_of_a_shard_do_what_they_say(shard):
    whole, _ = program(None)
    part, module = program(parse_shard(shard))
    for mutant in part.mutants:
        twin = whole.by_id[mutant.id]
        assert (mutant.before, mutant.after, mutant.line) == (twin.before, twin.after, twin.line)
        if mutant.operator == "math" and mutant.before.endswith("a * b"):
            part.enter(mutant)
            try:
                assert getattr(module, mutant.function)(9, 4) != 36
            finally:
                part.leave()
    assert module.f1(9, 4) == 36


def test_another_program_has_another_sum():
    assert (
        program(None)[0].program_sum.hex
        != program(None, SOURCE.replace("+ 3", "- 3"))[0].program_sum.hex
    )
