"""Decisions of a hub, without any host."""

import asyncio
import os
from dataclasses import replace
from typing import Any

import pytest

from fuzztui.cli import main
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.model.state import Host
from fuzztui.kernel.remote.protocol import CommandRequest
from fuzztui.kernel.wire.commands import Stop
from fuzztui.kernel.wire.events import (
    CampaignEnded,
    CampaignState,
    Event,
    FindingSaved,
    Message,
    Record,
)
from fuzztui.machines.hosts import hub as module


@pytest.fixture
def hub(hub_of):
    return hub_of('"me@nowhere.invalid" = {}')


@pytest.mark.parametrize("how", ["signal", "command"])
async def test_ranking_ends_when_the_hub_does(hub, tmp_path, monkeypatch, how):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    ended: list[bool] = []

    begun = asyncio.Event()

    async def rank(*_: Any) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    monkeypatch.setattr(module, "rank_once", rank)
    monkeypatch.setattr(hub, "_campaign", replace(hub._campaign, tables={"mutants": {"shard": ""}}))
    ready = asyncio.Event()
    running = asyncio.ensure_future(hub.run(ready.set))
    await ready.wait()
    await begun.wait()
    if how == "signal":
        hub._leave("SIGTERM")
    else:
        hub.router.submit(CommandRequest(Stop(), "ann"))
    await running
    assert ended == [True]
    ends = [r.event for r in LogReader(hub._run_dir.path).records()]
    assert any(isinstance(e, CampaignEnded) for e in ends) is (how == "command")


async def test_new_inputs_are_shared_with_the_group(hub):
    seen: list[Event] = []
    hub._sharing.saw = seen.append  # type: ignore[method-assign]
    event = FindingSaved("nowhere_main", "crash", "crashes/id:000000")
    hub.log.log_from_host(Record(1, 0.0, event, "nowhere"), event)
    assert seen == [event]


async def test_no_budget_ends_a_campaign_that_cannot_be_told(hub, monkeypatch):
    """The command to stop would be rejected, and the hosts would go on without a hub."""
    stops: list[str] = []
    enough = module.EndReason("finished", "enough")
    monkeypatch.setattr(module.CampaignLimits, "reached", lambda *_: enough)
    hub.router = type("R", (), {"submit": lambda _, request: stops.append(request.by)})()  # type: ignore[assignment]
    hub.log.writable = False
    await hub._decide()
    assert stops == []
    hub.log.writable = True
    await hub._decide()
    assert stops == ["fuzztui"]


async def test_hosts_that_are_not_reached_are_named_once(hub, monkeypatch):
    hub._linked = True
    seen: list[Event] = []
    monkeypatch.setattr(hub, "record", lambda *events: seen.extend(events))
    monkeypatch.setattr(module, "STOP_S", -1.0)
    there = Host("nowhere", "me@nowhere.invalid", "lost", run="/r")
    monkeypatch.setitem(hub.state.hosts, "nowhere", there)
    hub.stopping("ann")
    for _ in range(3):  # until its links have ended
        await hub._decide()
    (message,) = [e for e in seen if isinstance(e, Message)]
    assert "ctl me@nowhere.invalid:/r stop" in message.text


@pytest.mark.slow
def test_findings_of_hosts_are_run_here_and_coverage_says_where_it_is_known(hub, tmp_path, capfd):
    hub.setup()
    (tmp_path / "run/campaign.toml").write_text(hub._loaded.toml())
    entry = tmp_path / "run/out/nowhere_main/queue/id:000000"
    entry.parent.mkdir(parents=True)
    entry.write_bytes(b"x")
    assert main(["repro", str(tmp_path / "run"), "nowhere_main/queue/id:000000"]) == 0
    assert main(["coverage", str(tmp_path / "run")]) == 1
    assert "hosts" in capfd.readouterr().err
    assert os.listdir(tmp_path / "run/out") == ["nowhere_main"]


async def test_a_host_that_is_lost_is_not_idle(hub, monkeypatch):
    monkeypatch.setattr(hub, "_alone", replace(hub._alone, stop_idle_s=10.0))
    stops: list[str] = []
    hub.router = type("R", (), {"submit": lambda _, request: stops.append(request.by)})()  # type: ignore[assignment]
    now = [0.0]
    monkeypatch.setattr(hub._clock, "now", lambda: now[0])
    hub.record(CampaignState("running"))
    (member,) = hub.members.values()
    for heard, t in ((True, 1.0), (False, 100.0), (True, 105.0), (True, 109.0)):
        member.link.connected, now[0] = heard, t
        await hub._decide()
    assert stops == []
    now[0] = 111.0
    await hub._decide()
    assert stops == ["fuzztui"]


@pytest.mark.parametrize(
    ("was", "now", "raised"),
    [((10.0, 0), (20.0, 0), True), ((20.0, 0), (10.0, 0), False), ((10.0, 0), (0.0, 0), True),
     ((0.0, 0), (10.0, 0), False), ((0.0, 50), (0.0, 60), True), ((10.0, 0), (10.0, 0), False)],
)  # fmt: skip
async def test_whether_the_budget_was_raised(hub, was, now, raised):
    hub.state.budget_s, hub.state.budget_trials = was
    hub._campaign = replace(hub._campaign, budget_s=now[0], budget_trials=now[1])
    hub._changed = was != now
    assert hub.budget_raised is raised
