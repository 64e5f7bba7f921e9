"""What mutants start from and what becomes of their finds, however a turn ends."""

import asyncio
import hashlib
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from fuzztui.features.fuzzfirst.corpora import Corpora
from fuzztui.features.fuzzfirst.fold import mutant_behind
from fuzztui.features.fuzzfirst.kill_matrix import KillMatrix
from fuzztui.features.fuzzfirst.prune import Input
from fuzztui.features.fuzzfirst.showmap import InputResult
from fuzztui.features.fuzzfirst.transfer import transferred_by_turn
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import EntriesSeeded, EntrySaved, InstanceHello, Record
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import RunDir, SupervisorError, prepare_run

FOUND = "id:000003,src:000000,time:5,execs:9,op:havoc,rep:2"


class Program:
    """Fails on inputs that hold one of the words; what it covers are their letters."""

    def __init__(self, *words):
        self.words = words

    async def run(self, inputs):
        found = []
        for path in inputs:
            text = path.read_text()
            outcome = "crash" if any(word in text for word in self.words) else "ok"
            found.append(InputResult(outcome, frozenset(map(ord, text))))
        return found


class Wide(Program):
    """Covers a number of edges, whatever the input."""

    def __init__(self, edges, *words):
        super().__init__(*words)
        self.trace = frozenset(8 * n for n in range(edges))

    async def run(self, inputs):
        return [InputResult(v.outcome, self.trace) for v in await super().run(inputs)]


class Ground:
    """The target never fails."""

    repair = None

    def batch(self, command, label):
        return Program()


@pytest.fixture
def lab(tmp_path):
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n")
    (tmp_path / "c.toml").write_text(
        f"""
[campaign]
budget = "1h"
output = "{tmp_path}/run"
[target]
command = ["./prog"]
build = "$CC -o prog $SOURCE/a.c"
[engine]
kind = "afl"
[mutants]
sources = ["a.c"]
"""
    )
    campaign = load(tmp_path / "c.toml").campaign
    prepare_run(campaign.output)
    home = RunDir(campaign.output)
    home.mutants.mkdir()
    home.seeds.mkdir()
    for text in ("one", "two", "three"):
        (home.seeds / text).write_text(text)

    class Lab:
        def __init__(self):
            self.home = home

        def corpora(self):
            corpora = Corpora(campaign, home, Ground())
            asyncio.run(corpora.start(State()))
            return corpora

        def begin(self, corpora, slot, program, *, parallel=False):
            turn = corpora.prepare_turn(f"mutant of {slot}", slot, program, parallel=parallel)
            return asyncio.run(turn)

        def find(self, slot, name, text):
            queue = home.in_slot(slot).out / slot / "queue"
            queue.mkdir(parents=True, exist_ok=True)
            (queue / name).write_text(text)

        def end(self, corpora, slot, program, *, parallel=False):
            turn = f"mutant of {slot}", slot, program, ("x",)
            return asyncio.run(corpora.transfer_turn(*turn, parallel=parallel))

    return Lab()


@pytest.fixture
def corpora(lab):
    return lab.corpora()


def texts(pruned):
    return sorted(one.path.read_text() for one in pruned.kept)


def test_a_turn_that_never_began_leaves_the_corpus_as_it_was(lab, corpora):
    lab.begin(corpora, "m1", Program())
    lab.find("m1", "id:000000,time:0,execs:1,orig:one", "o")  # made smaller
    lab.find("m1", FOUND, "found")
    lab.end(corpora, "m1", Program())
    assert texts(lab.begin(corpora, "m2", Program())) == ["found", "one", "three", "two"]
    lab.end(corpora, "m2", Program())  # skipped before it had a queue
    assert texts(lab.begin(corpora, "m3", Program())) == ["found", "one", "three", "two"]
    assert texts(lab.begin(lab.corpora(), "m4", Program())) == ["found", "one", "three", "two"]


def test_parallel_turns_start_from_the_seeds_and_the_last_corpus_waits(lab, corpora):
    lab.begin(corpora, "m1", Program())
    lab.find("m1", FOUND, "found")
    lab.end(corpora, "m1", Program())
    for slot in ("m2", "m3"):  # the campaign was switched to parallel use
        assert texts(lab.begin(corpora, slot, Program(), parallel=True)) == ["one", "three", "two"]
        lab.find(slot, FOUND, f"of {slot}")
        lab.end(corpora, slot, Program(), parallel=True)
    assert texts(lab.begin(corpora, "m4", Program())) == ["found", "one", "three", "two"]
    lab.end(corpora, "m4", Program())
    assert texts(lab.begin(corpora, "m5", Program())) == ["found", "one", "three", "two"]


def test_seeds_of_which_the_next_turn_has_no_copy_are_kept(lab, corpora):
    lab.begin(corpora, "m1", Program())
    lab.find("m1", FOUND, "found")
    lab.end(corpora, "m1", Program())
    lab.begin(corpora, "m2", Program())
    lab.end(corpora, "m2", Program())
    lab.begin(corpora, "m3", Program(), parallel=True)
    corpora = lab.corpora()  # m3 is continued by a supervisor with sequential use
    lab.end(corpora, "m3", Program())
    kept = {path.read_text() for path in lab.home.in_slot("m2").seeds.iterdir()}
    assert "found" in kept


def test_a_turn_is_credited_with_the_repairs_of_its_own_near_misses(lab, tmp_path, monkeypatch):
    fails = [True, False, False]

    async def repair(near, take):
        if fails.pop(0):
            raise SupervisorError("no memory")
        for one in near:
            file = tmp_path / one.digest
            file.write_text(one.path.read_text() + {"eno": "~A", "owt": "0"}[one.path.read_text()])
            digest = hashlib.sha256(file.read_bytes()).hexdigest()
            await take(one, [Input(file, one.origin, digest)])

    monkeypatch.setattr(Ground, "repair", staticmethod(repair))
    corpora, edges = lab.corpora(), {}
    for slot, text in (("m1", "eno"), ("m2", "owt"), ("m3", "owt")):
        lab.begin(corpora, slot, Program())
        lab.find(slot, f"{FOUND},+cov", text)
        edges[slot] = lab.end(corpora, slot, Program()).edges
    assert edges == {"m1": 0, "m2": 1, "m3": 0}  # not the two by which m2 was too late for m1


def test_a_mutant_on_which_the_seeds_reach_less(lab, monkeypatch):
    monkeypatch.setattr(Ground, "batch", lambda self, command, label: Wide(40))
    corpora = lab.corpora()
    assert lab.begin(corpora, "m1", Wide(29)).lost == (
        "the seeds cover 29 edges of the mutant, and 40 of the target"
    )
    assert lab.begin(corpora, "m2", Wide(30)).lost == ""  # a quarter
    assert lab.begin(corpora, "m3", Wide(50)).lost == ""
    assert lab.begin(corpora, "m4", Wide(37, "tw", "thr")).lost == ""  # one seed reaches all
    monkeypatch.setattr(Ground, "batch", lambda self, command, label: Wide(4))
    corpora = lab.corpora()
    assert lab.begin(corpora, "m5", Wide(1)).lost == ""  # the changed line may have had three
    assert lab.begin(corpora, "m6", Wide(0)).lost


def test_a_rejected_mutant_leaves_nothing_to_a_restart(lab, monkeypatch):
    monkeypatch.setattr(Ground, "batch", lambda self, command, label: Wide(40))
    corpora = lab.corpora()
    assert lab.begin(corpora, "m1", Wide(9)).lost
    shutil.rmtree(lab.home.in_slot("m1").seeds)  # as the turn does
    (lab.home.seeds / "two").unlink()
    pruned = lab.begin(lab.corpora(), "m2", Wide(9))
    assert texts(pruned) == ["one", "three"]
    assert pruned.lost, "of the seeds that are left"


def test_what_a_mutant_does_not_survive_comes_back_also_after_a_restart(lab, corpora):
    pruned = lab.begin(corpora, "m1", Program("tw"))
    assert texts(pruned) == ["one", "three"]
    assert corpora.matrix.killers("mutant of m1") == {"seed:two": "crash"}
    lab.end(corpora, "m1", Program("tw"))
    assert texts(lab.begin(corpora, "m2", Program("thr"))) == ["one", "two"]
    lab.end(corpora, "m2", Program("thr"))
    for again in (corpora, lab.corpora()):
        assert texts(lab.begin(again, "m3", Program())) == ["one", "three", "two"]


def test_what_was_found_before_a_restart_kills_after_it(lab, corpora):
    lab.begin(corpora, "m1", Program())
    lab.find("m1", FOUND, "found")
    lab.end(corpora, "m1", Program())
    again = lab.corpora()
    lab.begin(again, "m2", Program("found", "two"))
    assert again.matrix.killers("mutant of m2") == {"m1/3": "crash", "seed:two": "crash"}


def test_what_was_brought_is_counted_by_the_files_however_often_it_is_collected(lab, corpora):
    lab.begin(corpora, "m1", Program())
    lab.find("m1", FOUND, "xyz")
    crash = lab.home.in_slot("m1").out / "m1" / "crashes" / "id:000000,sig:06,src:000003,op:x"
    crash.parent.mkdir()
    crash.write_text("boom")
    first = lab.end(corpora, "m1", Program("boom"))
    assert first.brought == {"entries": 2, "crashes": 0, "hangs": 0, "kills": 1}
    again = lab.end(lab.corpora(), "m1", Program("boom"))  # killed before it was in the log
    assert (again.brought, again.edges) == (first.brought, 0)
    assert transferred_by_turn(lab.home.out).keys() == {"m1"}


def test_what_a_later_turn_makes_of_a_find_is_its_finders(lab, corpora):
    lab.begin(corpora, "m1", Program())
    lab.find("m1", FOUND, "xyz")
    assert lab.end(corpora, "m1", Program()).by_slot["m1"]["entries"] == 1
    lab.begin(corpora, "m2", Program())
    lab.find("m2", "id:000000,time:0,execs:1,orig:m1+000003", "xq")  # made smaller
    lab.find("m2", "id:000009,src:000000,time:5,execs:9,op:havoc,rep:2", "w!")
    harvest = lab.end(corpora, "m2", Program())
    handed = len(list((lab.home.out / "handed" / "queue").iterdir()))
    assert {slot: row["entries"] for slot, row in harvest.by_slot.items()} == {"m1": 2, "m2": 1}
    assert handed == 3


def test_only_the_turn_before_is_tidied_up(lab, corpora):
    for slot in ("m1", "m2", "m3"):
        lab.begin(corpora, slot, Program())
        found = hashlib.sha256(slot.encode()).hexdigest()
        lab.find(slot, "id:000009,src:000000,time:5,execs:9,op:havoc,rep:2", found)
        lab.end(corpora, slot, Program())
    assert [*lab.home.in_slot("m1").seeds.iterdir()] == []
    assert len([*lab.home.in_slot("m3").seeds.iterdir()]) == 5
    assert len([*(lab.home.in_slot("m1").out / "m1" / "queue").iterdir()]) == 1  # its own find
    assert sorted(p.name for p in lab.home.seeds.iterdir()) == ["one", "three", "two"]


def test_a_find_that_has_a_new_number_is_not_tidied_up(lab, corpora):
    renumbered = "id:000000,time:0,execs:0,orig:id:000003,src:000000,time:5,execs:9,op:havoc"
    for slot in ("m1", "m2", "m3"):
        lab.begin(corpora, slot, Program())
        if slot == "m1":
            lab.find(slot, renumbered, "found")
            lab.find(slot, "id:000001,time:0,execs:0,orig:one", "one, smaller")
        lab.end(corpora, slot, Program())
    left = (lab.home.in_slot("m1").out / "m1" / "queue").iterdir()
    assert renumbered in [path.name for path in left]


def test_mutants_that_end_at_a_time_lose_no_kill(tmp_path):
    file = tmp_path / "kills.jsonl"
    matrix = KillMatrix(file)

    def kill(mutant):
        for n in range(30):
            matrix.add(mutant, {f"{mutant}/{n}": "crash"})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(kill, [f"m{n}" for n in range(4)]))
    again = KillMatrix(file)
    assert {m: len(again.killers(m)) for m in again.mutants()} == {f"m{n}": 30 for n in range(4)}


def test_thanks_outlive_a_queue_that_is_numbered_anew():
    state = State()

    def tell(*events):
        apply(state, [Record(state.seq + 1 + n, 1.0, e) for n, e in enumerate(events)])

    found = "id:000001,src:000000,time:1,execs:3,op:havoc"
    tell(
        InstanceHello("m1", mutant="a.c#1"),
        EntriesSeeded("m1", {"0": "seed:hello"}),
        EntrySaved("m1", 1, f"queue/{found}", [0], "havoc"),
        EntrySaved("handed", 0, "queue/id:000000,sync:m1,src:000001", [1], "", "m1"),
    )
    assert mutant_behind(state, state.entries["handed/0"]) == "a.c#1"
    tell(
        EntriesSeeded("m1", {"1": "seed:hello"}, anew=True),
        EntrySaved("m1", 0, f"queue/id:000000,time:0,execs:0,orig:{found}", [0], "havoc", first=1),
    )
    assert mutant_behind(state, state.entries["handed/0"]) == "a.c#1"
    assert state.instances["m1"].origins == {"1": "seed:hello"}
