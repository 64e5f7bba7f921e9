"""What hosts may fill of the hub's disk: hostile ones over the real protocol, and honest ones."""

import asyncio
import contextlib
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from waiting import until

from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.model.state import Instance, State
from fuzztui.kernel.remote.mirrored import FETCHED
from fuzztui.kernel.remote.protocol import CommandRequest
from fuzztui.kernel.wire.commands import Stop
from fuzztui.kernel.wire.events import EntrySaved, Message
from fuzztui.machines.hosts import room as module
from fuzztui.machines.hosts.fetching import HostFiles
from fuzztui.machines.hosts.room import HubRoom, file_cost
from fuzztui.run.campaign.places import HostPlace
from fuzztui.run.campaign.rundir import RunDir

HOSTILE = '''#!{python}
"""In place of ssh: a host that is ready at once, and sends without end."""
import base64, json, os, sys
HOW = {how!r}

def send(kind, body):
    os.write(1, json.dumps({{kind: body}}).encode() + b"\\n")

def line(n, event):
    return json.dumps({{"seq": n, "t": n / 1000, "event": event}})

os.write(1, b"\\0fuzztui-boot 1 ready\\n")
send("hello", {{"proto": 1, "version": "1", "python": [3, 11, 0], "host": "bad", "boot": "b",
               "run": "/run", "last": 0, "hub": "", "running": 7, "wall": 1.0, "trouble": ""}})
for data in sys.stdin:
    if '"follow"' in data:
        break
n = 0
while True:
    n += 1
    noise = base64.b64encode(os.urandom(1500)).decode()
    lines, files = [], []
    if HOW == "log":
        lines = [LINE.replace("SEQ", str(n)).replace("TEXT", noise)]
    elif HOW == "pongs":
        send("pong", {{"running": 7, "trouble": noise[:500], "last": 0}})
        continue
    elif HOW == "findings":
        files = [{{"path": f"bad_i{{n}}/crashes/id:{{n:06d}}", "data": noise}}]
    elif HOW == "gaps":
        files = [{{"path": f"bad_main/queue/id:{{n * 3000:09d}}", "data": noise}}]
    send("records", {{"lines": lines, "files": files, "last": n}})
'''


def taken(run: Path) -> int:
    """The bytes on the disk of what hosts have sent."""
    parts = [run / "log", run / "out"]
    return sum(f.lstat().st_blocks * 512 for part in parts for f in part.rglob("*"))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["log", "pongs", "findings", "gaps"])
async def test_a_host_that_sends_without_end_is_given_up(tmp_path, hub_of, monkeypatch, how):
    from fuzztui.kernel.wire.codec import encode_record
    from fuzztui.kernel.wire.events import Record

    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    line = encode_record(Record(987654, 1.0, Message("info", "TEXT"))).replace("987654", "SEQ")
    program = tmp_path / "ssh"
    text = HOSTILE.format(python=sys.executable, how=how)
    program.write_text(text.replace("HOW =", f"LINE = {line!r}\nHOW =", 1))
    program.chmod(0o700)
    monkeypatch.setenv("FUZZTUI_SSH", str(program))
    hub = hub_of('bad = { keep = "3MiB" }')
    hub.setup()
    await hub.run(lambda: None)
    host = hub.state.hosts["bad"]
    assert host.state == "failed"
    assert "keep" in host.reason
    assert hub.state.state == "failed"
    # The log is looked at twice a second; a message may have as much as a line.
    assert taken(hub._run_dir.path) < 100 << 20
    assert 'hosts."bad".keep' in host.reason

    # The next hub counts what is there, and a larger limit is enough for it to continue.
    files = sum(len(f) for _, _, f in os.walk(hub._run_dir.out))
    again = HubRoom(hub._run_dir, hub._campaign.hosts, {"bad": host.seq}, lambda _: None)
    again.load()
    again.look()
    if how == "gaps":  # what leaves out too much is not kept, and ends the host all the same
        assert files < 6_000
    elif files > 100:
        assert again.excess("bad")
        larger = HostPlace("bad", "bad", 1, keep=1 << 40)
        allowed = HubRoom(hub._run_dir, [larger], {}, lambda _: None)
        allowed.load()
        assert allowed.excess("bad") == ""


@pytest.mark.slow
async def test_while_the_disk_is_nearly_full_hosts_keep_what_they_have(
    tmp_path, hub_of, monkeypatch
):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    there = tmp_path / "there"
    hub = hub_of(f'here = {{ path = "{there}" }}')
    hub.setup()
    running = asyncio.ensure_future(hub.run(lambda: None))
    state, free = hub.state, os.statvfs
    try:
        await until(lambda: [e for e in state.entries.values() if e.instance == "here_main"])

        def nearly_full(path: Any) -> Any:
            found = [*free(path)]
            found[4] = 10  # free blocks
            return os.statvfs_result(found)

        monkeypatch.setattr(module.os, "statvfs", nearly_full)
        await until(lambda: hub.room.full)
        # A message may have been on its way.
        last = LogReader(there).last_seq
        await until(lambda: LogReader(there).last_seq > last + 3)
        seq, last = state.hosts["here"].seq, LogReader(there).last_seq
        await until(lambda: LogReader(there).last_seq > last + 3)
        assert state.hosts["here"].seq == seq
        assert state.hosts["here"].state == "connected"
        monkeypatch.setattr(module.os, "statvfs", free)
        await until(lambda: state.hosts["here"].seq > last)
        assert not hub.room.full
    finally:
        monkeypatch.setattr(module.os, "statvfs", free)
        hub.router.submit(CommandRequest(Stop(), "ann"))
        await running
    assert state.hosts["here"].campaign == "stopped"
    mine = {r.host_seq: type(r.event) for r in LogReader(hub._run_dir.path).records() if r.host}
    theirs = list(LogReader(there).records())
    own = [r for r in theirs if type(r.event).__name__ in ("CommandIssued", "PassiveInstance")]
    assert {r.seq: type(r.event) for r in theirs if r not in own} == mine
    for record in theirs:
        if isinstance(record.event, EntrySaved):
            assert (hub._run_dir.out / "here_main" / record.event.file).exists()


def room_of(tmp_path: Path, *places: HostPlace, **records: int) -> HubRoom:
    for part in ("out", "log"):
        (tmp_path / part).mkdir(exist_ok=True)
    return HubRoom(RunDir(tmp_path), places, records, lambda _: None)


def test_files_and_log_of_an_earlier_hub_count(tmp_path):
    places = [HostPlace(name, name, 1, keep=1 << 20) for name in ("a", "a-2")]
    room = room_of(tmp_path, *places, a=3000, **{"a-2": 1000})
    (tmp_path / "log/log.jsonl.gz").write_bytes(b"x" * 4000)
    queue = tmp_path / "out/a_main/queue"
    queue.mkdir(parents=True)
    (queue / "id:000000").write_bytes(b"x" * 5000)
    (queue / "link").symlink_to("/dev/zero")
    (tmp_path / "out/other_main").mkdir()
    room.load()
    room.look()
    assert room.kept("a") == 2 * module.DIRECTORY + file_cost(5000) + file_cost(9) + 3000
    assert room.kept("a-2") == 1000
    room.add_files("a", 1 << 20)
    assert room.excess("a")
    assert not room.excess("a-2")


def test_no_limit(tmp_path):
    room = room_of(tmp_path, HostPlace("a", "a", 1, keep=0))
    room.add_files("a", 1 << 50)
    assert room.excess("a") == ""


async def test_copied_files_are_forgotten_beyond_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr("fuzztui.machines.hosts.fetching.MAX_FETCHED", 250)

    async def read(host: Any, file: str) -> bytes:
        return b"x" * 100

    state = State()
    state.instances = {"h_main": Instance("h_main", host="h")}
    files = HostFiles(tmp_path, state, read)
    files.begin()
    for number in range(100):
        assert await files.fetch(f"out/h_main/queue/id:{number}") == ""
    kept = [p for p in (tmp_path / FETCHED).rglob("*") if p.is_file()]
    assert 1 <= len(kept) <= 3
    with contextlib.suppress(StopIteration):
        assert next(p for p in kept if p.name == "id:99")
