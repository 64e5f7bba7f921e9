import contextlib
import ctypes
import errno
import os
import threading
from collections import deque
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab_clock import LabClock
from waiting import DEADLINE_S
from watchdog.observers import inotify_c
from watchdog.observers.inotify_c import InotifyConstants, InotifyEvent

from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import (
    EntryDescribed,
    EntrySaved,
    FindingSaved,
    Message,
    Record,
    Stats,
)
from fuzztui.run.observe import stats_reader
from fuzztui.run.observe.directory import DirectoryObserver
from fuzztui.run.observe.inotify import Watcher
from fuzztui.run.observe.relay import Offsets
from fuzztui.run.observe.scan import GRAIN_S, YOUNG_S, Listing, NewFile


def names(finds: list[NewFile]) -> list[str]:
    return [find.name for find in finds]


def put(directory: Path, name: str, content: bytes = b"x") -> None:
    (directory / name).write_bytes(content)


@pytest.fixture
def clock() -> LabClock:
    clock = LabClock()
    clock.now += 1000.0  # all that is on the disk is old
    return clock


@pytest.fixture
def listing(tmp_path, clock) -> Listing:
    return Listing(tmp_path, set(), monotonic=clock, wall=clock)


# ------------------------------------------------------------------- the sure tier


def test_each_file_is_found_once_in_order(listing, tmp_path, clock):
    for n in (2, 0, 1):
        put(tmp_path, f"id:00000{n}", b"x" * n)
    assert listing.look(10) == [NewFile(f"id:00000{n}", n) for n in range(3)]
    clock.now += 100
    assert listing.look(10) == []
    put(tmp_path, "id:000003")
    clock.now += 100
    assert names(listing.look(10)) == ["id:000003"]


def test_what_is_known_is_not_found_again_when_afl_trims_it(tmp_path, clock):
    listing = Listing(tmp_path, {"id:000000"}, monotonic=clock, wall=clock)
    put(tmp_path, "id:000000")
    put(tmp_path, "id:000001")
    assert names(listing.look(10)) == ["id:000001"]
    (tmp_path / "id:000001").unlink()
    put(tmp_path, "id:000001", b"trimmed")
    clock.now += 100
    assert listing.look(10) == []


def test_a_bounded_look_leaves_nothing_out(listing, tmp_path):
    for n in range(25):
        put(tmp_path, f"id:{n:06d}")
    found: list[str] = []
    while True:
        found += names(listing.look(10))
        if not listing.behind:
            break
    assert found == [f"id:{n:06d}" for n in range(25)]


def test_a_change_right_after_a_listing_is_not_missed(tmp_path):
    """Two files in one tick of the file system's clock: the mtime is the same for both."""
    put(tmp_path, "one")
    before = tmp_path.stat()
    clock = LabClock(before.st_mtime + GRAIN_S / 2)
    listing = Listing(tmp_path, set(), monotonic=clock, wall=clock)
    assert names(listing.look(10)) == ["one"]
    put(tmp_path, "two")
    os.utime(tmp_path, ns=(before.st_atime_ns, before.st_mtime_ns))
    clock.now += GRAIN_S
    assert names(listing.look(10)) == ["two"]


def test_an_unchanged_directory_is_not_listed(listing, tmp_path, clock, monkeypatch):
    put(tmp_path, "one")
    listing.look(10)
    monkeypatch.setattr(os, "listdir", lambda path: pytest.fail("listed"))
    clock.now += 100
    assert listing.look(10) == []


@pytest.mark.parametrize(
    ("later", "is_listed"),
    [(GRAIN_S + YOUNG_S, True), (YOUNG_S + 0.2, False)],
    ids=["it waits for its size", "it is looked at again without a listing"],
)
def test_a_young_file(tmp_path, monkeypatch, later, is_listed):
    put(tmp_path, "id:000000", b"")
    clock = LabClock(tmp_path.stat().st_mtime)
    listing = Listing(tmp_path, set(), monotonic=clock, wall=clock)
    assert listing.look(10) == []
    put(tmp_path, "id:000000", b"whole")
    if not is_listed:
        monkeypatch.setattr(os, "listdir", lambda path: pytest.fail("listed again"))
    clock.now += later
    assert listing.look(10) == [NewFile("id:000000", 5)]


def test_the_last_look_lists_although_names_wait(listing, tmp_path):
    for n in range(3):
        put(tmp_path, f"id:00000{n}")
    assert names(listing.look(1)) == ["id:000000"]
    put(tmp_path, "id:000003")
    assert names(listing.look(1, last=True)) == [f"id:00000{n}" for n in (1, 2, 3)]


def test_the_last_look_waits_for_nothing(tmp_path):
    listing = Listing(tmp_path, set())
    listing.look(1)
    put(tmp_path, "a")
    put(tmp_path, "b")
    assert names(listing.look(1, last=True)) == ["a", "b"]


def test_only_regular_files_are_finds(listing, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "directory").mkdir()
    (tmp_path / "link").symlink_to("/etc/passwd")
    put(tmp_path, "README.txt")
    put(tmp_path, ".hidden")
    put(tmp_path, "what\never [x]")
    os.close(os.open(os.fsencode(tmp_path) + b"/\xff\xfe", os.O_CREAT | os.O_WRONLY))
    assert names(listing.look(10)) == ["what\never [x]", os.fsdecode(b"\xff\xfe")]


def test_a_directory_that_comes_later(tmp_path, clock):
    listing = Listing(tmp_path / "queue", set(), monotonic=clock, wall=clock)
    assert listing.look(10) == []
    (tmp_path / "queue").mkdir()
    put(tmp_path / "queue", "one")
    clock.now += 100
    assert names(listing.look(10)) == ["one"]


def test_a_directory_that_was_replaced_is_another_one(tmp_path, clock):
    """AFL renames queue/ when it is resumed."""
    queue = tmp_path / "queue"
    listing = Listing(queue, set(), monotonic=clock, wall=clock)
    assert listing.check()  # there is none, as before
    queue.mkdir()
    assert not listing.check()
    assert listing.check()
    queue.rename(tmp_path / "_resume")
    assert not listing.check()
    queue.mkdir()
    put(queue, "one")
    assert not listing.check()
    assert names(listing.look(1)) == ["one"]


def test_times_to_come_are_at_rest_too(listing, tmp_path, clock, monkeypatch):
    """The clock was set back: what is on the disk seems to be of tomorrow."""
    put(tmp_path, "one")
    clock.now -= 100_000
    assert names(listing.look(10)) == ["one"]
    monkeypatch.setattr(os, "listdir", lambda path: pytest.fail("listed"))
    clock.now += 100
    assert listing.look(10) == []
    monkeypatch.undo()
    put(tmp_path, "two")
    os.utime(tmp_path, (clock.now, clock.now))
    clock.now += 10
    assert names(listing.look(10)) == ["two"]


@pytest.mark.parametrize(
    "make",
    [os.mkfifo, lambda p: p.symlink_to(p.parent), lambda p: p.write_text("x")],
    ids=["fifo", "symlink", "file"],
)
def test_no_directory_is_no_queue(tmp_path, clock, make):
    make(tmp_path / "queue")
    listing = Listing(tmp_path / "queue", set(), monotonic=clock, wall=clock)
    assert listing.check()
    assert listing.look(10) == []
    assert listing.problem == ""


def test_a_directory_that_cannot_be_listed_has_a_problem(listing, tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(os, "listdir", refuse)
    assert listing.look(10) == []
    assert listing.problem == f"{tmp_path} cannot be listed: Permission denied"


@given(st.lists(st.sets(st.integers(0, 30), max_size=6), max_size=8), st.data())
def test_either_tier_first_each_file_once(tmp_path_factory, rounds, data):
    directory = tmp_path_factory.mktemp("queue")
    clock = LabClock()
    clock.now += 1000.0
    listing = Listing(directory, set(), monotonic=clock, wall=clock)
    found: list[str] = []
    for numbers in rounds:
        for n in numbers:
            put(directory, str(n))
            if data.draw(st.booleans()):
                find = listing.file_completed(str(n))
                found += [find.name] if find else []
        clock.now += 100
        found += names(listing.look(data.draw(st.integers(1, 10))))
    found += names(listing.look(1, last=True)) + names(listing.look(1, last=True))
    assert sorted(found) == sorted({str(n) for numbers in rounds for n in numbers})


# ------------------------------------------------------------------- the fast tier

OVERFLOW = InotifyEvent(-1, InotifyConstants.IN_Q_OVERFLOW, 0, b"")


@pytest.fixture
def watcher():
    told = threading.Event()
    watcher = Watcher(told.set)
    watcher.told = told
    yield watcher
    watcher.close()


def take(watcher: Watcher, count: int) -> list[tuple[str, str]]:
    told: list[tuple[str, str]] = []
    while len(told) < count:
        assert watcher.told.wait(DEADLINE_S)
        watcher.told.clear()
        told += watcher.take()[0]
    return told


def test_closed_and_moved_in_are_told(watcher, tmp_path):
    queue = tmp_path / "queue"
    queue.mkdir()
    assert watcher.add(str(queue)) == ""
    put(queue, "written")
    put(tmp_path, "saving")
    (tmp_path / "saving").rename(queue / "moved")
    os.close(os.open(os.fsencode(queue) + b"/\xff\n", os.O_CREAT | os.O_WRONLY))
    names = ["written", "moved", os.fsdecode(b"\xff\n")]
    assert take(watcher, 3) == [(str(queue), name) for name in names]


def test_a_directory_that_goes_is_told_and_its_successor_can_be_watched(watcher, tmp_path):
    queue = tmp_path / "queue"
    queue.mkdir()
    watcher.add(str(queue))
    queue.rename(tmp_path / "old")
    assert take(watcher, 1) == [(str(queue), "")]
    queue.mkdir()
    assert watcher.add(str(queue)) == ""
    put(tmp_path / "old", "late")
    put(queue, "new")
    assert take(watcher, 1) == [(str(queue), "new")]
    (queue / "new").unlink()
    queue.rmdir()
    assert take(watcher, 1) == [(str(queue), "")]
    watcher.remove(str(queue))  # it is gone already


def test_an_overflow_is_told(watcher, tmp_path):
    assert watcher.add(str(tmp_path)) == ""
    watcher._inotify.handle_event(OVERFLOW)
    assert watcher.told.wait(DEADLINE_S)
    assert watcher.take() == ([], True)
    assert watcher.take() == ([], False)


@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.ENOSPC, "inotify watch limit reached"), (errno.EACCES, "Permission denied")],
)
def test_no_watch_is_a_reason_and_no_error(watcher, tmp_path, monkeypatch, number, words):
    def refused(*_: object) -> int:
        ctypes.set_errno(number)
        return -1

    assert "No such file" in watcher.add(str(tmp_path / "none"))
    monkeypatch.setattr(inotify_c, "inotify_add_watch", refused)
    assert watcher.add(str(tmp_path)) == f"{tmp_path}: {words}"


def test_a_network_file_system_is_only_polled(watcher, tmp_path, monkeypatch):
    monkeypatch.setattr("fuzztui.run.observe.inotify.file_system", lambda path: "nfs4")
    assert "network file system (nfs4)" in watcher.add(str(tmp_path))


# --------------------------------------------------------------------- the observer


@pytest.fixture
def main(tmp_path: Path) -> Path:
    for directory in ("queue", "crashes", "hangs"):
        (tmp_path / "out/main" / directory).mkdir(parents=True)
    return tmp_path / "out/main"


@pytest.fixture
def observer(main: Path):
    """Makes observers of the instance main; all are closed in the end."""
    with contextlib.ExitStack() as closing:

        def make(state: State | None = None, **kwargs: object) -> DirectoryObserver:
            made = DirectoryObserver(main.parent, state or State(), Offsets(0, {}), {}, **kwargs)
            closing.callback(made.close)
            assert made.add("main") == []
            return made

        yield make


def test_entries_findings_events_and_figures(observer, main):
    seen = observer()
    put(main / "queue", "id:000000,time:0,execs:0,orig:seed", b"12345")
    put(main / "queue", "id:000001,src:000000,time:7,execs:70,op:havoc,rep:2,+cov")
    put(main / "crashes", "id:000000,sig:06,src:000001,time:8,execs:80,op:splice")
    put(main / "crashes", "any other name")
    put(main / "hangs", "id:000000,src:000001,time:9,execs:90,op:havoc")
    (main / "events.jsonl").write_text('{"k":"entry_described","instance":"x","id":1,"edges":3}\n')
    (main / "fuzzer_stats").write_text("execs_done : 90\nsaved_crashes : 1\n")
    events = seen.observe_final("main").events
    assert [e for e in events if isinstance(e, EntrySaved)] == [
        EntrySaved("main", 0, "queue/id:000000,time:0,execs:0,orig:seed", op="orig:seed", size=5),
        EntrySaved(
            "main", 1, "queue/id:000001,src:000000,time:7,execs:70,op:havoc,rep:2,+cov", [0],
            "havoc,rep:2", time_ms=7, execs=70, size=1, cov=True,
        ),
    ]  # fmt: skip
    findings = {e.file: e for e in events if isinstance(e, FindingSaved)}
    assert findings["crashes/any other name"].id == -1
    assert findings["crashes/id:000000,sig:06,src:000001,time:8,execs:80,op:splice"].sig == 6
    assert [e.category for e in findings.values()].count("hang") == 1
    assert EntryDescribed("main", 1, edges=3) in events
    stats = [e for e in events if isinstance(e, Stats)]
    # The files are the truth: AFL counts from 0 again after a resume.
    assert [(s.execs, s.crashes, s.hangs) for s in stats] == [(90, 2, 1)]


def test_what_the_state_knows_is_not_logged_again(observer, main):
    first = observer()
    for n in range(5):
        put(main / "queue", f"id:{n:06d},src:000000")
        put(main / "crashes", f"odd {n}")
        put(main / "queue", f"{n}" * 40)  # AFL_SHA1_FILENAMES
    events = first.observe_final("main").events
    state = State()
    apply(state, [Record(n, 0.0, event) for n, event in enumerate(events, 1)])
    assert len(state.entries) == 10
    assert len(state.findings) == 5
    again = observer(state)
    put(main / "queue", "another odd one")
    fresh = again.observe_final("main").events
    assert [e.file for e in fresh] == ["queue/another odd one"]
    assert fresh[0].id == -6


def test_a_finding_that_was_only_described_is_still_found(observer, main):
    from fuzztui.kernel.wire.events import FindingDescribed

    state = State()
    apply(state, [Record(1, 0.0, FindingDescribed("main", "crash", "crashes/id:000000"))])
    seen = observer(state)
    put(main / "crashes", "id:000000")
    assert [type(e) for e in seen.observe_final("main").events] == [FindingSaved]


def test_hostile_files_in_the_place_of_ours(observer, main):
    seen = observer()
    os.mkfifo(main / "fuzzer_stats")
    os.mkfifo(main / "events.jsonl")
    assert seen.poll().events == []  # and did not block
    (main / "fuzzer_stats").unlink()
    (main / "fuzzer_stats").symlink_to("/dev/zero")
    (main / "events.jsonl").unlink()
    (main / "events.jsonl").symlink_to("/etc/passwd")
    assert seen.observe_final("main").events == []
    (main / "fuzzer_stats").unlink()
    (main / "fuzzer_stats").mkdir()
    assert seen.observe_final("main").events == []


def test_an_empty_stats_file_keeps_the_old_figures(observer, main):
    seen = observer()
    stats = main / "fuzzer_stats"
    stats.write_text("execs_done : 5\n")
    assert [e.execs for e in seen.observe_final("main").events] == [5]
    stats.write_text("")
    assert seen.observe_final("main").events == []
    stats.write_text("execs_done : 6\n")
    assert [e.execs for e in seen.observe_final("main").events] == [6]
    stats.write_text("execs_done : 6\n\n")  # rewritten, and nothing new in it
    assert seen.observe_final("main").events == []


def test_figures_are_bounded_in_rate(observer, main, monkeypatch):
    clock = LabClock(1000.0)
    monkeypatch.setattr(stats_reader, "time", clock)
    seen = observer()
    stats = main / "fuzzer_stats"
    logged = []
    for n in range(50):
        stats.write_text(f"execs_done : {n}\n")
        os.utime(stats, ns=(n, n))
        logged += seen.poll().events
        clock.now += stats_reader.EVERY_S / 16  # exact in binary
    logged += seen.observe_final("main").events
    assert [e.execs for e in logged] == [0, 16, 32, 48, 49]


def test_foreign_lines_are_counted_in_one_warning(observer, main):
    seen = observer()
    (main / "events.jsonl").write_bytes(b"x\n" * 1000 + b'{"k":"stats"}\n')
    (warning,) = seen.observe_final("main").events
    assert isinstance(warning, Message)
    assert (warning.level, warning.instance) == ("warning", "main")
    assert "1,001 lines" in warning.text


def test_a_deep_queue_comes_in_pieces(observer, main, monkeypatch):
    monkeypatch.setattr("fuzztui.run.observe.directory.FINDS_AT_ONCE", 100)
    queue = main / "queue"
    for n in range(350):
        put(queue, f"id:{n:06d}")
        os.utime(queue / f"id:{n:06d}", (1, 1))
    seen = observer()
    sizes, behind = [], True
    while behind:
        batch = seen.poll()
        sizes.append(len(batch.events))
        behind = batch.behind
    assert sizes == [100, 100, 100, 50]


def test_the_watcher_wakes_the_observer_and_its_overflow_rescans(observer, main):
    told = threading.Event()
    seen = observer(wake=told.set)
    seen.poll()
    put(main / "crashes", "id:000000")
    assert told.wait(DEADLINE_S)
    assert [e.file for e in seen.poll().events] == ["crashes/id:000000"]
    seen._watcher.remove(str(main / "crashes"))
    put(main / "crashes", "id:000001")
    os.utime(main / "crashes/id:000001", (1, 1))
    seen._watcher._inotify.handle_event(OVERFLOW)
    assert [e.file for e in seen.poll().events] == ["crashes/id:000001"]


def test_offsets_of_instances_that_are_not_observed_stay(tmp_path):
    made = DirectoryObserver(tmp_path, State(), Offsets(9, {"old": 77}), {"old": deque()})
    assert made.poll().offsets == {"old": 77}
    made.close()
