from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from waiting import DEADLINE_S

from fuzztui.cli import ctl, main
from fuzztui.cli.output import DONE, NOT_RUNNING
from fuzztui.kernel.remote.access import Access, Peer, account, author, peer_of
from fuzztui.kernel.remote.address import (
    MAX_ADDRESS,
    read_socket_path,
    socket_path,
    supervised_runs,
    write_socket_path,
)
from fuzztui.kernel.remote.client import ControlClient, NotRunning, NotYet, RemoteError
from fuzztui.kernel.remote.lock import LockHeld, RunLock, running, trouble
from fuzztui.kernel.remote.protocol import (
    APPLIED,
    MAX_LINE,
    REJECTED,
    CommandAnswer,
    CommandRequest,
)
from fuzztui.kernel.remote.server import Beyond, ControlServer, Ticket
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import Command, Pause, SkipEntry, Stop


@pytest.fixture(autouse=True)
def private_runtime_dir(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("xdg")))


@pytest.fixture
def run(tmp_path) -> Path:
    (tmp_path / "supervisor").mkdir()
    return tmp_path


# ------------------------------------------------------------------------- the lock


def test_the_lock_tells_who_supervises(run):
    assert running(run) is None
    lock = RunLock(run)
    assert running(run) == os.getpid()
    with pytest.raises(LockHeld) as held:
        RunLock(run)
    assert held.value.pid == os.getpid()
    lock.release()
    assert running(run) is None
    RunLock(run).release()


def test_the_lock_goes_with_its_holder_and_is_not_inherited(run):
    code = (
        "import sys, subprocess, pathlib; from fuzztui.kernel.remote.lock import RunLock\n"
        "lock = RunLock(pathlib.Path(sys.argv[1]))\n"
        "child = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        "print(child.pid, flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(run)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    child = int(holder.stdout.readline())
    assert running(run) == holder.pid
    holder.kill()
    holder.wait()
    holder.stdin.close()
    holder.stdout.close()
    assert running(run) is None  # though its pid is still in the file, and its child lives
    os.kill(child, 9)


def test_a_living_supervisor_leaves_word_of_what_its_log_cannot_say(run):
    assert trouble(run) == ""
    lock = RunLock(run)
    taken = (run / "supervisor/lock").stat().st_size
    assert trouble(run) == ""
    lock.note_trouble("the campaign log cannot be written: Disk quota exceeded (\u00e4)")
    assert trouble(run) == "the campaign log cannot be written: Disk quota exceeded (\u00e4)"
    assert running(run) == os.getpid()
    lock.note_trouble("\u00e4" * 1000)
    assert trouble(run) == "\u00e4" * 240
    lock.note_trouble("no space")
    assert trouble(run) == "no space"
    # Written over in place: on a full disk there is room for nothing else.
    assert (run / "supervisor/lock").stat().st_size == taken
    lock.note_trouble("")
    assert trouble(run) == ""
    lock.note_trouble("the last words of one that died")
    lock.release()
    assert trouble(run) == ""


def test_no_run_no_lock(tmp_path):
    assert trouble(tmp_path / "nothing") == ""
    assert running(tmp_path / "nothing") is None
    (tmp_path / "supervisor").mkdir()
    os.mkfifo(tmp_path / "supervisor/lock")
    assert running(tmp_path) is None


# ---------------------------------------------------------------------- the address


def test_an_address_fits_however_long_the_run_is(tmp_path, monkeypatch):
    deep = tmp_path / ("d" * 200) / "run"
    assert len(os.fsencode(socket_path(deep))) <= MAX_ADDRESS
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/" + "x" * 300)
    path = socket_path(deep)
    assert path.parent == Path(f"/tmp/fuzztui-{os.getuid()}")
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_different_runs_have_different_addresses(tmp_path):
    assert socket_path(tmp_path / "a") != socket_path(tmp_path / "b")
    assert socket_path(tmp_path / "a") == socket_path(tmp_path / "a")


def test_a_directory_that_others_may_enter_is_closed(tmp_path, monkeypatch):
    with tempfile.TemporaryDirectory() as short:  # an address holds 107 bytes
        monkeypatch.setenv("XDG_RUNTIME_DIR", short)
        directory = Path(short, "fuzztui")
        directory.mkdir(mode=0o777)
        directory.chmod(0o777)
        assert socket_path(tmp_path / "run").parent == directory
        assert directory.stat().st_mode & 0o777 == 0o700


def test_a_symlink_is_not_our_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "fuzztui").symlink_to(tmp_path / "elsewhere")
    assert socket_path(tmp_path / "run").parent == Path(f"/tmp/fuzztui-{os.getuid()}")


def test_what_is_published_is_read_back(run):
    assert read_socket_path(run) is None
    write_socket_path(run, Path("/tmp/x/y.sock"))
    assert read_socket_path(run) == Path("/tmp/x/y.sock")
    for wrong in ("", "relative", "/a\0b"):
        (run / "supervisor/socket").write_text(wrong)
        assert read_socket_path(run) is None


# --------------------------------------------------------------- server and client


class Fake:
    """A server in a loop of its own in a thread, as the supervisor's is in a process."""

    def __init__(
        self,
        run: Path,
        *,
        listening: bool = True,
        access: Access | None = None,
        beyond: Beyond | None = None,
        fetch=None,
    ) -> None:
        self.run = run
        self.asked: list[tuple[Command, str]] = []
        self.lock = RunLock(run)
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.server = ControlServer(run, self.submit, access, beyond, fetch)
        if listening:
            self.do(self.server.listen())

    def do(self, job):
        return asyncio.run_coroutine_threadsafe(job, self.loop).result(DEADLINE_S)

    def submit(self, request: CommandRequest) -> Ticket:
        command = request.command
        self.asked.append((command, request.by))
        self.about = request.undoes, request.step
        done = self.loop.create_future()
        if isinstance(command, Pause):
            done.set_result(CommandAnswer(APPLIED, "done", "main", 17))
        elif isinstance(command, SkipEntry):
            done.set_result(CommandAnswer(REJECTED, f"no entry {command.entry}", "main"))
        return Ticket(f"c{len(self.asked)}", done)

    def close(self) -> None:
        self.do(self.server.close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()
        self.lock.release()


@contextlib.contextmanager
def serving(run: Path, **options):
    fake = Fake(run, **options)
    try:
        yield fake
    finally:
        fake.close()


@pytest.fixture
def fake(run):
    with serving(run) as fake:
        yield fake


def client_of(run: Path):
    """A client that is closed afterwards."""
    return contextlib.closing(ControlClient(run, "test"))


def can_pause(run: Path) -> bool:
    with client_of(run) as client:
        return client.send(Pause()).ok


def raw(fake: Fake) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(DEADLINE_S)
    sock.connect(str(fake.server.path))
    return sock


def lines_until_closed(sock: socket.socket) -> list[dict]:
    data = b""
    with contextlib.suppress(ConnectionError):
        while chunk := sock.recv(65536):
            data += chunk
    return [json.loads(line) for line in data.splitlines()]


def test_applied_and_rejected(fake):
    with client_of(fake.run) as client:
        done, refused = client.send(Pause("main")), client.send(SkipEntry(9))
    assert (done.ok, done.detail, done.instance, done.trial) == (True, "done", "main", 17)
    assert (refused.ok, refused.detail, refused.trial) == (False, "no entry 9", -1)
    assert [c for c, _ in fake.asked] == [Pause("main"), SkipEntry(9)]
    assert all(by.endswith("@" + socket.gethostname()) for _, by in fake.asked)


def test_no_answer_in_time_is_pending(fake):
    with client_of(fake.run) as client:
        result = client.send(Stop(), timeout=0.1)
        assert (result.ok, result.pending) == (False, True)
        assert client.send(Pause(), timeout=DEADLINE_S).ok  # the connection is still good


@pytest.mark.parametrize(
    ("usual", "asked"),
    [(0.05, {}), (0.05, {"patience": -1}), (0.05, {"patience": "x"}), (1000, {"patience": 0.05})],
)
def test_the_server_says_when_it_waited_long_enough(fake, monkeypatch, usual, asked):
    monkeypatch.setattr("fuzztui.kernel.remote.server.ANSWER_S", usual)
    request = {"n": 1, "by": "me", "command": encode_command(Stop()), **asked}
    with raw(fake) as sock, sock.makefile("rw") as file:
        file.write(f'{{"proto": 1, "client": "test"}}\n{json.dumps(request)}\n')
        file.flush()
        _hello, issued, answer = (json.loads(file.readline()) for _ in range(3))
    assert (issued["n"], answer["n"], answer["result"]) == (1, 1, "timeout")
    assert "pending" in answer["detail"]


@pytest.mark.slow
def test_several_threads_have_a_client_each(fake):
    results: dict[int, str] = {}

    def ask(n: int) -> None:
        with client_of(fake.run) as client:
            assert client.send(Stop(), timeout=0.0).pending  # no answer to the next one
            results[n] = client.send(SkipEntry(n), timeout=DEADLINE_S).detail

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: f"no entry {n}" for n in range(20)}


@pytest.mark.parametrize(
    "garbage",
    [
        b"\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff\xfe\0\n",
        b"[]\n",
        b"{}\n",
        b'{"proto": 99}\n',
        b"[" * 60_000 + b"\n",
        b"x" * (2 * MAX_LINE),
        b'{"proto":1}\n{"n":"one"}\n',
        b'{"proto":1}\n{"n":1}\n',
        b'{"proto":1}\n{"n":1,"by":5,"command":{"c":"pause"}}\n',
        b'{"proto":1}\n{"n":1,"command":{"c":"explode"}}\n',
        b'{"proto":1}\n{"n":1,"command":{"c":"skip","entry":"x"}}\n',
    ],
)
def test_garbage_is_answered_with_an_error_and_the_end(fake, garbage):
    sock = raw(fake)
    sock.sendall(garbage)
    answers = lines_until_closed(sock)
    assert isinstance(answers[-1]["error"], str)
    assert fake.asked == []
    assert can_pause(fake.run)


def test_clients_that_vanish_or_never_read_block_nobody(fake):
    silent = [raw(fake) for _ in range(10)]
    for sock in silent[:5]:
        sock.close()
    flood = raw(fake)
    flood.setblocking(False)
    flood.send(b'{"proto":1}\n')
    request = b'{"n":1,"by":"%s","command":{"c":"pause"}}\n' % (b"x" * 100)
    with contextlib.suppress(BlockingIOError, ConnectionError):
        for _ in range(20_000):
            flood.send(request)
    assert can_pause(fake.run)
    flood.close()


def test_a_socket_that_went_away_comes_back(fake):
    shutil.rmtree(fake.server.path.parent)  # as logind does at logout
    assert fake.run.resolve() not in supervised_runs()
    with pytest.raises(NotYet):
        ControlClient(fake.run, "test")
    fake.do(fake.server.listen())
    assert fake.run.resolve() in supervised_runs()
    assert can_pause(fake.run)


def test_nobody_there(run):
    with pytest.raises(NotRunning):
        ControlClient(run, "test")
    write_socket_path(run, run / "stale.sock")
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(run / "stale.sock"))
    stale.close()
    with pytest.raises(NotRunning):
        ControlClient(run, "test")


def test_runs_are_found_by_what_lies_beside_their_sockets(run):
    assert run.resolve() not in supervised_runs()
    fake = Fake(run)
    link = fake.server.path.with_suffix(".run")
    assert run.resolve() in supervised_runs()
    link.unlink()  # swept out of /tmp, as it is old
    assert run.resolve() not in supervised_runs()
    fake.do(fake.server.listen())
    assert run.resolve() in supervised_runs()
    fake.close()
    assert run.resolve() not in supervised_runs()
    assert list(link.parent.iterdir()) == []


def test_nobody_else_tells_us_of_runs(fake, run, tmp_path, monkeypatch):
    with monkeypatch.context() as other:
        other.setattr(os, "getuid", lambda: 12345)
        assert run.resolve() not in supervised_runs(), "the directory is another user's"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "fuzztui").symlink_to(fake.server.path.parent)
    assert run.resolve() not in supervised_runs()


def test_a_stale_socket_is_replaced(run):
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(socket_path(run)))
    stale.close()
    with serving(run):
        assert can_pause(run)


@pytest.mark.slow
def test_ctl_waits_for_a_supervisor_that_has_only_begun(run, monkeypatch, capsys):
    (run / "log").mkdir()
    write_socket_path(run, run / "former.sock")  # what the supervisor before it has left
    said = []

    def listen(words: str) -> None:
        said.append(words)
        fake.do(fake.server.listen())

    monkeypatch.setattr(ctl, "say", listen)
    with serving(run, listening=False) as fake:
        assert main(["ctl", str(run), "pause", "--timeout", "0.2"]) == NOT_RUNNING
        assert said == [], "no word within the first second"
        words = capsys.readouterr().err
        assert f"(process {os.getpid()}) cannot be reached" in words
        assert "a starting supervisor accepts no commands" in words
        assert fake.asked == []
        assert main(["ctl", str(run), "pause"]) == DONE
        assert said == ["the supervisor is still starting; waiting until it accepts commands"]
        assert capsys.readouterr().out.startswith("applied by main at trial 17")
        assert [command for command, _ in fake.asked] == [Pause()]


def test_a_supervisor_that_goes_away_is_an_error_in_words(run):
    fake = Fake(run)
    client = ControlClient(run, "test")
    fake.close()
    with pytest.raises(RemoteError, match="connection"):
        client.send(Pause())
    client.close()


def test_another_users_process_is_refused(fake, monkeypatch):
    monkeypatch.setattr("fuzztui.kernel.remote.server.peer_of", lambda sock: Peer(12345))
    with pytest.raises(RemoteError, match="belongs to"):
        ControlClient(fake.run, "test")


def test_a_socket_of_another_users_is_not_talked_to(fake, monkeypatch):
    monkeypatch.setattr("fuzztui.kernel.remote.client.peer_of", lambda sock: Peer(12345))
    with pytest.raises(RemoteError, match="belongs to 12345"):
        ControlClient(fake.run, "test")


# ------------------------------------------------------------------------- who may what


def test_the_kernel_names_user_and_groups():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        peer = peer_of(ours)
    assert peer.uid == os.getuid()
    assert peer.groups >= {os.getgid(), *os.getgroups()}


GROUP = Peer(12345, frozenset({54321}))


@pytest.mark.parametrize(
    ("peer", "access", "read", "steer"),
    [
        (Peer(0), Access(), True, True),
        (Peer(os.getuid()), Access(), True, True),
        (GROUP, Access(), False, False),
        (GROUP, Access(54321, "fuzzers"), True, False),
        (GROUP, Access(54321, "fuzzers", may_steer=True), True, True),
        (Peer(12345, frozenset({1})), Access(54321, "fuzzers", may_steer=True), False, False),
    ],
)
def test_who_may_read_and_who_may_steer(peer, access, read, steer):
    assert access.may_read(peer) is read
    assert (access.why_not_steer(peer) == "") is steer


def test_members_of_the_group_may_look_and_their_commands_are_rejected(run, monkeypatch):
    with serving(run, access=Access(os.getgid(), "fuzzers")) as fake:
        monkeypatch.setattr(
            "fuzztui.kernel.remote.server.peer_of",
            lambda sock: Peer(12345, frozenset({os.getgid()})),
        )
        with client_of(run) as client:
            assert "group_may_steer" in client.why_not_steer
            result = client.send(Pause())
            assert (result.ok, result.detail) == (False, client.why_not_steer)
            assert not fake.asked
        with raw(fake) as impolite:  # one that does not read the greeting
            impolite.sendall(b'{"proto": 1}\n{"n": 1, "command": {"c": "stop"}, "by": "me"}\n')
            received = b""
            while b"rejected" not in received:
                more = impolite.recv(65536)
                assert more
                received += more
        assert not fake.asked


def test_the_socket_of_a_shared_run_is_for_the_group_only(run):
    with serving(run, access=Access(os.getgid(), "fuzzers", may_steer=True)) as fake:
        path = fake.server.path
        assert path.parent.stat().st_mode & 0o777 == 0o710
        assert path.stat().st_mode & 0o777 == 0o660
        assert path.parent.stat().st_gid == path.stat().st_gid == os.getgid()
        assert run in supervised_runs()  # its owner still finds it
    assert not path.exists() and run not in supervised_runs()
    path.parent.rmdir()


def test_where_another_user_has_taken_the_usual_place_of_sockets(run, monkeypatch):
    (run / "supervisor").chmod(0o2750)
    usual = f"/tmp/fuzztui-{os.getuid()}-{os.getgid()}"
    lstat = Path.lstat

    def taken(path: Path) -> os.stat_result:
        found = lstat(path)
        return os.stat_result((*found[:4], 12345, *found[5:])) if str(path) == usual else found

    monkeypatch.setattr(Path, "lstat", taken)
    assert socket_path(run, os.getgid()).parent == run / "supervisor"
    assert (run / "supervisor").stat().st_mode & 0o777 == 0o750  # members read files there


def test_a_command_names_the_claimed_author_and_the_account(fake):
    ours = account(os.getuid())
    with raw(fake) as sock:
        sock.sendall(b'{"proto": 1}\n')
        for by in ("", ours, "ann@laptop"):
            line = {"n": 1, "command": encode_command(Pause()), "by": by}
            sock.sendall(json.dumps(line).encode() + b"\n")
        received = b""
        while received.count(b'"result"') < 3:
            received += sock.recv(65536)
    assert [by for _, by in fake.asked] == [ours, ours, f"ann@laptop as {ours}"]
    assert author("root@box as x", "ann@box").endswith(" as ann@box")


def test_a_server_for_another_machine_tells_what_that_machine_allows(run):
    asked = []

    async def fetch(file: str) -> str:
        asked.append(file)
        return "" if file == "out/a" else "it is gone"

    with serving(run, beyond=Beyond(account="fuzz@box"), fetch=fetch):
        with client_of(run) as client:
            assert client.author == f"{account(os.getuid())} as fuzz@box"
            assert (client.fetch("out/a"), client.fetch("out/b")) == ("", "it is gone")
            assert asked == ["out/a", "out/b"]
            assert client.send(Pause()).ok  # other requests are as ever
        assert run not in supervised_runs()  # which are those of this machine


def test_a_supervisor_fetches_nothing(fake):
    with client_of(fake.run) as client, pytest.raises(RemoteError):
        client.fetch("out/a")
