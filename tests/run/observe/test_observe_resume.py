"""What a resume of afl-fuzz does to its directories, while we look and while we do not."""

import contextlib
import math
import os
import shutil
import threading
from pathlib import Path

import pytest
from lab_clock import LabClock
from waiting import DEADLINE_S, wait_until

from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import EntrySaved, FindingSaved, Message, Record, Stats, Synced
from fuzztui.run.observe.directory import DirectoryObserver
from fuzztui.run.observe.inotify import Watcher
from fuzztui.run.observe.peers import Peers
from fuzztui.run.observe.relay import Offsets
from fuzztui.run.observe.saved_inputs import SavedInputs


def put(directory: Path, name: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).write_bytes(b"x")
    os.utime(directory / name, (1, 1))


def resume(main: Path, date: str) -> None:
    """As afl-fuzz does it."""
    (main / "queue").rename(main / "_resume")
    (main / "queue").mkdir()
    for file in (main / "_resume").iterdir():
        os.link(file, main / "queue" / file.name)
    shutil.rmtree(main / "_resume")
    for folder in ("crashes", "hangs"):
        if any((main / folder).iterdir()):
            (main / folder).rename(main / f"{folder}.{date}")
        else:
            (main / folder).rmdir()
        (main / folder).mkdir()


class NoWatcher:
    def __init__(self, reason: str = "") -> None:
        self.reason = reason
        self.watched: list[str] = []

    def add(self, directory: str) -> str:
        self.watched.append(Path(directory).name)
        return self.reason

    def remove(self, directory: str) -> None:
        if Path(directory).name in self.watched:
            self.watched.remove(Path(directory).name)


@pytest.fixture
def main(tmp_path) -> Path:
    for folder in ("queue", "crashes", "hangs"):
        (tmp_path / "out/main" / folder).mkdir(parents=True)
    return tmp_path / "out/main"


@pytest.fixture
def finds(main) -> SavedInputs:
    return SavedInputs(str(main), "main", NoWatcher())


@pytest.fixture
def observer(main):
    """Makes observers of the instance main; all are closed in the end."""
    with contextlib.ExitStack() as closing:

        def make(state: State | None = None, **kwargs: object) -> DirectoryObserver:
            made = DirectoryObserver(main.parent, state or State(), Offsets(0, {}), {}, **kwargs)
            closing.callback(made.close)
            made.add("main")
            return made

        yield make


def files(events) -> list[str]:
    return [e.file for e in events if isinstance(e, (EntrySaved, FindingSaved))]


def test_a_moved_crash_is_no_new_one_and_all_of_them_count(finds, main):
    put(main / "queue", "id:000000,time:0,execs:0,orig:a")
    put(main / "crashes", "id:000000,sig:06,src:000000,op:havoc,rep:2")
    assert len(finds.look(10, last=True)) == 2
    resume(main, "2026-01-01-00:00:00")
    assert files(finds.look(10, last=True)) == ["queue/id:000000,time:0,execs:0,orig:a"]
    put(main / "crashes", "id:000001,sig:06,src:000000,op:havoc,rep:2")
    assert files(finds.look(10, last=True)) == [
        "crashes/id:000001,sig:06,src:000000,op:havoc,rep:2"
    ]
    assert finds.count("crashes") == 2


def test_a_queue_that_is_replaced_between_two_checks_is_recorded_once(main, monkeypatch):
    clock = LabClock()
    monkeypatch.setattr("time.monotonic", clock)
    finds = SavedInputs(str(main), "main", NoWatcher())
    put(main / "queue", "id:000000,time:0,execs:0,orig:a")
    assert len(files(finds.look(10, last=True))) == 1
    for listing in finds._listings.values():
        listing._monotonic = clock
    finds.renewed = False
    finds._check_due = math.inf  # the check is not due, a listing is
    clock.now += 1000
    (main / "queue").rename(main / "_resume")
    put(main / "queue", "id:000000,time:0,execs:0,orig:id:000000,time:0,execs:0,orig:a")
    found = []
    for _ in range(3):
        found += [(file, finds.renewed) for file in files(finds.look(10))]
        clock.now += 1000
    name = "queue/id:000000,time:0,execs:0,orig:id:000000,time:0,execs:0,orig:a"
    assert found == [(name, True)]


def test_the_end_of_a_directory_is_no_event_once_it_is_known(main):
    watcher = Watcher(lambda: None)
    queue = str(main / "queue")
    assert watcher.add(queue) == ""
    (main / "queue").rename(main / "_resume")
    wait_until(lambda: (queue, "") in watcher._completed)
    (main / "queue").mkdir()
    assert watcher.add(queue) == ""
    assert watcher.take() == ([], False)
    watcher.close()


def test_a_queue_that_is_numbered_anew_is_told_again(observer, main):
    """afl-fuzz reverses it: every other resume gives the same names."""
    state = State()
    seen = observer(state)
    first = "id:000001,src:000000,time:5,execs:8,op:havoc,rep:2,+cov"
    there = ["id:000000,time:0,execs:0,orig:a", first]
    back = ["id:000001,time:0,execs:0,orig:a", f"id:000000,time:0,execs:0,orig:{first}"]
    again = [there[0], f"id:000001,time:0,execs:0,orig:{first}"]
    seq = 0
    for names in (there, back, again, back):
        (main / "queue").rename(main / "_resume")
        for name in (*names, "0a1b2c3d"):
            put(main / "queue", name)
        shutil.rmtree(main / "_resume")
        events = seen.observe_final("main").events
        told = sorted(set(files(events)) - {"queue/0a1b2c3d"})
        assert told == sorted(f"queue/{n}" for n in names)
        apply(state, [Record(seq + n, seq, e) for n, e in enumerate(events, 1)])
        seq += len(events)
        for entry in state.entries.values():
            assert (main / entry.file).is_file()
    assert [r.event.file for r in state.recent if isinstance(r.event, EntrySaved)] == [
        f"queue/{name}" for name in ("0a1b2c3d", *there)
    ], "the rest is no news"
    assert len(state.entries) == 3
    assert state.entries["main/0"].first == 1
    assert state.entries["main/0"].t == 0.005, "when it was found"
    assert state.instances["main"].last_find_t == 0.0


def test_a_name_that_comes_again_after_a_resume_is_another_finding(finds, main):
    """AFL 2.5x has no time in its names, and counts from 0 again."""
    name = "id:000000,sig:06,src:000000,op:havoc,rep:2"
    for _ in range(3):
        put(main / "crashes", name)
        finds.look(10, last=True)
        resume(main, f"2026-01-0{finds.count('crashes')}-00:00:00")
    put(main / "crashes", name)
    (fourth,) = files(finds.look(10, last=True))
    assert fourth == f"crashes/./././{name}"
    assert (main / fourth).is_file()
    assert finds.count("crashes") == 4
    assert finds.look(10, last=True) == []


def test_a_name_that_comes_again_after_all_was_deleted_is_another_finding(finds, main):
    """afl-fuzz -i in over an old directory, or a user who clears the table."""
    put(main / "crashes", "id:000000,sig:06")
    finds.look(10, last=True)
    shutil.rmtree(main / "crashes")
    finds.file_completed("crashes", "")
    put(main / "crashes", "id:000000,sig:06")  # on ext4 with the same inode
    assert files(finds.look(10, last=True)) == ["crashes/./id:000000,sig:06"]


def test_a_resume_while_nobody_looked(observer, main):
    """What the log knows is not told again, wherever it lies now; all the rest is."""
    state = State()
    names = [f"crashes/id:00000{n},sig:06" for n in (0, 1)]
    apply(state, [Record(n, 0.0, FindingSaved("main", "crash", f)) for n, f in enumerate(names, 1)])
    put(main / "crashes.2026-01-01-00:00:00", "id:000000,sig:06")
    put(main / "crashes.2026-01-01-00:00:00", "id:000001,sig:06")
    put(main / "crashes.2026-01-01-00:00:00", "id:000002,sig:06")
    put(main / "crashes", "id:000000,sig:06")
    put(main / "hangs.2026-01-01-00:00:00", "id:000000,src:000001")
    seen = observer(state)
    events = seen.observe_final("main").events
    assert {(e.category, e.file) for e in events} == {
        ("crash", "crashes/./id:000000,sig:06"),
        ("crash", "crashes.2026-01-01-00:00:00/id:000002,sig:06"),
        ("hang", "hangs.2026-01-01-00:00:00/id:000000,src:000001"),
    }


def test_the_count_shown_is_over_all_starts(observer, main):
    for n in range(3):
        put(main / "crashes.2026-01-01-00:00:00", f"id:00000{n},sig:06")
    put(main / "hangs", "id:000000")
    (main / "fuzzer_stats").write_text("execs_done : 9\nsaved_crashes : 0\n")
    seen = observer()
    (stats,) = [e for e in seen.observe_final("main").events if isinstance(e, Stats)]
    assert (stats.crashes, stats.hangs) == (3, 1)


def test_nothing_is_made_and_what_comes_later_is_found(tmp_path):
    seen = DirectoryObserver(tmp_path, State(), Offsets(0, {}), {})
    (tmp_path / "main").mkdir()
    assert seen.add("main") == []
    assert seen.poll().events == []
    assert list((tmp_path / "main").iterdir()) == []
    put(tmp_path / "main/crashes", "id:000000")
    assert files(seen.observe_final("main").events) == ["crashes/id:000000"]
    shutil.rmtree(tmp_path / "main")
    assert seen.observe_final("main").events == []
    put(tmp_path / "main/crashes", "id:000001")
    assert files(seen.observe_final("main").events) == ["crashes/id:000001"]
    seen.close()


def test_a_replaced_directory_is_watched_again(observer, main, monkeypatch):
    monkeypatch.setattr("fuzztui.run.observe.saved_inputs.CHECK_S", 0.0)
    told = threading.Event()
    seen = observer(wake=told.set)
    put(main / "crashes", "id:000000,sig:06")
    told.wait(DEADLINE_S)
    assert files(seen.poll().events) == ["crashes/id:000000,sig:06"]
    resume(main, "2026-01-01-00:00:00")
    seen.poll()
    told.clear()
    seen.poll()
    (main / "crashes/id:000001,sig:06").write_bytes(b"x")
    assert told.wait(DEADLINE_S)  # by inotify: too young for the listing
    events = []
    while not events:
        events = seen.poll().events
    assert files(events) == ["crashes/id:000001,sig:06"]


def test_every_directory_is_watched_once(main):
    watcher = NoWatcher()
    finds = SavedInputs(str(main), "main", watcher)
    put(main / "crashes", "one")
    finds.look(10, last=True)
    resume(main, "DATE")
    finds.look(10, last=True)
    assert sorted(watcher.watched) == ["crashes", "crashes.DATE", "hangs", "queue"]
    shutil.rmtree(main / "crashes.DATE")
    finds.look(10, last=True)
    assert sorted(watcher.watched) == ["crashes", "hangs", "queue"]


def test_polling_only_is_said_once(main, monkeypatch):
    monkeypatch.setattr("fuzztui.run.observe.inotify.file_system", lambda path: "nfs4")
    seen = DirectoryObserver(main.parent, State(), Offsets(0, {}), {})
    (message,) = seen.add("main")
    assert message.text.startswith("polling only: ")
    assert seen.observe_final("main").events == []
    seen.close()


def test_an_unreadable_directory_is_said_once(finds, main, monkeypatch):
    listdir = os.listdir

    def refuse(path):
        if str(path).endswith("crashes"):
            raise PermissionError(13, "Permission denied", path)
        return listdir(path)

    monkeypatch.setattr(os, "listdir", refuse)
    (message,) = finds.look(10, last=True)
    assert isinstance(message, Message)
    assert "crashes cannot be listed: Permission denied" in message.text
    assert finds.look(10, last=True) == []


# ------------------------------------------------------------------------------- peers


def test_peers_are_told_when_they_change(tmp_path):
    synced = tmp_path / ".synced"
    synced.mkdir()
    peers = Peers(str(tmp_path), "main")
    assert peers.look(last=True) is None
    (synced / "s1").write_bytes((77).to_bytes(4, "little"))
    (synced / "s1.last").write_bytes(b"12345678")
    (synced / "torn").write_bytes(b"12")
    os.mkfifo(synced / "fifo")
    (synced / "directory").mkdir()
    (synced / "link").symlink_to("/etc/passwd")
    assert peers.look(last=True) == Synced("main", {"s1": 77})
    assert peers.look(last=True) is None
    assert peers.look() is None  # not that often
    (synced / "s1").write_bytes((78).to_bytes(4, "little"))
    os.utime(synced / "s1", (5, 5))
    assert peers.look(last=True) == Synced("main", {"s1": 78})


@pytest.mark.slow
def test_peers_are_told_at_once_and_then_once_a_minute(tmp_path, monkeypatch):
    """All peers are in the event: every few seconds it would be most of a fleet's log."""
    now = 1000.0
    monkeypatch.setattr("fuzztui.run.observe.peers.time.monotonic", lambda: now)
    peers = Peers(str(tmp_path), "main")
    assert peers.look() is None
    (tmp_path / ".synced").mkdir()
    told = []
    for second in range(0, 300):
        now = 1000.0 + second
        (tmp_path / ".synced/s1").write_bytes(second.to_bytes(4, "little"))
        os.utime(tmp_path / ".synced/s1", (second, second))
        told += [second] if peers.look() else []
    assert told == [5, 65, 125, 185, 245]


def test_the_observer_tells_peers(observer, main):
    put(main / ".synced", "s1")
    (main / ".synced/s1").write_bytes((3).to_bytes(4, "little"))
    seen = observer()
    assert seen.observe_final("main").events == [Synced("main", {"s1": 3})]
