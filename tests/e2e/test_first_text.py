"""Fuzz-first campaigns that mutate inputs as text: fragments, mixtures and figures over turns."""

import re
import shutil
from pathlib import Path

import pytest
from supervised import Supervised
from waiting import wait_until

from fuzztui.engines.text.block import BLOCK, StatsBlock, read_block
from fuzztui.engines.text.table import ARMS, FRAGMENT
from fuzztui.features.mutators.fold import arms, mixture_summary
from fuzztui.kernel.wire.commands import SetMixture, SkipMutants
from fuzztui.run.supervise.daemon import start

pytest.importorskip("ast_grep_py")
pytest.importorskip("pycparser")
pytestmark = pytest.mark.slow

PROGRAM = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile int seen;
int main(void) {
    char b[4096] = {0};
    if (read(0, b, 4095) < 1) return 1;
    for (char *at = b; *at; at++) {
        if (*at == '{') seen++;
        if (*at == '(') seen += 2;
        if (*at == ';') seen += 3;
    }
    if (strstr(b, "f(20)")) seen++; /* what a part of another kind or entry makes of it */
    if (strstr(b, "f(30)")) seen++;
    if (strstr(b, "return h(")) seen++;
    if (strstr(b, "if (20)")) seen++;
    if (strstr(b, "if (30)")) seen++;
    if (strstr(b, "h(alpha, 30)")) seen++;
    if (strstr(b, "h(beta, 20)")) seen++;
    if (strstr(b, "h(beta, 10)")) seen++;
    if (strstr(b, "return 30")) seen++;
    if (strstr(b, "alpha > 30")) seen++;
    if (strstr(b, "alpha > 20")) seen++;
    if (strstr(b, "beta > 10")) seen++;
    if (strstr(b, "while (20)")) seen++;
    if (strstr(b, "while (alpha")) seen++;
    return 0;
}
"""
LIBRARY = """
from pycparser.c_parser import CParser


def walk(text: str) -> int:
    depth = 0
    for sign in text:
        if sign in "({":
            depth += 1
    if depth > 40:
        return 1
    CParser().parse(text)
    return depth
"""
SEEDS = {
    "a": "int main(void) {\n  if (alpha > 10) return f(alpha);\n  return 20;\n}\n",
    "b": "void g(int beta) {\n  if (beta) h(beta, 30);\n  else while (1) {}\n}\n",
}
AFL = """
command = ["./program"]
source = "src"
build = "$CC -O1 -o program $SOURCE/program.c"
timeout = "300ms"
"""
PYTHON = """
function = "walker:walk"
include = ["walker", "pycparser"]
expected = ["pycparser.c_parser.ParseError"]
"""
MORE = """
[text]
text = 0.5
splice = 0.3
language = "c"
[mutants]
sources = ["{}"]
per_mutant = "2m"
listed = 30
"""
KINDS = {"afl": (AFL, "program.c"), "text": (PYTHON, "walker")}


class First(Supervised):
    """A campaign that fuzzes mutants of a program of that kind first."""

    engine = 'seeds = ["seeds"]'

    def __init__(self, directory: Path, kind: str) -> None:
        super().__init__(directory, kind)
        self.target, source = KINDS[kind]
        self.more = MORE.format(source)
        for name, text in SEEDS.items():
            self.write(f"seeds/{name}", text)
        self.write("src/program.c", PROGRAM)
        self.write("walker.py", LIBRARY)

    def write(self, name: str, text: str) -> None:
        (self.directory / name).parent.mkdir(exist_ok=True)
        (self.directory / name).write_text(text)

    def begin(self, *overrides: str) -> None:
        self.start("campaign.budget=20m", *overrides)

    def blocks(self) -> dict[str, StatsBlock]:
        """What whoever fuzzed or fuzzes, mutants or the target, has done."""
        places = [*self.run.glob("mutants/slots/*/out/*"), *self.run.glob("out/*")]
        blocks = {path.name: read_block(path / BLOCK) for path in places}
        return {name: block for name, block in blocks.items() if block}

    def fragments(self, name: str) -> int:
        """How many were spliced by that instance."""
        block = self.blocks().get(name)
        return block.arms[ARMS.index(FRAGMENT)].applied if block else 0

    def end_turns(self) -> None:
        """Of those whose turn it is: after as much as is wanted of them, and not after seconds."""
        state = self.until(turning)
        for name in turning(state):
            assert self.send(SkipMutants(state.instances[name].mutant)).ok

    def named(self, name: str) -> list[str]:
        """Its queue entries that a fragment has made."""
        queue = self.run / "mutants/slots" / name / "out" / name / "queue"
        return [path.name for path in queue.glob("*") if re.search(r"op:[^,]*fragment", path.name)]


@pytest.fixture
def first(request, tmp_path):
    if request.param == "afl" and shutil.which("afl-fuzz") is None:
        pytest.skip("afl++ is not installed")
    with First(tmp_path, request.param) as first:
        yield first


def turning(state) -> set[str]:
    """Who fuzzes a mutant now, and has reported it."""
    rows = state.instances.values()
    return {i.id for i in rows if i.mutant and i.state == "running" and i.id in state.mutators}


def steered(state, *, but: set[str]) -> set[str]:
    """Who has the mixture that the tests set; others than these."""
    return {name for name, f in state.mutators.items() if f.splice == 0.8} - but


@pytest.mark.parametrize(
    "first", ["afl", pytest.param("text", marks=pytest.mark.nightly)], indirect=True
)
def test_fragments_and_a_mixture_go_on_from_turn_to_turn_and_to_the_target(first):
    first.begin("campaign.seed=3")
    (one,) = turning(first.until(turning))
    wait_until(lambda: first.fragments(one) > 20)
    assert first.send(SetMixture(0.1, 0.1, 0.8)).ok
    first.end_turns()

    # The next turn: we ask for it, in the log.
    state = first.until(lambda s: steered(s, but={one}))
    (other,) = steered(state, but={one})

    def asked(s):
        return [c for c in s.commands.values() if c.command.get("instance") == other]

    # Its figures may be in the log before its answer.
    state = first.until(lambda s: all(c.state != "pending" for c in asked(s)))
    assert [(c.by, c.state) for c in asked(state)] == [("fuzztui", "applied")]
    assert "@" in mixture_summary(state).by
    wait_until(lambda: first.fragments(other) > 20)
    wait_until(lambda: any(map(first.named, (one, other))))
    # Two turns are enough: the target's comes now, not when the mutants' budget is used up.
    first.until(lambda s: "listed" in s.plan)
    assert first.send(SkipMutants("file=*")).ok

    state = first.until(lambda s: "main" in steered(s, but=set()) and s.mutators["main"].trials)
    assert state.stage == "target"
    state = first.stop()
    rows, blocks = arms(state), first.blocks()
    assert {one, other, "main"} <= blocks.keys()
    for at, name in enumerate(ARMS):
        applied = sum(b.arms[at].applied for b in blocks.values())
        found = sum(b.arms[at].found for b in blocks.values())
        row = rows.get(name)  # what is never drawn has none
        assert (row.applied, row.found) == (applied, found) if row else not applied, name


@pytest.mark.nightly
@pytest.mark.parametrize("first", ["afl"], indirect=True)
def test_parallel_turns_and_whoever_is_killed_or_stopped_in_between(first):
    first.begin('mutants.use="parallel"', "engine.instances=2")
    two = turning(first.until(lambda s: len(turning(s)) == 2))
    wait_until(lambda: all(first.fragments(name) > 20 for name in two))
    assert first.send(SetMixture(0.1, 0.1, 0.8)).ok
    first.kill_supervisor()
    start(first.run)
    first.end_turns()
    first.until(lambda s: steered(s, but=two))
    first.stop()
    before = set(first.blocks())
    start(first.run)
    first.end_turns()
    (fresh, *_) = steered(first.until(lambda s: steered(s, but=before)), but=before)
    wait_until(lambda: first.fragments(fresh) > 20)
    first.stop()
