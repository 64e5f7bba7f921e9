"""The target's corpus as it grows by what mutants' inputs cover of it."""

import asyncio
import hashlib
import json
from dataclasses import replace

import pytest

from fuzztui.features.fuzzfirst import prune as pruning
from fuzztui.features.fuzzfirst import transfer as handing
from fuzztui.features.fuzzfirst.prune import Input
from fuzztui.features.fuzzfirst.showmap import InputResult
from fuzztui.features.fuzzfirst.transfer import Transfer
from fuzztui.kernel.wire.afl import id_of as parse_id
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.observe.afl_names import parse_name


class FakeBatch:
    """Content "crash 1:0 2:3": an outcome, and the edges with their buckets that it covers."""

    def __init__(self):
        self.ran = []
        self.before = lambda: None

    async def run(self, inputs):
        self.before()
        self.ran += [path.read_text() for path in inputs]
        return [verdict_of(path.read_text()) for path in inputs]


def verdict_of(text):
    outcome, *covered = text.split()
    pairs = [pair.split(":") for pair in covered]
    trace = frozenset(int(edge) * 8 + int(bucket) for edge, bucket in pairs)
    return InputResult(outcome, trace, 6 if outcome == "crash" else 0)


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def lab(tmp_path):
    """``lab(inputs)``: hands them over; ``lab.start(seeds)``: as a fresh supervisor does."""

    class Lab:
        out = tmp_path / "run" / "out"
        verdicts = tmp_path / "run" / "mutants" / "verdicts.jsonl"
        batch = FakeBatch()

        def inputs(self, texts):
            made = []
            for number, given in enumerate(texts):
                default = (f"m7/{number}", -1, given)
                origin, parent, text = given if isinstance(given, tuple) else default
                file = tmp_path / sha(text)
                file.write_text(text)
                made.append(Input(file, origin, sha(text), parent))
            return made

        def start(self, seeds=()):
            self.batch.ran.clear()
            self.handover = Transfer(self.out, self.batch)
            asyncio.run(self.handover.start(self.inputs(seeds)))

        def __call__(self, texts):
            self.batch.ran.clear()
            return asyncio.run(self.handover.take(self.inputs(texts)))

        def files(self, part):
            directory = self.out / "handed" / part
            return {file.name: file.read_text() for file in sorted(directory.iterdir())}

    made = Lab()
    made.out.mkdir(parents=True)
    made.start(["ok 1:0 2:0"])
    return made


def test_what_covers_something_new_joins_the_queue_greedily(lab):
    assert lab(["ok 1:0", "ok 1:1", "ok 1:0 3:0", "ok 3:0", "ok 1:1 2:0", "ok 3:0 4:7"]) == 2
    assert lab.files("queue") == {
        "id:000000,sync:m7,src:000001,time:0,execs:0,op:m7+000001": "ok 1:1",
        "id:000001,sync:m7,src:000002,time:0,execs:0,op:m7+000002,+cov": "ok 1:0 3:0",
        "id:000002,sync:m7,src:000005,time:0,execs:0,op:m7+000005,+cov": "ok 3:0 4:7",
    }
    assert [*lab.handover.verdicts.values()] == ["ok"] * 7  # a seed's, too
    assert lab(["ok 9:0"]) == 1
    assert [*lab.files("queue")][3:] == [
        "id:000003,sync:m7,src:000000,time:0,execs:0,op:m7+000000,+cov"
    ]
    for name in lab.files("queue"):
        assert parse_name(name).sync == "m7"
    assert sorted(p.name for p in (lab.out / "handed").iterdir()) == ["crashes", "hangs", "queue"]


def test_what_was_new_to_a_mutant_only_is_a_near_miss(lab, tmp_path, monkeypatch):
    def near():
        return {f.name: f.read_text() for f in (lab.out / ".near" / "queue").iterdir()}

    def of_mutant(text, *, new=True):
        """An entry of the mutant's queue, which says whether it covered something new there."""
        (made,) = lab.inputs([text])
        name = f"id:{len(text):06},time:1,execs:1,op:havoc" + ",+cov" * new
        return replace(made, path=made.path.rename(tmp_path / name))

    entries = [of_mutant("ok 1:0"), of_mutant("ok 1:0  2:0", new=False), of_mutant("ok 7:0 1:0")]
    entries.append(of_mutant("crash 1:0  2:0"))
    seed = of_mutant("ok 2:0 1:0     ")
    named = seed.path.with_name("id:000000,time:1,execs:1,orig:a,+cov")
    entries.append(replace(seed, path=seed.path.rename(named)))
    assert asyncio.run(lab.handover.take(entries)) == 1
    assert near() == {"id:000000,sync:m7,src:000000,time:0,execs:0,op:m7+000000": "ok 1:0"}
    assert asyncio.run(lab.handover.take(entries)) == 0  # none twice, and not after a restart
    monkeypatch.setattr(handing, "NEAREST", 2)
    lab.start()
    again = [of_mutant(f"ok 1:0{' ' * n} 2:0") for n in range(3, 7)]
    asyncio.run(lab.handover.take([*entries, *again]))
    assert [*map(parse_id, sorted(near()))] == [0, 1, 2]
    # They wait until they are repaired, also after a restart.
    first, *rest = lab.handover.near_misses()
    assert first.origin == "m7/0" and len(rest) == 2
    lab.handover.note_repaired(first)
    lab.start()
    assert [one.digest for one in lab.handover.near_misses()] == [one.digest for one in rest]


def test_findings_are_kept_that_differ_by_an_edge_with_signal_and_origin(lab):
    edges = lab(
        [
            ("m7/crashes/3", 45, "crash 1:0 5:0"),
            ("m7/crashes/4", 45, "crash 1:0 5:1"),  # another count only
            ("m7-s1/12", -1, "crash 6:0"),
            ("m7/hangs/0", -1, "hang 1:0"),
            ("seed:a,b.xml", -1, "hang 2:0"),
            ("m7/9", -1, "ok 5:0"),  # what crashes cover is nothing that is covered
        ]
    )
    assert lab.files("crashes") == {
        "id:000000,sig:06,sync:m7,src:000045,time:0,execs:0,op:m7+crashes+000003": "crash 1:0 5:0",
        "id:000001,sig:06,sync:m7-s1,src:000012,time:0,execs:0,op:m7-s1+000012": "crash 6:0",
    }
    assert lab.files("hangs") == {
        "id:000000,sync:m7,time:0,execs:0,op:m7+hangs+000000": "hang 1:0",
        "id:000001,time:0,execs:0,orig:a_b.xml": "hang 2:0",
    }
    assert [*lab.files("queue").values()] == ["ok 5:0"]
    assert edges == 1  # of the entry alone
    assert sorted(lab.handover.verdicts.values()) == ["crash"] * 3 + ["hang"] * 2 + ["ok"] * 2
    name = parse_name(next(iter(lab.files("crashes"))))
    assert (name.sync, name.src, name.sig, name.op) == ("m7", (45,), 6, "m7+crashes+000003")


def test_findings_that_nothing_tells_apart_are_few(lab, monkeypatch):
    monkeypatch.setattr(handing, "TRACELESS", 2)
    texts = [f"{outcome}{' ' * n}" for n in range(5) for outcome in ("crash", "hang")]
    for _ in range(2):
        lab(texts)
        assert len(lab.files("crashes")) == len(lab.files("hangs")) == 2


def test_nothing_is_run_twice_nor_kept_twice(lab):
    texts = ["ok 3:0", "crash 4:0", "hang 5:0", "ok 3:0", "unfit", "ok 1:0"]
    lab(texts)
    first = dict(lab.handover.verdicts)
    assert lab.batch.ran == ["ok 3:0", "crash 4:0", "hang 5:0", "unfit", "ok 1:0"]
    before = {part: lab.files(part) for part in ("queue", "crashes", "hangs")}
    for restart in (False, True):
        if restart:
            lab.start(["ok 1:0 2:0"])
            # To learn what is covered: the seeds and what was kept.
            assert sorted(lab.batch.ran) == sorted(
                ["ok 1:0 2:0", "ok 3:0", "crash 4:0", "hang 5:0"]
            )
        assert lab(texts) == 0
        assert lab.batch.ran == ["unfit"]
        assert lab.handover.verdicts == first and sha("unfit") not in first
        assert before == {part: lab.files(part) for part in before}
    lab(["ok 7:0"])
    assert [name[:9] for name in lab.files("queue")] == ["id:000000", "id:000001"]


def test_a_seeds_verdict_is_known(lab):
    lab.start(["crash 8:0"])
    lab(["crash 8:0"])
    assert lab.handover.verdicts[sha("crash 8:0")] == "crash"
    assert lab.files("crashes") == {}  # that is for the target's own instances to tell


def test_an_input_that_became_another_one_is_left_for_later(lab):
    inputs = lab.inputs(["ok 3:0"])
    inputs[0].path.write_text("ok 4:0")
    assert asyncio.run(lab.handover.take(inputs)) == 0
    assert inputs[0].digest not in lab.handover.verdicts and lab.files("queue") == {}


def test_a_torn_list_of_verdicts_is_read_as_far_as_it_goes(lab):
    lab(["ok 1:0", "ok 2:0"])
    whole = lab.verdicts.read_bytes()
    lab.verdicts.write_bytes(whole[:-20] + b'\n[1]\n{"digest": 3, "outcome": "ok"}\n{"dig')
    lab.start()
    lab(["ok 1:0", "ok 2:0"])
    assert lab.batch.ran == ["ok 2:0"]
    assert json.loads(lab.verdicts.read_text().splitlines()[-1])["digest"] == sha("ok 2:0")


def test_a_full_disk_is_said_and_nothing_is_lost(lab, monkeypatch):
    whole = pruning.replace_bytes

    def full(path, *data):
        if len(lab.files("queue")):
            raise OSError(28, "No space left on device", str(path))
        whole(path, *data)

    monkeypatch.setattr(pruning, "replace_bytes", full)
    texts = ["ok 3:0", "ok 4:0", "ok 5:0"]
    with pytest.raises(SupervisorError, match="No space left"):
        lab(texts)
    monkeypatch.undo()
    lab(texts)
    assert lab.batch.ran == ["ok 4:0", "ok 5:0"]
    assert [*lab.files("queue").values()] == texts


def test_a_program_that_cannot_be_run_hands_nothing_over(lab):
    def fail():
        raise SupervisorError("no fork server")

    lab.batch.before = fail
    with pytest.raises(SupervisorError, match="no fork server"):
        lab(["ok 3:0"])
    lab.batch.before = lambda: None
    assert lab(["ok 3:0"]) == 1


def test_blocks_are_bounded(lab, monkeypatch):
    monkeypatch.setattr(pruning, "CHUNK", 2)
    sizes = []
    lab.batch.before = lambda: sizes.append(1)
    assert lab([f"ok {n}:0" for n in range(20, 25)]) == 5
    assert len(sizes) == 3


def test_cancelled_in_the_middle_what_was_handed_over_stays(lab, monkeypatch):
    monkeypatch.setattr(pruning, "CHUNK", 2)
    texts = [f"ok {n}:0" for n in range(20, 26)]

    async def job():
        blocks = []

        def before():
            blocks.append(1)
            if len(blocks) == 2:
                task.cancel()

        lab.batch.before = before
        task = asyncio.create_task(lab.handover.take(lab.inputs(texts)))
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(job())
    lab.batch.before = lambda: None
    kept = len(lab.files("queue"))
    assert kept in (2, 4)
    assert lab(texts) == 6 - kept
    assert [*lab.files("queue").values()] == texts
