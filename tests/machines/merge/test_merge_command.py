"""``fuzztui merge RUN...``: what the merged run contains, and what cannot be merged."""

import hashlib
import json
import shutil

import pytest
from merged_runs import events

from fuzztui.cli.output import DAMAGED, DONE, FAILED, NOT_RUNNING, USAGE
from fuzztui.kernel.log.files import SEALED
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.wire.events import CommandApplied, CommandIssued, EntrySaved, FindingSaved
from fuzztui.machines.merge import merged_files
from fuzztui.machines.siblings.fold import SiblingState
from fuzztui.run.observe.passive import make_passive


def contents(run):
    """The files of a run, without the names of their directories' parents."""
    return {
        str(p.relative_to(run)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in run.rglob("*")
        if p.is_file() and "checkpoints" not in p.name
    }


def test_numbers_are_sums_and_names_are_unique(make, ask, status, tmp_path):
    a = make("c-1", events(1e9, execs=100, signature="S1"))
    b = make("c-2", events(1e9 + 5, "other", execs=300, signature="S1"), step=0.3)
    code, out, _ = ask("merge", a, b, "-o", tmp_path / "m")
    assert code == DONE
    assert f"1: {a}" in out
    whole = status(tmp_path / "m")
    assert (whole["state"], whole["execs"], whole["corpus"], whole["crashes"]) == (
        "finished", 800, 8, 4,
    )  # fmt: skip
    assert whole["coverage"]["covered"] == 30
    assert [i["id"] for i in whole["instances"]] == ["1_main", "1_s1", "2_main", "2_s1"]
    (group,) = whole["findings"]
    assert (group["signature"], group["files"], group["count"]) == ("S1", 4, 4)
    assert whole["elapsed_s"] == max(status(a)["elapsed_s"], status(b)["elapsed_s"])


def test_the_entries_of_several_targets_are_in_their_own_runs(make, ask, tmp_path):
    a, _ = make("c-1", events(1e9)), make("c-2", events(1e9 + 5, "other"))
    part = make("c-2/targets/xml", events(1e9 + 5, "other"))
    code, _, err = ask("merge", a, tmp_path / "c-2", "-o", tmp_path / "m")
    assert code == USAGE
    assert str(part) in err
    assert not (tmp_path / "m").exists()


def test_times_never_go_back_and_each_record_names_its_run(make, ask, tmp_path):
    a = make("c-1", events(1e9))
    b = make("c-2", events(1e9 + 5, "other"), step=0.3)
    ask("merge", a, b, "-o", tmp_path / "m")
    records = list(LogReader(tmp_path / "m").records())
    assert [r.seq for r in records] == list(range(1, len(records) + 1))
    assert [r.t for r in records] == sorted(r.t for r in records)
    for name, run in (("1", a), ("2", b)):
        seqs = [r.host_seq for r in records if r.host == name]
        assert seqs == [r.seq for r in LogReader(run).records()]
        assert all(r.host_t == r.t for r in records if r.host == name)


def test_files_are_copied_and_imports_name_the_copies(make, ask, status, tmp_path):
    a, b = make("c-1", events(1e9)), make("c-2", events(1e9 + 5, "other"))
    make_passive(a / "out/there_main", "elsewhere")
    (a / "out/there_main/queue").mkdir()
    (a / "out/main/queue/link").symlink_to("/")
    ask("merge", a, b, "-o", tmp_path / "m")
    out = tmp_path / "m/out"
    assert sorted(p.name for p in out.iterdir()) == ["1_main", "1_s1", "2_main", "2_s1"]
    for name, run in (("1", a), ("2", b)):
        for part in ("queue", "crashes"):
            copied = {p.name: p.read_text() for p in (out / f"{name}_main/{part}").iterdir()}
            assert copied == {
                p.name: p.read_text()
                for p in (run / f"out/main/{part}").iterdir()
                if not p.is_symlink()
            }
    imported = [
        (r.event.instance, r.event.sync)
        for r in LogReader(tmp_path / "m").records()
        if getattr(r.event, "sync", "")
    ]
    assert ("1_main", "1_s1") in imported
    assert ("2_s1", "2_main") in imported


def test_siblings_stay_apart_with_their_findings(make, ask, status, tmp_path):
    runs = []
    for n in (1, 2):
        own = [
            SiblingState("lf", 3, 3),
            EntrySaved("main", 2, "queue/id:000002,sync:lf,src:000000", sync="lf"),
            FindingSaved("lf", "crash", "crashes/id:000000"),
        ]
        runs.append(make(f"c-{n}", [*events(1e9 + n), *own]))
        make_passive(runs[-1] / "out/lf", "corpus")
    ask("merge", *runs, "-o", tmp_path / "m")
    rows = status(tmp_path / "m")["siblings"]
    assert [(row["instance"], row["kept"]) for row in rows] == [("1_lf", 1), ("2_lf", 1)]
    assert (tmp_path / "m/out/2_lf/crashes/id:000000").exists()


def test_killed_wins_whoever_says_so_last(make, ask, status, tmp_path):
    a = make("c-1", events(1e9, states=[("m0", "killed"), ("m1", "alive"), ("m2", "pending")]))
    b = make("c-2", events(2e9, states=[("m0", "alive"), ("m1", "killed"), ("m2", "alive")]))
    for order in ((a, b), (b, a)):
        ask("merge", *order, "-o", tmp_path / "m")
        mutants = status(tmp_path / "m")["mutants"]
        assert (mutants["total"], mutants["killed"], mutants["alive"]) == (3, 2, 1)
    rows = json.loads(ask("mutants", "list", tmp_path / "m", "--json")[1])["mutants"]
    assert {r["id"]: r["killer"] for r in rows if r["state"] == "killed"} == {
        "m0": "1_main/0", "m1": "2_main/0",
    }  # fmt: skip


def test_it_is_idempotent(make, ask, tmp_path):
    a, b = make("c-1", events(1e9)), make("c-2", events(1e9 + 5, "other"))
    m = tmp_path / "m"
    ask("merge", a, b, "-o", m)
    first = contents(m)
    for again in ([a, b], [b, a], [a, b, a], [m], [m, a]):
        code, _, err = ask("merge", *again, "-o", m)
        assert (code, contents(m)) == (DONE, first), (again, err)


def test_a_merged_run_can_be_merged_further(make, ask, status, tmp_path):
    a, b, c = (make(f"c-{n}", events(1e9 + n, f"box{n}", execs=100)) for n in (1, 2, 3))
    ask("merge", a, b, "-o", tmp_path / "ab")
    ask("merge", tmp_path / "ab", c, "-o", tmp_path / "abc")
    whole = status(tmp_path / "abc")
    assert (whole["execs"], whole["corpus"], len(whole["instances"])) == (600, 12, 6)
    assert {i["id"] for i in whole["instances"]} >= {"1_main", "2_main"}
    assert len(list((tmp_path / "abc/out").iterdir())) == 6
    made = json.loads((tmp_path / "abc/merged.json").read_text())["parts"]
    assert [row["name"] for row in made][:2] == ["1", "2"]


def test_a_copy_counts_once_and_the_longer_one_stays(make, ask, status, tmp_path):
    whole = list(events(1e9))
    a, copy = make("a", whole[:9]), make("copy", whole)
    code, _, err = ask("merge", a, copy, "-o", tmp_path / "m")
    assert (code, str(a) in err) == (DONE, True)
    assert status(tmp_path / "m")["execs"] == 200


def test_a_part_that_has_gone_on_is_told(make, ask, tmp_path):
    whole = list(events(1e9))
    early, b = make("early", whole[:-1]), make("b", events(2e9))
    ask("merge", early, b, "-o", tmp_path / "m")
    code, _, err = ask("merge", tmp_path / "m", make("late", whole), "-o", tmp_path / "n")
    assert (code, "gone on" in err) == (USAGE, True)


# ------------------------------------------------------------------ shards


def shard(number, of=2, program="aa", mutants=4):
    return (number, of, mutants, program)


def test_shards_make_a_whole(make, ask, status, tmp_path):
    a = make("c-1-of-2", events(1e9, states=[("m0", "killed"), ("m1", "alive")], shard=shard(1)))
    b = make("c-2-of-2", events(2e9, states=[("m2", "killed"), ("m3", "alive")], shard=shard(2)))
    code, _, err = ask("merge", a, b, "-o", tmp_path / "m")
    assert (code, err) == (DONE, "")
    mutants = status(tmp_path / "m")["mutants"]
    assert (mutants["total"], mutants["killed"], mutants["shard"]) == (4, 2, None)
    assert (tmp_path / "m/out/1-of-2_main").is_dir()


def test_missing_shards_are_told_and_can_be_added(make, ask, status, tmp_path):
    runs = [
        make(f"c-{n}-of-3", events(n * 1e9, states=[(f"m{n}", "killed")], shard=shard(n, 3)))
        for n in (1, 2, 3)
    ]
    code, out, err = ask("merge", runs[0], runs[2], "-o", tmp_path / "m")
    assert code == DONE
    assert "2 of 3" in err
    assert "at least 2 of 2 mutants" in out
    assert status(tmp_path / "m")["mutants"]["shard"] == {
        "number": 1, "numbers": [1, 3], "of": 3, "mutants": 4, "program": "aa",
    }  # fmt: skip
    assert "1, 3 of 3" in ask("status", tmp_path / "m")[1]
    code, _, err = ask("merge", tmp_path / "m", runs[1], "-o", tmp_path / "m")
    assert (code, err) == (DONE, "")
    mutants = status(tmp_path / "m")["mutants"]
    assert (mutants["killed"], mutants["shard"]) == (3, None)


@pytest.mark.parametrize("other", [shard(1, 3), shard(2, program="bb")])
def test_shards_that_do_not_belong_together_are_refused(make, ask, tmp_path, other):
    a = make("a", events(1e9, states=[("m0", "alive")], shard=shard(1)))
    b = make("b", events(2e9, states=[("m1", "alive")], shard=other))
    code, _, err = ask("merge", a, b, "-o", tmp_path / "m")
    assert (code, len(err.splitlines())) == (USAGE, 1)
    assert not (tmp_path / "m").exists()


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("more", "key"), [({"function": "json:loads"}, "target"), ({"kind": "zest"}, "engine.kind")]
)
def test_other_campaigns_are_refused_with_what_differs(make, ask, tmp_path, more, key):
    a, b = make("a", events(1e9)), make("b", events(2e9), **more)
    code, _, err = ask("merge", a, b, "-o", tmp_path / "m")
    assert (code, key in err, str(b) in err) == (USAGE, True, True)


def test_outputs_that_would_lose_something_are_refused(make, ask, tmp_path):
    a, b = make("a", events(1e9)), make("b", events(2e9))
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    (tmp_path / "file").touch()
    for output in (a, a / "out/m", tmp_path / "full", tmp_path / "file"):
        code, _, err = ask("merge", a, b, "-o", output)
        assert (code, str(output) in err) == (USAGE, True), output
    assert (tmp_path / "full/file").exists()
    assert ask("merge", a, b)[0] == USAGE


def test_what_is_no_run_is_refused(make, ask, tmp_path):
    a = make("a", events(1e9))
    assert ask("merge", a, tmp_path / "none", "-o", tmp_path / "m")[0] == NOT_RUNNING
    (tmp_path / "x.json").write_text("{}")
    assert ask("merge", a, tmp_path / "x.json", "-o", tmp_path / "m")[0] == USAGE
    bare = tmp_path / "bare"
    shutil.copytree(a, bare)
    (bare / "campaign.toml").unlink()
    code, _, err = ask("merge", a, bare, "-o", tmp_path / "m")
    assert (code, str(bare) in err) == (USAGE, True)


def test_a_full_disk_leaves_nothing(make, ask, tmp_path, monkeypatch):
    a, b = make("a", events(1e9)), make("b", events(2e9))

    def full(*_):
        raise OSError(28, "No space left on device", "there")

    monkeypatch.setattr(merged_files.shutil, "copyfileobj", full)
    before = sorted(p.name for p in tmp_path.iterdir())
    code, _, err = ask("merge", a, b, "-o", tmp_path / "m")
    assert (code, "No space left" in err) == (FAILED, True)
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_a_full_disk_keeps_the_earlier_merge(make, ask, status, tmp_path, monkeypatch):
    a, b = make("a", events(1e9)), make("b", events(2e9))
    ask("merge", a, "-o", tmp_path / "m")
    before = contents(tmp_path / "m")
    monkeypatch.setattr(merged_files, "_copy", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        ask("merge", a, b, "-o", tmp_path / "m")
    assert contents(tmp_path / "m") == before


# ------------------------------------------------------------------ damage, commands


def test_damage_is_told_and_the_numbers_are_at_least(make, ask, status, tmp_path):
    a, b = make("a", events(1e9)), make("b", events(2e9))
    path = b / "log" / SEALED
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
    code, _, err = ask("merge", a, b, "-o", tmp_path / "m")
    assert (code, str(path) in err, "at least" in err) == (DAMAGED, True, True)
    code, out, _ = ask("status", tmp_path / "m", "--json")
    assert (code, json.loads(out)["at_least"]) == (DONE, True)


def test_commands_of_two_runs_stay_apart(make, ask, tmp_path):
    def given(wall):
        log = list(events(wall))
        command = {"c": "skip", "entry": 0, "instance": "main"}
        log.insert(-1, CommandIssued("c1", command, "me", step="s"))
        log.insert(-1, CommandApplied("c1", "main", 5, "skipped"))
        return log

    a, b = make("r-a", given(1e9)), make("r-b", given(2e9))
    ask("merge", a, b, "-o", tmp_path / "m")
    rows = [
        r.event for r in LogReader(tmp_path / "m").records() if "ommand" in type(r.event).__name__
    ]
    assert [r.id for r in rows] == ["a:c1", "b:c1", "a:c1", "b:c1"]
    assert rows[0].command["instance"] == "a_main"


def test_a_merged_run_is_not_continued(make, ask, tmp_path):
    a, b = make("a", events(1e9)), make("b", events(2e9))
    ask("merge", a, b, "-o", tmp_path / "m")
    before = contents(tmp_path / "m")
    code, _, err = ask(tmp_path / "m/campaign.toml", "--headless", "--set", "campaign.budget=99s")
    assert (code, "merged run" in err) == (USAGE, True)
    assert contents(tmp_path / "m") == before
