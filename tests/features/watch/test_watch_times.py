"""When things happened in a watched campaign: copies, newcomers, resumes, clocks that jump."""

import os
import shutil
import time
from pathlib import Path

import pytest
from watch_lab import Fuzzer

from fuzztui.features.watch import instance, watcher
from fuzztui.features.watch import stats as figures
from fuzztui.kernel.model.selectors import throughput
from fuzztui.kernel.wire.events import DIRECTORY_GONE, InstanceHello, InstanceState, Stats


@pytest.fixture
def living(tmp_path, fuzzers):
    main = fuzzers(tmp_path / "out/main", ago=600, run=600)
    main.live()
    return main


def copied(fuzzer: Fuzzer, to: Path) -> None:
    """As by ``cp -r``: all files are of now."""
    shutil.copytree(fuzzer.path, to, copy_function=shutil.copyfile)


# ------------------------------------------------------------------------- dead ones


def test_a_dead_one_whose_files_cannot_be_read_is_stopped(tmp_path, watch):
    flat = Fuzzer(tmp_path / "out/flat", figures=False)
    os.mkfifo(flat.path / "fuzzer_stats")
    os.mkfifo(flat.path / "plot_data")
    flat.put("queue/id:000000,orig:a")
    flat.put("crashes/id:000000,sig:06,src:000000,time:1000,op:havoc")
    Fuzzer(tmp_path / "out/main", ago=7200)  # it began before: time 0 is not flat's
    state = watch(tmp_path / "out").state
    assert (state.state, state.instances["flat"].state) == ("stopped", "stopped")
    assert state.instances["flat"].execs_per_sec == 0.0


def test_the_times_of_a_copy_are_those_of_what_it_tells(tmp_path, watch):
    old = Fuzzer(tmp_path / "old", ago=86400, run=3600)
    old.put("queue/id:000000,time:0,execs:0,orig:a")
    old.put("queue/id:000001,src:000000,time:3000000,execs:3000000,op:havoc")
    old.put("crashes/0123456789abcdef")  # its name has no time
    copied(old, tmp_path / "out/main")
    state = watch(tmp_path / "out").state
    assert abs(state.t - 3600) < 5
    assert "last statistics 23 h ago" in state.reason
    assert abs(state.instances["main"].last_find_t - 3000) < 5
    assert max(f.t for f in state.findings.values()) <= state.t


def test_imports_that_a_resume_renamed_were_found_among_their_neighbours(tmp_path, watch):
    main = Fuzzer(tmp_path / "main", ago=600, run=600)
    main.put("queue/id:000002,time:0,execs:0,orig:id:000001,src:000000,time:90000,execs:9,op:havoc")
    main.put("queue/id:000001,time:0,execs:0,orig:id:000002,sync:s1,src:000007")
    main.put("queue/id:000000,time:0,execs:0,orig:id:000003,src:000001,time:95000,execs:9,op:havoc")
    for file in (main.path / "queue").iterdir():  # it stood still for a day
        os.utime(file, (main.start - 86400,) * 2)
    state = watch(main.path).state
    assert abs(state.instances["main"].last_find_t - 95) < 2  # though all have new names
    found = {e.first: e.t for e in state.entries.values()}
    assert found == pytest.approx({1: 90, 2: 90, 3: 95}, abs=2)


# ------------------------------------------------------------------------- newcomers


def test_the_first_to_appear_brings_its_whole_history(tmp_path, watch):
    old = Fuzzer(tmp_path / "old", ago=86400, run=3600)
    old.put("queue/id:000000,time:0,execs:0,orig:a")
    old.put("queue/id:000001,src:000000,time:3000000,execs:3000000,op:havoc")
    (tmp_path / "out").mkdir()
    seen = watch(tmp_path / "out")
    copied(old, tmp_path / "out/main")
    seen.look()
    state = seen.state
    assert (state.name, state.target, state.state) == ("out", "target", "stopped")
    assert abs(state.t - 3600) < 5
    assert throughput(state) == pytest.approx(1000, abs=5)
    assert abs(state.series["rate"].at(1800) - 1000) < 5  # the plots are full
    assert abs(state.instances["main"].last_find_t - 3000) < 5
    assert abs(state.started_wall - old.start) < 5


def test_a_finished_one_that_appears_later_bends_no_curve(tmp_path, watch, living):
    old = Fuzzer(tmp_path / "old", ago=86400, run=3600)
    seen = watch(tmp_path / "out")
    before = seen.state
    copied(old, tmp_path / "out/s1")
    seen.look()
    state = seen.state
    assert state.t - before.t < 10
    assert (state.state, state.instances["s1"].state) == ("running", "stopped")
    s1 = state.instances["s1"]
    assert (s1.stats.execs, s1.execs_per_sec) == (3_600_000, 0)
    assert throughput(state) == throughput(before)
    assert [r.t for r in seen.records] == sorted(r.t for r in seen.records)
    assert any(text.endswith("s1 has appeared") for text in seen.texts)
    assert [event.instance for event in seen.events(Stats)].count("s1") == 1


def test_what_a_newcomer_found_long_ago_is_no_news(tmp_path, watch, living):
    seen = watch(tmp_path / "out")
    old = Fuzzer(tmp_path / "out/s1", ago=500, run=200)
    old.put("queue/id:000001,src:000000,time:100000,execs:9,op:havoc")
    seen.look()
    assert abs(seen.state.instances["s1"].last_find_t - 200) < 5
    assert abs(seen.state.t - 600) < 10


def test_one_that_appears_where_nothing_lives_tells_what_came_after(tmp_path, watch):
    Fuzzer(tmp_path / "out/a", ago=7200, run=3600)
    later = Fuzzer(tmp_path / "later", ago=5400, run=5400)  # half of it with the other
    seen = watch(tmp_path / "out")
    assert abs(seen.state.t - 3600) < 5
    shutil.copytree(later.path, tmp_path / "out/b")
    seen.look()
    state = seen.state
    assert state.state == "stopped"
    assert abs(state.t - 7200) < 5
    assert state.series["execs"].at(5400) == pytest.approx(7_200_000, rel=0.02)


def test_a_directory_that_goes_is_missed(tmp_path, watch):
    dead = Fuzzer(tmp_path / "out/main")
    seen = watch(tmp_path / "out")
    shutil.rmtree(dead.path)
    seen.look()
    seen.look()
    reasons = [event.reason for event in seen.events(InstanceState)]
    assert reasons[-1] == DIRECTORY_GONE
    assert reasons.count(reasons[-1]) == 1
    assert seen.state.instances["main"].reason == reasons[-1]


def test_who_stops_does_not_say_hello(watch, living):
    seen = watch(living.path)
    living.die()
    seen.until(lambda s: s.state == "stopped")
    assert len(seen.events(InstanceHello)) == 1


def test_sizes_are_known_from_the_start(tmp_path, watch):
    main = Fuzzer(tmp_path / "main")
    main.put("queue/id:000000,time:0,execs:0,orig:a")
    assert [e.size for e in watch(main.path).state.entries.values()] == [10]


# ------------------------------------------------------------------ clocks that jump


class Clock:
    """The wall clock as somebody sets it; the other one cannot be set."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def time(self) -> float:
        return time.time() + self.ahead

    def monotonic(self) -> float:
        return time.monotonic()


@pytest.mark.parametrize("jump", [86400.0, -86400.0, 90.0, -90.0])
def test_a_clock_that_jumps_while_we_watch(watch, fuzzers, living, monkeypatch, jump):
    clock = Clock()
    for module in (figures, instance, watcher):
        monkeypatch.setattr(module, "time", clock)
    # It writes nothing after the jump.
    fuzzers(living.path.with_name("s1"), ago=600, run=600).live()
    seen = watch(living.path.parent)
    before = seen.state
    clock.ahead = jump
    seen.look()
    state = seen.state
    assert {i.state for i in state.instances.values()} == {"running"}
    # AFL goes by the wall clock: its rows, the times of its files, and those in names.
    living.add_row(max(0, 605 + int(jump)), 605_000)
    living.age(clock.time(), "plot_data")
    name = f"id:000002,src:000000,time:{max(0, 606_000 + int(jump) * 1000)},execs:606000,op:havoc"
    living.put(f"queue/{name}", old=False)
    seen.until(lambda s: s.instances["main"].stats.execs == 606_000)
    living.write_stats(660, last_update=living.start + int(jump) + 660)
    living.age(clock.time(), "fuzzer_stats")
    state = seen.until(lambda s: s.instances["main"].stats.execs == 660_000)
    assert {i.state for i in state.instances.values()} == {"running"}
    assert state.t - before.t < 20
    assert abs(state.instances["main"].last_find_t - state.t) < 20
    for record in seen.records:
        assert record.t <= state.t
        if isinstance(record.event, Stats):
            assert 0 <= record.event.age < 660
            assert record.event.execs_per_sec <= 2000
    assert abs(state.t - state.instances["main"].stats_t) < 20
    assert not seen.texts
