"""The key ``target.binaries``: which binaries a campaign has, and which instance runs which."""

import asyncio
from pathlib import Path

import jsonschema
import pytest
import tomli

from fuzztui.cli.run import _same_binaries
from fuzztui.run.campaign import CampaignError, load
from fuzztui.run.campaign.binaries import (
    binaries_of,
    binary_at,
    binary_of,
    cmplog_of,
    planned_binaries,
    with_binary,
)
from fuzztui.run.triage import afl as triage
from fuzztui.run.triage.afl import programs_of
from fuzztui.run.triage.examine import NOT_AGAIN, Reproduction
from fuzztui.tools.schema.json_schema import document

BUILT = """\
[target]
command = ["./t", "@@"]
build = "$CC -o t $SOURCE/t.c"
memory = "100MiB"
env = { A = "plain", B = "1" }
[engine]
kind = "afl"
instances = 4
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where runs are

    def write(binaries: str | None, text: str = BUILT):
        path = tmp_path / "c.toml"
        table = f"[target.binaries]\n{binaries}\n" if binaries is not None else ""
        path.write_text(text + table)
        return path

    return write


def program(directory: Path, name: str) -> Path:
    path = directory / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_known_binaries_are_built_by_the_same_command(file):
    campaign = load(file("laf = { instances = 2 }\nasan = {}\ncmplog = {}")).campaign
    asan, laf, cmplog = binaries_of(campaign)
    run = campaign.output
    assert asan.build == laf.build == cmplog.build == campaign.target["build"]
    assert asan.command == (f"{run}/build-asan/t", "@@")
    assert (asan.directory, asan.variant.env) == (run / "build-asan", {"AFL_USE_ASAN": "1"})
    assert campaign.target["cmplog"] == f"{run}/build-cmplog/t"
    names = [one and one.name for one in (binary_at(campaign, n) for n in range(5))]
    assert names == [None, "asan", "laf", "laf", None]
    assert binary_of(campaign, "s1") == asan
    assert binary_of(campaign, "main") is binary_of(campaign, "handed") is None


def test_a_binary_has_limits_and_variables_of_its_own(file):
    binaries = 'asan = {}\nfast = { env = { A = "x" }, memory = "1MiB", options = ["-p", "rare"] }'
    campaign = load(file(binaries)).campaign
    asan, fast = binaries_of(campaign)
    assert with_binary(campaign, asan).target["memory_bytes"] == 0
    (laf,) = binaries_of(load(file("laf = {}")).campaign)
    assert laf.memory == campaign.target["memory_bytes"]
    target = with_binary(campaign, fast).target
    assert (target["memory_bytes"], target["env"]) == (1 << 20, {"A": "x", "B": "1"})
    assert fast.options == ("-p", "rare")
    assert with_binary(campaign, None) is campaign


def test_the_frozen_copy_has_the_same_binaries(file):
    loaded = load(file("asan = {}\nx = { build = 'make', command = './other', instances = 0 }"))
    again = load(file(""), text=loaded.toml())
    assert binaries_of(again.campaign) == binaries_of(loaded.campaign)
    assert tomli.loads(loaded.toml())["target"]["binaries"]["asan"] == {}


def test_programs_that_are_built_already(file, tmp_path):
    plain, asan = program(tmp_path, "plain"), program(tmp_path, "with-asan")
    text = f'[target]\ncommand = "{plain} @@"\n[engine]\nkind = "afl"\ninstances = 2\n'
    loaded = load(file('asan = { command = ["./with-asan", "@@"] }', text))
    (binary,) = binaries_of(loaded.campaign)
    assert (binary.build, binary.command) == ("", (str(asan), "@@"))
    again = load(file(""), text=loaded.toml())
    assert binaries_of(again.campaign) == [binary]


@pytest.mark.parametrize(
    ("binaries", "key", "words"),
    [
        ("asan = { instances = 4 }", "target.binaries", "set engine.instances = 5 or more"),
        ("asan = { command = '../t' }", "target.binaries.asan.command", "such as ./program"),
        ("other = {}", "target.binaries.other", "how is it built?"),
        ("asan = { bild = 'x' }", "target.binaries", 'did you mean "build"?'),
        ("asan = { options = ['-o', 'x'] }", "target.binaries", "asan.options: '-o' is not"),
        ("ASAN = {}", "target.binaries", "is no name of a binary"),
        ("asan = 1", "target.binaries", "is not a table of tables"),
        ("x = { command = ['/nowhere/x'] }", "target.binaries.x.command", "does not exist"),
    ],
)
def test_what_is_wrong_is_said_with_its_key(file, binaries, key, words):
    with pytest.raises(CampaignError) as e:
        load(file(binaries))
    (problem,) = e.value.problems
    assert problem.key == key
    assert words in problem.text
    assert problem.origin.rpartition(":")[2].isdigit()


def test_two_cmplog_binaries_are_refused(file):
    text = BUILT.replace("[engine]", 'cmplog = "./c"\n[engine]')
    with pytest.raises(CampaignError, match="names the same binary"):
        load(file("cmplog = {}", text))


def test_editors_know_the_keys(file):
    schema = jsonschema.Draft7Validator(document())
    good = tomli.loads(file("asan = { instances = 2, memory = '2GiB' }").read_text())
    schema.validate(good)
    bad = tomli.loads(file("asan = { instanzes = 2 }").read_text())
    assert list(schema.iter_errors(bad))


def test_a_finding_runs_first_in_the_binary_that_says_most(file):
    campaign = load(file("laf = {}\nubsan = {}\nasan = { instances = 0 }")).campaign
    out = campaign.output / "out"

    def names(instance, category):
        found = programs_of(campaign, out / instance, category)
        return [Path(one.command[0]).parent.name for one in found]

    assert names("main", "crash") == ["build-asan", "build"]
    assert names("s1", "crash") == ["build-asan", "build-ubsan"]
    assert names("s2", "crash") == ["build-asan", "build-laf"]
    assert names("s2", "hang") == ["build-laf"], "a sanitizer is slower"
    plain = load(file("laf = {}")).campaign
    assert len(programs_of(plain, None, "crash")) == 1


def test_a_large_fleet_has_binaries_by_default(file):
    loaded = load(file(None))
    names = [one.name for one in planned_binaries(loaded.campaign)]
    assert names == ["asan", "cmplog"]
    assert all(one.optional for one in planned_binaries(loaded.campaign))
    again = load(file(None), text=loaded.toml())
    assert planned_binaries(again.campaign) == planned_binaries(loaded.campaign)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("instances = 4", "instances = 3"),
        ("$CC -o", "$CC -fsanitize=address -o"),
        ('"./t", "@@"', '"../t", "@@"'),
        ('"./t", "@@"', '"/bin/true", "@@"'),
        ("instances = 4", 'instances = 4\nextra_args = ["-Q"]'),
        ("$CC -o", "AFL_USE_UBSAN=1 $CC -o"),
        ('build = "$CC -o t $SOURCE/t.c"', ""),
        ("[engine]", "binaries = {}\n[engine]"),
        ("[engine]", '[mutants]\nsources = ["t.c"]\n[campaign]\nbudget = "1h"\n[engine]'),
    ],
)
def test_others_have_none_by_default(file, tmp_path, before, after):
    program(tmp_path, "t")
    (tmp_path / "t.c").touch()
    assert planned_binaries(load(file(None, BUILT.replace(before, after))).campaign) == []


def test_an_optional_binary_that_is_not_there_is_left_out(file):
    campaign = load(file(None)).campaign
    assert binaries_of(campaign) == []
    assert cmplog_of(campaign) == ""
    assert binary_at(campaign, 1) is None
    asan = planned_binaries(campaign)[0]
    asan.directory.mkdir(parents=True)
    program(asan.directory, "t")
    assert binary_at(campaign, 1) == asan


def test_set_reaches_the_keys_of_a_binary(file):
    path, key = file("asan = {}"), "target.binaries.asan.instances"
    (asan,) = binaries_of(load(path, [f"{key}=2"]).campaign)
    assert asan.instances == 2
    assert len(binaries_of(load(path, ["target.binaries.laf.instances=1"]).campaign)) == 2


def test_optional_binaries_need_no_instances(file):
    campaign = load(file("asan = { optional = true }"), ["engine.instances=1"]).campaign
    assert binary_at(campaign, 0) is None


def test_a_binary_with_a_build_of_its_own_has_the_same_program(file, tmp_path):
    program(tmp_path, "t")
    campaign = load(file("asan = { build = 'x' }", BUILT.replace("build =", "# "))).campaign
    (asan,) = binaries_of(campaign)
    assert (asan.build, asan.command) == ("x", (f"{campaign.output}/build-asan/t", "@@"))


@pytest.mark.parametrize("instances", [1, 4])
@pytest.mark.parametrize("binaries", [None, "asan = {}", "laf = { instances = 2 }"])
def test_a_resumed_run_keeps_its_binaries(file, tmp_path, instances, binaries):
    """By default they depend on the number of instances, which may be another one now."""
    first = load(file(binaries), [f"engine.instances={5 - instances}"] * (binaries is None))
    run = first.campaign.output
    for part in ("supervisor", "log", "out"):
        (run / part).mkdir(parents=True)
    (run / "campaign.toml").write_text(first.toml())
    again = load(file(None), [f"engine.instances={instances}"])
    same = _same_binaries(again, run)
    assert planned_binaries(same.campaign) == planned_binaries(first.campaign)
    assert same.campaign.instances == instances
    assert same.campaign.file == again.campaign.file
    named = load(file("ubsan = {}"))
    assert _same_binaries(named, run) is named


@pytest.mark.parametrize("value", ["binaries = 3", "binaries = { asan = 3 }"])
def test_set_on_what_is_no_table_is_an_error_of_the_key(file, value):
    text = BUILT.replace("[engine]", f"{value}\n[engine]")
    path = file(None, text)
    with pytest.raises(CampaignError, match="binaries"):
        load(path, ["target.binaries.asan.instances=2"])
    with pytest.raises(CampaignError, match="binaries"):
        load(path, ["target.binaries.asan=3"])


def test_a_run_that_only_takes_too_long_is_followed_by_the_next_binary(file, monkeypatch):
    """A sanitizer makes programs slow: its time limit is no answer to a crash."""
    campaign = load(file("asan = {}")).campaign
    slow = Reproduction("did-not-crash-SIGSEGV", f"{NOT_AGAIN} (AFL++ saw SIGSEGV)", "", "")
    crash = Reproduction("sig", "SIGSEGV in f", "", "")

    async def examine(program, category, data, **options):
        return slow if "build-asan" in program.command[0] else crash

    monkeypatch.setattr(triage, "examine_file", examine)
    programs = programs_of(campaign, campaign.output / "out/main", "crash")
    program, result = asyncio.run(triage.examine_in_turn(programs, "crash", b""))
    assert result is crash
    assert Path(program.command[0]).parent.name == "build"
