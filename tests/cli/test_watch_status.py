"""``fuzztui status DIR`` for someone else's directory, and what ``watch`` refuses."""

from __future__ import annotations

import json
import os
import re

import pytest
from run_logs import run_with
from watch_lab import Fuzzer, stats

from fuzztui.cli import main
from fuzztui.cli.output import DONE, NOT_RUNNING, USAGE
from fuzztui.kernel.wire.events import CampaignStarted


@pytest.fixture
def out(tmp_path):
    first = Fuzzer(tmp_path / "out/main", ago=7200)
    first.put("crashes/id:000000,sig:06,src:000001,time:120000,execs:120000,op:havoc,rep:4")
    first.put("crashes.2026-01-01-00:00:00/id:000000,sig:06,src:000001,time:60000,op:havoc")
    (first.path / ".synced").mkdir()
    for peer in ("s1", "a stranger"):
        (first.path / ".synced" / peer).write_bytes((7).to_bytes(4, "little"))
    second = Fuzzer(tmp_path / "out/s1", ago=60, run=60)
    second.live()
    yield tmp_path / "out"
    second.die()


def test_a_page_of_text(out, cli):
    text = cli("status", out).out
    assert "1 stopped, 1 running" in text
    assert re.search(r"figures   \d+ s to 60 min old", text)
    assert "crashes   2 not examined yet\nhangs     0\n" in text  # crashes.DATE too
    assert "also imports from a stranger" in text
    assert "2 SIGABRT, from the file names" in text
    assert "crash: main/crashes/id:000000,sig:06" in text
    assert "crash: main/crashes.2026-01-01-00:00:00/id:000000" in text


def test_one_json_object(out, cli):
    whole = cli("status", out, "--json").json
    assert (whole["state"], whole["crashes"], whole["pid"]) == ("running", 2, None)
    first, second = whole["instances"]
    assert 3590 < first["age_s"] < 3610
    assert second["age_s"] < 60
    assert first["directory"] == str(out / "main")
    assert first["peers"] == {"s1": 7, "a stranger": 7}
    assert (first["state"], second["state"]) == ("stopped", "running")
    (group,) = whole["findings"]
    assert (group["signature"], group["files"], group["category"]) == (
        "by-signal-SIGABRT",
        2,
        "crash",
    )
    assert group["title"] == "SIGABRT (by its file name; fuzztui has not run it)"


def test_a_rate_that_nobody_knows_is_none(tmp_path, cli):
    fuzzer = Fuzzer(tmp_path / "main", ago=5, run=0)
    fuzzer.live()
    text = cli("status", fuzzer.path).out
    assert "0  at -/s (not measured yet)" in text
    assert "900/s" not in text  # AFL's word on its seeds
    whole = cli("status", fuzzer.path, "--json").json
    assert whole["execs_per_sec"] is whole["instances"][0]["execs_per_sec"] is None
    fuzzer.die()


def test_nothing_is_executed_and_nothing_reaches_the_terminal(tmp_path, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fuzzer = Fuzzer(tmp_path / "out/\x1b[2J$(touch x)")
    hostile = "$(touch x)`touch x`[/x]\x1b[2J\x07"
    (fuzzer.path / "fuzzer_stats").write_text(
        stats(fuzzer.start, 60, afl_banner=hostile, afl_version=hostile, command_line=hostile)
    )
    fuzzer.put("crashes/\x1b]0;x\x07")
    fuzzer.put("crashes/" + os.fsdecode(b"\xff"))
    for arguments in (["status", "out"], ["status", "out", "--json"]):
        text = cli(*arguments).out
        assert all(ch.isprintable() or ch == "\n" for ch in text)
    assert not (tmp_path / "x").exists()


def test_without_figures_the_queue_is_counted(tmp_path, capsys):
    fuzzer = Fuzzer(tmp_path / "flat", figures=False)
    for n in range(3):
        fuzzer.put(f"queue/id:00000{n}")
    fuzzer.put("queue/.state")
    main(["status", str(fuzzer.path), "--json"])
    (only,) = json.loads(capsys.readouterr().out)["instances"]
    assert (only["corpus"], only["age_s"], only["state"]) == (3, None, "stopped")


def test_a_run_of_ours_is_no_foreign_directory(tmp_path, cli):
    run = run_with(tmp_path / "run", CampaignStarted("ours", "zest"), at_rest=False)
    Fuzzer(run / "out/main")
    assert "ours" in cli("status", run).out
    error = cli("watch", run, code=USAGE).err
    assert f"fuzztui attach {run}" in error
    assert f"fuzztui watch {run / 'out'}" in error
    assert main(["status", str(run / "out")]) == DONE


def test_status_says_of_a_directory_above_what_watch_says(tmp_path, cli):
    Fuzzer(tmp_path / "nest/out/main")
    watched = cli("watch", tmp_path / "nest", code=NOT_RUNNING).err.removeprefix("fuzztui: ")
    assert str(tmp_path / "nest/out") in watched
    assert watched in cli("status", tmp_path / "nest", code=NOT_RUNNING).err


def test_a_linked_instance_is_on_the_page_and_alive(tmp_path, cli):
    fuzzer = Fuzzer(tmp_path / "disk/s1", ago=60, run=60)
    fuzzer.live()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/s1").symlink_to(fuzzer.path)
    (only,) = cli("status", tmp_path / "out", "--json").json["instances"]
    fuzzer.die()
    assert (only["id"], only["state"]) == ("s1", "running")


@pytest.mark.parametrize("what", ["none", "file", "other"])
def test_watch_says_what_is_wrong(tmp_path, cli, what):
    (tmp_path / "file").write_text("x")
    (tmp_path / "other/things").mkdir(parents=True)
    error = cli("watch", tmp_path / what, code=NOT_RUNNING).err
    assert str(tmp_path / what) in error
    assert len(error.splitlines()) == 1


def test_keep_takes_a_new_directory_only(tmp_path, capsys):
    fuzzer = Fuzzer(tmp_path / "main")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/mine").write_text("x")
    assert main(["watch", str(fuzzer.path), "--keep", str(tmp_path / "kept")]) == USAGE
    assert "name a new directory" in capsys.readouterr().err
    assert main(["watch", str(fuzzer.path), "--keep", str(fuzzer.path / "kept")]) == USAGE
    assert "where nothing is written" in capsys.readouterr().err
    assert not (fuzzer.path / "kept").exists()


@pytest.fixture
def fleets(tmp_path):
    """Two sync directories, each with a target of its own."""
    for name in ("png", "jpg"):
        fuzzer = Fuzzer(tmp_path / name / "out/main", ago=7200)
        line = f"afl-fuzz -i in -o out -M main -- ./{name} @@"
        found = fuzzer.start + 3000
        fuzzer.write_stats(3600, command_line=line, last_find=found)
        fuzzer.age(fuzzer.start + 3600)
    return tmp_path / "png/out", tmp_path / "jpg/out"


def test_several_targets_have_a_block_each_and_no_figure_of_both(fleets, cli):
    text = cli("status", *fleets).out
    assert re.search(r"target    png  .*/png/out\n.*0 of 1 running, 0/s, 1,000/s over", text)
    assert "50 of 1,000 edges (5.0%), 12 entries, 0 crashes, 0 hangs, last find 10 min ago" in text
    assert "-- ./jpg @@" in text
    assert "\ncorpus" not in text
    assert "\ncoverage" not in text
    assert re.search(r"\nmachine   load .* GiB free", text)
    whole = cli("status", *fleets, "--json").json
    assert [(of["name"], of["instances"]) for of in whole["targets"]] == [
        ("png", ["png:out:main"]),
        ("jpg", ["jpg:out:main"]),
    ]
    assert (whole["targets"][0]["edges"], whole["targets"][0]["edges_total"]) == (50, 1000)
    assert whole["coverage"]["covered"] is whole["run"] is None
    assert whole["machine"]["disk_free"] > 0


def test_only_directories_of_afl_are_shown_together(fleets, tmp_path, cli):
    done = cli("status", *fleets, tmp_path, code=USAGE)
    assert f"{tmp_path}: not all are AFL output directories" in done.err
