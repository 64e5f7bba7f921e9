"""The live figures of afl-fuzz: what it sends, what it forgets, who else may send."""

import json
import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab_clock import LabClock, aged

from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import Instance, State
from fuzztui.kernel.wire.events import Message, Record, Stats
from fuzztui.run.afl import statsd
from fuzztui.run.afl.statsd import Gauges, parse_gauges, statsd_port
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.observe import stats_reader as figures
from fuzztui.run.observe.directory import DirectoryObserver
from fuzztui.run.observe.relay import Offsets
from fuzztui.run.process.identity import ProcessId

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
CYCLES = "cycles_done : 4\n"


@pytest.fixture
def clock(monkeypatch):
    clock = LabClock(1000.0)
    monkeypatch.setattr(statsd, "time", clock)
    return clock


@pytest.fixture
def home(tmp_path: Path) -> RunDir:
    (tmp_path / "supervisor").mkdir()
    (tmp_path / "out" / "main").mkdir(parents=True)
    return RunDir(tmp_path)


def known(execs, **figures):
    """What the log has of it."""
    return Instance("main", stats=Stats("main", execs, **figures))


@pytest.fixture
def supervised(home, clock):
    """Makes the gauges of a supervisor; those of the one before are closed."""
    made: list[Gauges] = []

    def make(*known: Instance) -> Gauges:
        for gauges in made:
            gauges.close()
        made.append(Gauges(home, "main", *known))
        return made[-1]

    yield make
    for gauges in made:
        gauges.close()


@pytest.fixture
def gauges(supervised):
    return supervised()


def send(home: RunDir, packet: str | bytes) -> None:
    data = packet if isinstance(packet, bytes) else packet.encode()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(data, ("127.0.0.1", statsd_port(home, "main")))


def told(gauges, home, clock, execs, *, after=1.0, edges=6, cycles=3):
    clock.now += after
    packet = PACKET.format(execs=execs, edges=edges)
    send(home, packet.replace("cycle_done:3", f"cycle_done:{cycles}"))
    return gauges.look()


def test_rates_are_deltas_and_ages_small(gauges, home, clock):
    first = told(gauges, home, clock, 5000)
    assert (first.execs, first.corpus, first.pending, first.cycles) == (5000, 30, 7, 3)
    assert first.execs_per_sec == -1  # its own average is that of the seeds
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


def test_a_clock_that_was_set_back_does_not_make_an_old_file_the_newest(
    gauges, home, clock, tmp_path, monkeypatch
):
    """afl-fuzz has not written it since, and dies without another word."""
    monkeypatch.setattr(figures, "time", clock)
    file = tmp_path / "out/main/fuzzer_stats"
    file.write_text(FILE.format(execs=10))
    os.utime(file, (clock.now + 3600, clock.now + 3600))
    assert told(gauges, home, clock, 5000, edges=9).corpus == 30
    clock.now += 2
    last = gauges.look(last=True)
    assert last is None or (last.corpus, last.edges, last.cycles) == (30, 9, 3)


def test_executions_that_a_killed_afl_forgets_are_kept(gauges, supervised, home, clock):
    told(gauges, home, clock, 90_000)
    # Killed, and resumed from a fuzzer_stats that was 30 s old.
    gauges.interrupted()
    assert told(gauges, home, clock, 60_000).execs == 90_000
    assert told(gauges, home, clock, 61_000).execs == 91_000
    again = supervised(known(91_000))  # another supervisor
    assert told(again, home, clock, 62_000).execs == 92_000
    again.close()
    (home.supervisor / "statsd-main.json").unlink()  # the machine lost power, afl-fuzz too
    last = supervised(known(92_000))
    assert told(last, home, clock, 60_500).execs == 92_000
    assert told(last, home, clock, 60_600).execs == 92_100


def test_cycles_and_edges_go_on_when_afl_is_killed(gauges, supervised, home, clock, tmp_path):
    assert told(gauges, home, clock, 90_000, edges=400, cycles=7).cycles == 7
    gauges.interrupted()
    # Resumed: the queue is still to be run again, and the file was older.
    again = told(gauges, home, clock, 60_000, edges=0, cycles=4)
    assert (again.cycles, again.edges, again.max_depth) == (7, 400, 2)
    on = told(gauges, home, clock, 61_000, edges=410, cycles=6)
    assert (on.cycles, on.edges) == (9, 410)
    gauges.close()
    # Killed together with the supervisor.
    (tmp_path / "out/main/fuzzer_stats").write_text(
        FILE.format(execs=60_000).replace("edges_found : 6", "edges_found : 0")
    )
    last = supervised(known(91_000, edges=410, edges_total=1000, cycles=9))
    assert last.look() is None  # the log has newer ones
    both = told(last, home, clock, 60_000, edges=3, cycles=0)
    assert (both.execs, both.cycles, both.edges, both.edges_total) == (91_000, 9, 410, 1000)


def test_a_file_that_a_resumed_afl_has_written_lowers_no_count(gauges, home, clock, tmp_path):
    """It is written before the first packet."""
    assert told(gauges, home, clock, 90_000, cycles=7).cycles == 7
    gauges.interrupted()
    clock.now += 1
    (tmp_path / "out/main/fuzzer_stats").write_text(FILE.format(execs=60_000) + CYCLES)
    first = gauges.look()
    assert (first.execs, first.cycles) == (90_000, 7)
    assert told(gauges, home, clock, 60_100, cycles=4).cycles == 7
    assert told(gauges, home, clock, 60_200, cycles=5).cycles == 8


def test_another_program_has_other_edges(supervised, home, clock, tmp_path):
    (tmp_path / "out/main/fuzzer_stats").write_text(FILE.format(execs=10))
    gauges = supervised(known(5, edges=800, edges_total=999))
    assert told(gauges, home, clock, 5000, edges=9).edges == 9


@pytest.mark.parametrize("stray", [0, 10, 4 * 10**18, 99999999999999999999])
def test_a_strangers_packet_changes_no_count(gauges, home, clock, stray):
    told(gauges, home, clock, 5000)
    assert told(gauges, home, clock, stray) is None
    assert told(gauges, home, clock, 6000).execs == 6000
    assert json.loads((home.supervisor / "statsd-main.json").read_text())["lost"] == 0


def test_figures_are_taken_up_after_days_without_a_supervisor(supervised, home, clock, tmp_path):
    (tmp_path / "out/main/fuzzer_stats").write_text(FILE.format(execs=9 * 10**9))
    again = supervised(known(1000))
    assert told(again, home, clock, 9 * 10**9 + 5).execs == 9 * 10**9 + 5


def test_the_port_outlives_the_supervisor(gauges, supervised, home):
    port = statsd_port(home, "main")
    supervised()
    assert statsd_port(home, "main") == port > 0


def test_a_port_that_somebody_took_is_replaced(gauges, supervised, home):
    port = statsd_port(home, "main")
    gauges.close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.bind(("127.0.0.1", port))
        supervised()
        assert statsd_port(home, "main") not in (0, port)


@pytest.fixture
def stranger(gauges, home):
    """Has the port of an afl-fuzz that lives on while nobody supervises it."""
    living = ProcessId.of(os.getpid())
    assert living is not None
    (home.instance("main") / "process.json").write_text(json.dumps(living.to_json()))
    port = statsd_port(home, "main")
    gauges.close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.bind(("127.0.0.1", port))
        yield stranger


def test_a_port_that_was_taken_from_a_living_one_is_told_and_the_age_is_true(
    stranger, supervised, home, clock, tmp_path
):
    port = statsd_port(home, "main")
    file = tmp_path / "out/main/fuzzer_stats"
    file.write_text(FILE.format(execs=77))
    observer = DirectoryObserver(home.out, State(), Offsets(0, {}), {})
    observer.add("main", supervised(known(5000)))
    events = [e for _ in range(3) for e in observer.poll().events]
    (told,) = [e for e in events if isinstance(e, Message) and e.level == "warning"]
    assert (told.instance, told.text) == (
        "main",
        "statistics of main are up to a minute old until it is restarted: "
        f"port {port} is used by another process",
    )
    assert statsd_port(home, "main") == port  # that is where it sends
    assert not [e for e in events if isinstance(e, Stats)]  # what the log has is newer
    # Its files are all there is: a rate comes of two of them.
    begin = 1_700_000_000
    for execs, at, rate in ((6000, begin, -1), (18_000, begin + 60, 200)):
        clock.now += 60
        file.write_text(FILE.format(execs=execs) + f"start_time : {begin}\nlast_update : {at}\n")
        aged(file, 40)
        (stats,) = observer.poll().events
        assert isinstance(stats, Stats)
        assert (stats.execs, stats.execs_per_sec) == (execs, rate)
        assert stats.age == pytest.approx(40, abs=5)
    state = State()
    apply(state, [Record(1, 100.0, stats), Record(2, 120.0, Message("info", "later"))])
    assert state.t - state.instances["main"].stats_t == pytest.approx(60, abs=5)
    observer.close()


def test_a_port_that_is_free_again_is_taken_again(stranger, supervised, home, clock):
    port = statsd_port(home, "main")
    again = supervised(known(5000))
    assert [n.level for n in again.notes()] == ["warning"]
    assert told(again, home, clock, 6000, after=9) is None  # the stranger has it
    stranger.close()
    assert told(again, home, clock, 6500, after=1) is None  # not every second
    clock.now += 5
    again.look()
    assert [(n.level, n.text) for n in again.notes()] == [
        ("info", f"port {port} is free: statistics of main are up to date again")
    ]
    fresh = told(again, home, clock, 7000)
    assert (fresh.execs, fresh.age) == (7000, 0)
    assert again.notes() == []


def test_the_next_start_has_another_port(stranger, supervised, home, clock):
    port = statsd_port(home, "main")
    again = supervised(known(5000))
    again.look(last=True)  # its process has ended
    assert statsd_port(home, "main") not in (0, port)
    assert told(again, home, clock, 6000).execs == 6000


def test_who_takes_over_tells_nothing_older_than_the_log_and_no_rate_of_afls(
    gauges, supervised, home, clock, tmp_path
):
    """The supervisor was killed after 12 seconds; the file is afl-fuzz's first one."""
    file = tmp_path / "out/main/fuzzer_stats"
    file.write_text(FILE.format(execs=9))  # 4 edges and 2 cycles fewer than the log has
    told(gauges, home, clock, 5000, edges=46)
    again = supervised(known(5000))
    again.interrupted()  # it is adopted, perhaps paused
    for _ in range(3):
        clock.now += 1
        assert again.look() is None
    fresh = told(again, home, clock, 5400, edges=47)
    assert (fresh.execs, fresh.edges, fresh.cycles) == (5400, 47, 3)
    assert fresh.execs_per_sec == -1  # of two packets first
    assert told(again, home, clock, 5600, edges=47).execs_per_sec == pytest.approx(200)
    # Killed again, when afl-fuzz has been paused for long and has written its file just before.
    again.close()
    stats = f"start_time : {1_700_000_000}\nlast_update : {1_700_000_010}\n"
    file.write_text(FILE.format(execs=5700) + stats)
    last = supervised(known(5600))
    newer = last.look()
    assert newer is not None
    assert (newer.execs, newer.execs_per_sec) == (5700, -1)


def test_without_packets_the_file_counts(gauges, home, clock, tmp_path):
    (tmp_path / "out/main/fuzzer_stats").write_text(FILE.format(execs=77))
    assert gauges.look().execs == 77


def test_a_flood_and_rubbish_are_survived(gauges, home, clock):
    for packet in (b"", b"\xff" * 2000, b"fuzzing.execs_done:nan|g", b"fuzzing.execs_done:-5|g"):
        send(home, packet)
    assert gauges.look() is None
    assert told(gauges, home, clock, 5).execs == 5


@pytest.mark.parametrize("text", ["[]", "{", '{"port": 99999, "lost": -1}', '{"port": "x"}'])
def test_a_damaged_memory_is_a_fresh_start(supervised, home, clock, text):
    (home.supervisor / "statsd-main.json").write_text(text)
    supervised()
    assert statsd_port(home, "main") > 0
    assert json.loads((home.supervisor / "statsd-main.json").read_text())["lost"] == 0


@given(st.binary(max_size=300))
def test_any_packet_is_parsed(packet):
    for name, value in parse_gauges(packet).items():
        assert name.isidentifier()
        assert float(value) >= 0
