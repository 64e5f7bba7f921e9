"""Engines and supervisors that end, are killed and come back: real processes."""

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import psutil
import pytest
from supervised import busy
from waiting import DEADLINE_S, wait_until

from fuzztui.kernel.log.files import SEALED
from fuzztui.kernel.remote.lock import running, trouble
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.commands import Stop
from fuzztui.run.campaign.rundir import AlreadyRunning, SupervisorError
from fuzztui.run.observe.passive import make_passive
from fuzztui.run.process.identity import boot_id
from fuzztui.run.supervise.daemon import start

pytestmark = pytest.mark.slow


def ends_with(s, execs: int, restarts: int) -> None:
    """It comes to the end of its budget, and none of its engine's work is lost or doubled."""
    state = s.over()
    assert (state.state, state.instances["main"].stats.execs) == ("finished", execs)
    assert state.instances["main"].restarts == restarts
    s.check_nothing_lost_or_doubled()


# ------------------------------------------------------------------------- endings


def test_a_budget_of_trials_is_kept_to_the_trial(made):
    s = made(crash_at=[5], trials_per_tick=7)
    pid = s.start("campaign.budget=300")
    state = s.over()
    assert (state.state, state.instances["main"].state) == ("finished", "finished")
    assert state.instances["main"].stats.execs == 300
    assert "300 trials" in state.reason
    assert [e.state for e in s.events(ev.CampaignState)] == ["starting", "running"]
    assert [e.pid for e in s.events(ev.SupervisorStarted)] == [pid]
    assert len(state.findings) == 1
    s.check_nothing_lost_or_doubled()
    events = s.events()
    assert isinstance(events[0], ev.CampaignStarted)
    assert isinstance(events[-1], ev.CampaignEnded)
    # The last figures stand before the state that ends it.
    last_stats = max(i for i, e in enumerate(events) if isinstance(e, ev.Stats))
    over = events.index(next(e for e in events if getattr(e, "state", "") == "finished"))
    assert last_stats < over
    assert events[last_stats].execs == 300
    # The engine says that it is someone else: its directory knows better.
    assert [e.instance for e in events if isinstance(e, ev.InstanceHello)] == ["main"]


def test_a_budget_is_shared_by_the_instances(made):
    s = made()
    state = s.ran("campaign.budget=500", instances=3)
    assert state.reason == "the budget of 500 trials is used up"
    execs = {name: i.stats.execs for name, i in state.instances.items()}
    assert execs == {"main": 167, "s1": 167, "s2": 166}
    s.check_nothing_lost_or_doubled("main", "s1", "s2")


def test_a_budget_of_time_ends_it_and_a_larger_one_goes_on(made):
    s = made()
    state = s.ran("campaign.budget=2s")
    assert (state.state, state.reason) == ("finished", "the budget of 2 s is used up")
    assert state.t >= 2
    before = len(state.entries)
    with pytest.raises(SupervisorError, match=r"used up.*campaign\.budget"):
        s.start("campaign.budget=2s")
    assert s.state().seq == state.seq
    state = s.ran("campaign.budget=4s")
    assert state.t >= 4
    assert len(state.entries) > before
    assert [e.budget_s for e in s.events(ev.BudgetSet)] == [4.0]
    assert [e.resumed for e in s.events(ev.SupervisorStarted)] == [[], ["main"]]
    s.check_nothing_lost_or_doubled()


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_one_that_was_killed_at_its_very_end_is_brought_to_it(made, lost):
    s = made()
    s.ran("campaign.budget=0.6s")
    s.lose_the_end(lost)
    state = s.ran("campaign.budget=0.6s")
    assert (state.state, state.reason) == ("finished", "the budget of 0.6 s is used up")
    s.check_nothing_lost_or_doubled()


def test_one_that_was_killed_while_stopping_is_resumed(made):
    s = made(trials_per_tick=20, gate_at=20).at_work("campaign.budget=800")
    assert s.stop().state == "stopped"
    s.lose_the_end(1)
    s.go()
    state = s.ran("campaign.budget=800")
    assert (state.state, state.instances["main"].stats.execs) == ("finished", 800)


@pytest.mark.parametrize("gone", ["", "supervisor/lock", "log"], ids=["run", "lock", "log"])
def test_what_a_run_cannot_do_without_ends_it(made, gone):
    """With all of its processes, and a reason, in the run or where it has been moved to."""
    s = made()
    supervisor = psutil.Process(s.start())
    s.until(busy)
    engines = [psutil.Process(p.pid) for p in s.marked()]
    assert engines
    if gone == "supervisor/lock":
        (s.run / gone).unlink()
    else:
        (s.run / gone).rename(s.directory / "elsewhere")
    _, alive = psutil.wait_procs([supervisor, *engines], timeout=DEADLINE_S)
    assert alive == []
    if gone == "log":
        assert "the run's log was deleted or moved" in s.stderr()
    elif gone:
        assert s.state().reason == "the run directory was deleted"
    else:
        s.run = s.directory / "elsewhere"
        assert f"moved to {s.run}" in s.state().reason
        assert f"fuzztui {s.run}/campaign.toml" in s.state().reason


def test_stop_conditions(made):
    s = made(crash_at=[5, 10, 15])
    state = s.ran("stop.crashes=2")
    assert state.state == "finished"
    assert "stop.crashes" in state.reason
    idle = made(entries=3)
    idle.start()
    idle.until(lambda st: len(st.entries) == 3)
    idle.stop()
    state = idle.ran("stop.idle=2s")  # however long it takes to begin: it has all that there is
    assert state.state == "finished"
    assert "nothing new for 2 s" in state.reason
    assert len(state.entries) == 3


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_an_instance_whose_directory_goes_starts_again(made, how):
    """An engine that does not notice; the other one continues."""
    s = made()
    s.start(instances=2)
    state = s.until(lambda state: all(i.stats.execs > 50 for i in state.instances.values()))
    main, pid = s.run / "out/main", state.instances["main"].pid
    stopped = psutil.Process(pid)
    stopped.suspend()  # it would die of it
    main.rename(s.directory / "away")
    if how == "replaced":
        main.mkdir()
    again = s.until(lambda state: state.instances["main"].pid not in (0, pid))
    assert not stopped.is_running() or stopped.status() == psutil.STATUS_ZOMBIE
    assert again.instances["s1"].restarts == 0
    (said,) = [m for m in s.events(ev.Message) if str(main) in m.text]
    assert (said.level, said.instance) == ("warning", "main")
    s.until(lambda state: state.instances["main"].state == "running" and any(main.iterdir()))


def test_an_interpreter_that_is_gone_fails_in_words(made):
    s = made()
    s.freeze()
    s.python.unlink()
    with pytest.raises(SupervisorError, match="not an executable interpreter"):
        start(s.run)
    s.python.write_text("#!/nowhere/at/all\n")
    s.python.chmod(0o755)
    start(s.run)
    state = s.over()
    assert state.state == "failed"
    assert "cannot start" in state.reason


# ------------------------------------------------------------------ restarts and kills


def test_an_engine_that_crashes_is_started_again(made):
    s = made(exit_at=20, status=-signal.SIGSEGV)
    state = s.ran("campaign.budget=600")
    assert (state.state, state.instances["main"].restarts) == ("finished", 1)
    s.check_nothing_lost_or_doubled()
    (restarting,) = [e for e in s.events(ev.InstanceState) if e.state == "restarting"]
    assert restarting.reason == "killed by SIGSEGV; again in 0.5 s"


def test_an_engine_that_never_begins_is_given_up(made):
    s = made(stillborn=True)
    state = s.ran()
    assert (state.state, state.instances["main"].restarts) == ("failed", 5)
    assert "exited with status 1, 6 times without a sign of life" in state.reason
    assert "worker.log" in state.reason


def test_an_engine_is_killed_and_nothing_is_lost(made):
    s = made(trials_per_tick=15, gate_at=20).at_work("campaign.budget=800")
    first = s.state().instances["main"].pid
    os.kill(first, signal.SIGKILL)
    s.go()
    s.until(lambda st: st.instances["main"].restarts == 1 and st.instances["main"].pid != first)
    ends_with(s, 800, restarts=1)


def test_back_off_doubles(made):
    s = made()
    s.python.write_text("#!/bin/sh\nexit 7\n")
    s.start()
    s.until(lambda st: st.instances.get("main") and st.instances["main"].restarts >= 3)
    reasons = [e.reason for e in s.events(ev.InstanceState) if e.state == "restarting"]
    assert reasons[:3] == [
        f"exited with status 7; again in {delay} s" for delay in ("0.5", "1", "2")
    ]


def test_the_supervisor_is_killed_and_the_next_adopts_its_engine(made):
    s = made(trials_per_tick=20, gate_at=70).at_work("campaign.budget=1600")
    engine = s.state().instances["main"].pid
    s.kill_supervisor()
    t = s.state().t
    queue = s.run / "out/main/queue"
    before = len(list(queue.iterdir()))
    wait_until(lambda: len(list(queue.iterdir())) >= min(before + 10, 70))  # it continues alone
    pid = s.start("campaign.budget=1600")
    state = s.until(lambda _: s.events(ev.SupervisorStarted)[-1].pid == pid)
    assert state.instances["main"].pid == engine
    assert s.events(ev.SupervisorStarted)[-1].adopted == ["main"]
    # It worked meanwhile, so the time counts.
    taken_over = next(
        r.t for r in reversed(s.records()) if isinstance(r.event, ev.SupervisorStarted)
    )
    assert taken_over > t + 0.1
    s.go()
    ends_with(s, 1600, restarts=0)


def test_both_are_killed_and_time_stands_still(made):
    s = made(trials_per_tick=20, gate_at=20).at_work("campaign.budget=800")
    s.kill_supervisor()
    s.kill_engines()
    t = s.state().t
    clock = s.run / "supervisor/clock.json"  # as if it had been an hour ago
    zero = json.loads(clock.read_text())
    clock.write_text(json.dumps(zero | {"zero": zero["zero"] - 3600}))
    s.go()
    s.start("campaign.budget=800")
    records = s.records()
    started = max(i for i, r in enumerate(records) if isinstance(r.event, ev.SupervisorStarted))
    assert records[started].event.resumed == ["main"]
    assert records[started].t < t + 3600
    ends_with(s, 800, restarts=0)


def test_after_a_reboot_everything_is_resumed(made):
    s = made(trials_per_tick=20, gate_at=20).at_work("campaign.budget=800")
    s.kill_supervisor()
    s.kill_engines()
    s.go()
    # The pid belongs to someone else by now: to us.
    for name in ("out/main/process.json", "supervisor/clock.json"):
        path = s.run / name
        path.write_text(path.read_text().replace(boot_id(), "before"))
    (s.run / "out/main/process.json").write_text(f'{{"pid":{os.getpid()},"start":1,"boot":"b"}}')
    assert s.ran("campaign.budget=800").state == "finished"
    s.check_nothing_lost_or_doubled()


@pytest.mark.parametrize("rounds", [4, pytest.param(25, marks=pytest.mark.nightly)])
def test_kills_at_any_moment(made, rounds):
    rng = random.Random(rounds)
    s = made(tick=0.002, crash_at=list(range(50, 5000, 50)))
    s.start()
    for _ in range(rounds):
        s.until(busy)
        time.sleep(rng.random() / 2)
        victims = rng.choice(["supervisor", "engine", "both"])
        if victims != "engine":
            s.kill_supervisor()
        if victims != "supervisor":
            for process in s.marked():
                process.signal(signal.SIGKILL)
        time.sleep(rng.random() / 4)
        if not running(s.run):
            s.start()
    os.kill(running(s.run), signal.SIGTERM)
    assert s.over().state == "stopped"
    s.check_nothing_lost_or_doubled()


# ------------------------------------------------------------------- the supervisor


def test_sigterm_ends_everything_cleanly_and_sighup_nothing(made):
    s = made(leave_child=True)
    pid = s.start()
    s.until(busy)
    assert len(s.marked()) == 2
    os.kill(pid, signal.SIGHUP)
    os.kill(pid, signal.SIGHUP)
    os.kill(pid, signal.SIGTERM)
    state = s.over()
    assert (state.state, state.reason) == ("stopped", "the supervisor got SIGTERM")
    assert s.marked() == []
    assert s.stderr() == ""
    # The same command continues.
    s.start()
    s.until(lambda st: busy(st) and len(st.entries) > len(state.entries))


def test_it_says_what_takes_time_and_has_no_terminal_and_no_parent(made):
    s = made()
    s.freeze()
    told: list[str] = []
    pid = start(s.run, progress=told.append)
    assert told
    process = psutil.Process(pid)
    assert process.ppid() != os.getpid()
    assert process.terminal() is None
    assert os.getsid(pid) != os.getsid(0)
    assert process.environ().get("FUZZTUI_RUN") is None
    for fd in (0, 1):
        assert os.readlink(f"/proc/{pid}/fd/{fd}") == "/dev/null"


def test_a_second_supervisor_is_refused(made):
    s = made()
    pid = s.start()
    with pytest.raises(AlreadyRunning, match=str(pid)) as e:
        s.start()
    assert e.value.pid == pid
    assert running(s.run) == pid
    s.until(busy)


def test_what_is_wrong_at_the_start_is_said(made):
    s = made()
    s.freeze()
    (s.run / "campaign.toml").write_text("[campaign]\nname = 1\n")
    with pytest.raises(SupervisorError, match=r"campaign\.toml"):
        start(s.run)
    s.freeze()
    (s.run / "log/campaign.jsonl.gz").mkdir()
    with pytest.raises(SupervisorError, match="log"):
        start(s.run)


def test_an_error_of_our_own_is_told_once_and_survived(made):
    """In the foreground, as a service manager runs it, with an observer that is broken."""
    s = made()
    s.freeze("campaign.budget=1s")
    code = f"""
import sys
from fuzztui.run.observe.directory import DirectoryObserver
from fuzztui.run.supervise.owner import run_process
from fuzztui.run.supervise.supervisor import Supervisor
whole, calls = DirectoryObserver.poll, 0
def poll(self):
    global calls
    calls += 1
    if calls % 2:
        raise RuntimeError("nobody foresaw this")
    return whole(self)
DirectoryObserver.poll = poll
sys.argv = ["supervise", {str(s.run)!r}]
sys.exit(run_process("supervise", Supervisor))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert s.state().state == "finished"
    s.check_nothing_lost_or_doubled()
    told = [m.text for m in s.events(ev.Message)]
    assert len(told) == 1
    assert "nobody foresaw this" in told[0]
    assert done.stderr.count("nobody foresaw this") == 1


TRIAGE = """
import asyncio, sys
from fuzztui.run.process.service import Service
from fuzztui.run.supervise import launchers, services
from fuzztui.run.supervise.owner import run_process
from fuzztui.run.supervise.supervisor import Supervisor
services.MAX_WAIT_S = LIMIT_S
class Slow(Service):
    left = 2
    @property
    def pending(self): return f"{self.left} findings" if self.left else ""
    async def run(self): await asyncio.sleep(1000)
    async def finish(self):
        await asyncio.sleep(SECONDS)
        self.left = 0
launchers.InProcess.triage = lambda *_: Slow()
sys.argv = ["supervise", "RUN"]
sys.exit(run_process("supervise", Supervisor))
"""


def with_triage(s, seconds: float, patience: float) -> subprocess.Popen[bytes]:
    """In the foreground, with two findings that take so long to describe."""
    code = TRIAGE.replace("SECONDS", str(seconds)).replace("LIMIT_S", str(patience))
    code = code.replace("RUN", str(s.run))
    return subprocess.Popen([sys.executable, "-c", code])


def test_no_time_is_spent_on_what_is_done_once_all_have_ended(made):
    s = made()
    s.freeze("campaign.budget=0.6s")
    assert with_triage(s, 4, 40).wait(DEADLINE_S) == 0
    state = s.over()
    assert (state.state, state.reason) == ("finished", "the budget of 0.6 s is used up")
    checking = next(r.t for r in s.records() if "checking" in getattr(r.event, "reason", ""))
    assert state.t - checking < 4
    stopping = [e.reason for e in s.events(ev.CampaignState) if e.state == "stopping"]
    used_up = "the budget of 0.6 s is used up"
    assert stopping == [used_up, f"{used_up}; checking 2 findings"]
    assert s.events(ev.Message) == []


def test_what_takes_too_long_at_the_end_is_left_and_who_stops_it_knows(made):
    s = made()
    s.freeze()
    supervisor = with_triage(s, 1000, 4)
    s.until(busy)
    result = s.send(Stop())
    assert (result.ok, result.detail) == (True, "stopped; checking 2 findings before the end")
    assert s.state().state == "stopping"
    assert supervisor.wait(DEADLINE_S) == 0
    assert s.over().state == "stopped"
    (said,) = s.events(ev.Message)
    assert said.text.startswith("2 findings not checked in time: resume the campaign")


def test_findings_are_examined_after_the_end_until_a_user_stops_that(made):
    s = made()
    s.freeze("campaign.budget=0.6s")
    supervisor = with_triage(s, 1000, 0)  # no time at all after a stop
    s.until(lambda st: st.state == "stopping" and "checking 2 findings" in st.reason)
    s.send(Stop())
    assert supervisor.wait(DEADLINE_S) == 0
    state = s.over()
    assert (state.state, state.reason) == ("finished", "the budget of 0.6 s is used up")
    (said,) = s.events(ev.Message)
    assert said.text.startswith("2 findings not checked in time: resume the campaign")


def test_fewer_and_more_instances_than_before(made):
    s = made()
    s.start(instances=2)
    at_work = {"main", "s1"}
    s.until(lambda st: busy(st) and at_work == {e.instance for e in st.entries.values()})
    s.restart(instances=1)
    state = s.until(lambda st: st.instances["s1"].state == "stopped")
    assert len(s.marked()) == 1
    assert state.instances["main"].state == "running"
    # It was asked to end, as any other: its last figures are those of its end.
    assert state.instances["s1"].reason == "no longer part of the campaign"
    done = json.loads((s.run / "out/s1/fake.json").read_text())["ticks"]
    assert state.instances["s1"].stats.execs == 10 * done
    s.check_nothing_lost_or_doubled("s1")
    os.kill(running(s.run), signal.SIGTERM)
    s.over()
    s.start(instances=3)
    s.until(lambda st: st.instances.get("s2") and st.instances["s1"].state == "running")


def test_a_passive_instance_stays_one_over_restarts(made):
    s = made().at_work()
    make_passive(s.run / "out/box_main", "box")
    (s.run / "out/box_main/queue").mkdir()
    (s.run / "out/box_main/queue/id:000000,op:x").write_bytes(b"x")
    s.until(lambda st: "box_main" in st.instances)
    s.restart()
    s.until(lambda _: s.events(ev.SupervisorStarted)[-1].pid == running(s.run))
    s.until(lambda st: st.state == "running")
    os.kill(running(s.run), signal.SIGTERM)
    state = s.over()
    one = state.instances["box_main"]
    assert (one.state, one.passive, one.received, one.reason) == ("passive", "box", 1, "")
    assert not (s.run / "out/box_main/spec.json").exists()
    assert not [e for e in s.events(ev.EntrySaved) if e.instance == "box_main"]


def test_a_run_that_was_moved_goes_on(made, tmp_path):
    s = made()
    s.ran("campaign.budget=200")
    s.run.rename(tmp_path / "elsewhere")
    s.run = tmp_path / "elsewhere"
    assert s.ran("campaign.budget=400").instances["main"].stats.execs == 400
    s.check_nothing_lost_or_doubled()


def test_a_full_disk_loses_nothing(made):
    s = made(tick=0.005, entries=120, gate_at=20)
    s.freeze()
    log = s.run / "log"
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(log)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a tmpfs is not permitted here")
    try:
        s.at_work()
        pid = running(s.run)
        filler = log / "filler"
        with pytest.raises(OSError, match="No space"), filler.open("wb", buffering=0) as f:
            while True:
                f.write(b"x" * 4096)
        s.go()
        queue = s.run / "out/main/queue"
        wait_until(lambda: len(list(queue.iterdir())) >= 120)
        # Who looks learns of it while it lasts: the log cannot say it.
        full = "the campaign log cannot be written: No space left on device"
        s.until(lambda _: trouble(s.run) == full)
        assert len(s.state().entries) < 120
        assert running(s.run) == pid
        assert s.events(ev.Message) == []
        filler.unlink()
        again = "the campaign log can be written again"
        s.until(
            lambda st: len(st.entries) == 120 and again in [m.text for m in s.events(ev.Message)]
        )
        assert trouble(s.run) == ""
        assert [m.text for m in s.events(ev.Message)] == [full, again]
        os.kill(pid, signal.SIGTERM)
        s.over()
        s.check_nothing_lost_or_doubled()
        s.clean_up()
    finally:
        subprocess.run(["umount", "-l", str(log)], check=False)


@pytest.mark.parametrize("part", [0.0, 0.5, 0.9])
def test_a_damaged_log_is_repaired_and_what_it_lost_is_found_again(made, part):
    s = made(crash_at=[5, 9])
    s.ran("campaign.budget=400")
    sealed = s.run / "log" / SEALED
    data = bytearray(sealed.read_bytes())
    at = 200 + int(part * (len(data) - 500))
    data[at : at + 8] = bytes(b ^ 255 for b in data[at : at + 8])
    sealed.write_bytes(data)
    state = s.ran("campaign.budget=500")
    assert state.state == "finished"
    assert state.lost > 0
    assert gzip.decompress(sealed.read_bytes()).count(b"\n") == len(s.records())
    warnings = [e.text for e in s.events(ev.Message) if e.level == "warning"]
    assert any("repaired" in text and "missing" in text for text in warnings)
    assert [p.read_bytes() for p in sealed.parent.glob("*.damaged-*")]
    # Every file and every line is in the log once, though not in the old order.
    events, directory = s.events(), s.run / "out" / "main"
    for kind, files in ((ev.EntrySaved, "queue/*"), (ev.FindingSaved, "crashes/*")):
        told = Counter(e.file for e in events if isinstance(e, kind))
        assert told == Counter(str(p.relative_to(directory)) for p in directory.glob(files))
    lines = (directory / "events.jsonl").read_text().splitlines()
    described = Counter(json.loads(x)["id"] for x in lines if '"entry_described"' in x)
    assert Counter(e.id for e in events if isinstance(e, ev.EntryDescribed)) == described
    assert len(state.entries) == len(list(directory.glob("queue/*")))
