"""The order "roadblocks" with the real AFL++: turns open what the corpus cannot."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from first_lab import FuzzFirst
from homes import write_seeds
from skipped import needs_afl

from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.commands import PromoteMutants, RequeueMutants
from fuzztui.run.supervise.daemon import start

pytestmark = [pytest.mark.slow, needs_afl()]

GUARDS = Path(__file__).parents[1] / "helpers/guards.c"


class Guarded(FuzzFirst):
    """A campaign on guards.c."""

    engine = 'seeds = ["seeds"]'
    more = '[mutants]\nsources = ["guards.c"]\norder = "roadblocks"\nper_mutant = "500 trials"'
    target = """
command = ["./guards"]
source = "src"
build = "$CC -O1 -o guards $SOURCE/guards.c"
"""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, "afl")
        (directory / "src").mkdir()
        (directory / "src" / "guards.c").write_bytes(GUARDS.read_bytes())
        write_seeds(directory, plain="some ordinary input")
        self.freeze("campaign.budget=6000 trials", "mutants.listed=40")

    def roadblocks(self) -> list[tuple[int, int]]:
        """Line and hidden lines of the mutants' roadblocks, in the order of the worklist."""
        mutants = sorted(self.state().mutants.values(), key=lambda m: m.place)
        return [(m.roadblock, m.hides) for m in mutants]

    def status(self, *words: str):
        """What a command prints as JSON."""
        done = subprocess.run(
            [sys.executable, "-m", "fuzztui", *words, "--json"], capture_output=True, check=True
        )
        return json.loads(done.stdout)


@pytest.fixture
def guarded(tmp_path):
    with Guarded(tmp_path) as guarded:
        yield guarded


def line_of(text: str) -> int:
    return next(n for n, row in enumerate(GUARDS.read_text().split("\n"), 1) if text in row)


def test_each_guard_is_opened_in_the_first_turns(guarded):
    start(guarded.run)
    guarded.until(lambda s: len(s.mutants) >= 12)
    before = guarded.roadblocks()
    guards = [(line_of("sum == b"), 9), (line_of("state != 3"), 7)]
    guards += [(line_of("b[row] < end"), 4), (line_of("memcmp"), 3)]
    assert before[:4] == guards
    guarded.kill_supervisor()
    start(guarded.run)
    state = guarded.over()
    assert (state.state, state.stage) == ("finished", "target"), guarded.events(ev.CampaignEnded)
    assert guarded.roadblocks()[: len(before)] == before
    turns = [state.mutants[key] for key in guarded.stages("fuzzing")]
    assert len(turns) >= 2  # each executes somewhat more than its budget
    assert [(m.roadblock, m.hides) for m in turns[:4]] == guards[: len(turns)]
    # Shown by the commands as well.
    listed = guarded.status("mutants", "list", str(guarded.run))["mutants"]
    assert {(m["roadblock"], m["hides"]) for m in listed} >= {*guards}
    shown = guarded.status("status", str(guarded.run))["first"]["roadblocks"]
    assert [(r["line"], r["hides"]) for r in shown][:4] == guards
    assert [r["turns"] > 0 for r in shown][:2] == [True, True]


def test_entries_of_an_earlier_campaign_belong_to_the_corpus(guarded):
    with_it = guarded.file.read_text()
    guarded.file.write_text(with_it.partition("[mutants]")[0])
    guarded.write_run(["campaign.budget=1000 trials"])
    start(guarded.run)
    assert guarded.over().state == "finished"
    (queue := guarded.run / "out" / "added" / "queue").mkdir(parents=True)
    (queue / "id:000000,orig:session").write_bytes(b"......orx")
    guarded.file.write_text(with_it)
    guarded.write_run(["campaign.budget=4000 trials", "mutants.listed=40"])
    start(guarded.run)
    guarded.until(lambda s: len(s.mutants) >= 12)
    lines = {line for line, _ in guarded.roadblocks()}
    assert line_of("memcmp") in lines
    assert line_of("state != 3") not in lines
    guarded.stop()


def test_a_mutant_on_which_the_seeds_reach_less_gets_no_turn(guarded):
    """It takes ordinary input for too short."""
    at = line_of("if (n < 8)")
    which = f"mutants.sources=guards.c:{at}", "mutants.order=fpf", "mutants.per_mutant=3000 trials"
    guarded.freeze("campaign.budget=120000 trials", *which)
    start(guarded.run)
    state = guarded.until(lambda s: any(m.stage == "refused" for m in s.mutants.values()))
    refused = next(m for m in state.mutants.values() if m.stage == "refused")
    assert refused.reason.startswith("the seeds cover ") and refused.turn_began_s < 0
    # A user may want it anyway.
    assert guarded.send(RequeueMutants(refused.id)).ok
    assert guarded.send(PromoteMutants(refused.id)).ok
    guarded.until(lambda s: s.mutants[refused.id].stage in ("fuzzing", "done"))
    guarded.stop()
