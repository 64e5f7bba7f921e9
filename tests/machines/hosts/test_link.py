"""The hub's end of a connection: what counts as silence, and how often it is made again."""

import asyncio
import json
import random
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest
from lab_clock import virtual_time

from fuzztui.machines.hosts import link as module
from fuzztui.machines.hosts.link import PAUSES_S, Batch, Hello, HostLink, pause_s
from fuzztui.machines.hosts.protocol import LINK_PROTO, frame

HELLO = frame("hello", {"proto": LINK_PROTO, "last": 3, "wall": 1.0, "host": "h"})


class Stdin:
    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def write(self, data: bytes) -> None:
        self.messages.append(json.loads(data))

    async def drain(self) -> None:
        pass


class Process:
    """The server of a host, as far as a link uses it."""

    stderr_tail, returncode = "", 1

    def __init__(self) -> None:
        self.stdin, self.stdout = Stdin(), asyncio.StreamReader()

    async def wait(self) -> int:
        return 1

    async def close(self) -> None:
        self.stdout.feed_eof()


class User:
    def __init__(self) -> None:
        self.states: list[tuple[str, str]] = []
        self.batches: list[Batch] = []
        self.pongs: list[tuple[int | None, int]] = []
        self.takes_s = 0.0

    async def connected(self, hello: Hello) -> int | None:
        return 0

    async def arrived(self, batch: Batch) -> None:
        await asyncio.sleep(self.takes_s)
        self.batches.append(batch)

    def replied(self, reply: dict[str, Any]) -> None:
        pass

    def pong(self, running: int | None, trouble: str, last: int) -> None:
        self.pongs.append((running, last))

    def changed(self, state: str, reason: str) -> None:
        self.states.append((state, reason))

    @property
    def losses(self) -> list[str]:
        return [reason for state, reason in self.states if state == "lost"]


@pytest.fixture
def user() -> User:
    return User()


@pytest.fixture(autouse=True)
async def time_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it happens in one loop, whose time jumps: ``asyncio.sleep`` takes none here."""
    loop = asyncio.get_running_loop()
    virtual_time(loop)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=loop.time, time=loop.time))
    monkeypatch.setattr(module, "PING_S", 0.05)
    monkeypatch.setattr(module, "SILENCE_S", 0.5)


async def linked(
    user: User,
    serve: Callable[[Process], Coroutine[Any, Any, None]],
    seconds: float,
) -> list[Process]:
    """Keep a link for some time to hosts that ``serve``; returns their processes."""
    processes: list[Process] = []
    serving: list[asyncio.Task[None]] = []

    async def open_() -> Any:
        processes.append(Process())
        serving.append(asyncio.ensure_future(serve(processes[-1])))
        return processes[-1]

    link = asyncio.ensure_future(HostLink(open_, user).run())
    await asyncio.sleep(seconds)
    for task in (link, *serving):
        task.cancel()
    await asyncio.gather(link, *serving, return_exceptions=True)
    return processes


def sends(data: bytes) -> Callable[[Process], Coroutine[Any, Any, None]]:
    async def serve(process: Process) -> None:
        process.stdout.feed_data(HELLO + data)

    return serve


async def test_a_long_line_on_a_slow_link_is_no_silence(user):
    async def serve(process: Process) -> None:
        process.stdout.feed_data(HELLO)
        line = frame("records", {"lines": [], "files": [], "last": 1})
        for byte in range(len(line)):  # longer than a cut may go unnoticed
            await asyncio.sleep(1.0 / len(line))
            process.stdout.feed_data(line[byte : byte + 1])

    await linked(user, serve, 1.3)
    assert user.losses == []
    assert len(user.batches) == 1


async def test_a_hub_that_takes_long_does_not_blame_the_host(user):
    user.takes_s = 1.0
    await linked(user, sends(frame("records", {"lines": [], "files": []})), 1.3)
    assert user.losses == []
    assert len(user.batches) == 1


async def test_silence_is_a_loss(user):
    await linked(user, sends(b""), 1.0)
    assert len(user.losses) == 1


@pytest.mark.parametrize("last", [b"not JSON\n", frame("bye", {"reason": ""}), frame("odd", {})])
async def test_a_host_that_breaks_each_connection_is_tried_more_and_more_slowly(
    user: User, monkeypatch: pytest.MonkeyPatch, last: bytes
) -> None:
    monkeypatch.setattr(module, "PAUSES_S", (0.01, 0.05, 10.0))

    async def serve(process: Process) -> None:
        process.stdout.feed_data(HELLO)
        await asyncio.sleep(0.01)
        process.stdout.feed_data(last)

    processes = await linked(user, serve, 1.0)
    assert len(processes) == len(user.losses) == 3


async def test_the_first_pause_is_short_again_after_a_good_connection(user, monkeypatch):
    monkeypatch.setattr(module, "PAUSES_S", (0.01, 10.0))
    monkeypatch.setattr(module, "STABLE_S", 0.02)

    async def serve(process: Process) -> None:
        process.stdout.feed_data(HELLO)
        await asyncio.sleep(0.04)
        process.stdout.feed_eof()

    assert len(await linked(user, serve, 1.5)) > 3


async def test_a_line_without_an_end(user, monkeypatch):
    monkeypatch.setattr("fuzztui.machines.hosts.protocol.MAX_FRAME", 1000)
    await linked(user, sends(b"x" * 200_000), 0.5)
    assert len(user.losses) == 1


async def test_pongs_say_where_the_log_ends(user):
    await linked(user, sends(frame("pong", {"running": None, "last": 9})), 0.4)
    assert user.pongs == [(None, 9)]


def test_pauses_grow_and_hosts_do_not_come_in_step():
    for chance in (0.0, 0.5, 1.0):
        pauses = [pause_s(failed, chance) for failed in range(1, 12)]
        assert pauses == sorted(pauses)
        assert pauses[-1] <= PAUSES_S[-1] * 1.25
    assert pause_s(0, 0.0) == pause_s(1, 0.0) == PAUSES_S[0]
    seven = random.Random(7)
    assert len({pause_s(9, seven.random()) for _ in range(200)}) == 200
