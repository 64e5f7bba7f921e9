"""A log without usable checkpoints is folded once: the command that had to writes them."""

import contextlib
import errno
import fcntl
import io
import json
import math
import os
import shutil
import sys

import pytest
from restored import restored

from fuzztui.cli import main
from fuzztui.cli.progress import Estimate
from fuzztui.kernel import session as session_module
from fuzztui.kernel.log import checkpoints as checkpoints_module
from fuzztui.kernel.log.checkpoints import CheckpointFile, CheckpointWriter
from fuzztui.kernel.log.files import CHECKPOINTS, LogError
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.model import checkpoint
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.new_groups import Notifications
from fuzztui.kernel.model.state import Mutant
from fuzztui.kernel.session import CheckpointKeeper, LiveClock, ReplayClock, Session
from fuzztui.kernel.wire.events import CampaignEnded, CampaignStarted, EntrySaved, Stats
from fuzztui.tui import _opening

RECORDS = 3000
WORK = 200


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(session_module, "LONG", 500)
    for module in (session_module, checkpoints_module):
        monkeypatch.setattr(module, "EVERY", WORK)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run at rest without checkpoints."""
    run = tmp_path_factory.mktemp("runs") / "c"
    (run / "supervisor").mkdir(parents=True)
    writer = LogWriter(run / "log")
    writer.append(CampaignStarted("c", "zest", "lib:f", 7, instances=["main"], wall=1e9), 0)
    for n in range(RECORDS - 2):
        if n % 20:
            event = Stats("main", n * 1017, n * 77 % 1013 / 7, n // 9, edges=n // 3)
        else:
            event = EntrySaved("main", n // 20, f"queue/{n}", [n // 70], "havoc", size=n)
        writer.append(event, n / 10)
        if n % 100 == 0:
            writer.flush()
    writer.append(CampaignEnded("finished"), RECORDS / 10)
    writer.close(at_rest=True)
    return run


@pytest.fixture
def run(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "c")


def status(run, capsys):
    assert main(["status", str(run), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    del answer["run"]
    return answer


def folded(run):
    """How many records a session that is opened now still has to fold."""
    session = Session(run, LiveClock())
    return session.end_seq - session.state.seq


def drafting(run):
    session = Session(run, LiveClock())
    session.draft()
    return session


def to_end(session):
    while session.poll().records or session.behind:
        pass
    return session


def test_a_command_that_folded_a_long_log_writes_checkpoints(run, capsys):
    assert folded(run) == RECORDS
    first = status(run, capsys)
    pairs = CheckpointFile(run / "log").pairs
    assert len(pairs) > 5
    assert pairs[-1][1].end <= (run / "log" / "campaign.jsonl.gz").stat().st_size
    assert folded(run) < RECORDS / 4
    written = (run / "log" / CHECKPOINTS).read_bytes()
    assert status(run, capsys) == first
    assert (run / "log" / CHECKPOINTS).read_bytes() == written
    assert sorted(p.name for p in (run / "log").iterdir()) == ["campaign.jsonl.gz", CHECKPOINTS]


@pytest.mark.slow
def test_they_serve_every_time_of_a_replay(run, capsys):
    plain = Session(run, ReplayClock(paused=True))
    status(run, capsys)
    cached = Session(run, ReplayClock(paused=True))
    assert cached.chain.links
    for t in (0.0, 77.7, 150.0, 299.0):
        for session in (plain, cached):
            session.seek(t)
            while session.behind:
                session.poll()
        assert checkpoint.to_json(plain.state) == checkpoint.to_json(cached.state)


def test_a_short_log_is_left_alone(run, capsys, monkeypatch):
    monkeypatch.setattr(session_module, "LONG", RECORDS + 1)
    status(run, capsys)
    assert not (run / "log" / CHECKPOINTS).exists()


def test_checkpoints_of_another_version_are_replaced(run, capsys, monkeypatch):
    with monkeypatch.context() as m:
        m.setattr(checkpoint, "SCHEMA", 7)
        to_end(drafting(run))
        assert folded(run) < RECORDS / 4
    assert folded(run) == RECORDS
    first = status(run, capsys)
    assert folded(run) < RECORDS / 4
    assert status(run, capsys) == first


def test_the_screen_writes_them_too(run):
    to_end(_opening(run, run, mode="live", speed=1.0, at=None, control=False).session())
    assert folded(run) < RECORDS / 4


def test_good_ones_are_kept_and_the_missing_ones_added(run):
    to_end(drafting(run))
    path = run / "log" / CHECKPOINTS
    good = path.read_bytes()[: CheckpointFile(run / "log").pairs[2][1].end]
    path.write_bytes(good + b"torn")
    session = drafting(run)
    assert len(session.chain.links) == 3
    to_end(session)
    assert path.read_bytes().startswith(good)
    assert len(Session(run, LiveClock()).chain.links) > 5


def test_the_file_of_a_living_writer_is_left_alone(run):
    session = drafting(run)
    writer = LogWriter(run / "log")
    keeper = CheckpointKeeper(run / "log", to_end(Session(run, LiveClock())))
    before = (run / "log" / CHECKPOINTS).stat().st_ino
    to_end(session)
    assert (run / "log" / CHECKPOINTS).stat().st_ino == before
    assert CheckpointFile(run / "log").pairs == []
    keeper.close()
    writer.close(at_rest=True)


def test_a_writer_that_begins_while_they_are_saved_has_the_new_file(run, monkeypatch):
    path = run / "log" / CHECKPOINTS
    held = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(held, fcntl.LOCK_EX)

    def pause(seconds):  # the other process renames, and lets go
        path.with_name("new").write_bytes(b"")
        path.with_name("new").replace(path)
        os.close(held)

    monkeypatch.setattr(checkpoints_module.time, "sleep", pause)
    writer = CheckpointWriter(run / "log", RECORDS)
    assert os.path.samestat(os.fstat(writer._fd), path.stat())
    writer.close()


def test_a_writer_does_not_wait_for_ever(run, monkeypatch):
    monkeypatch.setattr(checkpoints_module, "_LOCK_S", 0.0)
    first = CheckpointWriter(run / "log", RECORDS)
    with pytest.raises(LogError):
        CheckpointWriter(run / "log", RECORDS)
    first.close()


def test_a_writer_whose_good_checkpoints_were_replaced_begins_anew(run):
    session = to_end(drafting(run))
    session = to_end(Session(run, LiveClock()))
    path = run / "log" / CHECKPOINTS
    path.unlink()
    keeper = CheckpointKeeper(run / "log", session)
    assert path.read_bytes() == b""
    writer = LogWriter(run / "log")
    for n in range(2 * WORK):
        apply(session.state, [writer.append(Stats("main", 10**9 + n), 400.0)])
    writer.flush()
    assert keeper.keep()
    again = Session(run, LiveClock())
    assert checkpoint.to_json(again.state) == checkpoint.to_json(session.state)
    keeper.close()
    writer.close()


def test_two_commands_at_once_leave_a_good_file(run):
    one, other = drafting(run), drafting(run)
    while one.behind or other.behind or one.state.seq < RECORDS or other.state.seq < RECORDS:
        one.poll()
        other.poll()
    assert folded(run) < RECORDS / 4
    again = to_end(Session(run, LiveClock()))
    assert checkpoint.to_json(again.state) == checkpoint.to_json(one.state)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_directory_that_cannot_be_written_is_only_slower(run, capsys, monkeypatch, number):
    sound = status(shutil.copytree(run, run.parent / "d"), capsys)

    def refuse(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(checkpoints_module, "replace_bytes", refuse)
    assert status(run, capsys) == sound
    assert folded(run) == RECORDS


def test_nothing_is_written_into_the_directory_of_another_user(run, capsys, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: run.stat().st_uid + 1)
    status(run, capsys)
    assert not (run / "log" / CHECKPOINTS).exists()


def test_nothing_is_written_beside_a_damaged_log(run, capsys):
    path = run / "log" / "campaign.jsonl.gz"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
    assert main(["status", str(run)]) == 4
    assert not (run / "log" / CHECKPOINTS).exists()


def test_an_interrupted_command_keeps_what_it_did(run, monkeypatch):
    poll, polls = Session.poll, []

    def interrupted(self):
        polls.append(1)
        if len(polls) == 5:
            raise KeyboardInterrupt
        return poll(self)

    with monkeypatch.context() as m:
        m.setattr(Session, "poll", interrupted)
        m.setattr(session_module, "POLL_RECORDS", 500)
        assert main(["status", str(run)]) == 130
    assert 0 < folded(run) < RECORDS
    to_end(drafting(run))
    assert folded(run) < RECORDS / 4


def places(value, path=()):
    """Where in JSON data there is a number, a text or a container."""
    yield path
    if not isinstance(value, dict | list):
        return
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if not (isinstance(value, list) and key > 1 and len(value) > 30):
            yield from places(inner, (*path, key))


def put(data, path, value):
    for key in path[:-1]:
        data = data[key]
    data[path[-1]] = value


@pytest.mark.slow
def test_a_checkpoint_of_impossible_values_is_only_slower(run):
    """It may be a stranger's: whatever is in it, no screen has to draw it."""
    state = to_end(Session(run, LiveClock())).state
    state.mutants["m"] = Mutant("m", "", "", "", 1, "", "", "", "", 0.0)
    data = json.loads(json.dumps(checkpoint.to_json(state)))
    assert checkpoint.to_json(restored(data)) == checkpoint.to_json(state)
    tried = 0
    for path in places({k: v for k, v in data.items() if k not in ("schema", "recent")}):
        for value in (10**400, math.nan, math.inf, None, {"a": {}}) if path else ():
            damaged = json.loads(json.dumps(data))
            put(damaged, path, value)
            with contextlib.suppress(checkpoint.CheckpointError):
                again = restored(damaged)
                json.dumps(checkpoint.to_json(again), allow_nan=False)
                assert max_of(checkpoint.to_json(again)) < 2**101, path
            tried += 1
    assert tried > 200


def max_of(value):
    """The largest number in JSON data."""
    if isinstance(value, dict | list | tuple):
        values = value.values() if isinstance(value, dict) else value
        return max(map(max_of, values), default=0)
    return value if isinstance(value, int | float) else 0


@pytest.mark.parametrize("text", ["[" * 100_000, "7", "[]", '{"seq":' + "9" * 5000 + "}"])
def test_a_checkpoint_that_is_no_object_is_only_slower(run, monkeypatch, text):
    to_end(drafting(run))
    monkeypatch.setattr(checkpoints_module, "unpack", lambda fd, block: text.encode())
    assert folded(run) == RECORDS


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_time_left_is_shown_after_a_second(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("sys.stderr", Terminal())
    estimate = Estimate(lambda: now[0])
    estimate.show("reading", 100, 1100)
    now[0] = 0.9
    estimate.show("reading", 200, 1100)
    estimate.clear()
    assert not sys.stderr.getvalue()
    now[0] = 20.0
    estimate.show("reading", 600, 1100)
    assert "600 of 1,100, 20s left" in sys.stderr.getvalue()


def test_no_progress_where_no_terminal_is(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("sys.stderr", io.StringIO())
    estimate = Estimate(lambda: now[0])
    for n in range(5):
        now[0] = n * 10
        estimate.show("reading", n, 5)
    estimate.clear()
    assert not sys.stderr.getvalue()


def test_a_state_that_json_does_not_have_ends_the_checkpoints_alone(run):
    session = to_end(Session(run, LiveClock()))
    keeper = CheckpointKeeper(run / "log", session)
    session.state.part(Notifications).findings["main/1"] = {1}
    with contextlib.closing(LogWriter(run / "log")) as writer:
        for n in range(2 * WORK):
            apply(session.state, [writer.append(Stats("main", 10**9 + n), 400.0)])
        writer.flush()
        assert not keeper.keep()
        assert keeper.problem.startswith("no more checkpoints: feature notify keeps what")
        assert not keeper.keep()


def test_a_replay_of_such_a_state_goes_on(run, monkeypatch):
    def refuse(*_):
        raise TypeError("set")

    monkeypatch.setattr(session_module, "to_json", refuse)
    session = to_end(Session(run, ReplayClock(t=1e9, paused=True)))
    assert session.state.seq == session.reader.last_seq
