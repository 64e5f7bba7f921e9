"""What ``fuzztui adopt`` finds in a sync directory, plans, and refuses before it stops anything."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest
from watch_lab import Fuzzer

from fuzztui.kernel.wire.afl import ADOPTED_BY
from fuzztui.run.afl.launcher import AflFuzz
from fuzztui.run.campaign.binaries import binary_at, binary_of
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.tools.adopt.campaign import campaign_of
from fuzztui.tools.adopt.command import name_of, parse_command, read_setup, started_in, value_of
from fuzztui.tools.adopt.fleet import AdoptError, check_directory, survey
from fuzztui.tools.adopt.processes import _look
from fuzztui.tools.adopt.run import make_run, run_of_fleet

pytestmark = pytest.mark.slow  # a dead fleet is known by statistics that do not change for seconds


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A directory with a program, in which dead instances were started."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    for name in ("prog", "prog-asan", "bin/afl-fuzz"):
        (tmp_path / name).write_bytes(b"__asan_init" if "asan" in name else b"#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    (tmp_path / "in").mkdir()
    (tmp_path / "d.dict").write_text('"a"\n')
    return tmp_path


def dead(place: Path, name: str, *words: str, env: str = "", out: str = "out") -> Fuzzer:
    """An instance that has ended, of the command ``afl-fuzz -i in -o out WORDS``."""
    fuzzer = Fuzzer(place / "out" / name)
    argv = ["afl-fuzz", "-i", "in", "-o", out, *words]
    setup = f"# environment variables:\n{env}# command line:\n{shlex.join(argv)}"
    (fuzzer.path / "fuzzer_setup").write_text(setup)
    return fuzzer


def planned(place: Path, *without: str):
    return campaign_of(survey(place / "out", without, {}), place / "run").campaign


def refused(place: Path) -> str:
    with pytest.raises(AdoptError) as caught:
        planned(place)
    assert not (place / "run").exists()
    return str(caught.value)


def test_each_instance_keeps_name_program_options_and_variables(place):
    dead(place, "fast1", "-S", "fast1", "-p", "fast", "--", "./prog", "@@", env="AFL_MAP_SIZE=9\n")
    dead(place, "m", "-M", "m", "-x", "d.dict", "-t", "50", "--", "./prog", "@@",
         env="AFL_NO_UI=1\nAFL_STATSD=1\nAFL_MAP_SIZE=9\nAFL_EXPAND_HAVOC_NOW=1\n")  # fmt: skip
    dead(
        place, "sani", "-S", "sani", "-m", "none", "--", "./prog-asan", "@@", env="AFL_MAP_SIZE=9\n"
    )
    dead(place, "piped", "-S", "piped", "--", "./prog", "--stdin", env="AFL_MAP_SIZE=9\n")
    campaign = planned(place)
    assert campaign.own_names == ["m", "sani", "piped", "fast1"]
    programs = [binary_at(campaign, n) for n in range(4)]
    assert [b.name if b else "" for b in programs] == ["", "asan", "prog", ""]
    assert [b.command[1:] if b else () for b in programs] == [(), ("@@",), ("--stdin",), ()]
    assert binary_of(campaign, "sani") == programs[1]
    assert binary_of(campaign, "fast1") is binary_of(campaign, "s1") is None
    assert campaign.target["env"] == {"AFL_MAP_SIZE": "9"}
    assert campaign.engine["seeds"] == [str(place / "in")]
    launches = {
        name: AflFuzz().prepare(campaign, RunDir(place / "run"), n)
        for n, name in enumerate(campaign.own_names)
        if (place / "run/out" / name).mkdir(parents=True) is None
    }
    lines = {name: shlex.join(launch.argv) for name, launch in launches.items()}
    assert "-M m -m none " in lines["m"]
    assert " -x d.dict -t 50 -- " in lines["m"]
    assert lines["sani"].count("-m none") == 1
    assert "-S fast1 " in lines["fast1"]
    assert " -p fast -- " in lines["fast1"]
    assert {launch.cwd for launch in launches.values()} == {place}
    assert [n for n, launch in launches.items() if "AFL_EXPAND_HAVOC_NOW" in launch.env] == ["m"]


def test_an_enlarged_fleet_takes_free_names(place):
    dead(place, "s1", "-M", "s1", "--", "./prog")
    dead(place, "s3", "-S", "s3", "--", "./prog")
    campaign = planned(place)
    make_run(
        campaign_of(survey(place / "out", (), {}), place / "run"), survey(place / "out", (), {})
    )
    from fuzztui.run.campaign import load

    larger = load(place / "run/campaign.toml", ["engine.instances=5"]).campaign
    assert campaign.own_names == ["s1", "s3"]
    assert larger.own_names == ["s1", "s3", "s2", "s4", "s5"]


def test_the_directory_of_a_run_is_a_link_and_is_made_only_once(place):
    dead(place, "main", "-M", "main", "--", "./prog")
    fleet = survey(place / "out", (), {})
    loaded = campaign_of(fleet, place / "run")
    for _ in range(2):  # as after a kill
        make_run(loaded, fleet)
        assert (place / "run/out").resolve() == place / "out"
        assert run_of_fleet(place / "out") == place / "run"
    assert json.loads((place / "run/supervisor/adopted.json").read_text())["main"]["cwd"]
    (place / "other").mkdir()
    (place / "other/file").touch()
    with pytest.raises(AdoptError, match="exists already"):
        make_run(campaign_of(fleet, place / "other"), fleet)
    with pytest.raises(AdoptError, match="inside"):
        make_run(campaign_of(fleet, place / "out/run"), fleet)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-M", "a:1/2", "--", "./prog"], "a: option -M a:1/2: "),
        (["-M", "a", "-J", "x", "--", "./prog"], "a: option -J not recognized"),
        (["-M", "a", "-x", "gone", "--", "./prog"], "a: option -x gone: there is no "),
        (["-M", "a", "--", "./missing"], "a: fuzzer_setup was written in another directory or on"),
        (["-M", "a"], "a: the command line names no program"),
        (["-M", "b", "--", "./prog"], "b: option -M: "),
    ],
)
def test_what_cannot_be_expressed_is_refused_with_its_name_and_option(place, words, said):
    dead(place, "b", "-M", "b", "--", "./prog")
    dead(place, "a", *(w.replace("b", "a") if w == "b" and said[0] == "b" else w for w in words))
    text = refused(place)
    assert f"\n  {said}" in text
    assert "--without" in text
    assert planned(place, "a").own_names == ["b"]


def test_fuzzers_that_cannot_be_one_run_are_refused(place):
    dead(place, "m", "-M", "m", "--", "./prog")
    (place / "sub").mkdir()
    (place / "sub/prog").write_bytes(b"")
    (place / "sub/prog").chmod(0o755)
    known = {"argv": ["afl-fuzz", "-i", "in", "-o", "out", "-S", "s", "--", "./prog"],
             "env": {}, "cwd": str(place / "sub")}  # fmt: skip
    dead(place, "s", "-S", "s", "--", "./prog")
    fleet = survey(place / "out", (), {"s": known})
    with pytest.raises(AdoptError, match=r"s: was started in .*/sub.*target\.cwd"):
        campaign_of(fleet, place / "run")


def test_instances_whose_process_or_command_is_unknown_are_refused(place):
    dead(place, "m", "-M", "m", "--", "./prog")
    old = Fuzzer(place / "out/old")
    locked = dead(place, "locked", "-S", "locked", "--", "./prog")
    remote = dead(place, "remote", "-S", "remote", "--", "./prog")
    remote.write_stats(10)  # a moment ago: rsync brings statistics of another machine
    remote.start -= 0
    locked.live()
    try:
        text = refused(place)
    finally:
        locked.die()
    assert "\n  old: AFL and AFL++ before 3.0 write no fuzzer_setup" in text
    assert "\n  locked: its directory is locked by a process that cannot be seen" in text
    (old.path / "fuzzer_setup").write_text("# environment variables:\nAFL_X=1\n")
    assert "old: " in refused(place)


def test_an_instance_of_a_run_that_was_moved_names_the_run(place):
    run = place / "moved"
    for part in ("log", "supervisor"):
        (run / part).mkdir(parents=True)
    dead(place, "m", "-M", "m", "--", "./prog", out=str(run / "out"))
    (run / "out").symlink_to(place / "out")
    assert f"m: the run {run} has it already: fuzztui {run}/campaign.toml" in refused(place)


def test_a_directory_of_other_tools_is_left_as_it_is(place):
    dead(place, "m", "-M", "m", "--", "./prog")
    other = Fuzzer(place / "out/honggfuzz", figures=False)
    other.put("queue/id:000000,orig:a")
    (place / "out/link").symlink_to(place / "out/m")
    fleet = survey(place / "out", (), {})
    assert fleet.left == ["honggfuzz"]
    assert [one.name for one in fleet.instances] == ["m"]


def test_an_instance_without_a_name_becomes_the_main_one(place):
    dead(place, "default", "--", "./prog", "@@")
    campaign = planned(place)
    assert (campaign.own_names, campaign.instances) == (["default"], 1)


def test_other_directories_are_refused(place):
    dead(place, "m", "-M", "m", "--", "./prog")
    with pytest.raises(AdoptError, match="one instance"):
        check_directory(place / "out/m")
    with pytest.raises(AdoptError, match="no such directory"):
        check_directory(place / "nowhere")
    with pytest.raises(AdoptError, match="--without x"):
        survey(place / "out", ["x"], {})
    for part in ("log", "supervisor", "out"):
        (place / "arun" / part).mkdir(parents=True)
    for path in (place / "arun", place / "arun/out"):
        with pytest.raises(AdoptError, match="fuzztui attach"):
            check_directory(path)


def test_command_lines_as_afl_writes_them(place):
    setup = "# environment variables:\nAFL_A=b c\nHOME=/\n# command line:\n'afl-fuzz' '-i' 'in' "
    (place / "fuzzer_setup").write_text(setup + "'-oout' '-M' 'm' '--' './prog' 'it'\"'\"'s' 'a b'")
    argv, env = read_setup(place)
    assert value_of(argv, "-o") == "out"
    assert env == {"AFL_A": "b c"}
    command = parse_command(argv, env, place)
    assert command.target == (str(place / "prog"), "it's", "a b")
    again = shlex.split(command.by_hand(place / "out").partition("&& ")[2])
    assert again[-4:] == ["--", *command.target]
    assert again[3:9] == ["-i", "-", "-o", str(place / "out"), "-M", "m"]


@pytest.mark.parametrize(
    ("line", "name", "out"),
    [
        ("-o out -S s1 ./objdump -M intel -o x", "s1", "out"),
        ("-QS s1 -Qo out ./prog", "s1", "out"),
        ("-Soak -oout -- ./prog -S s2", "oak", "out"),
        ("-S s1 -o out -J x -- ./prog -M m", "s1", "out"),  # -J is unknown
    ],
)
def test_options_are_read_as_afl_fuzz_reads_them(line, name, out):
    argv = ["afl-fuzz", *line.split()]
    assert (name_of(argv), value_of(argv, "-o")) == (name, out)


def test_the_directory_of_a_command_without_dashes_is_found(place):
    argv = ["afl-fuzz", "-Qo", "out", "./prog", "-o", "x"]
    assert started_in(argv, place / "out") == place
    with pytest.raises(ValueError, match=r"-o out and the program \./gone"):
        started_in(["afl-fuzz", "-o", "out", "./gone"], place / "out")


def test_a_pid_of_another_program_by_now_is_no_fuzzer():
    assert _look(os.getpid(), ["afl-fuzz", "-o", "out"]) is None


@pytest.mark.parametrize("text", [f"/{'x' * 300}", "/a\0b", "", "run"])
def test_a_broken_mark_is_none(tmp_path, text):
    (tmp_path / ADOPTED_BY).write_text(text)
    assert run_of_fleet(tmp_path) is None
