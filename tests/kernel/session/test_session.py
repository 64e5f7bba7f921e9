"""Sessions: live, replay, checkpoints that are there, missing, damaged or foreign."""

import json
import os
import random
import subprocess
import sys

import pytest
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from waiting import wait_until

from fuzztui.kernel import session as session_module
from fuzztui.kernel.log import checkpoints as checkpoints_module
from fuzztui.kernel.log import writer as writer_module
from fuzztui.kernel.log.checkpoints import CheckpointFile, CheckpointWriter
from fuzztui.kernel.log.files import CHECKPOINTS, SEALED, LogError, list_tails
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.model.checkpoint import SCHEMA
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import Changes, State
from fuzztui.kernel.session import CheckpointKeeper, LiveClock, ReplayClock, Session
from fuzztui.kernel.wire import events as ev


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Members of 50 records, checkpoints every 100."""
    monkeypatch.setattr(writer_module, "TAIL_RECORDS", 50)
    monkeypatch.setattr(checkpoints_module, "EVERY", 100)
    monkeypatch.setattr(session_module, "EVERY", 100)
    monkeypatch.setattr(session_module, "WORTH_A_JUMP", 200)


def happenings(n, seed=0):
    """Events and their times."""
    rng = random.Random(seed)
    yield 0.0, ev.CampaignStarted("c", "zest", "lib:f", 7, instances=["a", "b"], wall=1e9)
    t = 0.0
    for i in range(1, n):
        t += rng.choice([0, 0, 0.05, 0.3])
        name = rng.choice("ab")
        yield (
            t,
            rng.choice(
                [
                    ev.Stats(
                        name, i * 100, rng.random() * 1000, i // 9, edges=i // 3, edges_total=99
                    ),
                    ev.Stats(
                        name, i * 100, rng.random() * 1000, i // 9, edges=i // 3, edges_total=99
                    ),
                    ev.EntrySaved(name, i, f"queue/{i}", [i // 7], "havoc", size=i),
                    ev.EntryDescribed(name, i // 5, ["edge"], i),
                    ev.FindingSaved(name, "crash", f"crashes/{i // 20}"),
                    ev.FindingDescribed(name, "crash", f"crashes/{i // 20}", f"S{i % 3}", "T"),
                    ev.Message("info", rng.randbytes(rng.randrange(600)).hex()),
                    ev.MutantsFound(name, "m", "m.py", "/m.py", [{"id": f"m{i % 40}", "line": i}]),
                    ev.MutantState(name, f"m{i % 40}", rng.choice(["alive", "killed"]), trial=i),
                    ev.MutantRuns(name, {f"m{i * k % 40}": [i, i // 2, i // 3] for k in (1, 3)}),
                ]
            ),
        )


def drain(session):
    changes = session.poll()
    while session.behind:
        changes |= session.poll()
    return changes


def live_session(run):
    """A live session that has read all there is."""
    session = Session(run, LiveClock())
    drain(session)
    return session


def seek(session, t):
    """To a time, in as many steps as it takes on a busy machine."""
    session.seek(t)
    while session.behind:
        session.poll()


def write(run, n, *, keep=True, seed=0):
    """A run as a supervisor writes it; returns its state."""
    writer = LogWriter(run / "log")
    session = live_session(run)
    keeper = CheckpointKeeper(run / "log", session) if keep else None
    for t, event in happenings(n, seed):
        apply(session.state, [writer.append(event, t + 0.0)])
        if writer.last_seq % 10 == 0:
            writer.flush()
            if keeper:
                wait_for_sealing(run / "log")
                keeper.keep()
    writer.close()
    if keeper:
        keeper.close()
    return session.state


def wait_for_sealing(log):
    """Checkpoints are bounded by what is sealed: make that the same in every run."""
    wait_until(lambda: len(list_tails(log)) <= 1)  # a tail goes when it has been sealed


def folded(run, t=float("inf")):
    state = State()
    apply(state, (r for r in LogReader(run).records() if r.t <= t))
    return state


class FakeTime:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A run of 2000 records with checkpoints."""
    run = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as m:
        m.setattr(writer_module, "TAIL_RECORDS", 50)
        m.setattr(checkpoints_module, "EVERY", 100)
        m.setattr(CheckpointWriter, "_log_size", lambda self: 1 << 40)
        write(run, 2000)
    return run


@pytest.fixture
def run(kept, tmp_path):
    """A copy of it to damage."""
    subprocess.run(["cp", "-r", kept, tmp_path / "run"], check=True)
    return tmp_path / "run"


# ----------------------------------------------------------------------- live


@pytest.mark.slow
def test_live_opens_at_the_last_checkpoint(kept):
    session = Session(kept, LiveClock())
    assert session.mode == "live"
    assert session.state.seq == session.chain.seq > 1500
    changes = drain(session)
    assert changes.reset
    assert session.state == folded(kept)
    assert drain(session) == Changes()
    assert session.end_t == session.state.t


def test_live_follows_and_is_in_the_end_what_a_replay_shows(tmp_path):
    (tmp_path / "log").mkdir()
    writer = LogWriter(tmp_path / "log")
    live = Session(tmp_path, LiveClock())
    seen = 0
    for n, (t, event) in enumerate(happenings(700)):
        writer.append(event, t)
        if n % 13 == 0:
            writer.flush()
            seen += drain(live).records
            assert live.state.seq == writer.last_seq
    writer.close()
    seen += drain(live).records
    assert seen == 700
    replay = Session(tmp_path, ReplayClock(t=1e9))
    drain(replay)
    assert replay.state == live.state == folded(tmp_path)


def test_a_poll_is_bounded(tmp_path, monkeypatch):
    write(tmp_path, 900, keep=False)
    monkeypatch.setattr(session_module, "POLL_RECORDS", 300)
    monkeypatch.setattr(session_module, "POLL_S", 1e9)
    session = Session(tmp_path, LiveClock())
    assert [session.poll().records for _ in range(2)] == [300, 300]
    assert session.behind
    assert session.poll().records == 300
    assert not session.behind
    monkeypatch.setattr(session_module, "POLL_S", 0.0)
    session = Session(tmp_path, LiveClock())
    assert 0 < session.poll().records <= session_module.BATCH
    assert session.behind


def test_the_end_exactly_at_the_bound_is_not_behind(tmp_path, monkeypatch):
    write(tmp_path, 300, keep=False)
    monkeypatch.setattr(session_module, "POLL_RECORDS", 300)
    monkeypatch.setattr(session_module, "POLL_S", 1e9)
    session = Session(tmp_path, LiveClock())
    assert session.poll().records == 300
    assert not session.behind


@pytest.mark.slow
def test_a_live_session_may_look_back(kept):
    session = live_session(kept)
    changes = session.seek(50)
    assert changes.reset
    assert session.state == folded(kept, 50)
    drain(session)
    assert session.state == folded(kept)


def test_no_log_is_an_error(tmp_path):
    with pytest.raises(LogError):
        Session(tmp_path / "nothing", LiveClock())


# --------------------------------------------------------------------- replay


def test_the_replay_clock():
    real = FakeTime()
    clock = ReplayClock(2.0, 10.0, monotonic=real)
    assert clock.now() == 10
    real.now += 5
    assert clock.now() == 20
    clock.pause()
    real.now += 5
    assert clock.now() == 20
    clock.set_speed(10)
    real.now += 5
    assert clock.now() == 20
    clock.resume()
    real.now += 1
    assert clock.now() == 30
    clock.jump(5)
    real.now += 1
    assert clock.now() == 15
    clock.set_speed(-3)
    real.now += 1
    assert clock.now() == 15
    clock.jump(-9)
    assert clock.now() == 0


@pytest.mark.slow
def test_a_replay_shows_what_its_clock_allows(kept):
    real = FakeTime()
    clock = ReplayClock(1.0, 3.0, monotonic=real)
    session = Session(kept, clock)
    assert session.mode == "replay"
    for step in (0, 0.01, 0.5, 7, 7, 0.02, 40, 100, 1e6, 1):
        real.now += step
        drain(session)
        assert session.state == folded(kept, clock.now())
    assert clock.now() == session.end_t, "it stands at the end"


def test_a_replay_of_a_log_that_grows_goes_on(tmp_path):
    write(tmp_path, 100)
    session = Session(tmp_path, ReplayClock(t=1e9))
    drain(session)
    end = session.end_t
    writer = LogWriter(tmp_path / "log")
    writer.append(ev.Message("info", "later"), end + 5)
    writer.close()
    session.poll()
    assert session.end_t == end + 5
    session.clock.jump(end + 5)
    assert session.poll().records == 1


def test_far_jumps_use_checkpoints(kept, monkeypatch):
    session = Session(kept, ReplayClock(paused=True))
    drain(session)
    counted = []
    monkeypatch.setattr(session_module, "apply", lambda s, r: counted.append(len(r)) or apply(s, r))
    session.seek(session.end_t)
    session.seek(session.end_t / 2)
    session.seek(session.end_t)
    assert sum(counted) < 700


@pytest.mark.slow
@settings(max_examples=examples(20), suppress_health_check=list(HealthCheck))
@given(st.lists(st.floats(0, 200), min_size=1, max_size=8), st.booleans())
def test_any_way_through_a_replay_ends_in_the_same_state(kept, times, cached):
    session = Session(kept if cached else kept / "log" / SEALED, ReplayClock(paused=True))
    for t in times:
        seek(session, t)
        expected = folded(kept, min(t, session.end_t))
        if not cached and session.reader.last_seq < expected.seq:
            expected = folded(kept / "log" / SEALED)
        assert session.state == expected


@pytest.mark.slow
def test_without_checkpoints_they_are_made_in_memory(tmp_path):
    write(tmp_path, 2000, keep=False)
    session = Session(tmp_path, ReplayClock(paused=True))
    assert not session.chain.links
    seek(session, session.end_t)
    assert len(session.chain.links) >= 7
    for t in (session.end_t / 2, 3, session.end_t * 0.9, 0):
        seek(session, t)
        assert session.state == folded(tmp_path, t)


@pytest.mark.slow
def test_a_long_seek_without_checkpoints_is_done_in_steps(tmp_path, monkeypatch):
    write(tmp_path, 2000, keep=False)
    monkeypatch.setattr(session_module, "SEEK_S", 0.0)
    monkeypatch.setattr(session_module, "POLL_S", 0.0)
    session = Session(tmp_path, ReplayClock(paused=True))
    session.seek(session.end_t)
    assert session.behind
    steps = 0
    while session.behind:
        session.poll()
        steps += 1
    assert steps > 3
    assert session.state == folded(tmp_path)


# ---------------------------------------------------------------- checkpoints


def test_checkpoints_are_regular(kept):
    seqs = [head.last for _, head in CheckpointFile(kept / "log").pairs]
    assert seqs == list(range(100, 2001, 100))
    assert subprocess.run(["gzip", "-t", kept / "log" / CHECKPOINTS], check=True).returncode == 0


def test_checkpoints_never_outgrow_the_log(tmp_path):
    """Here each would be larger than the records that it spares: there are fewer then."""
    write(tmp_path, 2000)
    log, cache = tmp_path / "log" / SEALED, tmp_path / "log" / CHECKPOINTS
    assert 0 < cache.stat().st_size <= log.stat().st_size
    assert 2 < len(CheckpointFile(tmp_path / "log").pairs) < 15


@pytest.mark.slow
def test_a_writer_that_is_opened_again_goes_on_with_the_chain(tmp_path, monkeypatch):
    monkeypatch.setattr(CheckpointWriter, "_log_size", lambda self: 1 << 40)
    for n in range(4):
        write(tmp_path, 333, seed=n)
        session = live_session(tmp_path)
        assert session.state == folded(tmp_path)
    assert len(session.chain.links) >= 12
    rows = sum(len(link.tables.entries) for link in session.chain.links)
    assert rows < 3 * len(session.state.entries), "rows are not written again and again"
    replay = Session(tmp_path, ReplayClock(paused=True))
    for link in session.chain.links:
        seek(replay, link.t)
        assert replay.state == folded(tmp_path, link.t)


def damages(path):
    size = path.stat().st_size
    rng = random.Random(5)
    yield "gone", path.unlink
    yield "empty", lambda: os.truncate(path, 0)
    yield "garbage", lambda: path.write_bytes(bytes(1000))
    for n in range(4):
        at = rng.randrange(size)
        yield f"cut {n}", lambda at=at: os.truncate(path, at)
        yield f"hit {n}", lambda at=at: overwrite(path, at, os.urandom(4))


def overwrite(path, at, data):
    with path.open("r+b") as f:
        f.seek(at)
        f.write(data)


@pytest.mark.slow
def test_damaged_checkpoints_are_only_slower(run):
    path = run / "log" / CHECKPOINTS
    whole = path.read_bytes()
    expected = folded(run)
    middle = expected.t / 2
    for name, damage in damages(path):
        path.write_bytes(whole)
        before = Session(run, ReplayClock(paused=True))
        damage()
        for session in (before, Session(run, ReplayClock(paused=True))):
            for t in (expected.t, middle, expected.t):
                seek(session, t)
                assert session.state == folded(run, t), name
        write_on = live_session(run)
        assert write_on.state == expected, name
        keeper = CheckpointKeeper(run / "log", write_on)
        keeper.keep()
        keeper.close()
        assert live_session(run).state == expected, name


@pytest.mark.slow
def test_a_fifo_or_directory_in_their_place(run):
    path = run / "log" / CHECKPOINTS
    for make in (os.mkfifo, os.mkdir):
        path.unlink() if path.is_file() else None
        make(path)
        session = live_session(run)
        assert session.state == folded(run)
        keeper = CheckpointKeeper(run / "log", session)
        assert not keeper.keep()
        keeper.close()
        path.unlink() if make is os.mkfifo else path.rmdir()


def test_checkpoints_of_another_version_are_made_anew(run, monkeypatch):
    monkeypatch.setattr("fuzztui.kernel.model.checkpoint.SCHEMA", SCHEMA + 1)
    session = Session(run, LiveClock())
    assert not session.chain.links
    drain(session)
    assert session.state == folded(run)
    keeper = CheckpointKeeper(run / "log", session)
    assert keeper.keep()
    keeper.close()
    assert len(Session(run, LiveClock()).chain.links) == 1


def test_the_version_is_the_same_in_every_process():
    code = "from fuzztui.kernel.model.checkpoint import SCHEMA; print(SCHEMA)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert int(out.stdout) == SCHEMA


@pytest.mark.slow
def test_checkpoints_of_another_log_are_not_believed(run, tmp_path):
    other = tmp_path / "other"
    writer = LogWriter(other / "log")
    for n, (t, event) in enumerate(happenings(1900, seed=9)):
        writer.append(event if n else ev.CampaignStarted("d", "zest", wall=2e9), t)
    writer.close()
    subprocess.run(["cp", run / "log" / CHECKPOINTS, other / "log"], check=True)
    assert live_session(other).state == folded(other)


def test_checkpoints_beyond_the_log_are_cut_off(run):
    """A supervisor that died between... what was never flushed must not come back."""
    log = run / "log"
    reader = LogReader(run)
    cut = reader._source.index[20]
    os.truncate(log / SEALED, cut.offset)
    for tail in log.glob("tail-*"):
        tail.unlink()
    for mode in (LiveClock(), ReplayClock(t=1e9)):
        session = Session(run, mode)
        drain(session)
        assert session.state.seq == cut.first - 1
        assert session.state == folded(run)
    writer = LogWriter(log)
    CheckpointKeeper(log, live_session(run)).close()
    assert all(head.last < cut.first for _, head in CheckpointFile(log).pairs)
    writer.close()


def test_a_checkpoint_writer_by_itself_keeps_to_the_log(run):
    pairs = CheckpointFile(run / "log").pairs
    CheckpointWriter(run / "log", pairs[4][1].last).close()
    assert CheckpointFile(run / "log").pairs == pairs[:5]
    CheckpointWriter(run / "log", 10**9, keep=2).close()
    assert CheckpointFile(run / "log").pairs == pairs[:2]


def test_a_full_disk_only_costs_the_checkpoint(run, monkeypatch):
    (run / "log" / CHECKPOINTS).unlink()
    session = live_session(run)
    keeper = CheckpointKeeper(run / "log", session)

    def full(fd, data):
        os.write(fd, data[:100])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as m:
        m.setattr(checkpoints_module, "write_all", full)
        assert not keeper.keep()
    assert (run / "log" / CHECKPOINTS).stat().st_size == 0
    assert keeper.keep()
    keeper.close()
    assert Session(run, LiveClock()).state == folded(run)


def test_the_final_state_is_json(kept):
    from fuzztui.tools.status.status import status_dict

    session = live_session(kept)
    assert json.loads(json.dumps(status_dict(session.state)))["name"] == "c"


@pytest.mark.slow
def test_checkpoints_of_many_instances_are_rarer(run, monkeypatch):
    def written(per_instance):
        monkeypatch.setattr(session_module, "PER_INSTANCE", per_instance)
        directory = run.with_name(f"run{per_instance}")
        writer = LogWriter(directory / "log")
        session = Session(directory, LiveClock())
        keeper = CheckpointKeeper(directory / "log", session)
        times = 0
        for number in range(6000):
            event = ev.Stats(f"i{number % 100}", execs=number)
            apply(session.state, [writer.append(event, number / 10)])
            if number % 10 == 9:
                writer.flush()
                wait_for_sealing(directory / "log")
                times += keeper.keep()
        writer.close()
        keeper.close()
        assert live_session(directory).state == session.state
        return times

    assert 1 <= written(20) < written(0)
