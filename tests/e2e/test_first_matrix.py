"""The kill matrix of a fuzz-first run that has ended, completed with all kept inputs."""

import json
import subprocess
import sys
import types

import pytest
from first_lab import FuzzFirst
from homes import write_seeds
from skipped import needs_afl
from waiting import DEADLINE_S

from fuzztui.cli.output import NOT_RUNNING
from fuzztui.features.fuzzfirst.kill_matrix import KillMatrix
from fuzztui.features.fuzzfirst.prune import gather
from fuzztui.features.fuzzfirst.whole_matrix import WholeMatrix
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.session import state_at_end
from fuzztui.kernel.wire.finding_kinds import FOLDERS
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.supervise.ended_log import ended_log

pytestmark = pytest.mark.slow

TOTAL = '''\
class TotalError(Exception):
    """No right total."""


def check(data: bytes) -> int:
    """Conditions, of which mutants fail on some inputs only."""
    if len(data) < 3:
        raise TotalError
    steps = data[0] % 4
    if data[1] > 100:
        steps += 1
    if data[2] < 50:
        steps -= 1
    return 100 // (steps + 2)
'''
COUNTED = r"""
#include <stdlib.h>
#include <unistd.h>
static volatile int seen;
int main(void) {
    unsigned char b[32];
    long n = read(0, b, sizeof b);
    if (n < 4) return 1;
    if (b[0] > 100) seen += 2;
    if (b[1] > 100) seen += 1;
    return seen;
}
"""


class OnTotal(FuzzFirst):
    """A campaign that fuzzes mutants of :data:`TOTAL` first."""

    target = """
function = "total_of_matrix:check"
include = ["total_of_matrix"]
expected = ["total_of_matrix.TotalError"]
timeout = "5s"
"""
    engine = 'seeds = ["seeds"]'
    more = '[mutants]\nsources = ["total_of_matrix"]\nper_mutant = "1000 trials"\nlisted = 40'

    def __init__(self, directory):
        super().__init__(directory, "zest")
        (directory / "total_of_matrix.py").write_text(TOTAL)
        write_seeds(directory, hello="hello you")


def fuzztui(*words):
    argv = [sys.executable, "-m", "fuzztui", *map(str, words)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=DEADLINE_S, check=False)


def of_kills(run):
    matrix = KillMatrix(run / "mutants" / "kills.jsonl")
    return {id_: dict(matrix.killers(id_)) for id_ in matrix.mutants()}


def fails(text, data):
    """Whether this text of the program raises another error than TotalError on the input."""
    module = types.ModuleType("total_of_matrix")
    exec(compile(text, "total_of_matrix", "exec"), vars(module))
    try:
        module.check(data)
    except module.TotalError:
        return False
    except Exception:
        return True
    return False


async def test_each_kept_input_runs_on_each_mutant_that_had_a_turn(tmp_path):
    with OnTotal(tmp_path) as first:
        first.start("campaign.budget=16000 trials")
        state = first.over()
        assert (state.state, state.stage) == ("finished", "target"), first.stderr()
        before = of_kills(first.run)
        run, campaign = RunDir(first.run), load(RunDir(first.run).campaign).campaign
        with ended_log(first.run) as (_, log):  # as after an interruption
            early = WholeMatrix(campaign, run, log.state, log.record)
            await early.run(lambda text: None, lambda done, of: None, until=0.0)
        turns = [m for m in state.mutants.values() if m.slot]
        assert early.left == len(turns) > 3
        done = fuzztui("mutants", "matrix", first.run, "--complete", "--json")
        assert (done.returncode, done.stderr) == (0, "")
        # The same as running each of these programs on each of these inputs here.
        slots = sorted(m.slot for m in turns)
        crashes = [i for s in slots for i in gather(run.in_slot(s).out, [s], FOLDERS)]
        content = {one.origin: one.path.read_bytes() for one in [*crashes, *early.kept()]}
        inputs = {one.path.read_bytes() for one in early.kept()}
        expected = {}
        for mutant in turns:
            lines = TOTAL.split("\n")
            lines[mutant.line - 1] = lines[mutant.line - 1].replace(mutant.before, mutant.after)
            text = "\n".join(lines)
            killers = {data for data in inputs if fails(text, data) > fails(TOTAL, data)}
            expected |= {mutant.id: killers} if killers else {}
        after = of_kills(first.run)
        found = {id_: {content[one] for one in killers} for id_, killers in after.items()}
        assert found == expected
        assert sum(map(len, after.values())) > sum(map(len, before.values()))
        assert {row["id"] for row in json.loads(done.stdout)["killed"]} == {*expected}
        # The log has the verdicts, too; nothing is left to do, and nothing else has changed.
        now = state_at_end(first.run)
        assert now.state in ENDED
        assert {m.id for m in now.mutants.values() if m.state == "killed"} == {*expected}
        again = fuzztui("mutants", "matrix", first.run, "--complete")
        assert again.returncode == 0 and "by one input only" in again.stdout
        assert of_kills(first.run) == after


@needs_afl()
def test_programs_are_built_again(tmp_path):
    with FuzzFirst(tmp_path, "afl") as first:
        (tmp_path / "src").mkdir()
        (tmp_path / "src" / "counted.c").write_text(COUNTED)
        write_seeds(tmp_path, hello="hello\n")
        first.target = """
command = ["./counted"]
source = "src"
build = "$CC -O1 -o counted $SOURCE/counted.c"
timeout = "200ms"
"""
        first.engine = 'seeds = ["seeds"]'
        first.more = (
            '[mutants]\nsources = ["counted.c"]\noracle = "output"\nper_mutant = "1000 trials"'
        )
        first.start("campaign.budget=12000 trials", "mutants.per_mutant=1000 trials")
        assert fuzztui("mutants", "matrix", first.run, "--complete").returncode != 0  # it runs
        state = first.over()
        assert (state.state, state.stage) == ("finished", "target"), first.stderr()
        before = of_kills(first.run)
        done = fuzztui("mutants", "matrix", first.run, "--complete")
        assert (done.returncode, done.stderr) == (0, "")
        after = of_kills(first.run)
        assert all(after[id_].items() >= killers.items() for id_, killers in before.items())
        assert sum(map(len, after.values())) > sum(map(len, before.values()))
        ran = (first.run / "mutants" / "matrix.jsonl").read_text().splitlines()
        turns = {m.id for m in state.mutants.values() if m.slot}
        assert {json.loads(row)["mutant"] for row in ran} == turns
        assert not (first.run / "mutants" / "built" / "matrix").exists()


def test_only_a_fuzz_first_campaign_has_one(tmp_path):
    with OnTotal(tmp_path) as first:
        first.more = ""
        first.start("campaign.budget=500 trials")
        first.over()
        done = fuzztui("mutants", "matrix", first.run, "--complete")
        assert "not fuzz-first" in done.stderr and done.returncode not in (0, NOT_RUNNING)
        wrong = fuzztui("mutants", "list", first.run, "--complete")
        assert "--complete" in wrong.stderr and wrong.returncode == 2
