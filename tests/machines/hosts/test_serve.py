"""The server on a host: it answers whatever a hub sends, and never stalls in silence."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from lab_clock import LabClock
from waiting import DEADLINE_S, until

from fuzztui.kernel.log.files import LogError
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.remote.protocol import ProtocolError
from fuzztui.kernel.wire.events import EntrySaved, Message
from fuzztui.machines.hosts import serve as module
from fuzztui.machines.hosts.protocol import frame
from fuzztui.machines.hosts.serve import HostServer
from fuzztui.run.campaign.rundir import SupervisorError, prepare_run


class Talk:
    """A conversation with a server in this process. ``full``: while set, its pipe is full."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.reader = asyncio.StreamReader()
        self.said: list[tuple[str, dict[str, Any]]] = []
        self.free = asyncio.Event()
        self.free.set()
        self.host = HostServer(run, self._take, steer=True)
        self.server = asyncio.ensure_future(self.host.serve(self.reader))

    async def _take(self, line: bytes) -> None:
        await self.free.wait()
        ((kind, body),) = json.loads(line).items()
        self.said.append((kind, body))

    def send(self, kind: str, **body: Any) -> None:
        self.reader.feed_data(frame(kind, body))

    async def heard(self, kind: str) -> dict[str, Any]:
        return (await until(lambda: [body for k, body in self.said if k == kind]))[-1]


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    prepare_run(tmp_path / "run")
    writer = LogWriter(tmp_path / "run/log")
    for n in range(3):
        writer.append(Message("info", f"{n}"), 0.0)
    writer.close()
    talk = Talk(tmp_path / "run")
    yield talk
    talk.server.cancel()
    await asyncio.gather(talk.server, return_exceptions=True)


@pytest.mark.parametrize(
    "ask",
    [
        {"what": "put", "files": [1, {"instance": "b_main"}]},
        {"what": "put", "files": {"a": 1}},
        {"what": "have", "instances": [["x"]]},
        {"what": "have", "instances": 3},
        {"what": "stamps", "after": "x"},
        {"what": "ship", "files": 7},
        {"what": "blob", "pieces": [{"hash": []}]},
        {"what": "start", "campaign": ["x"], "hub": {}},
        {"what": ["x"]},
        {"what": "read", "instance": "main", "folder": [], "name": 1},
    ],
)
async def test_each_question_is_answered(talk, ask):
    talk.send("ask", n=1, **ask)
    answer = await talk.heard("answer")
    assert answer["n"] == 1
    assert ("error" in answer) is (ask["what"] != "have" or ask["instances"] != 3)


@pytest.mark.parametrize(
    ("kind", "body"),
    [("follow", {"after": -1}), ("follow", {"after": 0, "queues": 3}), ("nonsense", {})],
)
async def test_a_server_that_cannot_follow_or_understand_ends(talk, kind, body):
    talk.send(kind, **body)
    with pytest.raises(ProtocolError):
        await asyncio.wait_for(talk.server, DEADLINE_S)


async def test_a_log_that_cannot_be_read_ends_the_server(talk, monkeypatch):
    def broken(*_: Any) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr(module.LogReader, "batch", broken)
    talk.send("follow", after=0)
    with pytest.raises(RuntimeError):
        await asyncio.wait_for(talk.server, DEADLINE_S)


async def test_a_hub_is_heard_while_nothing_can_be_sent(talk, monkeypatch):
    await talk.heard("hello")
    clock = LabClock(talk.host._heard)
    monkeypatch.setattr(module, "time", clock)
    talk.free.clear()
    for n in range(25):
        clock.now += module.DESERTED_S / 2
        talk.send("ping", n=n)
        await until(lambda: talk.host._heard == clock.now)
    assert not talk.server.done()
    talk.free.set()
    await talk.heard("pong")
    assert len([kind for kind, _ in talk.said if kind == "pong"]) < 3


async def test_without_a_supervisor_a_pong_says_where_the_log_ends(talk):
    talk.send("ping", n=1)
    assert (await talk.heard("pong"))["last"] == 3


@pytest.mark.parametrize("whose", ["other", ""])
async def test_a_run_of_another_hub_is_not_started(talk, whose):
    """Both hubs may have found an empty directory when they connected."""
    if whose:
        (talk.run / "supervisor/hub").write_text(whose)
    talk.send("ask", n=1, what="start", campaign="x = 1", hub="mine")
    assert "hub" in (await talk.heard("answer"))["error"]
    found = talk.run / "supervisor/hub"
    assert (found.read_text() if found.exists() else "") == whose


async def test_finds_of_all_instances_of_the_host_travel_and_those_of_others_do_not(talk):
    writer = LogWriter(talk.run / "log")
    queue = talk.run / "out/a_main/queue"
    queue.mkdir(parents=True)
    for number, sync in enumerate(("", "a_s1", "b_main", "hub_added", "added")):
        name = f"id:{number:06d},sync:{sync},src:000001" if sync else f"id:{number:06d},op:x"
        (queue / name).write_bytes(sync.encode())
        writer.append(EntrySaved("a_main", number, f"queue/{name}", sync=sync), 0.0)
    writer.close()
    talk.send("follow", after=3, queues=["a_main"], outside=["b_", "hub_"], crashes=True)
    files = (await talk.heard("records"))["files"]
    assert [base64.b64decode(f["data"]).decode() for f in files] == ["", "a_s1", "added"]


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), LogError("damaged")])
async def test_a_log_that_cannot_be_read_now_is_not_taken_for_none(talk, monkeypatch, error):
    await talk.heard("hello")

    def broken(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(module, "LogReader", broken)
    talk.send("ask", n=1, what="stamps", after=0)
    assert (await talk.heard("answer"))["error"]
    again = Talk(talk.run)
    with pytest.raises(SupervisorError):
        await asyncio.wait_for(again.server, DEADLINE_S)
    assert again.said == []


async def test_a_run_without_a_log_says_so(tmp_path):
    talk = Talk(tmp_path / "new")
    assert (await talk.heard("hello"))["last"] == 0
    talk.server.cancel()
    await asyncio.gather(talk.server, return_exceptions=True)
