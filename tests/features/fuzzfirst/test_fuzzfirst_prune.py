"""Corpora between programs: gathered, pruned, put aside and laid out as seeds."""

import asyncio
import hashlib
import os

import pytest

from fuzztui.features.fuzzfirst import prune as pruning
from fuzztui.features.fuzzfirst.prune import (
    Input,
    Pruned,
    file_name,
    gather,
    gather_seeds,
    lay_out,
    prune,
    put_aside,
)
from fuzztui.features.fuzzfirst.showmap import InputResult
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.observe.afl_names import parse_name


class FakeBatch:
    """The outcome of an input is in its content."""

    def __init__(self):
        self.sizes = []

    async def run(self, inputs):
        self.sizes.append(len(inputs))
        return [InputResult(path.read_text().split()[0]) for path in inputs]


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def make(directory, **files):
    """Files by content: ``queue={"id:0": "text"}``."""
    for part, content in files.items():
        (directory / part).mkdir(parents=True, exist_ok=True)
        for name, text in content.items():
            (directory / part / name).write_text(text)


@pytest.fixture
def corpus(tmp_path):
    """``corpus("ok a", "crash b")``: inputs of m7."""

    def made(*texts):
        inputs = []
        for number, text in enumerate(texts):
            file = tmp_path / f"i{number}"
            file.write_text(text)
            inputs.append(Input(file, f"m7/{number}", sha(text)))
        return inputs

    return made


def test_origins_are_followed_to_where_an_input_was_found(tmp_path):
    make(
        tmp_path / "m7",
        queue={
            "id:000000,time:0,execs:0,orig:m5+000045": "from m5",
            "id:000001,time:0,execs:0,orig:some+seed,+cov": "seed",
            "id:000002,src:000001,time:9,execs:9,op:havoc,rep:2,+cov": "own",
            "id:000003,sync:m7-s1,src:000008": "s1's",
            "id:000004,time:0,execs:0,orig:m3+crashes+000002": "crash of m3",
            "id:000005,time:0,execs:0,orig:id:000000,time:0,execs:0,orig:m5+000046": "resumed",
            "sha1-of-it": "odd",
        },
    )
    make(tmp_path / "m7-s1", queue={"id:000008,src:000000,time:9,execs:9,op:flip1,pos:0": "s1's"})
    found = gather(tmp_path, ["m7", "m7-s1", "missing"])
    assert [(i.origin, i.path.read_text()) for i in found] == [
        ("seed:sha1-of-it", "odd"),
        ("m5/45", "from m5"),
        ("seed:some+seed", "seed"),
        ("m7/2", "own"),
        ("m7-s1/8", "s1's"),
        ("m3/crashes/2", "crash of m3"),
        ("m5/46", "resumed"),
    ]
    assert all(i.digest == sha(i.path.read_text()) for i in found)


def test_findings_are_gathered_with_their_parents_and_what_a_resume_put_away(tmp_path):
    crash = "id:000003,sig:06,src:000045+000002,time:9,execs:9,op:splice,rep:2"
    make(
        tmp_path / "m7",
        **{
            "queue": {"id:000045,src:000000,time:1,execs:1,op:x": "q"},
            "crashes": {crash: "now", "README.txt": "do not read"},
            "crashes.2026-01-01-00:00:00": {"id:000000,sig:11,src:000001,op:x": "before"},
            "hangs": {"id:000000,src:000007,op:x": "slow", "id:000001,src:000007,op:x": "q"},
        },
    )
    found = gather(tmp_path, ["m7"], ("queue", "crashes", "hangs"))
    assert [(i.origin, i.parent, i.path.read_text()) for i in found] == [
        ("m7/45", -1, "q"),
        ("m7/crashes/0", 1, "before"),
        ("m7/crashes/3", 45, "now"),
        ("m7/hangs/0", 7, "slow"),
    ]


def test_only_what_afl_would_take_is_gathered(tmp_path):
    make(tmp_path / "m", queue={"id:000000": "", "id:000001": "x" * ((1 << 20) + 1), "id:2": "ok"})
    queue = tmp_path / "m" / "queue"
    os.mkfifo(queue / "id:000003")
    (queue / "id:000004").symlink_to("/etc/passwd")
    (queue / ".state").mkdir()
    (queue / "id:000005").mkdir()
    assert [i.origin for i in gather(tmp_path, ["m"])] == ["m/2"]


def test_what_the_next_program_does_not_survive_is_taken_out_in_order(corpus, monkeypatch):
    monkeypatch.setattr(pruning, "CHUNK", 2)
    inputs = corpus("ok a", "crash b", "hang c", "unfit d", "ok e")
    batch = FakeBatch()
    pruned = asyncio.run(prune(batch, inputs))
    assert pruned == Pruned([inputs[0], inputs[4]], [(inputs[1], "crash"), (inputs[2], "hang")])
    assert batch.sizes == [2, 2, 1]
    assert asyncio.run(prune(batch, [])) == Pruned()


def test_what_is_put_aside_stays(corpus, tmp_path):
    one, two, seed, gone = corpus("a", "b", "c", "d")
    seed = Input(seed.path, "seed:../x,y:z", seed.digest)
    crash = Input(two.path, "m7/crashes/3", two.digest)
    gone.path.unlink()
    pruned = Pruned([], [(one, "crash"), (crash, "hang"), (seed, "crash"), (gone, "crash")])
    aside = tmp_path / "aside" / "m8"
    for _ in range(2):
        put_aside(pruned, aside)
        assert {f.name: f.read_text() for f in aside.iterdir()} == {
            "crash:m7:000000": "a",
            "hang:m7:crashes:000003": "b",
            "crash:_x_y_z": "c",
        }
    # Another seed of that name, and after that only the same ones again.
    seed.path.write_text("other")
    for _ in range(2):
        put_aside(pruned, aside)
        assert sorted(f.read_text() for f in aside.iterdir()) == ["a", "b", "c", "other"]
    assert [f.name for f in aside.parent.iterdir()] == ["m8"]


def test_seeds_are_laid_out_whole_and_their_names_tell_their_origin(corpus, tmp_path):
    inputs = corpus("a", "b", "c", "d")
    origins = ["m7/45", "m7-s1/crashes/3", "seed:good.xml", "seed:good.xml"]
    inputs = [Input(i.path, o, i.digest) for i, o in zip(inputs, origins, strict=True)]
    seeds = tmp_path / "slots" / "m8" / "seeds"
    for _ in range(2):
        assert lay_out(inputs, seeds) == 4
        texts = {f.name: f.read_text() for f in seeds.iterdir()}
        assert texts == {
            "m7+000045": "a",
            "m7-s1+crashes+000003": "b",
            "good.xml": "c",
            f"good.xml-{sha('d')[:12]}": "d",
        }
        again = {i.origin: i.digest for i in gather_seeds(seeds)}
        assert again["m7/45"] == sha("a") and again["m7-s1/crashes/3"] == sha("b")
        assert again["seed:good.xml"] == sha("c")
    inputs[0].path.unlink()
    (seeds.with_name("seeds.new")).mkdir()
    (seeds.with_name("seeds.new") / "torn").write_text("x")
    assert lay_out(inputs[:3], seeds) == 2
    assert sorted(f.name for f in seeds.iterdir()) == ["good.xml", "m7-s1+crashes+000003"]
    assert [f.name for f in seeds.parent.iterdir()] == ["seeds"]


def test_seeds_that_cannot_be_laid_out_leave_the_old_ones(corpus, tmp_path, monkeypatch):
    lay_out(corpus("a"), tmp_path / "seeds")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pruning.Path, "write_bytes", full)
    with pytest.raises(SupervisorError, match="No space left"):
        lay_out(corpus("b", "c"), tmp_path / "seeds")
    assert [f.read_text() for f in (tmp_path / "seeds").iterdir()] == ["a"]


@pytest.mark.parametrize(
    "origin, name",
    [
        ("m7/45", "m7+000045"),
        ("m7/1234567", "m7+1234567"),
        ("m7/hangs/1", "m7+hangs+000001"),
        ("seed:a b.xml", "a_b.xml"),
        ("seed:m7+000045", "m7_000045"),  # a stranger's: it must not pass for one of m7
        ("seed:../../etc/passwd", "_.._etc_passwd"),
        ("seed:.hidden", "hidden"),
        ("seed:id:000001,src:000000,op:x", "id_000001_src_000000_op_x"),
        ("seed:", "_"),
        ("seed:" + "x" * 300, "x" * 100),
    ],
)
def test_an_origin_is_a_name_that_afl_takes(origin, name):
    assert file_name(origin) == name
    assert parse_name(f"id:000001,time:0,execs:0,orig:{name},+cov").op == f"orig:{name}"
