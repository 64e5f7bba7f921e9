"""A mutant's id and hash last while code around it changes, and say when its own does."""

from __future__ import annotations

import ast
import random

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import Writer, is_legal

from fuzztui.engines.instrument.edges import CoverageMap, EdgeTable
from fuzztui.engines.instrument.guard import Guard
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.mutants.operators import OPERATORS
from fuzztui.engines.mutants.program import Program

pytestmark = pytest.mark.filterwarnings("ignore")  # of the compiler, about random code

UNRELATED = (
    "",
    "# a + comment < with operators",
    '"""Text + text."""',
    "NEW = 1 + 2 if a < b else -c",
    "import x, y",
    "def new(a): return a + 1 < 3, lambda: -a",
    "new_lambda = lambda a, new=4: a < new + 1",
    "class New(Old + Older):\n    x = 3 + 4\n    def f0(self): return self.x < 3",
    "if SOMETHING < 3:\n    def other(a=1 + 2): return -a",
    "for i in range(3 + 4): print(i * 2)",
)


def mutants_of(source: str) -> dict[str, tuple[str, str, str, str]]:
    application = Application([], [], EdgeTable(), CoverageMap(), Guard(1.0))
    program = Program(application, [o.name for o in OPERATORS])
    application.compile("m", "m.py", source.encode())
    program.scan()
    assert len(program.by_id) == len(program.mutants)
    return {m.id: (m.hash, m.function, m.before, m.after) for m in program.mutants}


def pieces(rng: random.Random) -> list[str]:
    """Top-level statements of a random module."""
    writer = Writer(rng)
    method = "\n".join("    " + line for line in writer.function("f0").splitlines())
    return [
        writer.function("f0"),
        f"class K(Base):\n    x = 1 + {writer.expression()}\n{method}\n{method}",
        f"@deco({writer.expression()})\ndef g(a={writer.expression()}): return a + 1",
        f"TABLE = {{1: lambda a: {writer.expression()}, 2: lambda b: b + 1}}",
        f"if a < {writer.expression()}:\n    Y = 3 * {writer.expression()}",
        f"try: pass\nfinally: h = lambda a: {writer.expression()}",
    ]


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(st.integers(0, 2**32))
def test_ids_last_while_other_code_changes(seed: int) -> None:
    rng = random.Random(seed)
    old = [piece for piece in pieces(rng) if is_legal(piece)]
    before = mutants_of("\n".join(old))
    assert before
    new = [*rng.choices(UNRELATED, k=3)]
    for piece in old:
        lines = piece.split("\n")
        at = rng.randrange(len(lines))
        if "class" not in piece and "'''" not in piece and ":" not in lines[at]:
            lines[at] += "  # and a comment"
        new += ["\n".join(lines), *rng.choices(UNRELATED[:6] + UNRELATED[7:], k=2)]
    after = mutants_of("\n".join(new))
    assert {key: after.get(key) for key in before} == before


@pytest.mark.slow
@settings(max_examples=examples(40))
@given(st.integers(0, 2**32))
def test_the_hash_tells_that_a_function_has_changed(seed: int) -> None:
    rng = random.Random(seed)
    source = Writer(rng).function("f")
    before = mutants_of(source)
    changed = mutants_of(source.replace("return a, b, c", "return a, c, b"))
    assert all(changed[key][0] != before[key][0] for key in before if key in changed)
    tree = ast.parse(source)
    assert mutants_of(ast.unparse(tree)).keys() == before.keys()
    assert {v[0] for v in mutants_of("\n\n" + ast.unparse(tree)).values()} == {
        v[0] for v in before.values()
    }
