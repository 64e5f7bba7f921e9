"""How a foreign instance is, how old its figures are, what a probe leaves behind."""

import fcntl
import os
import signal
import subprocess
from dataclasses import replace

import pytest
from lab_clock import LabClock
from watch_lab import PLOT, Fuzzer, row, stats

from fuzztui.features.watch import instance as watch_instance
from fuzztui.features.watch import stats as watch_stats
from fuzztui.features.watch.directories import WatchedDirectory
from fuzztui.features.watch.instance import UNSEEN, WatchedInstance, held, process_is
from fuzztui.features.watch.snapshot import _NoWatcher
from fuzztui.features.watch.stats import WatchedStats
from fuzztui.kernel.base.text import ago
from fuzztui.kernel.wire.events import DIRECTORY_GONE, Stats
from fuzztui.run.observe import stats_reader


@pytest.fixture
def fuzzer(tmp_path, fuzzers):
    return fuzzers(tmp_path / "main")


@pytest.fixture
def clock(monkeypatch) -> LabClock:
    """The time by which the ages of files are told."""
    clock = LabClock()
    for module in (watch_stats, stats_reader):
        monkeypatch.setattr(module, "time", clock)
    return clock


def instance(fuzzer: Fuzzer) -> WatchedInstance:
    made = WatchedInstance(WatchedDirectory("main", str(fuzzer.path)), _NoWatcher())
    made.figures.look()
    return made


# ---------------------------------------------------------------------------- liveness


def test_a_probe_sees_the_lock_and_leaves_none(fuzzer):
    assert held(str(fuzzer.path)) is False
    fuzzer.live()  # it could take it: the probe's was let go of
    assert held(str(fuzzer.path)) is True
    fuzzer.die()
    assert held(str(fuzzer.path)) is False
    assert held(str(fuzzer.path / "none")) is None


def test_where_locks_tell_nothing_nothing_is_told(fuzzer, monkeypatch):
    monkeypatch.setattr(watch_instance, "_kinds", {})
    monkeypatch.setattr(watch_instance, "file_system", lambda path: "nfs4")
    assert held(str(fuzzer.path)) is None
    i = instance(fuzzer)
    assert i.standing() == ("running", UNSEEN)  # its figures are of now
    fuzzer.age(fuzzer.start)
    assert instance(fuzzer).standing() == ("stopped", "last statistics 60 min ago")


def test_a_free_lock_is_probed_again_only_when_something_has_changed(fuzzer, monkeypatch):
    i = instance(fuzzer)
    probed = []
    monkeypatch.setattr(
        "fuzztui.features.watch.instance.held", lambda path: bool(probed.append(path))
    )
    for _ in range(3):
        i.standing()
    assert len(probed) == 1
    fuzzer.put("new")
    i.standing()
    assert len(probed) == 2


@pytest.fixture
def process(tmp_path):
    """Something that is called afl-fuzz."""
    (tmp_path / "afl-fuzz").symlink_to("/bin/sleep")
    process = subprocess.Popen([tmp_path / "afl-fuzz", "100"])
    yield process
    process.kill()
    process.wait()


def test_a_process_that_is_stopped_is_paused(process):
    assert process_is(process.pid) == "running"
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    assert process_is(process.pid) == "paused"


def test_another_program_is_none():
    for pid in (os.getpid(), 0, -1, 1 << 40, 4194304):
        assert process_is(pid) == ""


# ------------------------------------------------------------------------------ states


def test_running_paused_stalled_stopped_gone(fuzzer, process, clock):
    fuzzer.live()
    fuzzer.write_stats(3600, fuzzer_pid=process.pid)
    assert instance(fuzzer).standing() == ("running", "")
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    assert instance(fuzzer).standing()[0] == "paused"
    process.send_signal(signal.SIGCONT)
    os.waitid(os.P_PID, process.pid, os.WCONTINUED | os.WNOWAIT)
    fuzzer.age(clock.now - 600)
    i = instance(fuzzer)
    assert i.standing() == ("stalled", "the process exists, but its statistics are 10 min old")
    (_, state, figures) = i.changed_state()
    assert (state.state, figures.execs_per_sec) == ("stalled", 0.0)
    fuzzer.die()
    assert i.standing() == ("stopped", "last statistics 10 min ago")
    fuzzer.path.rename(fuzzer.path.with_name("elsewhere"))
    assert i.standing() == ("stopped", DIRECTORY_GONE)


def test_without_figures(tmp_path):
    fuzzer = Fuzzer(tmp_path / "flat", figures=False)
    assert instance(fuzzer).standing()[0] == "stopped"
    fuzzer.live()  # afl-fuzz -n
    assert instance(fuzzer).standing() == ("running", "")
    fuzzer.die()


def test_times_to_come_make_no_negative_age(fuzzer, clock):
    fuzzer.live()
    fuzzer.age(clock.now + 1e6)
    i = instance(fuzzer)
    assert i.standing() == ("running", "")
    assert i.figures.latest.age == 0
    assert i.figures.began(clock.now) <= clock.now


def test_ago():
    assert [ago(s) for s in (-5, 0, 59, 119, 121, 7200, 3e5)] == [
        "0 s", "0 s", "59 s", "119 s", "2 min", "2 h", "3 days",
    ]  # fmt: skip


# ----------------------------------------------------------------------------- figures


def figures(fuzzer: Fuzzer) -> WatchedStats:
    return WatchedStats(str(fuzzer.path), "main")


def test_the_newer_of_two_files_counts_and_each_age_is_told(fuzzer, clock):
    fuzzer.write_stats(3600, edges_pending_cal=5)
    fuzzer.age(clock.now - 50, "fuzzer_stats")
    fuzzer.add_row(3605, 4_000_000)
    told = figures(fuzzer).look()
    assert told.other == {"edges_pending_cal": 5}  # a row has no such number
    assert (told.execs, told.stability, told.edges_total, told.favored) == (4_000_000, 99, 1000, 3)
    assert told.age == 0
    assert told.slow_age == pytest.approx(50)


def test_nothing_new_is_no_event(fuzzer):
    f = figures(fuzzer)
    assert f.look() is not None
    assert f.look() is None
    assert f.latest.execs == 3_600_000


def test_the_rate_is_of_what_was_executed_between_two_rows(fuzzer):
    f = figures(fuzzer)
    assert f.look().execs_per_sec == 1000.0  # of the rows that were there
    for s, execs, rate in ((3605, 3_600_500, 100), (3610, 3_600_500, 0), (3620, 3_700_500, 1e4)):
        fuzzer.add_row(s, execs)
        assert f.look().execs_per_sec == rate
        fuzzer.write_stats(s)
        assert f.look().execs_per_sec == rate  # and no average over its life
    fuzzer.write_stats(3620)
    assert f.look().execs_per_sec == 1e4
    (fuzzer.path / "plot_data").write_text(PLOT + row(5))
    assert f.look().execs_per_sec == -1.0  # begun again: nobody knows


def test_what_afl_says_at_first_is_no_rate(tmp_path):
    """As 4.04c does it: files at 0 s and every minute, rows from then on, every five seconds."""
    new = Fuzzer(tmp_path / "main", ago=60, run=0)
    new.write_stats(0, execs_done=8, execs_per_sec="16000.00", execs_ps_last_min="0.00")
    f = figures(new)
    assert (f.look().execs, f.latest.execs_per_sec) == (8, -1.0)
    new.write_stats(60, execs_done=60_008)
    assert f.look().execs_per_sec == 1000.0
    for s, execs, rate in ((61, 61_500, 1000.0), (66, 71_500, 2000.0), (71, 71_500, 0.0)):
        new.add_row(s, execs)
        assert f.look().execs_per_sec == rate
    # Another process: what is known is of the one before.
    again = stats(new.start + 90, 71, last_update=new.start + 90, fuzzer_pid=7)
    (new.path / "fuzzer_stats").write_text(again)
    assert f.look().execs_per_sec == -1.0


def test_an_earlier_process_has_no_rate_of_the_present_one(fuzzer, clock):
    """A resumed afl-fuzz writes fuzzer_stats at once, with a rate of 0, and rows after a minute."""
    (fuzzer.path / "plot_data").write_text(PLOT + "".join(map(row, range(3000, 3601, 5))))
    fuzzer.age(clock.now - 300)
    live = figures(fuzzer)
    assert live.look().execs_per_sec == 1000
    resumed = {"fuzzer_pid": 77, "execs_ps_last_min": "0.00"}

    def write(s, run):
        (fuzzer.path / "fuzzer_stats").write_text(
            stats(fuzzer.start + 100, run, execs_done=s * 1000, **resumed)
        )
        return [each.look().execs_per_sec for each in (live, figures(fuzzer))]

    assert write(3601, 3501) == [-1, -1]
    for s, rates in ((3665, [-1, 0]), (3670, [200, 200])):  # 0: AFL's own
        fuzzer.add_row(s, 3_700_000 + s * 200)
        assert [each.look().execs_per_sec for each in (live, figures(fuzzer))] == rates


def test_no_rate_spans_a_pause(fuzzer):
    f = figures(fuzzer)
    f.look()
    for s, execs, rate in ((3605, 3_600_500, 100), (4205, 3_600_500, 100), (4210, 3_601_500, 200)):
        fuzzer.add_row(s, execs)
        assert f.look().execs_per_sec == rate  # of ten minutes it was stopped for most
    f.interrupted()
    for s, execs, rate in ((4220, 3_601_500, 200.0), (4225, 3_603_000, 300.0)):
        fuzzer.add_row(s, execs)
        assert f.look().execs_per_sec == rate


def test_the_exact_time_of_a_row_is_that_of_its_file(fuzzer):
    f = figures(fuzzer)
    now = fuzzer.start + 3600
    for s, execs, written in ((3604, 3_700_000, 0.2), (3610, 3_705_300, 5.5), (3615, 3_710_300, 9)):
        fuzzer.add_row(s, execs)
        fuzzer.age(now + written, "plot_data")
        told = f.look()
        if s == 3610:  # six seconds of AFL's clock, which were five
            assert told.execs_per_sec == pytest.approx(1000.0, abs=0.1)
    assert told.execs_per_sec == 1000.0  # a copy has other times


def test_a_single_look_at_a_file_that_is_not_the_first(tmp_path):
    old = Fuzzer(tmp_path / "main")
    (old.path / "plot_data").unlink()
    assert figures(old).look().execs_per_sec == 900.0  # AFL's average
    text = stats(old.start, 3600, execs_ps_last_min="77.00")
    (old.path / "fuzzer_stats").write_text(text)
    assert figures(old).look().execs_per_sec == 77.0


def test_rows_of_old_afl_have_no_executions(tmp_path):
    old = Fuzzer(tmp_path / "main", ago=300, run=0)
    header = "# unix_time, cycles_done, cur_path, paths_total, execs_per_sec\n"
    figures_of = {"execs_done": 8, "execs_per_sec": 5000, "run_time": 0}
    old.write_stats(0, **figures_of)
    (old.path / "plot_data").write_text(f"{header}{old.start}, 0, 1, 2, 5000.00\n")
    f = figures(old)
    assert f.look().execs_per_sec == -1.0
    with (old.path / "plot_data").open("a") as file:
        file.write(f"{old.start + 5}, 0, 1, 2, 700.00\n")
    assert f.look().execs_per_sec == 700.0
    # It writes no more rows where nothing is found: then its minutes count.
    old.age(old.start + 5, "plot_data")
    old.write_stats(60, execs_done=30_008)
    old.age(old.start + 60, "fuzzer_stats")
    assert f.look().execs_per_sec == 500.0


def test_an_emptied_file_keeps_the_old_figures(fuzzer):
    f = figures(fuzzer)
    first = f.look()
    (fuzzer.path / "fuzzer_stats").write_text("")
    (fuzzer.path / "plot_data").write_text("")
    assert f.look() is None
    assert replace(f.latest, age=0, slow_age=0) == replace(first, age=0, slow_age=0)


@pytest.mark.parametrize(
    "more",
    [
        {},
        *({"start_time": n} for n in (0, "9" * 30)),
        *({"last_update": n} for n in (0, "9" * 15)),
        {"run_time": "-1"},  # then the last row's
        {"run_time": "9" * 15},  # then start_time
    ],
    ids=str,
)
def test_when_it_began_by_files_that_may_say_anything(fuzzer, more):
    fuzzer.write_stats(3600, **more)
    f = figures(fuzzer)
    f.look()
    assert abs(f.began(fuzzer.start + 3600) - fuzzer.start) < 5


def test_a_resumed_one_began_when_its_own_clock_would_have(fuzzer):
    """Two hours fuzzed, then a break of a day, then another hour: now it is at 3 h."""
    now = fuzzer.start + 3600
    (fuzzer.path / "fuzzer_stats").write_text(stats(now - 3600, 3 * 3600, last_update=now))
    f = figures(fuzzer)
    f.look()
    assert abs(f.began(now) - (now - 3 * 3600)) < 5


HOSTILE = [
    b"", b"\n", b"execs_done", b"\0" * 100, os.urandom(300), b"\xff\xfe: x\n",
    b"execs_done : inf\n", b"execs_done : nan\nexecs_per_sec : inf\n",
    b"execs_done : 1\nexecs_done : 2\n", b"afl_banner : $(touch x)\nexecs_done : 1\n",
    b"afl_banner : [/x]\x1b[2J\nexecs_done : 1\nafl_version : \x1b]0;x\x07\n",
    b"execs_done : " + b"9" * 400 + b"\nfuzzer_pid : " + b"9" * 400 + b"\n",
    b"execs_done : 1\n" + b"x" * (50 << 20),
]  # fmt: skip


@pytest.mark.parametrize("content", HOSTILE, ids=range(len(HOSTILE)))
def test_any_fuzzer_stats(tmp_path, content, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fuzzer = Fuzzer(tmp_path / "main", figures=False)
    (fuzzer.path / "fuzzer_stats").write_bytes(content)
    i = WatchedInstance(WatchedDirectory("main", str(fuzzer.path)), _NoWatcher())
    i.look()
    assert i.figures.began(fuzzer.start) <= fuzzer.start
    assert i.hello().instance == "main"
    assert not (tmp_path / "x").exists()


def test_what_is_no_fuzzer_stats(tmp_path):
    for n, make in enumerate((os.mkfifo, os.mkdir, lambda p: os.symlink(p, p))):
        fuzzer = Fuzzer(tmp_path / str(n), figures=False)
        make(fuzzer.path / "fuzzer_stats")
        make(fuzzer.path / "plot_data")
        i = WatchedInstance(WatchedDirectory("main", str(fuzzer.path)), _NoWatcher())
        assert [e.state for e in i.look() if e.kind == "instance_state"] == ["stopped"]


def test_a_lock_is_not_broken_by_ours(fuzzer):
    """The probe is shared and does not wait: a fuzzer that holds its lock never notices."""
    fuzzer.live()
    for _ in range(100):
        assert held(str(fuzzer.path))
    fd = os.open(fuzzer.path, os.O_RDONLY)
    with pytest.raises(BlockingIOError):
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(fd)


# ------------------------------------------------------------- how much was executed

NAME = "id:000000,sig:06,src:000001,time:40000,execs:23829,op:havoc"


@pytest.mark.parametrize("execs", ["nan", "-1", "", "231827\nexecs_done        : many"])
def test_what_the_file_has_no_number_for_is_of_the_rows(fuzzer, execs):
    fuzzer.write_stats(3600, execs_done=execs, corpus_count="nan", edges_found="nan")
    told = figures(fuzzer).look()
    assert (told.execs, told.corpus, told.edges) == (3_600_000, 12, 50)


def test_names_of_finds_tell_more_than_a_file_that_is_old(tmp_path):
    fuzzer = Fuzzer(tmp_path / "main", ago=50, run=0)
    fuzzer.live()
    i = instance(fuzzer)
    assert i.figures.latest.execs == 0
    i.look()
    # What a resume has renamed may be a seed out of another campaign's queue.
    seed = "id:000003,time:0,execs:0,orig:id:000009,time:7,execs:99999,op:havoc"
    for folder, file in (("crashes", NAME), ("queue", seed)):
        fuzzer.put(f"{folder}/{file}")
        assert i.file_completed(folder, file)
    told = [e for e in i.look() if isinstance(e, Stats)]
    assert [(e.execs, e.execs_per_sec) for e in told] == [(23829, -1.0)]
    assert not any(isinstance(e, Stats) for e in i.look())
    # AFL deletes all that when it begins again there.
    fuzzer.write_stats(60, execs_done=30_000)
    assert i.figures.look().execs == 30_000
    (fuzzer.path / "fuzzer_stats").write_text(stats(fuzzer.start + 90, 0, execs_done=7))
    assert i.figures.look().execs == 7
    fuzzer.die()


def test_without_any_figures_names_are_all_there_is(tmp_path):
    fuzzer = Fuzzer(tmp_path / "main", figures=False)
    i = instance(fuzzer)
    (unknown,) = [e for e in i.present(0.0) if isinstance(e, Stats)]
    assert (unknown.execs, unknown.execs_per_sec) == (0, -1.0)
    fuzzer.put(f"crashes/{NAME}")
    assert i.file_completed("crashes", NAME)
    (told,) = [e for e in i.look() if isinstance(e, Stats)]
    assert (told.execs, told.execs_per_sec) == (23829, -1.0)
    assert 3400 < told.age < 3600  # the find's
