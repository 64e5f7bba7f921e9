"""The live figures of afl-fuzz: what it sends, what it forgets, who else may send."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.supervise.afl import statsd
from fuzztui.supervise.afl.statsd import Gauges, parse_gauges, statsd_port
from fuzztui.supervise.rundir import RunDir

PACKET = (
    "fuzzing.cycle_done:3|g\nfuzzing.cycles_wo_finds:0|g\nfuzzing.execs_done:{execs}|g\n"
    "fuzzing.execs_per_sec:5341.50|g\nfuzzing.corpus_count:30|g\nfuzzing.corpus_favored:2|g\n"
    "fuzzing.max_depth:2|g\nfuzzing.cur_item:0|g\nfuzzing.pending_favs:0|g\n"
    "fuzzing.pending_total:7|g\nfuzzing.saved_crashes:1|g\nfuzzing.saved_hangs:0|g\n"
    "fuzzing.edges_found:{edges}|g\nfuzzing.havoc_expansion:2|g\n"
)
FILE = """run_time : 60
execs_done : {execs}
execs_per_sec : 10.00
corpus_count : 3
stability : 97.00%
total_edges : 1000
edges_found : 6
"""


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    time = monotonic


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(statsd, "time", clock)
    return clock


@pytest.fixture
def home(tmp_path: Path) -> RunDir:
    (tmp_path / "supervisor").mkdir()
    (tmp_path / "out" / "main").mkdir(parents=True)
    return RunDir(tmp_path)


@pytest.fixture
def gauges(home, clock):
    gauges = Gauges(home, "main")
    yield gauges
    gauges.close()


def send(home: RunDir, packet: str | bytes) -> None:
    data = packet if isinstance(packet, bytes) else packet.encode()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(data, ("127.0.0.1", statsd_port(home, "main")))


def told(gauges, home, clock, execs, *, after=1.0, edges=6):
    clock.now += after
    send(home, PACKET.format(execs=execs, edges=edges))
    return gauges.look()


def test_rates_are_deltas_and_ages_small(gauges, home, clock):
    first = told(gauges, home, clock, 5000)
    assert (first.execs, first.corpus, first.pending, first.cycles) == (5000, 30, 7, 3)
    assert first.execs_per_sec == 0  # its own average is that of the seeds
    second = told(gauges, home, clock, 6000)
    assert second.execs_per_sec == pytest.approx(1000)
    assert second.age == 0
    assert gauges.look() is None  # nothing new


def test_no_rate_spans_a_pause(gauges, home, clock):
    told(gauges, home, clock, 5000)
    told(gauges, home, clock, 6000)
    gauges.interrupted()
    resumed = told(gauges, home, clock, 6010, after=3600)
    assert resumed.execs_per_sec == pytest.approx(1000)  # as before the pause, not 0.003
    assert told(gauges, home, clock, 6510).execs_per_sec == pytest.approx(500)


def test_what_statsd_lacks_is_of_the_file_with_its_own_age(gauges, home, clock, tmp_path):
    (tmp_path / "out/main/fuzzer_stats").write_text(FILE.format(execs=10))
    stats = told(gauges, home, clock, 5000, edges=9)
    assert (stats.stability, stats.edges_total, stats.edges) == (97.0, 1000, 9)
    assert stats.age == 0
    later = told(gauges, home, clock, 6000, after=30)
    assert later.slow_age == pytest.approx(stats.slow_age + 30, abs=1)


def test_executions_that_a_killed_afl_forgets_are_kept(gauges, home, clock):
    told(gauges, home, clock, 90_000)
    # Killed, and resumed from a fuzzer_stats that was 30 s old.
    gauges.interrupted()
    assert told(gauges, home, clock, 60_000).execs == 90_000
    assert told(gauges, home, clock, 61_000).execs == 91_000
    gauges.close()
    again = Gauges(home, "main", 91_000)  # another supervisor
    assert told(again, home, clock, 62_000).execs == 92_000
    again.close()
    (home.supervisor / "statsd-main.json").unlink()  # the machine lost power, afl-fuzz too
    last = Gauges(home, "main", 92_000)
    assert told(last, home, clock, 60_500).execs == 92_000
    assert told(last, home, clock, 60_600).execs == 92_100
    last.close()


@pytest.mark.parametrize("stray", [0, 10, 4 * 10**18, 99999999999999999999])
def test_a_strangers_packet_changes_no_count(gauges, home, clock, stray):
    told(gauges, home, clock, 5000)
    assert told(gauges, home, clock, stray) is None
    assert told(gauges, home, clock, 6000).execs == 6000
    assert json.loads((home.supervisor / "statsd-main.json").read_text())["lost"] == 0


def test_figures_are_taken_up_after_days_without_a_supervisor(home, clock, tmp_path):
    (tmp_path / "out/main/fuzzer_stats").write_text(FILE.format(execs=9 * 10**9))
    again = Gauges(home, "main", 1000)
    assert told(again, home, clock, 9 * 10**9 + 5).execs == 9 * 10**9 + 5
    again.close()


def test_the_port_outlives_the_supervisor(gauges, home):
    port = statsd_port(home, "main")
    gauges.close()
    again = Gauges(home, "main")
    assert statsd_port(home, "main") == port > 0
    again.close()


def test_a_port_that_somebody_took_is_replaced(gauges, home):
    port = statsd_port(home, "main")
    gauges.close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.bind(("127.0.0.1", port))
        again = Gauges(home, "main")
        assert statsd_port(home, "main") not in (0, port)
        again.close()


def test_without_packets_the_file_counts(gauges, home, clock, tmp_path):
    (tmp_path / "out/main/fuzzer_stats").write_text(FILE.format(execs=77))
    assert gauges.look().execs == 77


def test_a_flood_and_rubbish_are_survived(gauges, home, clock):
    for packet in (b"", b"\xff" * 2000, b"fuzzing.execs_done:nan|g", b"fuzzing.execs_done:-5|g"):
        send(home, packet)
    assert gauges.look() is None
    assert told(gauges, home, clock, 5).execs == 5


@pytest.mark.parametrize("text", ["[]", "{", '{"port": 99999, "lost": -1}', '{"port": "x"}'])
def test_a_damaged_memory_is_a_fresh_start(home, clock, text):
    (home.supervisor / "statsd-main.json").write_text(text)
    gauges = Gauges(home, "main")
    assert statsd_port(home, "main") > 0
    assert json.loads((home.supervisor / "statsd-main.json").read_text())["lost"] == 0
    gauges.close()


@given(st.binary(max_size=300))
def test_any_packet_is_parsed(packet):
    for name, value in parse_gauges(packet).items():
        assert name.isidentifier()
        assert float(value) >= 0
