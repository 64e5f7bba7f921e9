"""``fuzztui sync`` as a user gives it: answers, errors, signals."""

import json
import os
import signal
import threading

import pytest

from fuzztui.cli import main
from fuzztui.cli.output import DONE, FAILED, NOT_RUNNING, USAGE
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.wire.events import CampaignStarted, EntrySaved
from fuzztui.machines.sync.exchange import only_one
from fuzztui.run.campaign import load, write_frozen
from fuzztui.run.campaign.rundir import RunDir, prepare_run

CAMPAIGN = """
[campaign]
name = "c"
output = "{run}"
[target]
function = "tomllib:loads"
[engine]
kind = "zest"
"""


@pytest.fixture
def run(tmp_path):
    run = tmp_path / "run"
    (tmp_path / "c.toml").write_text(CAMPAIGN.format(run=run))
    prepare_run(run)
    write_frozen(load(tmp_path / "c.toml"), run)
    queue = run / "out/main/queue"
    queue.mkdir(parents=True)
    writer = LogWriter(run / "log")
    writer.append(CampaignStarted("c", "zest", instances=["main"], wall=1e9), 0.0)
    for n in range(3):
        name = f"id:{n:06d},src:000000,time:1,execs:1,op:havoc,rep:2"
        (queue / name).write_bytes(b"x" * (n + 1))
        writer.append(EntrySaved("main", n, f"queue/{name}", op="havoc,rep:2"), n + 1.0)
    writer.close()
    return run


@pytest.fixture
def shared(tmp_path):
    return tmp_path / "shared"


def ask(capsys, *words):
    code = main([str(word) for word in words])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_pass_says_what_it_has_done(run, shared, capsys):
    code, out, _ = ask(capsys, "sync", run, shared, "--name", "box")
    assert (code, len(list((shared / "box_main/queue").iterdir()))) == (DONE, 3)
    assert out.startswith("box_main: pushed 3 entries, pulled 0 entries")
    code, out, _ = ask(capsys, "sync", run, shared, "--name", "other", "--json")
    found = json.loads(out)
    assert (code, found["name"], found["pushed"], found["peers"]) == (DONE, "other_main", 0, 1)
    assert found["dropped"] is None


def test_names_of_runs_on_one_host_differ(run, shared, capsys):
    ask(capsys, "sync", run, shared)
    (name,) = (p.name for p in shared.iterdir())
    run.rename(run.with_name("moved"))
    ask(capsys, "sync", run.with_name("moved"), shared)
    assert len({name, *(p.name for p in shared.iterdir())}) == 2


@pytest.mark.parametrize("name", ["a/b", "..", "", "a" * 41, "-x"])
def test_a_name_that_cannot_be_is_refused(run, shared, capsys, name):
    code, _, err = ask(capsys, "sync", run, shared, f"--name={name}")
    if name:
        assert (code, "--name" in err) == (USAGE, True)
    else:
        assert code == DONE  # as if it were not given
    assert not (shared.parent / "b_main").exists()


def test_places_that_no_runs_share_are_refused(run, shared, capsys, tmp_path):
    (tmp_path / "file").touch()
    for place in (run, run / "out", run / "new", tmp_path / "no/such", tmp_path / "file"):
        code, _, err = ask(capsys, "sync", run, place)
        assert (code, len(err.splitlines())) == (USAGE, 1), place
        assert str(place) in err
    assert not (run / "new").exists()


def test_runs_that_do_not_exist_or_never_began(tmp_path, run, shared, capsys):
    assert ask(capsys, "sync", tmp_path / "none", shared)[0] == NOT_RUNNING
    for file in (run / "log").iterdir():
        file.unlink()
    assert ask(capsys, "sync", run, shared)[0] == NOT_RUNNING


def test_a_second_sync_of_the_run_is_refused(run, shared, capsys):

    with only_one(RunDir(run)):
        code, _, err = ask(capsys, "sync", run, shared)
    assert (code, str(run) in err) == (USAGE, True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_without_permission(run, shared, capsys):
    shared.mkdir(mode=0o500)
    code, _, err = ask(capsys, "sync", run, shared)
    assert (code, str(shared) in err) == (FAILED, True)


def test_a_full_disk_names_the_file(run, shared, capsys, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fuzztui.kernel.base.atomic.os.fsync", full)
    code, _, err = ask(capsys, "sync", run, shared)
    assert code == FAILED
    assert "No space left" in err
    assert str(shared) in err
    assert not list(shared.glob("*/queue/*"))


def test_a_signal_ends_the_loop_after_a_last_push(run, shared, capsys):
    def later():
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Timer(0.2, later).start()
    code, out, _ = ask(capsys, "sync", run, shared, "--name", "box", "--every", "60s", "--json")
    assert code == DONE
    assert [json.loads(line)["pushed"] for line in out.splitlines()] == [3, 0]
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_the_loop_goes_on_when_the_directory_is_gone_for_a_while(run, shared, capsys, monkeypatch):
    passes = []
    waited = threading.Event.wait

    def step(event, timeout=None):
        if timeout != 60:
            return waited(event, timeout)
        passes.append(shared.exists())
        if len(passes) == 1:
            shared.rename(shared.with_name("away"))
        elif len(passes) == 2:
            shared.with_name("away").rename(shared)
        else:
            os.kill(os.getpid(), signal.SIGINT)
        return True

    monkeypatch.setattr(threading.Event, "wait", step)
    code, out, err = ask(capsys, "sync", run, shared, "--name", "box", "--every", "60s", "--json")
    assert (code, passes) == (DONE, [True, False, True])
    assert len(out.splitlines()) == 3
    assert "not mounted" in err
