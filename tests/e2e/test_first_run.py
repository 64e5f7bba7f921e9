"""Fuzz-first campaigns with the real AFL++: turns, transfer, steering, and interruptions."""

import hashlib
import json
import signal
from pathlib import Path

import pytest
from first_lab import FuzzFirst, fuzzing
from homes import write_seeds
from skipped import needs_afl, nightly
from waiting import wait_until

from fuzztui.features.fuzzfirst.build import directory_name
from fuzztui.features.fuzzfirst.fold import mutant_behind, queue
from fuzztui.kernel.model.lineage import lineage
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.commands import (
    MarkEquivalent,
    MoveMutants,
    Pause,
    PromoteMutants,
    RequeueMutants,
    Resume,
    SkipMutants,
)
from fuzztui.run.process.identity import ProcessId
from fuzztui.run.supervise.daemon import start

pytestmark = [pytest.mark.slow, needs_afl()]

TARGET = r"""
#include <stdlib.h>
#include <unistd.h>
static volatile int seen;
int main(void) {
    unsigned char b[32];
    long n = read(0, b, sizeof b);
    if (n < 4) return 1;
    if (b[0] == '!') { seen++; if (b[1] == '?') abort(); }
    if (b[2] > 100) seen++;
    if (b[3] < 20) seen += 2;
    if (n > 20) seen += 3;
    return 0;
}
"""
BUILD = "$CC -O1 -o target $SOURCE/target.c"


class First(FuzzFirst):
    """A campaign that fuzzes mutants of :data:`TARGET` first."""

    engine = 'seeds = ["seeds"]'
    more = '[mutants]\nsources = ["target.c"]\nper_mutant = "3s"\nlisted = 60'

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, "afl")
        (directory / "src").mkdir()
        (directory / "src" / "target.c").write_text(TARGET)
        write_seeds(directory, hello="hello\n")

    def freeze(self, *overrides: str, instances: int = 1, build: str = BUILD) -> None:
        self.target = f"""
command = ["./target"]
source = "src"
build = '''{build}'''
timeout = "200ms"
"""
        super().freeze("campaign.budget=24s", *overrides, instances=instances)

    def begin(self, *overrides: str, build: str = BUILD) -> None:
        self.freeze(*overrides, build=build)
        start(self.run)


@pytest.fixture
def first(tmp_path):
    with First(tmp_path) as first:
        yield first


def test_mutants_first_and_then_the_target(first):
    # In executions: as much is found on a busy machine.
    first.begin("campaign.budget=40000 trials", "mutants.per_mutant=5000 trials")
    state = first.over()
    assert (state.state, state.stage) == ("finished", "target"), first.events(ev.CampaignEnded)
    assert [e.stage for e in first.events(ev.PhaseStarted)][-1] == "target"
    turns = first.stages("fuzzing")
    assert len(turns) >= 2
    assert [state.mutants[key].slot for key in turns] == sorted(
        (state.mutants[key].slot for key in turns), key=lambda slot: int(slot[1:])
    )
    assert first.stages("done") == turns
    # What the first one found is in the target's corpus, and it is known thanks to whom.
    handed = [e for e in first.events(ev.EntrySaved) if e.instance == "handed"]
    assert handed
    assert all(e.sync.startswith("m") for e in handed)
    taken = [e for e in state.entries.values() if e.instance == "main" and e.sync == "handed"]
    assert taken
    assert all(mutant_behind(state, entry) in turns for entry in taken)
    assert {step.key.partition("/")[0] for step in lineage(state, taken[0])} >= {"handed"}
    # Each starts from the last one's corpus: more than the one seed that there is.
    assert state.mutants[turns[1]].turn_results["kept"] > 1
    began_with = {e.instance: set(e.origins.values()) for e in first.events(ev.EntriesSeeded)}
    assert began_with["m1"] == {"seed:hello"}
    assert began_with["m2"] > {"seed:hello"}
    # What crashes only mutants is no finding.
    assert all(e.instance in ("main", "handed") for e in first.events(ev.FindingSaved))
    killed = {m.id for m in state.mutants.values() if m.state == "killed"}
    kills = (first.run / "mutants/kills.jsonl").read_text().splitlines() if killed else []
    assert {json.loads(line)["mutant"] for line in kills} == killed
    assert (first.directory / "src" / "target.c").read_text() == TARGET
    assert not [e for e in first.events(ev.Message) if e.level == "error"]
    for mutant in turns:
        assert state.mutants[mutant].costs.keys() >= {"build", "prune", "start", "handover"}


@pytest.mark.nightly
def test_in_parallel_each_starts_from_the_seeds(first):
    first.begin("mutants.use=parallel", "engine.instances=2", "campaign.budget=20s")
    state = first.over()
    assert state.stage == "target"
    slots = sorted((first.run / "mutants" / "slots").iterdir())
    assert len(slots) >= 2
    for slot in slots:
        if (slot / "seeds").exists():  # not of one that all seeds crash
            assert {p.name for p in (slot / "seeds").iterdir()} == {"hello"}
    assert {"main", "s1"} <= state.instances.keys()
    assert all(state.instances[n].stats.execs for n in ("main", "s1"))


def test_budgets_in_executions_are_kept(first):
    first.begin("campaign.budget=60000 trials", "mutants.per_mutant=10000 trials")
    state = first.over()
    assert state.state == "finished"
    mutants = sum(i.stats.execs for i in state.instances.values() if i.mutant)
    assert 30_000 <= mutants < 36_000
    assert sum(i.stats.execs for i in state.instances.values()) >= 60_000
    full = [i.stats.execs for i in state.instances.values() if i.mutant][:2]
    assert all(10_000 <= execs < 12_000 for execs in full)


def test_steering_the_queue(first):
    # Turns that are long enough for all of this to be done in the first one.
    first.begin("campaign.budget=40m", "mutants.per_mutant=4m")
    now = first.first_turn()
    first.until(lambda s: len(queue(s)) > 9)
    wanted = queue(first.state())[4].id
    assert first.send(MoveMutants(wanted)).ok
    later = next(m.id for m in queue(first.state())[3:] if m.id != wanted)
    assert first.send(PromoteMutants(later)).ok
    # By their places: the first of the queue may be built already, and be none.
    state = first.state()
    others = [m.place for m in queue(state) if m.id not in (later, wanted)]
    assert state.mutants[later].place < state.mutants[wanted].place < min(others)
    assert first.send(MarkEquivalent(queue(first.state())[5].id, because="[b]x")).ok
    assert first.send(SkipMutants(now)).ok
    state = first.until(lambda s: s.mutants[now].stage == "done")
    assert state.mutants[now].fuzzed_s < 239
    assert state.mutants[now].turn_results["entries"] > 0  # collected anyway
    first.until(lambda s: later in (m.id for m in s.mutants.values() if m.stage != "queued"))
    # Skipping everything: the target's turn comes, and the budget is its own.
    first.until(lambda s: "listed" in s.plan)
    assert first.send(SkipMutants("file=*")).ok
    assert first.until(lambda s: s.stage == "target").plan["before_s"] < 1199
    assert first.stop().state == "stopped"


def test_the_use_of_mutants_is_switched(first):
    first.begin("campaign.budget=40m", "mutants.per_mutant=4m", "engine.instances=2")
    first.switch_use()


@pytest.mark.parametrize("engines", ["live", pytest.param("die", marks=pytest.mark.nightly)])
def test_a_supervisor_killed_in_a_turn_goes_on_with_it(first, engines):
    first.begin("campaign.budget=60s", "mutants.per_mutant=8s")
    assert first.killed_in_a_turn(engines).turn_results["entries"] > 0
    first.until(lambda s: "m2" in s.instances or s.stage == "target")
    first.stop()
    first.handed()


@pytest.mark.nightly
def test_what_fuzzes_longer_for_want_of_a_supervisor_takes_nothing_from_the_target(first):
    budget = ("campaign.budget=24s", "mutants.per_mutant=4s", "engine.instances=2")
    first.begin(*budget)
    key = first.first_turn()
    first.until(lambda s: all(s.instances[name].stats.execs for name in ("m1", "m1-s1")))
    first.kill_supervisor()
    # A row of plot_data comes every five seconds: it has fuzzed four times as long as it may.
    plot = first.run / "mutants" / "slots" / "m1" / "out" / "m1" / "plot_data"

    def seconds() -> int:
        rows = [line for line in plot.read_text().split("\n")[:-1] if not line.startswith("#")]
        return int(rows[-1].split(",")[0]) if rows else 0

    wait_until(lambda: seconds() > 16)
    # One of the two is gone when the next supervisor comes: nobody may take it for living.
    place = first.run / "mutants" / "slots" / "m1" / "out" / "m1-s1"
    process = ProcessId.from_json(json.loads((place / "process.json").read_text()))
    process.signal(signal.SIGKILL)
    wait_until(lambda: not process.alive())
    start(first.run)
    state = first.until(lambda s: s.mutants[key].stage == "done")
    assert state.mutants[key].fuzzed_s < 12  # some of it is the new supervisor's
    assert state.stage == "mutants"  # others have their turns, too
    assert any("no budget is charged" in e.text for e in first.events(ev.Message))
    assert {state.instances[name].state for name in ("m1", "m1-s1")} == {"finished"}
    state = first.over()
    assert state.stage == "target"
    assert state.instances["main"].stats.execs > 1000
    assert 24 <= state.t < 40
    # With a larger budget mutants come first again, and the target's instances wait.
    first.freeze("campaign.budget=80s", *budget[1:])
    start(first.run)
    state = first.until(lambda s: s.state == "running" and s.stage == "mutants")
    assert state.instances["main"].state == "waiting"
    first.stop()


@pytest.mark.parametrize("stage", ["pruning", *nightly("building", "collecting")])
def test_a_supervisor_killed_between_turns_loses_nothing(first, stage):
    first.begin("campaign.budget=40s", "mutants.per_mutant=2s")
    count = len(first.stages(stage))
    first.until(lambda s: len(first.stages(stage)) > max(count, 1))
    first.kill_supervisor()
    start(first.run)
    first.until(lambda s: len(first.stages("done")) >= 4 or s.stage == "target")
    first.stop()
    state = first.state()
    first.handed()
    slots = [m.slot for m in state.mutants.values() if m.stage == "done"]
    assert len(slots) == len(set(slots))


def test_stopped_and_resumed_it_goes_on_where_it_was(first):
    first.begin("campaign.budget=30s", "mutants.per_mutant=12s")
    key = first.first_turn()
    state = first.stop()
    assert (state.state, state.mutants[key].stage) == ("stopped", "fuzzing")
    start(first.run)
    state = first.until(lambda s: s.stage == "target" and s.instances["main"].stats.execs)
    assert state.mutants[key].stage == "done"
    m1 = [e.state for e in first.events(ev.InstanceState) if e.instance == "m1"]
    assert m1.count("stopped") == 1
    assert m1[-1] == "finished"
    first.stop()


def test_paused_between_two_turns_no_other_begins(first):
    # No mutant is built before it is paused.
    gate = first.directory / "gate"
    wait = f'case "$SOURCE" in */mutants/*) until [ -e {gate} ]; do sleep 0.1; done;; esac'
    first.begin("campaign.budget=60s", "mutants.per_mutant=2s", build=f"{wait}; {BUILD}")
    first.until(lambda s: s.stage == "mutants")
    assert first.send(Pause()).ok
    first.until(lambda s: s.state == "paused")
    gate.touch()
    # Without the pause the first one had its turn before another was built.
    first.until(lambda s: sum(m.stage == "built" for m in s.mutants.values()) > 1)
    assert first.state().state == "paused"
    assert not [i for i in first.state().instances.values() if i.mutant]
    assert first.send(Resume()).ok
    state = first.until(fuzzing)
    assert state.paused_s > 0
    first.stop()


def test_no_mutant_builds(first):
    source = (first.directory / "src" / "target.c").read_bytes()
    known = hashlib.sha256(source).hexdigest()
    first.begin(
        "campaign.budget=100s",
        "mutants.listed=6",
        build=f"""cp $SOURCE/target.c own.c
echo "{known}  own.c" | sha256sum -c
$CC -O1 -o target own.c""",
    )
    state = first.until(lambda s: s.stage == "target")
    assert {m.stage for m in state.mutants.values()} == {"failed"}
    assert any("FAILED" in m.reason for m in state.mutants.values())
    assert any("the worklist is empty" in e.text for e in first.events(ev.Message))
    first.until(lambda s: s.instances["main"].stats.execs)
    first.stop()


def test_a_source_without_mutants_is_said_so(first):
    (first.directory / "src" / "empty.c").write_text("\n")
    first.begin('mutants.sources=["empty.c"]', build=f"{BUILD} $SOURCE/empty.c")
    state = first.over()
    assert state.state == "failed"
    assert "nothing to mutate" in state.reason


HOSTILE = r"""
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>
static volatile int seen;
static void leaves_a_child(void) { if (!fork()) for (;;) pause(); }
static void eats(void) { for (;;) memset(malloc(1 << 24), 1, 1 << 24); }
static void writes(void) {
    static char b[1 << 20];
    int file = open("litter", O_WRONLY | O_CREAT | O_APPEND, 0600);
    for (int i = 0; i < 64; i++) if (write(file, b, sizeof b) < 0) return;
}
static void deletes(const char *name) { unlink(name); }
static void sleeps(void) { for (;;) pause(); }
int main(int argc, char **argv) {
    unsigned char b[32] = {0};
    int file = argc > 1 ? open(argv[1], O_RDONLY) : 0;
    long n = read(file, b, sizeof b);
    if (n == 7777) EVIL;
    if (b[0] > 100) seen++;
    return 0;
}
"""


OTHER_EVILS = nightly("eats()", "writes()", "deletes(argv[1])", "sleeps()", "abort()")


@pytest.mark.parametrize("evil", ["leaves_a_child()", *OTHER_EVILS])
def test_hostile_mutants_harm_nobody(first, evil):
    (first.directory / "src" / "target.c").write_text(HOSTILE.replace("EVIL", evil))
    first.file.touch()
    before = set(first.directory.rglob("*"))
    line = HOSTILE[: HOSTILE.index("if (n == 7777)")].count("\n") + 1
    first.begin(
        f'mutants.sources=["target.c:{line}"]',
        'target.command=["./target", "@@"]',
        "mutants.order=random",
        "campaign.budget=24s",
    )
    state = first.until(lambda s: s.stage == "target")
    assert {m.line for m in state.mutants.values()} == {line}
    assert any("1==1" in m.after for m in state.mutants.values())
    first.until(lambda s: s.instances["main"].stats.execs > 100)
    first.stop()
    mine = {p for p in first.directory.rglob("*") if not p.is_relative_to(first.run)}
    assert mine == {p for p in before if not p.is_relative_to(first.run)}
    assert (first.directory / "seeds" / "hello").read_text() == "hello\n"
    if evil == "leaves_a_child()":
        told = " ".join(e.reason for e in first.events(ev.MutantProgress))
        assert "processes behind" in told or "fails on all" in told
    assert not [e for e in first.events(ev.Message) if "supervisor" in e.text]


def test_a_mutant_that_cannot_be_run_is_refused_and_the_next_comes(first):
    """Its program is gone when its turn comes."""
    first.begin("campaign.budget=60s", "mutants.per_mutant=4s")
    first.until(fuzzing)
    assert first.send(Pause()).ok  # no other turn begins meanwhile
    later = first.until(lambda s: [m for m in s.mutants.values() if m.stage == "built"])
    key = min((m for m in later.mutants.values() if m.stage == "built"), key=lambda m: m.place).id
    for program in (first.run / "mutants" / "built").glob("*/build/target"):
        if program.parent.parent.name == directory_name(key):
            program.write_text("#!/bin/sh\nexit 0\n")
    assert first.send(Resume()).ok
    state = first.until(lambda s: s.mutants[key].stage == "refused")
    assert "target" in state.mutants[key].reason
    first.until(lambda s: len(first.stages("done")) >= 2)
    first.stop()


@pytest.mark.nightly
def test_a_larger_budget_gives_mutants_their_share_of_it(first):
    first.begin("campaign.budget=8s", "mutants.per_mutant=2s")
    state = first.over()
    before = len(first.stages("done"))
    assert (state.state, state.stage) == ("finished", "target")
    first.write_run(["campaign.budget=24s", "mutants.per_mutant=2s"])
    start(first.run)
    state = first.over()
    assert (state.state, state.stage) == ("finished", "target")
    assert len(first.stages("done")) >= before + 2
    assert state.plan["mutants_s"] == pytest.approx(12)  # and not 12 more
    assert 10 <= state.plan["before_s"] < 16
    assert state.instances["main"].state == "finished"


@pytest.mark.nightly
def test_mutants_that_were_all_skipped_come_back_with_the_next_start(first):
    first.begin("campaign.budget=80s", "mutants.per_mutant=10s")
    key = first.first_turn()
    first.until(lambda s: "listed" in s.plan)
    assert first.send(SkipMutants("file=*")).ok
    state = first.until(lambda s: s.instances["main"].stats.execs)
    assert state.stage == "target"
    used = state.plan["before_s"]
    later = next(m.id for m in state.mutants.values() if m.stage != "dropped" and m.id != key)
    answer = first.send(RequeueMutants(later))
    assert answer.ok
    assert "stop and resume the campaign" in answer.detail
    assert first.state().stage == "target"
    # One whose supervisor only died continues with what it was at.
    first.kill_supervisor()
    start(first.run)
    assert first.state().stage == "target"
    first.stop()
    start(first.run)
    state = first.until(fuzzing)
    assert (state.stage, fuzzing(state)[0].id) == ("mutants", later)
    assert state.plan["before_s"] == used
    state = first.until(lambda s: s.stage == "target" and s.state == "running")
    assert state.mutants[later].stage == "done"
    first.stop()


def test_a_build_that_does_not_use_the_copy_ends_it_at_once(first):
    source = first.directory / "src" / "target.c"
    first.begin("campaign.budget=80s", build=f"$CC -O1 -o target {source}")
    state = first.over()
    assert state.state == "failed"
    assert "does not compile target.c from $SOURCE" in first.events(ev.CampaignEnded)[-1].reason
    assert state.t < 2  # no budget pays for it
    assert not state.mutants


def test_a_target_without_instrumentation_is_said_so(first):
    first.begin("campaign.budget=80s", build="gcc -O1 -o target $SOURCE/target.c")
    state = first.over()
    assert state.state == "failed"
    assert (
        "not instrumented; let target.build call $CC" in first.events(ev.CampaignEnded)[-1].reason
    )


@pytest.mark.nightly
def test_the_table_taken_away_and_put_back(first):
    first.begin("campaign.budget=40s", "mutants.per_mutant=4s")
    first.until(fuzzing)
    first.stop()
    with_it = first.file.read_text()
    first.file.write_text(with_it.partition("[mutants]")[0])
    first.write_run(["campaign.budget=40s"])
    start(first.run)
    state = first.until(lambda s: s.instances["main"].stats.execs)
    assert state.stage == "target"
    first.until(lambda s: s.t > state.t + 2)
    first.stop()
    first.file.write_text(with_it)
    first.write_run(["campaign.budget=40s", "mutants.per_mutant=4s"])
    start(first.run)
    state = first.until(lambda s: s.stage == "mutants")
    assert state.plan["before_s"] < 10  # what was fuzzed in between was not the mutants'
    first.until(lambda s: len(first.stages("done")) >= 2)
    first.stop()


def test_added_to_a_run_that_has_fuzzed_before(first):
    first.freeze("campaign.budget=30s", "mutants.per_mutant=3s")
    with_it = first.file.read_text()
    first.file.write_text(with_it.partition("[mutants]")[0])
    first.write_run(["campaign.budget=30s"])
    start(first.run)
    first.until(lambda s: s.t > 6 and s.instances["main"].stats.execs)
    first.stop()
    first.file.write_text(with_it)
    first.write_run(["campaign.budget=30s", "mutants.per_mutant=3s"])
    start(first.run)
    state = first.until(lambda s: s.stage == "target" and s.instances["main"].stats.execs > 0)
    assert len(first.stages("done")) >= 2
    plan = state.plan
    assert plan["first_s"] > 6
    assert plan["mutants_s"] == pytest.approx((30 - plan["first_s"]) / 2)  # half of what was left
    assert plan["before_s"] > plan["mutants_s"] - 1
    first.stop()


def test_stopped_between_two_turns_no_other_begins(first):
    first.begin("campaign.budget=60s", "mutants.per_mutant=2s")
    first.until(lambda s: len(first.stages("done")) >= 1)
    first.until(fuzzing)
    first.stop()
    stopping = next(r.seq for r in first.records() if getattr(r.event, "state", "") == "stopping")
    stages = [r for r in first.records() if isinstance(r.event, ev.MutantProgress)]
    # What a turn's start has cost is told when it is known: that is no other turn.
    begun = {r.event.slot for r in stages if r.event.stage == "fuzzing" and r.seq < stopping}
    later = [r for r in stages if r.seq > stopping]
    assert not [r for r in later if r.event.stage == "pruning"]
    assert not [r for r in later if r.event.stage == "fuzzing" and r.event.slot not in begun]


SEALED = r"""
#include <stdint.h>
#include <string.h>
#include <unistd.h>
static volatile int seen;
static uint32_t seal(const unsigned char *at, long n) {
    uint32_t sum = 2166136261u;
    while (n-- > 0) sum = (sum ^ *at++) * 16777619u;
    return sum;
}
int main(void) {
    unsigned char b[64];
    uint32_t stored;
    long n = read(0, b, sizeof b);
    if (n < 8) return 1;
    memcpy(&stored, b, 4);
    if (stored != seal(b + 4, n - 4)) return 2;
    for (long i = 4; i + 1 < n; i += 2) {
        if (b[i] == 1) { seen++; if (b[i + 1] > 100) seen += 2; }
        if (b[i] == 2) { seen += 3; if (b[i + 1] < 9) seen += 5; }
        if (b[i] == 3) { seen += 7; if (b[i + 1] == 77) seen += 9; }
    }
    return 0;
}
"""


def seal(data: bytes) -> bytes:
    total = 2166136261
    for byte in data[4:]:
        total = (total ^ byte) * 16777619 % (1 << 32)
    return total.to_bytes(4, "little")


def test_what_lacks_a_right_checksum_only_gets_it(first):
    (first.directory / "src" / "target.c").write_text(SEALED)
    seed = b"0000" + bytes([9, 9, 9, 9])
    (first.directory / "seeds" / "hello").write_bytes(seal(seed) + seed[4:])
    line = SEALED.split("\n").index("    if (stored != seal(b + 4, n - 4)) return 2;") + 1
    first.more = f'[mutants]\nsources = ["target.c:{line}"]\norder = "roadblocks"'
    first.begin("campaign.budget=30000 trials", "mutants.per_mutant=5000 trials")
    state = first.over()
    assert (state.state, state.stage) == ("finished", "target"), first.stderr()
    repaired = [
        (first.run / "out" / "handed" / e.file).read_bytes()
        for e in state.entries.values()
        if e.instance == "handed" and e.op.startswith("repair+m")
    ]
    assert any(data[:4] == seal(data[:64]) for data in repaired)
    assert not (first.run / "mutants" / "slots" / "m1" / "repaired").exists()
