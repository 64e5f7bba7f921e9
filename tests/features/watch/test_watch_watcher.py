"""From the directories of someone else's fuzzers to a log like our own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from watch_lab import PLOT

from fuzztui.features.watch import history, instance, queue, watcher
from fuzztui.features.watch.directories import Trees
from fuzztui.features.watch.watcher import CampaignWatcher
from fuzztui.kernel.model.lineage import lineage
from fuzztui.kernel.wire.events import (
    ALL_GONE,
    DIRECTORY_GONE,
    CampaignEnded,
    CampaignStarted,
    CampaignState,
    CatchingUp,
    EntrySaved,
    FindingDescribed,
    FindingSaved,
    InstanceHello,
    InstanceState,
    Message,
    Resources,
    Stats,
)


def snapshot_of(directory: Path) -> list[tuple]:
    found = []
    for path in sorted([directory, *directory.rglob("*")]):
        status = path.lstat()
        found.append((path, status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino))
    return found


# ----------------------------------------------------------------------------- history


def test_a_dead_campaign_is_read_whole_and_nothing_is_touched(tmp_path, fuzzers, watch):
    main = fuzzers(tmp_path / "out/main", ago=7200)
    main.put("queue/id:000000,time:0,execs:0,orig:seed")
    main.put("queue/id:000001,src:000000,time:60000,execs:60000,op:havoc,rep:2,+cov")
    main.put("crashes/id:000000,sig:06,src:000001,time:120000,execs:120000,op:havoc,rep:4")
    before = snapshot_of(tmp_path / "out")
    seen = watch(tmp_path / "out")
    seen.look()
    state = seen.state
    assert snapshot_of(tmp_path / "out") == before
    assert (state.name, state.engine, state.target) == ("out", "afl", "target")
    assert state.state == "stopped"
    assert "last statistics 60 min ago" in state.reason
    assert abs(state.started_wall - main.start) < 5
    assert abs(state.t - 3600) < 5  # it stands still where the last of it was
    only = state.instances["main"]
    assert (only.state, only.stats.execs, only.execs_per_sec) == ("stopped", 3_600_000, 0.0)
    assert (only.engine, only.version) == ("afl-fuzz", "++4.04c")
    assert only.directory == str(main.path)
    assert only.unable["pause"] == "watched only: not started by fuzztui"
    assert len(state.series["execs"].times) >= 50  # the plots start full
    assert abs(state.series["rate"].at(1800) - 1000) < 1
    assert state.series["rate"].last == 0
    assert [round(e.t) for e in state.entries.values()] == [0, 60]
    (crash,) = state.findings.values()
    assert round(crash.t) == 120
    assert [s.key for s in lineage(state, crash)] == ["main/1", "main/0"]
    assert [r.t for r in seen.records] == sorted(r.t for r in seen.records)


def test_several_instances_are_merged_in_time(tmp_path, fuzzers, watch):
    fuzzers(tmp_path / "out/main", ago=3600, run=3600)
    fuzzers(tmp_path / "out/s1", ago=1800, run=1800)
    state = watch(tmp_path / "out").state
    execs = state.series["execs"]
    assert 1_700_000 < execs.at(1790) < 1_900_000
    assert 2_800_000 <= execs.at(2800) < 4_000_000
    assert execs.last == 5_400_000


def test_old_afl(tmp_path, fuzzers, watch):
    fuzzer = fuzzers(tmp_path / "main", ago=600, run=600)  # of which 200 before a break
    (fuzzer.path / "fuzzer_stats").write_text(
        f"start_time        : {fuzzer.start + 200}\nlast_update       : {fuzzer.start + 600}\n"
        "fuzzer_pid        : 1\nexecs_done        : 5000\nexecs_per_sec     : 10.0\n"
        "paths_total       : 77\ncur_path          : 3\nunique_crashes    : 2\n"
        "unique_hangs      : 1\nafl_banner        : old\nafl_version       : 2.52b\n"
    )
    (fuzzer.path / "plot_data").write_text(
        "# unix_time, cycles_done, cur_path, paths_total, pending_total, pending_favs, map_size, "
        "unique_crashes, unique_hangs, max_depth, execs_per_sec\n"
        + "".join(
            f"{fuzzer.start + s}, 0, 1, {s // 10}, 1, 1, 1%, 0, 0, 1, {s}.5\n"
            for s in (0, 100, 500)
        )
    )
    os.utime(fuzzer.path / "plot_data", (fuzzer.start + 500,) * 2)
    fuzzer.put("crashes/id:000000,sig:11,src:000000,op:havoc,rep:2")
    state = watch(fuzzer.path).state
    only = state.instances["main"]
    assert (only.corpus, only.crashes, only.hangs, only.version) == (77, 2, 1, "2.52b")
    assert abs(state.series["corpus"].at(110) - 10) < 1
    assert abs(state.series["rate"].at(505) - 500.5) < 1
    (crash,) = state.findings.values()
    assert abs(crash.t - 100) < 5  # by the file's own time: its name has none


def test_a_flat_directory_without_figures(tmp_path, fuzzers, watch):
    flat = fuzzers(tmp_path / "flat", figures=False)
    flat.put("queue/id:000000,orig:a")
    flat.put("crashes/id:000000,sig:06,src:000000,time:1000,op:havoc,rep:2")
    flat.live()
    seen = watch(flat.path)
    (crash,) = seen.state.findings.values()
    assert abs(crash.t - 1) < 0.1  # its first file tells when it began
    assert abs(seen.state.t - 3500) < 10
    assert seen.state.instances["flat"].state == "running"
    assert (seen.state.instances["flat"].corpus, seen.state.instances["flat"].crashes) == (1, 1)


def test_a_deep_queue_is_not_logged_whole(tmp_path, fuzzers, watch, monkeypatch):
    monkeypatch.setattr(history, "ENTRIES", 20)
    main = fuzzers(tmp_path / "main")
    main.put("queue/id:000000,time:0,execs:0,orig:seed")
    for n in range(1, 200):
        main.put(f"queue/id:{n:06d},src:{n // 2:06d},time:{n},execs:{n},op:havoc")
    main.put("crashes/id:000000,sig:06,src:000100,time:9,execs:9,op:havoc")
    seen = watch(main.path)
    seen.look()
    ids = sorted(e.id for e in seen.state.entries.values())
    assert ids == [0, 1, 3, 6, 12, 25, 50, 100, *range(180, 200)]
    assert seen.texts == ["172 older queue entries are not listed; AFL's statistics count them"]
    assert seen.state.instances["main"].corpus == 28  # at least what was seen


def test_several_directories_and_whose_entries_were_imported(tmp_path, fuzzers, watch):
    for path in ("a/out/main", "a/out/s1", "b/out/main"):
        fuzzer = fuzzers(tmp_path / path)
        fuzzer.put("queue/id:000001,sync:s1,src:000000,+cov")
        (fuzzer.path / ".synced").mkdir()
        (fuzzer.path / ".synced/s1").write_bytes((9).to_bytes(4, "little"))
    seen = watch(tmp_path / "a/out", tmp_path / "b/out")
    state = seen.state
    assert list(state.instances) == ["a:out:main", "a:out:s1", "b:out:main"]
    assert {e.sync for e in state.entries.values()} == {"a:out:s1", "b:out:s1"}
    assert state.instances["b:out:main"].peers == {"b:out:s1": 9}


# ----------------------------------------------------------------------------- present


def test_what_happens_is_logged_as_it_happens(tmp_path, fuzzers, watch):
    main = fuzzers(tmp_path / "out/main")
    main.live()
    seen = watch(tmp_path / "out")
    assert (seen.state.state, seen.state.instances["main"].state) == ("running", "running")
    main.add_row(3605, 3_610_000)
    main.put("queue/id:000002,src:000000,time:3600500,execs:1,op:havoc", old=False)
    main.put("crashes/id:000000,sig:06,src:000002,time:3600600,execs:1,op:havoc", old=False)
    state = seen.until(lambda s: s.findings and s.entries)
    assert state.instances["main"].execs_per_sec == 2000.0
    assert state.instances["main"].crashes == 1
    seen.until(lambda s: s.instances["main"].crashes == 1)
    main.die()
    main.write_stats(3610)
    state = seen.until(lambda s: s.state == "stopped")
    assert state.instances["main"].execs_per_sec == 0.0
    t = state.t
    main.live()
    main.put("queue/.state")  # whoever starts makes something
    (main.path / "cmdline").write_text("x")
    state = seen.until(lambda s: s.state == "running")
    assert state.t - t < 5  # the break is left out


def test_cpu_time_and_memory_of_those_that_run_here(tmp_path, fuzzers, watch, monkeypatch):
    monkeypatch.setattr(watcher, "MACHINE_S", 0.0)
    main, dead = fuzzers(tmp_path / "out/main"), fuzzers(tmp_path / "out/dead")
    argv = [sys.executable, "-c", "import signal\nprint(end='.', flush=True)\nsignal.pause()"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read(1) == b"."
        main.write_stats(3600, fuzzer_pid=process.pid)
        main.live()
        seen = watch(tmp_path / "out")
        seen.until(lambda s: s.instances["main"].rss > 1 << 20 and s.instances["main"].cpu_t > 0)
        process.kill()
    assert {e.instance for e in seen.events(Resources)} == {"main"}
    assert dead.path.name in seen.state.instances


def test_figures_that_do_not_change_are_no_events(tmp_path, fuzzers, watch):
    fuzzers(tmp_path / "main").live()
    seen = watch(tmp_path / "main")
    seen.look()
    before = len(seen.records)
    for _ in range(5):
        seen.look()
    assert len(seen.records) == before


def test_instances_come_and_go(tmp_path, fuzzers, watch):
    (tmp_path / "out").mkdir()
    seen = watch(tmp_path / "out")
    assert (seen.state.state, seen.state.instances) == ("starting", {})
    main = fuzzers(tmp_path / "out/main", ago=10, run=10)
    main.live()
    main.put("queue/id:000000,time:0,execs:0,orig:a")
    main.put("crashes/id:000000,sig:06,src:000000,time:5,execs:5,op:havoc")
    state = seen.until(lambda s: s.state == "running" and s.findings)
    assert list(state.entries) == ["main/0"]
    main.die()
    shutil.rmtree(main.path)
    state = seen.until(lambda s: s.state == "stopped")
    assert state.instances["main"].reason == DIRECTORY_GONE
    assert state.reason == ALL_GONE
    (gone,) = [m for m in seen.events(Message) if m.level == "warning"]
    assert str(main.path) in gone.text
    shutil.rmtree(tmp_path / "out")
    seen.look()
    (tmp_path / "out").mkdir()
    fuzzers(tmp_path / "out/main", ago=10, run=10).live()
    seen.until(lambda s: s.state == "running")


def test_a_renamed_directory_is_never_counted_twice(tmp_path, fuzzers, watch):
    main = fuzzers(tmp_path / "out/main", ago=10, run=10)
    main.live()
    seen = watch(tmp_path / "out")
    assert seen.state.instances["main"].state == "running"
    main.path.rename(tmp_path / "out/other")
    before = len(seen.records)
    seen.until(lambda s: "other" in s.instances and s.instances["other"].state == "running")
    states = [r.event for r in seen.records[before:] if isinstance(r.event, InstanceState)]
    assert (states[0].instance, states[0].state) == ("main", "stopped")
    assert {(e.instance, e.state) for e in states[1:]} == {("other", "running")}


def test_how_much_of_the_past_is_read_is_in_the_log_until_all_of_it_is(
    tmp_path, fuzzers, watch, monkeypatch
):
    monkeypatch.setattr("fuzztui.features.watch.watcher.FLUSH_RECORDS", 20)
    for name in ("main", "s1"):
        fuzzer = fuzzers(tmp_path / f"out/{name}")
        fuzzer.put("crashes/id:000000,sig:06,src:000000,time:120000,execs:120000,op:havoc,rep:4")
    seen = watch(tmp_path / "out")
    shares = [e.share for e in seen.events(CatchingUp)]
    assert len(shares) > 6 and shares == sorted(shares)
    assert (shares[0], shares[-1], seen.state.caught_up) == (0.0, 1.0, 1.0)
    kinds = [type(r.event) for r in seen.records]
    first = kinds.index(CatchingUp)
    assert kinds[:first] == [CampaignStarted, CampaignState]  # nothing to show before
    last = len(kinds) - kinds[::-1].index(CatchingUp)
    assert {*kinds[last:]} <= {CampaignEnded}


def test_a_stopped_campaign_says_that_it_was_deleted(tmp_path, fuzzers, watch):
    """Nothing ran any more, so that no state changes; and one of two comes back."""
    for name in ("main", "s1"):
        fuzzers(tmp_path / "out" / name)
    seen = watch(tmp_path / "out")
    seen.look()
    assert seen.state.state == "stopped" and seen.state.reason != ALL_GONE
    (tmp_path / "out").rename(tmp_path / "away")
    seen.until(lambda s: s.reason == ALL_GONE)
    assert {i.reason for i in seen.state.instances.values()} == {DIRECTORY_GONE}
    before = len(seen.records)
    for _ in range(3):
        seen.look()
    assert len(seen.records) == before
    (tmp_path / "out").mkdir()
    (tmp_path / "away/s1").rename(tmp_path / "out/s1")
    state = seen.until(lambda s: s.instances["s1"].reason != DIRECTORY_GONE)
    assert state.instances["main"].reason == DIRECTORY_GONE
    assert state.reason != ALL_GONE
    assert sum(str(tmp_path / "out/main") in text for text in seen.texts) == 1
    assert sum(str(tmp_path / "out/s1") in text for text in seen.texts) == 2


def test_ids_that_begin_again(tmp_path, fuzzers, watch, monkeypatch):
    """-i in over an old directory: AFL deletes the queue and counts from 0."""
    monkeypatch.setattr(instance, "RENEW_S", 0.0)
    main = fuzzers(tmp_path / "main")
    for n in range(50):
        main.put(f"queue/id:{n:06d},time:{n},orig:old")
    seen = watch(main.path)
    seen.look()
    shutil.rmtree(main.path / "queue")
    seen.look()
    main.put("queue/id:000000,time:0,orig:new")
    main.put("queue/id:000001,src:000000,time:5,op:havoc")
    state = seen.until(lambda s: "new" in s.entries["main/0"].file)
    assert state.entries["main/1"].op == "havoc"
    main.put("queue/id:000002,src:000000,time:6,op:havoc")
    seen.until(lambda s: s.entries["main/2"].op == "havoc")


def test_a_resume_is_no_flood_and_no_new_findings(tmp_path, fuzzers, watch, monkeypatch):
    monkeypatch.setattr(instance, "RENEW_S", 0.0)
    monkeypatch.setattr(instance, "NEWEST", 5)
    main = fuzzers(tmp_path / "main")
    for n in range(50):
        main.put(f"queue/id:{n:06d},time:{n},orig:{n}")
    main.put("crashes/id:000000,sig:06,src:000001,op:havoc")
    seen = watch(main.path)
    before = len(seen.events(EntrySaved))
    (main.path / "queue").rename(main.path / "_resume")
    shutil.copytree(main.path / "_resume", main.path / "queue")
    shutil.rmtree(main.path / "_resume")
    (main.path / "crashes").rename(main.path / "crashes.2026-01-01-00:00:00")
    (main.path / "crashes").mkdir()
    for _ in range(4):
        seen.look()
    assert len(seen.events(EntrySaved)) - before <= 5
    assert len(seen.events(FindingSaved)) == 1
    main.put("crashes/id:000000,sig:06,src:000001,op:havoc")
    state = seen.until(lambda s: len(s.findings) == 2)
    assert state.instances["main"].crashes == 2


# ----------------------------------------------------------------------------- hostile


def test_crashes_are_grouped_by_the_signal_in_their_names(tmp_path, fuzzers, watch):
    main = fuzzers(tmp_path / "out/main")
    for n, sig in enumerate(("sig:06", "sig:11", "sig:11", "sig:00", "sig:999", "op:havoc")):
        main.put(f"crashes/id:{n:06d},{sig},src:000001,time:{n}00,op:havoc")
    main.put("crashes/id_000007_11")  # SIMPLE_FILES
    main.put("crashes/0123456789abcdef")
    main.put("hangs/id:000000,src:000001,time:9,execs:9,op:havoc")
    main.put("crashes.2026-01-01-00:00:00/id:000000,sig:06,src:000001,time:7,op:havoc")
    main.live()
    seen = watch(tmp_path / "out")
    main.put("crashes/id:000008,sig:11,src:000001,time:5000000,op:havoc", old=False)
    state = seen.until(lambda s: len(s.findings) == 11)
    sizes = {signature: len(keys) for signature, keys in state.groups.items()}
    assert sizes == {"by-signal-SIGABRT": 2, "by-signal-SIGSEGV": 4}
    titles = {f.title for f in state.findings.values() if f.signature}
    assert "SIGSEGV (by its file name; fuzztui has not run it)" in titles
    assert {f.file for f in state.findings.values() if not f.signature} == {
        "crashes/0123456789abcdef",
        "crashes/id:000003,sig:00,src:000001,time:300,op:havoc",
        "crashes/id:000004,sig:999,src:000001,time:400,op:havoc",
        "crashes/id:000005,op:havoc,src:000001,time:500,op:havoc",
        "hangs/id:000000,src:000001,time:9,execs:9,op:havoc",
    }
    # In the event list each is told once.
    assert sum(isinstance(r.event, FindingSaved) for r in state.recent) == 11
    assert not any(isinstance(r.event, FindingDescribed) for r in state.recent)


def test_names_of_any_shape(tmp_path, fuzzers, watch):
    odd = [
        os.fsdecode(name)
        for name in (
            b"\xff\xfe", b"new\nline", b"\x1b[2J\x1b]0;x\x07", b"[bold]", b"$(touch x)", b"x" * 255,
            b"\xe2\x80\xae", b"id:99999999999999,sig:06", b"id:000000,sig:99999999,src:1+2+3",
        )
    ]  # fmt: skip
    main = fuzzers(tmp_path / "out" / os.fsdecode(b"\xff[i]\x1b[2J\n"))
    for name in odd:
        for folder in ("crashes", "queue"):
            (main.path / folder / name).write_bytes(b"x")
    (main.path / "crashes/README.txt").write_text("AFL's own")
    seen = watch(tmp_path / "out")
    state = seen.until(lambda s: len(s.findings) == len(odd))
    assert {f.file for f in state.findings.values()} == {f"crashes/{name}" for name in odd}
    assert len(state.entries) == len(odd)


def test_no_file_is_what_it_should_be(tmp_path, watch):
    out = tmp_path / "out"
    for n, make in enumerate((os.mkfifo, os.mkdir, lambda p: os.symlink(p, p), lambda p: None)):
        path = out / f"i{n}"
        path.mkdir(parents=True)
        for name in ("fuzzer_stats", "plot_data", "queue", "crashes", "hangs", ".synced"):
            make(path / name)
    (out / "i3/fuzzer_stats").write_bytes(os.urandom(100))
    (out / "i3/plot_data").write_text(PLOT + "$(touch x), [/x]\n")
    seen = watch(out)
    seen.look()
    assert list(seen.state.instances) == ["i0", "i1", "i2", "i3"]
    assert any("plot_data cannot be read" in text for text in seen.texts)
    assert any("no row that fits" in text for text in seen.texts)
    assert not Path("x").exists()


def test_one_short_plot_is_a_warning(tmp_path, fuzzers, watch):
    fuzzers(tmp_path / "out/a")
    (fuzzers(tmp_path / "out/b").path / "plot_data").write_text("something else\n")
    seen = watch(tmp_path / "out")
    (warning,) = seen.events(Message)
    assert (warning.level, warning.instance) == ("warning", "b")
    assert "AFL's header" in warning.text


def test_what_cannot_be_listed_is_said(tmp_path, fuzzers, watch, monkeypatch):
    main = fuzzers(tmp_path / "main")
    listdir = os.listdir

    def refuse(path):
        if str(path).endswith("/crashes"):
            raise PermissionError(13, "Permission denied", path)
        return listdir(path)

    monkeypatch.setattr(os, "listdir", refuse)
    seen = watch(main.path)
    seen.look()
    assert seen.texts == [f"{main.path}/crashes cannot be listed: Permission denied"]


def test_clocks_that_jump(tmp_path, fuzzers, watch):
    """All times are a day ahead: the log still goes forward, and no age is negative."""
    main = fuzzers(tmp_path / "main", ago=-86400, run=3600)
    main.put("crashes/id:000000,sig:06,src:000001,op:havoc")
    main.live()
    seen = watch(main.path)
    seen.look()
    assert abs(seen.state.t - 3600) < 10
    assert all(r.event.age >= 0 for r in seen.records if isinstance(r.event, Stats))
    assert len(seen.state.findings) == 1


def test_the_log_goes_on_when_something_unforeseen_happens(tmp_path, fuzzers, watch, monkeypatch):
    fuzzers(tmp_path / "main").live()
    seen = watch(tmp_path / "main")
    looks = []

    def fail(*_):
        looks.append(1)
        if len(looks) > 2:
            seen.watch.stop()
        raise RuntimeError("a fault")

    monkeypatch.setattr(seen.watch, "_looked", fail)
    monkeypatch.setattr("fuzztui.features.watch.watcher.LOOK_S", 0.01)
    seen.watch.run()
    assert seen.texts == ["while watching: RuntimeError: a fault"]


def test_a_full_disk_stops_the_looking_and_loses_nothing(tmp_path, fuzzers, watch, monkeypatch):
    main = fuzzers(tmp_path / "main")
    main.live()
    seen = watch(tmp_path / "main")
    flush, tries = seen.watch._writer.flush, []

    def full():
        tries.append(1)
        if len(tries) < 4:
            raise OSError(28, "No space left on device")
        seen.watch.stop()
        flush()

    monkeypatch.setattr("fuzztui.features.watch.watcher.RETRY_S", 0.01)
    main.put("crashes/id:000000,sig:06,src:000000,op:havoc")
    monkeypatch.setattr(seen.watch._writer, "flush", full)
    seen.watch.run()
    monkeypatch.undo()
    seen.watch._flush()
    assert len(seen.state.findings) == 1


@pytest.fixture
def late(tmp_path, fuzzers, watch):
    """A watch that finds its first instance while it runs."""
    (tmp_path / "out").mkdir()
    seen = watch(tmp_path / "out")
    fuzzers(tmp_path / "out/main").live()
    return seen


def test_an_error_in_the_past_is_not_the_past_for_ever(late, monkeypatch):
    def fail(*_):
        late.watch.stop()
        raise RuntimeError("a fault")

    monkeypatch.setattr("fuzztui.features.watch.watcher.history", fail)
    late.watch.run()
    state = late.state
    assert state.caught_up == 1.0
    assert late.texts == ["while watching: RuntimeError: a fault"]


def test_a_disk_that_fills_up_while_the_past_is_written_loses_nothing(late, monkeypatch):
    flush, full = late.watch._writer.flush, OSError(28, "No space left on device")

    def refuse():
        late.watch.stop()
        raise full

    def read(*arguments):
        monkeypatch.setattr(late.watch._writer, "flush", refuse)
        return history.history(*arguments)

    monkeypatch.setattr("fuzztui.features.watch.watcher.history", read)
    late.watch.run()
    monkeypatch.undo()
    flush()
    assert (late.state.caught_up, late.texts) == (1.0, [])
    assert late.state.instances["main"].stats.execs == 3_600_000


def test_a_log_that_cannot_be_written_at_the_start_is_an_error(tmp_path, fuzzers, monkeypatch):
    fuzzers(tmp_path / "main")
    watcher = CampaignWatcher(Trees([tmp_path / "main"]), tmp_path / "log")

    def refuse():
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space left"):
        patched.setattr(watcher._writer, "flush", refuse)
        watcher.begin()
    watcher.close()


def test_hello_comes_again_with_another_process(tmp_path, fuzzers, watch):
    main = fuzzers(tmp_path / "main")
    main.live()
    seen = watch(main.path)
    main.write_stats(3600, fuzzer_pid=4194303)
    seen.look()
    assert [hello.pid for hello in seen.events(InstanceHello)] == [4194304, 4194303]


def test_ancestors_in_the_queues_of_peers_take_bounded_time(tmp_path, fuzzers, watch, monkeypatch):
    monkeypatch.setattr(queue, "CLIMB_S", -1.0)
    monkeypatch.setattr(history, "ENTRIES", 0)
    main = fuzzers(tmp_path / "out/main")
    s1 = fuzzers(tmp_path / "out/s1")
    main.put("queue/id:000001,sync:s1,src:000001")
    s1.put("queue/id:000001,sync:main,src:000000")
    main.put("queue/id:000000,time:0,orig:a")
    main.put("crashes/id:000000,sig:06,src:000001,time:1,op:havoc")
    seen = watch(tmp_path / "out")
    assert sorted(seen.state.entries) == ["main/1", "s1/1"]
    assert "1 ancestors of findings, in queues of peers, were not searched" in seen.texts
