"""Which directories are runs, and which one is meant."""

import json
import shutil
import subprocess
import sys
from functools import partial
from importlib import import_module

import pytest
from run_logs import run_with

from fuzztui.cli import main
from fuzztui.cli.output import NOT_RUNNING, USAGE, CliError
from fuzztui.cli.parser import parsers
from fuzztui.cli.runs import find_run
from fuzztui.kernel.wire import events as ev
from fuzztui.run.campaign import load
from fuzztui.run.home.finding import is_run


def run_at(path, begun=True):
    (path / "log").mkdir(parents=True)
    (path / "supervisor").mkdir()
    if begun:
        (path / "log" / "tail-000000000001.jsonl").touch()
    return path


def test_a_directory_with_a_log_in_it_is_no_run_for_that(tmp_path):
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "access.txt").touch()
    assert not is_run(tmp_path)
    assert is_run(run_at(tmp_path / "a", begun=False))
    kept = tmp_path / "kept"  # by a watch: there is no supervisor
    (kept / "log").mkdir(parents=True)
    (kept / "log" / "campaign.jsonl.gz").touch()
    assert is_run(kept)


def test_the_latest_is_one_that_has_begun(tmp_path, monkeypatch, cli, capsys):
    monkeypatch.chdir(tmp_path)
    begun = run_at(tmp_path / "runs/first")
    never = run_at(tmp_path / "runs/second", begun=False)
    assert find_run(None) == begun
    assert find_run(type(begun)("second")) == never, "by its name alone"
    with pytest.raises(CliError, match="third: there is no such run directory"):
        find_run(type(begun)("third"))
    assert "was never started; start it with: fuzztui" in cli("status", never, code=NOT_RUNNING).err
    assert main(["replay", "first", "--json"]) == NOT_RUNNING
    assert "first: the log is empty" in capsys.readouterr().err, "by its name alone, too"


def loaded_by(argv, then):
    """The modules that are loaded when the arguments are parsed and ``then`` was evaluated."""
    code = (
        "import sys; from importlib import import_module; from fuzztui.cli.parser import parse\n"
        "options = parse(sys.argv[1:])\n"
        "load = lambda: import_module('fuzztui.cli.' + options.command.args[0].split('.')[0])\n"
        f"{then}\n"
        "print(*sys.modules, sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *argv], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_options_alone_need_no_log_and_no_engine():
    loaded = loaded_by(["status"], "")
    assert not loaded & {
        "fuzztui.kernel.session",
        "fuzztui.kernel.wire.events",
        "fuzztui.run.campaign",
    }


def test_each_command_exists():
    for name, word, parser in parsers():
        if isinstance(carry_out := parser.get_default("command"), partial):
            module, _, function = carry_out.args[0].partition(".")
            assert callable(getattr(import_module(f"fuzztui.cli.{module}"), function)), (name, word)


@pytest.mark.parametrize(
    "argv", [["status"], ["ctl", "run", "pause"], ["replay", "run"], ["mutators"], ["c.toml"]]
)
def test_a_command_loads_only_what_it_needs(argv):
    """Half of what a command costs is loading: Textual, launchers, asyncio are for others."""
    loaded = loaded_by(argv, "getattr(options.command, 'func', None) and load()")
    assert "fuzztui.cli.runs" in loaded
    assert not loaded & {
        "textual",
        "numpy",
        "fuzztui.run.supervise.launchers",
        "fuzztui.engines.loop",
    }
    if argv[0] != "c.toml":
        assert not loaded & {"asyncio", "psutil", "fuzztui.run.supervise.daemon"}


def log_of(run, *events):
    """A run at rest whose log holds these events, a second apart."""
    return run_with(run, *events, at_rest=isinstance(events[-1], ev.CampaignEnded))


def test_a_replay_says_of_a_run_what_its_status_says(tmp_path, cli):
    """Also that it was interrupted; of an earlier time, what it was then."""
    run = log_of(
        tmp_path / "c",
        ev.CampaignStarted("c", "zest", "lib:f", 7, instances=["main"], wall=1e9),
        ev.CampaignState("running"),
        ev.InstanceState("main", "running"),
        ev.Stats("main", 10, 5.0, 3),
    )
    status, replay = cli("status", run, "--json").json, cli("replay", run, "--json").json
    assert status["state"] == replay["state"] == "interrupted"
    assert status["instances"][0]["state"] == replay["instances"][0]["state"] == "interrupted"
    assert status.keys() == replay.keys()
    assert {k: v for k, v in status.items() if k != "instances"} == {
        k: v for k, v in replay.items() if k != "instances"
    }
    copied = shutil.copytree(run / "log", tmp_path / "copy")
    assert cli("replay", copied, "--json").json["state"] == "interrupted"
    assert cli("replay", run, "--json", "--at", "2s").json["state"] == "running"
    assert cli("replay", run, "--json", "--at", "1h").json["state"] == "interrupted"


@pytest.mark.parametrize("command", ["repro", "minimise"])
def test_a_finding_that_is_not_there_is_a_wrong_argument(tmp_path, command, cli):
    run = log_of(tmp_path / "c", ev.CampaignStarted("c", "zest", "lib:f", 7))
    assert "nosuch" in cli(command, run, "nosuch", code=USAGE).err
    assert main([command, str(tmp_path / "nosuch"), "nosuch"]) == NOT_RUNNING


@pytest.mark.parametrize(
    ("budget", "crashes", "wanted"),
    [
        ("1h", 2, ["stop.crashes=4"]),
        ("2s", 9, ["campaign.budget="]),
        ("2s", 2, ["campaign.budget=", "stop.crashes=4"]),
    ],
)
def test_what_goes_on_after_the_end_is_what_ended_it(tmp_path, budget, crashes, wanted, capsys):
    file = tmp_path / "c.toml"
    (tmp_path / "seeds").mkdir()
    file.write_text(
        f'[campaign]\nname = "c"\noutput = "c"\nbudget = "{budget}"\n'
        '[target]\nfunction = "lib:f"\n[engine]\nkind = "zest"\nseeds = ["seeds"]\n'
        f"[stop]\ncrashes = {crashes}\n"
    )
    run = log_of(
        tmp_path / "c",
        ev.CampaignStarted("c", "zest", "lib:f", 7, instances=["main"], wall=1e9),
        ev.CampaignState("running"),
        *(ev.FindingSaved("main", "crash", f"crashes/id:00000{n}") for n in range(3)),
        ev.CampaignEnded("finished"),
    )
    (run / "campaign.toml").write_text(load(file).toml())
    (run / "supervisor/origin.json").write_text(
        json.dumps({"file": str(file), "began": 1.0, "name": "c"})
    )
    main([str(file), "--headless"])
    said = capsys.readouterr().err
    for key in ("campaign.budget=", "stop.crashes=4"):
        assert (f"--set {key}" in said) == (key in wanted), said
