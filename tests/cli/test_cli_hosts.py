"""Hosts in ``status``, ``metrics`` and in the messages of a command that follows a campaign."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hosted import CUT, hosted, write_run

from fuzztui.cli import main
from fuzztui.cli.ctl import say_waiting
from fuzztui.cli.host_lines import HostNews, preparing, waits_for
from fuzztui.cli.output import NOT_RUNNING
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.remote.lock import RunLock
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import Pause
from fuzztui.kernel.wire.events import Record


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Three hosts with two instances each; the second is lost since 42 s."""
    run = tmp_path / "c"
    write_run(run, hosted(), now=True)
    return run


@pytest.fixture
def hub(run: Path):
    """The run, while its hub runs."""
    lock = RunLock(run)
    yield run
    lock.release()


def ask(capsys, *argv: object) -> str:
    main([*map(str, argv)])
    return capsys.readouterr().out


def hosts_of(capsys, run: Path) -> dict[str, dict[str, object]]:
    return {row["name"]: row for row in json.loads(ask(capsys, "status", run, "--json"))["hosts"]}


def test_a_lost_host_has_no_present_numbers(hub, capsys):
    hosts = hosts_of(capsys, hub)
    assert [row["connected"] for row in hosts.values()] == [True, False, True]
    lost = hosts["h2"]
    assert (lost["state"], lost["reason"]) == ("lost", CUT)
    assert (lost["execs_per_sec"], lost["cpu"], lost["rss"]) == (None, None, None)
    assert 42 <= lost["for_s"] < 90  # also without a record since
    assert lost["age_s"] >= lost["for_s"]
    assert (lost["clock_s"], lost["cores"], lost["instances"]) == (3600.0, 8, 2)
    assert (lost["address"], lost["run"]) == ("ann@box2", "/runs/ann/run2")
    assert hosts["h1"]["execs_per_sec"] > 4000
    assert hosts["h1"]["cpu"] == pytest.approx(1.94)


def test_the_rate_of_the_campaign_is_that_of_connected_hosts(hub, capsys):
    whole = json.loads(ask(capsys, "status", hub, "--json"))
    rates = [row["execs_per_sec"] or 0 for row in whole["hosts"]]
    assert whole["execs_per_sec"] == pytest.approx(sum(rates))
    rows = {row["id"]: row for row in whole["instances"]}
    assert (rows["h2_s1"]["host"], rows["h2_s1"]["cpu"]) == ("h2", None)
    assert rows["h2_s1"]["execs_per_sec"] is None
    assert rows["h1_s1"]["cpu"] == pytest.approx(0.97)


def test_text_warns_of_a_lost_host_and_groups_instances(hub, capsys):
    lines = ask(capsys, "status", hub).splitlines()
    assert "hosts     3 hosts, 1 lost" in lines
    assert any(line.startswith("lost      h2, for ") for line in lines)
    names = [line.split()[0] for line in lines if line.startswith("  h") or "_" in line[:12]]
    assert names == [
        "h1", "h1_main", "h1_s1", "h2", "h2_main", "h2_s1", "h3", "h3_main", "h3_s1",
    ]  # fmt: skip
    text = "\n".join(lines)
    assert "LOST for " in text
    assert CUT in text
    assert "ann@box2:/runs/ann/run2" in text
    assert text.count("ahead") == 1
    assert [line.split()[1:3] for line in lines if "h2_main" in line] == [["?", "running"]]


def test_names_of_any_length_leave_the_columns_straight(tmp_path, capsys):
    log = hosted(1, 1, lost=()).add(ev.InstanceState("server-room-3_main", "running"))
    write_run(tmp_path / "c", log)
    lock = RunLock(tmp_path / "c")
    text = ask(capsys, "status", tmp_path / "c")
    lock.release()
    lines = [line for line in text.splitlines() if "_main" in line.partition(" execs")[0]]
    lines = [line for line in lines if " execs " in line]
    assert len(lines) == 2
    assert len({line.lstrip().index(" execs") for line in lines}) == 1


def test_without_a_hub_no_host_is_connected_and_all_continue(run, capsys):
    hosts = hosts_of(capsys, run)
    assert [row["connected"] for row in hosts.values()] == [False, False, False]
    assert hosts["h2"]["reason"] == CUT  # it was lost before
    text = ask(capsys, "status", run)
    assert "hub ended" in text
    assert "interrupted  " not in text.split("run ")[1]  # what instances do is not known


def test_metrics_have_a_gauge_for_each_host(hub, capsys):
    text = ask(capsys, "metrics", hub)
    connected = [line for line in text.splitlines() if line.startswith("fuzztui_host_connected{")]
    assert [line.split()[-1] for line in connected] == ["1", "0", "1"]
    assert all(f'host="h{n}"' in line for n, line in enumerate(connected, 1))
    assert 'fuzztui_host_executions_per_second{campaign="toml"' in text
    assert text.count("fuzztui_host_executions_per_second{") == 2
    assert 'instance="h2_s1",host="h2"' in text


def test_a_host_that_has_ended_sets_no_alarm(tmp_path, capsys):
    log = hosted(2, 1, lost=()).add(ev.HostState("h1", "ended", "the budget is used up"))
    write_run(tmp_path / "c", log, now=True)
    lock = RunLock(tmp_path / "c")
    assert hosts_of(capsys, tmp_path / "c")["h1"]["connected"] is None
    text = ask(capsys, "metrics", tmp_path / "c")
    assert text.count("fuzztui_host_connected{") == 1
    lock.release()


def test_a_campaign_without_hosts_says_nothing_of_them(tmp_path, capsys):
    log = hosted(0, lost=())
    write_run(tmp_path / "c", log, now=True)
    assert "hosts " not in ask(capsys, "status", tmp_path / "c")
    assert hosts_of(capsys, tmp_path / "c") == {}


def stated(state: State, *events: ev.HostState) -> State:
    apply(state, [Record(state.seq + 1 + n, 1.0, e) for n, e in enumerate(events)])
    return state


def test_a_lost_host_is_told_once():
    state, news = State(), HostNews()
    stated(state, ev.HostState("h1", "connected"), ev.HostState("h2", "connected"))
    assert news.changes(state.hosts.values()) == []
    stated(state, ev.HostState("h1", "lost", "cut\x1b[31m"))
    [message] = news.changes(state.hosts.values())
    assert message.startswith("h1 is lost")
    assert "\x1b" not in message
    assert news.changes(state.hosts.values()) == []
    stated(state, ev.HostState("h1", "preparing"), ev.HostState("h1", "connected"))
    assert len(news.changes(state.hosts.values())) == 1
    assert news.changes(state.hosts.values()) == []


def test_what_hosts_wait_for_is_in_the_progress_line():
    state = stated(
        State(),
        *(ev.HostState(f"h{n}", "preparing", f"sending the campaign {n}0%") for n in range(5)),
    )
    text = preparing(state.hosts.values())
    assert text.startswith("h0: preparing: sending the campaign 00%")
    assert text.endswith("and 2 more hosts")
    for n in range(5):
        stated(state, ev.HostState(f"h{n}", "connected"))
    assert preparing(state.hosts.values()) == ""


def test_ctl_names_the_host_that_a_pending_command_waits_for(tmp_path):
    log = hosted(2, 1, lost=["h2"])
    log.add(ev.CommandIssued("c1", encode_command(Pause("h2_main")), "me"))
    log.add(ev.CommandProgress("c1", "waits until h2 is connected again"))
    write_run(tmp_path / "c", log)
    assert waits_for(tmp_path / "c", Pause("h2_main")) == "waits until h2 is connected again"
    assert waits_for(tmp_path / "c", Pause("h1_main")) == ""
    assert "h2" in waits_for(tmp_path / "c", Pause())


def test_ctl_without_a_hub_says_that_the_hosts_continue(tmp_path, cli):
    write_run(tmp_path / "c", hosted(2, 1))
    err = cli("ctl", tmp_path / "c", "pause", code=NOT_RUNNING).err
    assert "hosts continue" in err
    assert str(tmp_path / "c/campaign.toml") in err


@pytest.mark.parametrize(("instance", "named"), [("h2_main", True), ("h1_main", False)])
def test_meanwhile_ctl_says_which_host_a_command_waits_for(tmp_path, capsys, instance, named):
    log = hosted(2, 1, lost=["h2"])
    log.add(ev.CommandIssued("c1", encode_command(Pause(instance)), "me"))
    if named:
        log.add(ev.CommandProgress("c1", "waits until h2 is connected again"))
    write_run(tmp_path / "c", log)
    say_waiting(tmp_path / "c", "pause", [Pause(instance)])
    assert ("waits until h2 is connected again" in capsys.readouterr().err) is named
