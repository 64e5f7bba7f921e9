"""Fuzz-first campaigns in which mutants have turns each time that the target is stuck."""

from pathlib import Path

import pytest
from first_lab import FuzzFirst
from homes import write_seeds
from skipped import needs_afl

from fuzztui.kernel.model.passive import MUTANT_INPUTS
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.commands import Pause, Resume
from fuzztui.run.supervise.daemon import start

pytestmark = pytest.mark.slow

GUARDS = Path(__file__).parents[1] / "helpers/guards.c"

GUARDED = '''\
"""Two guards: a sum, and behind it a number."""


class Refused(Exception):
    """No valid input."""


def parse(data: bytes) -> int:
    total = len(data)
    if data[0] > 200:
        total += 1
    for number in data[1:]:
        total = (total * 31 + number) % 65521
    if total != data[0] * 256 + 7:
        raise Refused
    return body(data)


def body(data: bytes) -> int:
    steps = 0
    if data[1] > 100:
        steps += 1
    if data[2:4] == b"xy":
        steps += 2
    return steps
'''


class Stuck(FuzzFirst):
    """A campaign on :data:`GUARDED`, which zest cannot enter; its mutants can be."""

    target = """
function = "guarded:parse"
include = ["guarded"]
expected = ["guarded.Refused", "IndexError"]
timeout = "30s"
"""
    engine = 'seeds = ["seeds"]'
    more = """
[mutants]
sources = ["guarded.py"]
listed = 40
order = "roadblocks"
when = "stuck"
stuck_after = 0.2
per_mutant = "300 trials"
"""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, "zest")
        (directory / "guarded.py").write_text(GUARDED)
        write_seeds(directory, hello="hello you")
        self.freeze("campaign.budget=3000 trials")

    def phases(self) -> list[ev.PhaseStarted]:
        """The phases, each once: that all mutants are listed is said again."""
        found: list[ev.PhaseStarted] = []
        for event in self.events(ev.PhaseStarted):
            if not found or found[-1].stage != event.stage:
                found.append(event)
        return found

    def turns(self) -> list[object]:
        """What a run does: its phases, with the trials before them, and its turns."""
        told = self.events(ev.MutantProgress)
        done = [(e.id, e.slot, dict(e.brought)) for e in told if e.stage == "done"]
        return [*((p.stage, p.plan["stuck_from"]) for p in self.phases()), *done]


@pytest.fixture
def make(tmp_path):
    made: list[FuzzFirst] = []

    def campaign(kind=Stuck):
        place = tmp_path / str(len(made))
        place.mkdir()
        made.append(kind(place))
        return made[-1]

    yield campaign
    for one in made:
        one.clean_up()


def test_rounds_follow_each_other_and_are_the_same_in_each_run(make):
    runs = []
    for stuck in (make(), make()):
        start(stuck.run)
        state = stuck.over()
        assert (state.state, state.stage) == ("finished", "target"), stuck.stderr()
        phases = stuck.phases()
        assert [p.stage for p in phases] == ["target", "mutants"] * 2 + ["target"]
        assert {p.reason for p in phases} == {"", "stuck: no new edge in 600 trials"}
        assert [p.plan["round"] for p in phases] == [0, 1, 1, 2, 2]
        # The second phase of the target brought nothing, so it was as long as its limit.
        assert phases[4].plan["stuck_from"] - phases[2].plan["stuck_from"] == 600
        assert sum(i.stats.execs for i in state.instances.values()) == 3000
        first = state.mutants[stuck.stages("fuzzing")[0]]
        assert (
            first.roadblock == GUARDED.split("\n").index("    if total != data[0] * 256 + 7:") + 1
        )
        # What the target found is among the seeds of the turns.
        seeded = [e for e in stuck.events(ev.EntriesSeeded) if e.instance == "m1"]
        assert any(o.startswith("main/") for e in seeded for o in e.origins.values())
        stuck.check_nothing_lost_or_doubled("main")
        runs.append(stuck.turns())
    assert runs[0] == runs[1]


def test_a_paused_instance_is_still_paused_after_a_round(make):
    stuck = make()
    budget = ("campaign.budget=2000000 trials", "mutants.stuck_after=0.01", "mutants.listed=3")
    stuck.write_run([*budget, "engine.instances=2"])
    start(stuck.run)
    stuck.until(lambda s: s.instances["s1"].state == "running")
    assert stuck.send(Pause("s1")).ok
    execs = stuck.until(lambda s: s.instances["s1"].state == "paused").instances["s1"].stats.execs
    assert stuck.until(lambda s: s.stage == "mutants").state == "running"
    stuck.until(lambda s: s.stage == "target" and s.instances["main"].state == "running")
    stuck.until(lambda s: s.instances["s1"].state == "paused" and s.instances["s1"].pid)
    assert stuck.send(Resume("s1")).ok
    state = stuck.until(lambda s: s.instances["s1"].stats.execs > execs + 1000)
    assert state.plan["round"] >= 1


def test_a_killed_campaign_goes_on_in_its_phase(make):
    stuck = make()
    stuck.write_run(["campaign.budget=9000 trials", "mutants.per_mutant=1500 trials"])
    start(stuck.run)
    before = stuck.until(lambda s: any(m.stage == "fuzzing" for m in s.mutants.values()))
    stuck.kill_supervisor()
    stuck.kill_engines()
    start(stuck.run)
    state = stuck.until(lambda s: any(m.stage == "done" for m in s.mutants.values()))
    assert (state.stage, state.plan["round"]) == ("mutants", before.plan["round"])
    assert state.stage_reason == before.stage_reason == "stuck: no new edge in 1,800 trials"
    execs = before.instances["main"].stats.execs
    state = stuck.until(lambda s: s.stage == "target" and s.instances["main"].stats.execs > execs)
    stuck.kill_supervisor()
    stuck.kill_engines()
    start(stuck.run)
    state = stuck.over()
    assert state.state == "finished", stuck.stderr()
    rounds = [p.plan["round"] for p in stuck.phases()]
    assert rounds == sorted(rounds) and rounds[-1] >= 1
    assert stuck.phases()[-1].stage == "target"
    stuck.check_nothing_lost_or_doubled("main")


class StuckC(Stuck):
    """A campaign on guards.c."""

    target = """
command = ["./guards"]
source = "src"
build = "$CC -O1 -o guards $SOURCE/guards.c"
"""
    more = Stuck.more.replace("guarded.py", "guards.c").replace("300 trials", "500 trials")

    def __init__(self, directory: Path) -> None:
        FuzzFirst.__init__(self, directory, "afl")
        (directory / "src").mkdir()
        (directory / "src" / "guards.c").write_bytes(GUARDS.read_bytes())
        write_seeds(directory, plain="some ordinary input")
        self.freeze("campaign.budget=20000 trials")


@needs_afl()
def test_with_afl_the_roadblocks_are_measured_again_in_each_round(make):
    stuck = make(StuckC)
    start(stuck.run)
    state = stuck.over()
    assert (state.state, state.stage) == ("finished", "target"), stuck.events(ev.CampaignEnded)
    phases = stuck.phases()
    assert [p.stage for p in phases[:3]] == ["target", "mutants", "target"]
    assert phases[1].reason == "stuck: no new edge in 4,000 executions"
    found = [e for e in stuck.events(ev.EntrySaved) if e.instance == "main" and e.cov]
    assert found  # so that round 1 has other roadblocks than the seeds
    seeds = {(e.instance, o) for e in stuck.events(ev.EntriesSeeded) for o in e.origins.values()}
    assert any(name == "m1" and origin.startswith("main/") for name, origin in seeds)
    turns = [state.mutants[key] for key in stuck.stages("fuzzing")]
    assert turns and all(m.place < 0 for m in turns)
    assert all(e.instance in ("main", MUTANT_INPUTS) for e in stuck.events(ev.FindingSaved))
