"""Entries on their way between hosts: none is lost, none is sent to a host that has it."""

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest
from waiting import turns_of_the_loop, until

from fuzztui.machines.hosts import exchange as module
from fuzztui.machines.hosts.exchange import HostExchange
from fuzztui.machines.hosts.link import LinkLost
from fuzztui.run.campaign.places import places
from fuzztui.run.campaign.rundir import RunDir


class Link:
    """The link to a host. ``error``: its answer to entries."""

    def __init__(self, error: str = "") -> None:
        self.got: list[tuple[str, str, bytes]] = []
        self.messages: list[int] = []
        self.have: dict[str, int] = {}
        self.compared = False
        self.error = error

    async def ask(self, what: str, **fields: Any) -> dict[str, Any]:
        await asyncio.sleep(0)
        if what == "have":
            self.compared = True
            return {"ids": self.have}
        if self.error:
            return {"error": self.error}
        rows = fields["files"]
        self.got += [(r["instance"], r["name"], base64.b64decode(r["data"])) for r in rows]
        self.messages.append(sum(len(r["data"]) for r in rows))
        return {"stored": len(rows)}


class Hub:
    def __init__(self, tmp_path: Path) -> None:
        self.run = RunDir(tmp_path)
        self.told: list[str] = []
        self.exchange = HostExchange(self.run, ["a_main", "b_main", "c_main"], self.told.append)

    def store(self, instance: str, number: int, data: bytes) -> str:
        queue = self.run.instance(instance) / "queue"
        queue.mkdir(parents=True, exist_ok=True)
        name = f"id:{number:06d},op:x"
        (queue / name).write_bytes(data)
        return name

    def found(self, number: int, data: bytes, main: str = "a_main") -> None:
        self.exchange.found(main, self.store(main, number, data), data)

    async def serve(self, main: str, link: Link, count: int) -> None:
        """Serve a host until it has got so many entries, and a little longer."""
        serving = asyncio.ensure_future(self.exchange.serve(main, link))  # type: ignore[arg-type]
        try:
            await until(lambda: len(link.got) >= count or serving.done())
            await turns_of_the_loop()
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    monkeypatch.setattr(module, "GATHER_S", 0.0)
    return Hub(tmp_path)


async def test_what_is_found_while_a_host_is_compared_reaches_it(hub, monkeypatch):
    hub.found(0, b"zero")
    compare = hub.exchange._missing

    def slow(*given: Any) -> Any:
        missing = compare(*given)
        hub.found(1, b"one")
        return missing

    monkeypatch.setattr(hub.exchange, "_missing", slow)
    link = Link()
    await hub.serve("b_main", link, 2)
    assert [data for _, _, data in link.got] == [b"zero", b"one"]


async def test_only_what_a_host_lacks_is_sent(hub, monkeypatch):
    for number in range(3):
        hub.store("a_main", number, b"%d" % number)
    hub.store("b_main", 5, b"2")  # the same content
    texts: list[str] = []
    monkeypatch.setattr(module, "REPORT_S", -1.0)
    hub.exchange.load(texts.append)
    assert len(texts) == 4
    link = Link()
    link.have = {"a_main": 0}
    await hub.serve("b_main", link, 1)
    assert [name for _, name, _ in link.got] == ["id:000001,op:x"]
    hub.found(3, b"three")
    again = Link()
    again.have = {"a_main": 1}
    await hub.serve("b_main", again, 1)
    assert [data for _, _, data in again.got] == [b"three"]


async def test_nothing_is_kept_in_memory_for_a_host_that_is_lost(hub):
    await hub.serve("b_main", Link(), 0)
    for number in range(100):
        hub.found(number, b"%d" % number)
    assert hub.exchange._waiting == {}
    link = Link()
    await hub.serve("b_main", link, 100)
    assert len(link.got) == 100


async def test_a_host_that_cannot_store_gets_all_when_it_can(hub):
    hub.found(0, b"zero")
    link = Link(error="disk full")
    for _ in range(3):
        with pytest.raises(LinkLost):
            await hub.exchange.serve("b_main", link)  # type: ignore[arg-type]
    assert len(hub.told) == 1
    assert "b: " in hub.told[0]
    link.error = ""
    await hub.serve("b_main", link, 1)
    assert [data for _, _, data in link.got] == [b"zero"]


async def test_directories_of_the_hub_travel_and_odd_files_do_not(hub):
    hub.store("laptop", 0, b"zero")
    hub.store("laptop", 1, b"x" * (module.MAX_FILE + 1))  # no message could contain it
    hub.store("laptop", 2, b"")
    (hub.run.instance("laptop") / "queue/id:000003,op:x").symlink_to("/etc/passwd")
    link = Link()
    serving = asyncio.ensure_future(hub.serve("b_main", link, 1))
    await until(lambda: link.compared)
    await turns_of_the_loop()
    hub.exchange.pass_on([*hub.exchange.look(), *hub.exchange.look()])
    hub.exchange.pass_on(hub.exchange.look())
    await serving
    assert [(i, data) for i, _, data in link.got] == [("hub_laptop", b"zero")]


async def test_the_first_messages_are_small(hub):
    """A host behind a slow link answers pings only after the message before them."""
    for number in range(40):
        hub.found(number, bytes([number]) * 40_000)
    link = Link()
    await hub.serve("b_main", link, 40)
    assert len(link.got) == 40
    assert link.messages[0] < 150_000 < max(link.messages)


def test_no_host_is_called_as_the_hub_s_own_directories():
    assert [place.name for place in places({"me@hub.example.org": {}, "HUB": {}}, 1)] == [
        "hub-2",
        "HUB-3",
    ]
