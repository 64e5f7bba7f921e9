"""Instances whose process cannot be seen, odd rows, odd names: ``watch`` and ``status`` agree."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from watch_lab import PLOT, Fuzzer, row, stats

from fuzztui.features.watch.directories import Trees
from fuzztui.features.watch.instance import STOPPED, UNSEEN
from fuzztui.features.watch.snapshot import snapshot
from fuzztui.kernel.model.selectors import throughput
from fuzztui.kernel.model.state import State
from fuzztui.run.observe.afl_names import parse_name


class Remote:
    """An instance elsewhere, whose files are written here: 100 executions a second, no lock."""

    def __init__(self, path: Path, *, late: float = 0.0) -> None:
        """``late``: seconds between the time in the files and that of the copy."""
        self._fuzzer = Fuzzer(path, ago=7200, run=7140)
        self._run = 7140
        self._start = int(time.time() - late) - self._run

    def tick(self) -> None:
        """Write the statistics of three seconds later."""
        self._run += 3
        path = self._fuzzer.path
        text = stats(self._start, self._run, execs_done=100 * self._run)
        (path / ".part").write_text(text)
        os.rename(path / ".part", path / "fuzzer_stats")
        rows = "".join(row(s, 100 * s) for s in range(self._run - 30, self._run + 1, 3))
        (path / "plot_data").write_text(PLOT + rows)


@contextmanager
def ticking(*remotes: Remote) -> Iterator[None]:
    """Let instances write until the end of the block."""
    over = threading.Event()

    def run() -> None:
        while not over.wait(0.3):
            for each in remotes:
                each.tick()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def states(state: State) -> list[tuple[str, str]]:
    return [(state.state, state.reason), *((i.state, i.reason) for i in state.instances.values())]


def test_statistics_that_advance_without_a_lock_are_those_of_a_running_instance(tmp_path, watch):
    remotes = [Remote(tmp_path / "out" / name) for name in ("m", "s1")]
    for each in remotes:
        each.tick()
    seen = watch(tmp_path / "out")
    with ticking(*remotes):
        watched = seen.until(lambda s: states(s) == [("running", UNSEEN)] * 3)
        asked = snapshot(Trees([tmp_path / "out"])).state
    assert states(asked) == states(watched)
    for state in (watched, asked):
        assert throughput(state) == pytest.approx(200, rel=0.01)
        assert [i.pid for i in state.instances.values()] == [0, 0]


def test_a_fresh_copy_is_that_of_a_running_instance_an_old_one_is_not(tmp_path):
    for name, late in (("new", 30.0), ("old", 3600.0)):
        Remote(tmp_path / name, late=late).tick()
    found = snapshot(Trees([tmp_path])).state.instances
    assert (found["new"].state, found["new"].reason) == ("running", UNSEEN)
    assert found["old"].state == STOPPED


def test_an_instance_that_has_just_ended_is_stopped(tmp_path, watch, monkeypatch):
    monkeypatch.setattr("fuzztui.features.watch.instance.ROW_S", 0.5)
    fuzzer = Fuzzer(tmp_path / "main", ago=60, run=60)
    fuzzer.live()
    seen = watch(fuzzer.path)
    assert seen.state.state == "running"
    # Its last words, which are read when the lock is free already.
    fuzzer.write_stats(61)
    fuzzer.die()
    for _ in range(3):
        seen.look()
    assert states(seen.state)[1][0] == STOPPED
    assert snapshot(Trees([fuzzer.path])).state.state == STOPPED


def test_the_lock_that_comes_ends_the_doubt(tmp_path, watch):
    remote = Remote(tmp_path / "main", late=30.0)
    remote.tick()
    seen = watch(tmp_path / "main")
    assert states(seen.state) == [("running", UNSEEN)] * 2
    remote._fuzzer.live()
    remote.tick()
    assert seen.until(lambda s: states(s) == [("running", "")] * 2)
    remote._fuzzer.die()


def absurd_end(fuzzer: Fuzzer) -> None:
    fuzzer.add_row(3605000, 3_605_000)


def absurd_middle(fuzzer: Fuzzer) -> None:
    rows = "".join(row(s * 1000 if s in (600, 3540) else s) for s in range(60, 3601, 60))
    (fuzzer.path / "plot_data").write_text(PLOT + rows)


def colonless(fuzzer: Fuzzer) -> None:
    fuzzer.put("crashes/id_000000_sig_06_src_000001_time_120000_execs_120000_op_havoc_rep_4")
    fuzzer.put("queue/id_000001,src_000000,time_60000,execs_60000,op_havoc,rep_2,+cov")
    fuzzer.put("queue/id_000000,time_0,execs_0,orig_a_seed")


@pytest.mark.parametrize("make", [lambda _: None, absurd_end, absurd_middle, colonless])
def test_status_and_watch_agree(tmp_path, watch, make: Callable[[Fuzzer], None]):
    fuzzer = Fuzzer(tmp_path / "main", ago=7200, run=3600)
    make(fuzzer)
    then = fuzzer.start + 3600
    os.utime(fuzzer.path / "plot_data", (then, then))
    watched, asked = watch(fuzzer.path).state, snapshot(Trees([fuzzer.path])).state
    assert watched.t == pytest.approx(3600, abs=2)
    assert asked.t == pytest.approx(watched.t, abs=2)
    for state in (watched, asked):
        (main,) = state.instances.values()
        assert (main.state, main.stats.execs, main.stats.corpus) == (STOPPED, 3_600_000, 12)
        assert max(state.series["rate"].at(t) for t in range(0, 3601, 60)) <= 1001
    assert {f.key: (f.signature, f.t) for f in watched.findings.values()} == {
        f.key: (f.signature, f.t) for f in asked.findings.values()
    }


def test_an_absurd_row_is_dropped_while_it_is_watched(tmp_path, fuzzers, watch):
    fuzzer = fuzzers(tmp_path / "main", ago=3600, run=3600)
    fuzzer.live()
    seen = watch(fuzzer.path)
    absurd_end(fuzzer)
    seen.look()
    with (fuzzer.path / "plot_data").open("a") as file:
        file.writelines(row(s) for s in range(3605, 3640, 5))
    state = seen.until(lambda s: s.instances["main"].stats.execs == 3_635_000)
    assert throughput(state) == pytest.approx(1000, rel=0.01)


@pytest.mark.parametrize(
    "name",
    [
        "id:000003,sig:06,src:000001+000002,time:5,execs:9,op:havoc,rep:4,+cov",
        "id:000003,src:000001,time:5,execs:9,op:ext_AO,pos:12",
        "id:000003,src:000001,time:5,execs:9,op:int16,pos:12,val:be:+100",
        "id:000003,sync:a_peer,src:000001",
        "id:000003,time:0,execs:0,orig:my_src_1.txt",
        "id:000003",
    ],
)
@pytest.mark.parametrize("commas", ["_", ","])
def test_names_without_colons(name: str, commas: str):
    head, _, seed = name.partition("orig:")
    other = head.replace(":", "_").replace(",", commas) + (f"orig_{seed}" if seed else "")
    assert parse_name(other) == parse_name(name.replace("be:", "be_"))


@pytest.mark.parametrize("name", ["id_0,op_xorig_y", "id_", "id_x_orig_", "id_1_orig_id_2_orig_z"])
def test_odd_names_without_colons_are_no_trouble(name: str):
    assert parse_name(name).id in (-1, 0, 1)


def test_findings_of_names_without_colons_have_their_signal(tmp_path, watch):
    fuzzer = Fuzzer(tmp_path / "main", ago=7200, run=3600)
    colonless(fuzzer)
    state = watch(fuzzer.path).state
    (finding,) = state.findings.values()
    assert finding.signature == "by-signal-SIGABRT" and finding.t == pytest.approx(120, abs=1)
    assert sorted(e.id for e in state.entries.values()) == [0, 1]
