"""The commands, as a script uses them, on a real campaign."""

import json
import os
import re
import shutil
import signal
import subprocess

import pytest
from homes import FUZZTUI
from waiting import DEADLINE_S, wait_until

from fuzztui.cli import main
from fuzztui.kernel.remote.lock import running

KEYS = {
    "name", "engine", "state", "elapsed_s", "execs", "execs_per_sec", "corpus", "crashes",
    "hangs", "coverage", "mutants", "instances",
}  # fmt: skip


@pytest.mark.slow
def test_a_headless_run_to_its_budget(home):
    out = home(str(home.file), "--headless", "--json", "--set", "campaign.budget=2000 trials")
    last = json.loads(out.splitlines()[-1])
    assert last.keys() >= KEYS
    assert (last["state"], last["name"], last["engine"]) == ("finished", "e2e", "zest")
    assert last["execs"] == 2000
    assert last["corpus"] > 10
    assert 0 < last["coverage"]["covered"] < last["coverage"]["total"]
    assert last["mutants"] is None
    assert [i["id"] for i in last["instances"]] == ["main"]
    assert home.processes() == []
    assert json.loads(home("status", str(home.run), "--json")) == {"v": 1, **home.status()}
    # The log says the same as the live run did, and the directory the same as the log.
    assert json.loads(home("replay", str(home.run), "--json"))["execs"] == 2000
    assert len(list((home.run / "out/main/queue").glob("id:*"))) == last["corpus"]

    # Again: it has finished. A larger budget continues in the same log.
    again = home.headless("2000 trials")
    assert "finished" in again
    home.headless("3000 trials")
    assert home.status()["execs"] == 3000


@pytest.mark.slow
def test_steering_from_a_script(home):
    home.detach()
    run = str(home.run)
    wait_until(lambda: home.status()["corpus"] > 20)
    assert home.status()["state"] == "running"
    assert home("ctl", run, "skip", "3").startswith("applied by main at trial ")
    assert home("ctl", run, "promote", "main/id:000005").startswith("applied")
    assert home("ctl", run, "skip", "999999", code=1).startswith("rejected")
    assert home("ctl", run, "skip", "../x", code=2) == ""
    assert "needs a queue entry" in home.stderr

    answer = re.match(r"applied by main at trial ([\d,]+)", home("ctl", run, "pause"))
    assert answer
    before = int(answer[1].replace(",", ""))
    wait_until(lambda: home.status()["state"] == "paused")
    # The engine's last figures before the pause: it writes them every second.
    wait_until(lambda: home.status()["execs"] == before)
    wait_until(lambda: home.status()["execs_per_sec"] == 0)
    assert home.status()["execs"] == before
    assert home("ctl", run, "resume").startswith("applied")
    wait_until(lambda: home.status()["execs"] > before)

    assert home("ctl", run, "stop").startswith("applied")
    wait_until(lambda: home.status()["state"] == "stopped")
    assert home.processes() == []
    wait_until(lambda: home.status_pid() is None)
    assert home("ctl", run, "pause", code=3) == ""
    assert "no campaign is running there" in home.stderr


@pytest.mark.slow
def test_the_same_command_rejoins_and_resumes(home):
    home.detach()
    wait_until(lambda: home.status()["execs"] > 500)
    pid = home.supervisor()
    home.detach()
    assert "rejoining" in home.stderr
    assert home.supervisor() == pid
    home.stop()
    stopped = home.status()
    home.detach()
    assert "resuming" in home.stderr
    wait_until(lambda: home.status()["execs"] > stopped["execs"])
    assert home.status()["corpus"] >= stopped["corpus"]


@pytest.fixture
def all_runs_end(home):
    """Also those that are not ``home.run``."""
    yield
    for run in [home.run, *home.path.glob("run-*"), *home.path.glob("*/runs/*")]:
        home.run = run
        home.kill_everything()


@pytest.mark.slow
@pytest.mark.usefixtures("all_runs_end")
def test_a_campaign_file_means_the_newest_of_its_runs(home):
    file, second = str(home.file), home.path / "run-2"
    home.detach()
    assert "newest" not in home.stderr
    home.detach("--new")
    assert running(second)
    assert json.loads(home("status", file, "--json"))["state"] == "running"
    assert home.stderr == "fuzztui: e2e.toml: run-2, the newest of 2 runs; run still runs\n"
    home.detach()
    assert f"rejoining {second}" in home.stderr
    entry = wait_until(lambda: next((second / "out/main/queue").glob("id:*"), None))
    assert home("ctl", file, "stop").startswith("applied")
    wait_until(lambda: not running(second))
    assert running(home.run), "the older one was not meant"
    home(file, "--new", "--detach", "--set", "campaign.budget=1s")
    home("status", file)
    assert "run-3, the newest of 3 runs; run still runs" in home.stderr
    wait_until(lambda: not running(home.path / "run-3"))
    shutil.rmtree(home.path / "run-3")
    assert home("repro", file, str(entry), str(entry))
    assert home.stderr.count("run-2, the newest of 2 runs") == 1
    assert "input 2 of 2: " in home.stderr
    assert home("replay", file, "--json")


@pytest.mark.slow
@pytest.mark.usefixtures("all_runs_end")
def test_from_another_directory_the_file_means_the_same_run(home):
    project, far = home.path / "project", home.path / "far"
    project.mkdir()
    far.mkdir()
    file, run = project / "c.toml", project / "runs/c"
    file.write_text(home.file.read_text().replace('name = "e2e"\noutput = "run"\n', ""))
    home("status", str(file), code=3, at=far)
    assert "has no run yet" in home.stderr
    home(str(file), "--detach", at=project)
    home(str(file), "--detach", at=far)
    assert f"its run is {run}; --new starts another run here" in home.stderr
    assert f"rejoining {run}" in home.stderr
    assert not (far / "runs").exists()
    home("status", code=3, at=far)
    assert re.search(rf"running elsewhere: .*{re.escape(str(run))}\b", home.stderr)  # and others'
    assert home("ctl", "../project/c.toml", "stop", at=far).startswith("applied")
    wait_until(lambda: not running(run))
    home(str(file), "--detach", "--new", at=far)
    assert running(far / "runs/c")
    home("status", str(file), at=project)
    assert f"c.toml: runs/c; {far / 'runs/c'} still runs" in home.stderr
    shutil.rmtree(run)
    home("status", "c.toml", at=project)
    assert f"its run is {far / 'runs/c'}" in home.stderr, "it runs, and there is no other"


@pytest.mark.slow
def test_another_campaign_is_refused_its_directory(home):
    home.detach()
    wait_until(lambda: home.status()["execs"] > 0)  # before that it holds nothing yet
    home(str(home.file), "--detach", "--set", "target.function=json:loads", code=2)
    assert "is of another campaign: target.function" in home.stderr


@pytest.mark.slow
def test_interrupted_headless_stops_the_campaign(home):
    process = home.popen(str(home.file), "--headless")
    assert process.stdout.readline()  # it follows: whom a signal ends before has stopped nothing
    wait_until(lambda: home.status_pid() and home.status()["execs"] > 100)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, (out, err)
    assert home.status()["state"] == "stopped"
    assert home.processes() == []


@pytest.mark.slow
def test_a_target_that_cannot_start_says_why(home):
    home(str(home.file), "--headless", "--set", "target.function=tomllib:nope", code=1)
    assert "nope" in json.dumps(home.status())
    assert home.status()["state"] == "failed"
    assert home.processes() == []


@pytest.mark.parametrize("args", [["attach"], ["status"], ["status", "nowhere"]])
def test_no_run_is_said_so(tmp_path, monkeypatch, capsys, args):
    monkeypatch.chdir(tmp_path)
    assert main(args) == 3
    said = capsys.readouterr().err
    assert "no run in" in said or "no such run" in said


@pytest.mark.slow
def test_a_mistyped_command_is_told_its_neighbour(home):
    home("atach", "runs/x", code=2)
    assert "did you mean attach?" in home.stderr
    for args, meant in (
        (["ctl", "runs/x", "wiegh-type", "x"], "weigh-type"),
        (["mutants", "lits", "x"], "list"),
        (["mutators", "--sort", "pay"], "pays"),
        (["types", "--jsno"], "--json"),
    ):
        home(*args, code=2)
        assert f"did you mean {meant}?" in home.stderr
    home("ctl", "runs/x", "qqq", code=2)
    assert "'qqq' is unknown (choose from pause, resume, " in home.stderr


@pytest.mark.slow
def test_two_at_the_same_moment_share_one_campaign(home):
    both = [home.popen(str(home.file), "--detach", stdout=None) for _ in range(2)]
    said = [process.communicate(timeout=DEADLINE_S)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert home.status()["state"] in ("starting", "running")


@pytest.mark.slow
def test_what_a_file_chose_reaches_no_terminal_raw(home):
    name = r"a\u001b[31m\u202e"
    home.file.write_text(home.file.read_text().replace('"e2e"', f'"{name}"'))
    home.headless("200")
    assert r"a\e[31m\u202e" in home.stderr
    assert "\x1b" not in home.stderr


@pytest.mark.slow
def test_check_and_lists(home):
    assert 'function = "tomllib:loads"' in home("check", str(home.file))
    assert "its target can be loaded" in home.stderr
    home("check", str(home.file), "--set", "campaign.bugdet=3", code=2)
    assert 'did you mean "budget"' in home.stderr
    assert "tomllib-zest.toml" in home("samples")
    assert len(home("themes").splitlines()) >= 4


@pytest.mark.slow
def test_a_run_directory_that_cannot_be_made(home):
    (home.path / "run").write_text("a file is in the way")
    home(str(home.file), "--headless", code=2)
    assert "campaign.output" in home.stderr
    assert str(home.run) in home.stderr


@pytest.mark.slow
def test_survives_sigkill_of_everything(home):
    home.detach()
    wait_until(lambda: home.status()["corpus"] > 30)
    home.kill_everything()
    wait_until(lambda: home.status_pid() is None)
    queue = {p.name for p in (home.run / "out/main/queue").glob("id:*")}
    status = home.status()
    assert (status["state"], status["execs_per_sec"]) == ("interrupted", None)
    (main,) = status["instances"]
    assert (main["state"], main["execs_per_sec"], main["pid"]) == ("interrupted", None, None)
    wait_until(lambda: home.status()["instances"][0]["age_s"] > main["age_s"])
    assert "the supervisor ended " in home("status", str(home.run))
    before = status["execs"]
    home.detach("--set", "target.timeout=7s")
    assert "changed keys: target.timeout (" in home.stderr
    wait_until(lambda: home.status()["execs"] > before)
    now = {p.name for p in (home.run / "out/main/queue").glob("id:*")}
    assert queue <= now
    home.stop()
    status = home.status()
    files = {p.name for p in (home.run / "out/main/queue").glob("id:*")}
    assert status["corpus"] == len(files)
    assert not os.path.exists(home.run / "supervisor" / "socket") or home.status_pid() is None


@pytest.mark.slow
def test_a_pause_does_not_stand_in_the_way_of_a_larger_budget(home):
    home.detach()
    wait_until(lambda: home.status()["execs"] > 0)
    home("ctl", str(home.run), "pause")
    paused = home.status()["elapsed_s"]
    wait_until(lambda: home.status()["elapsed_s"] > paused + 6)
    home("ctl", str(home.run), "resume")
    home.stop()
    ran = int(home.status()["running_s"])  # however long the commands took
    home.headless(f"{ran + 1}s")
    assert home.status()["state"] == "finished"
    more = int(home.status()["running_s"]) + 2
    assert home.status()["elapsed_s"] > more, "with the pause it has had all that"
    home.headless(f"{more}s")
    assert home.status()["running_s"] >= more
    assert home.status()["reason"] == f"the budget of {more} s is used up"


@pytest.mark.slow
def test_a_refused_start_leaves_the_run_as_it_was(home):
    home.detach("--set", "campaign.budget=1h")
    wait_until(lambda: home.status()["execs"] > 500 and home.status()["running_s"] > 2)
    home.stop()
    frozen = (home.run / "campaign.toml").read_text()
    home(str(home.file), "--detach", "--set", "campaign.budget=1s", code=1)
    assert "has finished: the budget of 1 s" in home.stderr
    assert [p.name for p in home.run.glob("campaign.toml*")] == ["campaign.toml"]
    assert (home.run / "campaign.toml").read_text() == frozen
    before = home.status()["execs"]
    home(str(home.run / "campaign.toml"), "--detach", "--set", "campaign.budget=2h")
    assert 'budget = "2h"' in (home.run / "campaign.toml").read_text()
    wait_until(lambda: home.status()["execs"] > before)
    home("ctl", str(home.run), "stop")


@pytest.mark.slow
def test_who_starts_again_at_once_waits_for_the_last_supervisor(home):
    """The log has its end already, and the supervisor takes its time to exit."""
    lingering = """
import sys
if "fuzztui.run.supervise" in sys.orig_argv:
    from fuzztui.run.supervise import supervisor
    supervisor.AT_LEAST_S = 2.0
"""
    (home.path / "site").mkdir()
    (home.path / "site" / "sitecustomize.py").write_text(lingering)
    home.env["PYTHONPATH"] = str(home.path / "site")
    home.headless("200 trials")
    home.headless("300 trials")
    assert home.status()["execs"] == 300


@pytest.mark.slow
def test_a_moved_run_goes_on_by_its_own_file(home):
    home.headless("500 trials")
    moved = home.path / "moved"
    home.run.rename(moved)
    assert json.loads(home("status", str(moved / "campaign.toml"), "--json"))["execs"] == 500
    home(str(moved / "campaign.toml"), "--headless", "--set", "campaign.budget=800 trials")
    assert not home.run.exists()
    home.run = moved
    assert home.status()["execs"] == 800


@pytest.mark.slow
def test_nobody_reads_what_we_print(home):
    for sink in (">&-", ">/dev/full"):
        command = f"{FUZZTUI} {home.file} --headless --set 'campaign.budget=200 trials' {sink}"
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=home.path, env=home.env, capture_output=True, text=True, check=False,
            timeout=DEADLINE_S,
        )  # fmt: skip
        assert "Traceback" not in done.stderr
        wait_until(lambda: home.status()["state"] == "finished")


@pytest.mark.slow
def test_repro_into_a_reader_that_has_gone(home):
    home.headless("200 trials")
    entry = next((home.run / "out/main/queue").glob("id:*"))
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [FUZZTUI, "repro", home.run, entry], cwd=home.path, env=home.env, check=False,
        stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    os.close(writer)
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_repro_in_a_damaged_run(home):
    home.headless("200 trials")
    entry = next((home.run / "out/main/queue").glob("id:000000*"))
    spec = home.run / "out/main/spec.json"
    good = spec.read_text()
    spec.write_text(re.sub('"python": "[^"]*"', '"python": "/nowhere/python"', good))
    home("repro", str(home.run), str(entry), code=1)
    assert "/nowhere/python: cannot run the target's interpreter" in home.stderr
    spec.write_text("garbage")
    home("repro", str(home.run), str(entry), code=1)
    assert "spec.json: the file is damaged" in home.stderr


@pytest.mark.slow
def test_a_run_that_is_deleted_while_it_is_followed(home):
    with home.popen(str(home.file), "--headless", stdout=None) as following:
        wait_until(lambda: home.status_pid() and home.status()["execs"] > 0)
        home.run.rename(home.path / "away")
        _, words = following.communicate(timeout=DEADLINE_S)
    assert following.returncode == 3
    assert "Traceback" not in words
    assert "cannot be read any more" in words
    wait_until(lambda: home.processes() == [])


@pytest.mark.slow
def test_a_campaign_that_could_not_start_is_refused_before_the_analysis(home):
    (home.path / "gens.py").write_text("def gen(r): return r.text('ab', 0, 9)\n")
    text = home.file.read_text().replace('"zest"', '"spoton"')
    home.file.write_text(text.replace('loads"', 'laods"\npath = "."\ngenerator = "gens:gen"'))
    home("check", str(home.file), code=2)
    words = home.stderr.removeprefix("fuzztui: ")
    assert words.startswith(f'{home.file}:7: target.function = "tomllib:laods": module tomllib has')
    assert "did you mean loads?" in words
    home(str(home.file), "--headless", code=2)
    assert home.stderr.endswith(f"fuzztui: {words}")
    assert "branches" not in home.stderr, "nothing was analysed"
    assert not (home.run / "targets.json").exists()
    home("status", str(home.run), code=3)
    assert "was never started; start it with: fuzztui CAMPAIGN.toml" in home.stderr
    assert home.processes() == []


@pytest.mark.slow
def test_a_run_that_began_without_constants_goes_on_without_them(home):
    (home.path / "gen.py").write_text("def make(r): return f'a = {r.integer(0, 9)}'\n")
    home.file.write_text(
        home.file.read_text().replace("[engine]", 'generator = "gen.py:make"\n\n[engine]')
    )
    home.headless("100 trials")
    # As an earlier version has left it, which accepted the key and drew no constants.
    frozen = home.run / "campaign.toml"
    home.file.write_text(home.file.read_text() + "constants = true\n")
    frozen.write_text(frozen.read_text() + "constants = true\n")
    for file, budget in ((frozen, 200), (home.file, 300)):
        home(str(file), "--headless", "--set", f"campaign.budget={budget} trials")
        assert home.status()["execs"] == budget
    assert not (home.run / "constants.json").exists()
    home(str(home.file), "--headless", "--new", "--set", "campaign.budget=100 trials")
    assert (home.path / "run-2" / "constants.json").exists()
