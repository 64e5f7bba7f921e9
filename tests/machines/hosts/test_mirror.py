"""A mirrored run, with a server on this machine in place of ssh."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from waiting import until

from fuzztui.kernel.log.files import SEALED
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.remote.access import account
from fuzztui.kernel.remote.client import ControlClient
from fuzztui.kernel.remote.lock import RunLock, running, trouble
from fuzztui.kernel.remote.mirrored import fetch, origin_of
from fuzztui.kernel.remote.protocol import APPLIED, CommandAnswer, CommandRequest
from fuzztui.kernel.remote.server import ControlServer, Ticket
from fuzztui.kernel.session import CheckpointKeeper, LiveClock, Session, state_at_end
from fuzztui.kernel.wire.commands import Pause, Stop
from fuzztui.kernel.wire.events import CampaignStarted, Message
from fuzztui.machines.hosts.mirror import RunMirror

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def runtime(tmp_path, monkeypatch):
    (tmp_path / "xdg").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "xdg"))


class There:
    """A run with a log, a lock and a control socket, as a supervisor has them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "supervisor").mkdir(parents=True)
        (path / "out/main/queue").mkdir(parents=True)
        (path / "out/main/queue/id:0").write_bytes(b"abc")
        self.writer = LogWriter(path / "log")
        started = CampaignStarted("c", "zest", "t", instances=["main"], wall=1.0, version="1")
        self.writer.append(started, 0.0)
        self.writer.flush()
        self.lock: RunLock | None = RunLock(path)
        self.commands: list[tuple[object, str]] = []
        self.server = ControlServer(path, self.submit)

    def submit(self, request: CommandRequest) -> Ticket:
        command = request.command
        self.commands.append((command, request.by))
        done: asyncio.Future[CommandAnswer] = asyncio.get_running_loop().create_future()
        if isinstance(command, Pause):
            done.set_result(CommandAnswer(APPLIED, "paused", "main", 17))
        return Ticket(f"c{len(self.commands)}", done)

    def tell(self, text: str) -> None:
        self.writer.append(Message("info", text), self.writer.last_t + 1.0)
        self.writer.flush()


@pytest.fixture
async def there(tmp_path) -> AsyncIterator[There]:
    there = There(tmp_path / "there")
    await there.server.listen()
    yield there
    await there.server.close()
    there.writer.close()
    if there.lock is not None:
        there.lock.release()


@contextlib.asynccontextmanager
async def mirror(there: There, here: Path, *, read_only: bool = False) -> AsyncIterator[RunMirror]:
    """The mirror of a run, once it is connected."""
    mirror = RunMirror(here, "", str(there.path), read_only=read_only)
    task = asyncio.ensure_future(mirror.run())
    try:
        await until(lambda: origin_of(here) is not None or task.done())
        if task.done():
            task.result()
        yield mirror
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def lines(run: Path) -> list[tuple[int, float, object]]:
    return [(r.seq, r.t, r.event) for r in LogReader(run).records()]


async def test_records_have_the_same_numbers_and_times(there, tmp_path):
    for n in range(1200):  # more than a batch, and than a tail
        there.tell(f"record {n}")
    async with mirror(there, tmp_path / "here"):
        await until(lambda: len(lines(tmp_path / "here")) == 1201)
        there.tell("later")
        await until(lambda: len(lines(tmp_path / "here")) == 1202)
        assert lines(tmp_path / "here") == lines(there.path)
        assert running(tmp_path / "here") == os.getpid()
        assert origin_of(tmp_path / "here").run == str(there.path)


@pytest.mark.parametrize("at_rest", [False, True])
async def test_a_long_log_is_copied_as_it_is(there, tmp_path, monkeypatch, at_rest):
    monkeypatch.setattr("fuzztui.machines.hosts.mirror.LONG", 1500)
    there.writer.close()
    keeper = CheckpointKeeper(there.path / "log", session := Session(there.path, LiveClock()))
    there.writer = LogWriter(there.path / "log")
    for n in range(2500):
        there.writer.append(Message("info", f"{n}"), float(n))
        if n % 500 == 0:
            there.writer.flush()
            session.poll()
            keeper.keep()
    keeper.close()
    there.writer.close(at_rest=at_rest)
    here = tmp_path / "here"
    async with mirror(there, here):
        await until(lambda: len(lines(here)) == 2501)
        assert lines(here) == lines(there.path)
        reader = LogReader(here)
        reader.check()
        assert not reader.problems
        sealed = (here / "log" / SEALED).read_bytes()
        assert sealed and (there.path / "log" / SEALED).read_bytes().startswith(sealed)
        there.writer = LogWriter(there.path / "log")
        there.tell("later")
        await until(lambda: len(lines(here)) == 2502)
        assert lines(here) == lines(there.path)
        assert state_at_end(here).seq == 2502


async def test_commands_and_files_pass(there, tmp_path):
    here = tmp_path / "here"
    async with mirror(there, here):
        client = await asyncio.to_thread(ControlClient, here, "test")
        assert client.author == account(os.getuid())
        answer = await asyncio.to_thread(client.send, Pause())
        assert (answer.ok, answer.detail, answer.instance, answer.trial) == (
            True, "paused", "main", 17,
        )  # fmt: skip
        pending = await asyncio.to_thread(client.send, Stop(), 0.2)
        assert pending.pending
        assert [c for c, _ in there.commands] == [Pause(), Stop()]
        assert {by for _, by in there.commands} == {account(os.getuid())}
        assert await asyncio.to_thread(fetch, here, "out/main/queue/id:0") == ""
        assert (here / "out/main/queue/id:0").read_bytes() == b"abc"
        assert await asyncio.to_thread(fetch, here, "out/main/queue/id:1")
        assert await asyncio.to_thread(fetch, here, "../../etc/passwd")
        client.close()


async def test_a_reader_gives_no_commands(there, tmp_path):
    here = tmp_path / "here"
    async with mirror(there, here, read_only=True):
        client = await asyncio.to_thread(ControlClient, here, "test")
        assert client.why_not_steer
        assert not (await asyncio.to_thread(client.send, Pause())).ok
        client.close()
    assert there.commands == []


async def test_the_end_and_the_trouble_of_the_supervisor_are_shown(there, tmp_path):
    here = tmp_path / "here"
    async with mirror(there, here):
        there.lock.note_trouble("the disk is full")
        await until(lambda: trouble(here) == "the disk is full")
        there.lock.release()
        there.lock = None
        await until(lambda: running(here) is None)


async def test_a_server_that_dies_is_started_again_and_nothing_is_doubled(there, tmp_path):
    here = tmp_path / "here"
    async with mirror(there, here) as of:
        there.tell("one")
        await until(lambda: len(lines(here)) == 2)
        of._link._process.kill()
        await until(lambda: "not connected since" in trouble(here))
        there.tell("two")
        client = await asyncio.to_thread(ControlClient, here, "test")
        assert "not sent" in (await asyncio.to_thread(client.send, Pause())).detail
        client.close()
        await until(lambda: len(lines(here)) == 3 and not trouble(here))
        assert lines(here) == lines(there.path)
    assert there.commands == []


async def test_another_campaign_in_the_same_place_is_not_mixed_in(there, tmp_path):
    here = tmp_path / "here"
    async with mirror(there, here) as of:
        await until(lambda: len(lines(here)) == 1)
        there.writer.close()
        for file in (there.path / "log").iterdir():
            file.unlink()
        there.writer = LogWriter(there.path / "log")
        there.writer.append(CampaignStarted("other", "zest", "t", wall=2.0), 0.0)
        there.tell("other")
        of._link._process.kill()
        await until(lambda: "another campaign" in trouble(here))
        heard = of._link._heard
        await until(lambda: of._link._heard > heard + 2.5)  # a pong came
        assert "another campaign" in trouble(here)
        assert len(lines(here)) == 1


@pytest.mark.parametrize("name", ["none", "-x", "--read-only"])
async def test_a_run_that_is_not_there_ends_the_mirror(there, tmp_path, name):
    there.path = Path(name)
    with pytest.raises(Exception, match="no such run directory"):
        async with mirror(there, tmp_path / "here"):
            pass
