"""Only some hosts at a time connect; one that hangs does not hold up the others."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from waiting import DEADLINE_S, turns_of_the_loop, until

from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import Event, Record
from fuzztui.machines.hosts import member as module
from fuzztui.machines.hosts.link import Turns
from fuzztui.machines.hosts.member import HostMember
from fuzztui.machines.hosts.room import HubRoom
from fuzztui.machines.hosts.ssh import HostError
from fuzztui.run.campaign.places import HostPlace
from fuzztui.run.campaign.rundir import RunDir


async def test_so_many_at_a_time_in_order():
    turns, go = Turns(3), asyncio.Semaphore(0)
    begun: list[int] = []

    async def one(number: int) -> None:
        async with turns.turn():
            begun.append(number)
            await go.acquire()
            if number == 1:
                raise HostError("no")

    tasks = [asyncio.ensure_future(one(number)) for number in range(8)]
    await turns_of_the_loop()
    assert begun == [0, 1, 2]
    tasks[4].cancel()  # while it waits
    go.release()
    go.release()  # the second one fails, and gives its turn back
    await turns_of_the_loop()
    assert begun == [0, 1, 2, 3, 5]
    tasks[5].cancel()  # while it has a turn
    await turns_of_the_loop()
    assert begun == [0, 1, 2, 3, 5, 6]
    for _ in range(8):
        go.release()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert begun == [0, 1, 2, 3, 5, 6, 7]


async def test_a_turn_that_hangs_ends_early_and_once():
    turns, go = Turns(1, 0.02), asyncio.Event()
    begun: list[str] = []

    async def one(name: str) -> None:
        async with turns.turn():
            begun.append(name)
            await go.wait()

    hung = asyncio.ensure_future(one("hangs"))
    await turns_of_the_loop()
    async with asyncio.timeout(DEADLINE_S), turns.turn():
        pass  # although the first one has not ended
    go.set()
    await hung
    go.clear()
    turns._longest_s = 600.0
    tasks = [asyncio.ensure_future(one(name)) for name in "ab"]
    await turns_of_the_loop()
    assert begun == ["hangs", "a"]  # not both: the first one has given its turn back once
    go.set()
    await asyncio.gather(*tasks)


class Hub:
    """What members use of a hub while they connect."""

    def __init__(self, tmp_path: Path, places: list[HostPlace]) -> None:
        self.state = State()
        self.hosts = [place.name for place in places]
        self.turns = Turns(4)
        self.room = HubRoom(RunDir(tmp_path), places, {}, print)
        self.budget_raised = False
        self.gathered_s = 0.0
        self.log_name = "log"
        self.log: Any = self
        self.router: Any = None
        self.exchange: Any = SimpleNamespace(elsewhere=None)

    def record(self, *events: Event) -> None:
        for event in events:
            apply(self.state, [Record(self.state.seq + 1, 0.0, event)])


@pytest.mark.parametrize("round_", ["first", "again"])
async def test_hosts_of_a_hub_connect_in_turns(tmp_path, monkeypatch, round_):
    places = [HostPlace(f"h{n}", f"h{n}", 1) for n in range(30)]
    hub = Hub(tmp_path, places)
    now = most = 0
    asked: list[str] = []

    async def open_host(place: HostPlace, _: Any) -> Any:
        nonlocal now, most
        now += 1
        most = max(most, now)
        asked.append(place.name)
        await turns_of_the_loop(3)
        now -= 1
        raise HostError("the network is down")

    monkeypatch.setattr(module, "open_host", open_host)
    monkeypatch.setattr(module, "host_run", lambda *_: "")
    monkeypatch.setattr("fuzztui.machines.hosts.link.PAUSES_S", (0.0,))
    loaded: Any = type("Loaded", (), {"campaign": None})
    members = [HostMember(hub, loaded, RunDir(tmp_path), p, n) for n, p in enumerate(places)]  # type: ignore[arg-type]
    running = [asyncio.ensure_future(member.link.run()) for member in members]
    rounds = 1 if round_ == "first" else 4
    await until(lambda: min(asked.count(name) for name in hub.hosts) >= rounds)
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    assert most == 4
