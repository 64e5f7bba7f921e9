"""Steering a campaign of real processes through its control socket."""

import os
import signal
import threading
from pathlib import Path

import psutil
import pytest
from supervised import busy
from waiting import DEADLINE_S

from fuzztui.kernel.remote.client import NotRunning, RemoteError
from fuzztui.kernel.remote.lock import running
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.commands import Pause, PromoteEntry, Resume, SkipEntry, Stop

pytestmark = pytest.mark.slow


def stands_still(s) -> int:
    """How many entries there are when all of them are in the log; and that no more come."""
    queues = s.run.glob("out/*/queue")
    files = [file for queue in queues for file in queue.iterdir()]
    s.until(lambda st: len(st.entries) >= len(files))
    for name, instance in s.state().instances.items():
        # An engine that answers has had a turn; one that is stopped by a signal has none.
        if psutil.Process(instance.pid).status() != psutil.STATUS_STOPPED:
            assert s.send(SkipEntry(1, name)).ok
    assert len(s.state().entries) == len(files)
    return len(files)


def test_what_cannot_be_done_is_said(made):
    s = made(capabilities=["pause", "resume", "skip"])
    s.start(instances=2)
    s.until(lambda st: all(i.engine for i in st.instances.values()) and len(st.instances) == 2)
    assert s.send(PromoteEntry(1, "main")).detail == "fake cannot promote"
    assert s.send(SkipEntry(1)).detail == "name an instance, one of: main, s1"
    assert (
        s.send(SkipEntry(1, "[/x]")).detail
        == "there is no instance '[/x]'; the instances are main, s1"
    )
    assert s.send(Stop("s1")).ok
    s.until(lambda st: st.instances["s1"].state == "stopped")
    assert s.send(SkipEntry(1, "s1")).detail == "s1 has ended (stopped)"
    assert s.state().instances["main"].state == "running"
    assert all(c.state != "pending" for c in s.state().commands.values())


def test_pause_and_resume(made):
    s = made()
    s.start(instances=2)
    s.until(lambda st: busy(st) and all(i.state == "running" for i in st.instances.values()))
    assert s.send(Pause("s1")).ok
    state = s.until(lambda st: st.instances["s1"].state == "paused")
    assert state.state == "running"
    result = s.send(Pause())
    assert (result.ok, result.detail) == (True, "2 instances")
    state = s.until(lambda st: st.state == "paused")
    assert {i.state for i in state.instances.values()} == {"paused"}
    entries = stands_still(s)
    assert s.send(Resume()).ok
    s.until(lambda st: busy(st) and len(st.entries) > entries)


def test_a_pause_spends_no_time_budget(made):
    s = made().at_work("campaign.budget=8s")  # it must be at work and paused within that
    assert s.send(Pause()).ok
    paused = s.until(lambda st: st.state == "paused").t
    s.until(lambda st: st.t > paused + 1)
    assert s.state().state == "paused"
    assert s.send(Resume()).ok
    resumed = s.until(lambda st: st.state == "running").t
    state = s.over()
    assert state.state == "finished"
    assert state.t >= 8 + resumed - paused


def test_an_engine_that_cannot_pause_is_stopped_by_signal(made):
    s = made(capabilities=[]).at_work()
    pid = s.state().instances["main"].pid
    assert s.send(Pause()).ok
    s.until(lambda st: st.state == "paused")
    s.until(lambda _: psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    assert s.send(Resume()).ok
    s.until(lambda st: st.state == "running")
    assert s.send(Pause()).ok
    assert s.send(Stop()).ok  # a stopped process takes SIGTERM anyway
    assert s.over().state == "stopped"
    assert not [e for e in s.events(ev.InstanceState) if "killed" in e.reason]


def test_an_engine_without_files_for_us_is_steered_by_signals(made, monkeypatch):
    """As AFL++ will be: no hello, no control.jsonl. It is alive once its figures move."""
    s = made(capabilities=[]).at_work()
    assert s.send(Pause()).ok
    s.restart()
    s.until(lambda st: st.state == "paused")
    assert s.send(Resume()).ok
    s.until(lambda st: st.state == "running" and st.instances["main"].state == "running")


@pytest.mark.parametrize("capabilities", [["pause", "resume"], []])
def test_who_is_stopped_from_outside_is_paused_and_can_be_resumed(made, capabilities):
    s = made(capabilities=capabilities).at_work()
    pid = s.state().instances["main"].pid
    os.kill(pid, signal.SIGSTOP)
    state = s.until(lambda st: st.instances["main"].state == "paused")
    assert state.instances["main"].reason == "stopped by a signal (SIGSTOP)"
    assert (state.state, state.instances["main"].execs_per_sec) == ("running", 0.0)
    os.kill(pid, signal.SIGCONT)
    s.until(lambda st: st.instances["main"].state == "running")
    os.kill(pid, signal.SIGSTOP)
    s.until(lambda st: st.instances["main"].state == "paused")
    s.kill_supervisor()
    s.start()  # nobody here has paused it, so the next supervisor did not either
    os.kill(pid, signal.SIGCONT)
    s.until(lambda st: st.instances["main"].state == "running")
    os.kill(pid, signal.SIGSTOP)
    s.until(lambda st: st.instances["main"].state == "paused")
    entries = stands_still(s)
    assert s.send(Resume()).ok
    s.until(lambda st: len(st.entries) > entries + 5)
    state = s.until(lambda st: st.instances["main"].state == "running")
    assert state.instances["main"].pid == pid
    assert state.instances["main"].restarts == 0


def test_a_pause_outlives_supervisor_and_engine(made):
    s = made().at_work()
    engine = s.state().instances["main"].pid
    assert s.send(Pause()).ok
    s.until(lambda st: st.state == "paused")
    s.kill_supervisor()
    s.kill_engines()
    s.start()
    s.until(lambda st: st.instances["main"].pid not in (0, engine))
    s.until(lambda st: st.instances["main"].state == "paused")
    entries = stands_still(s)
    s.until(lambda st: st.state == "paused")
    assert s.send(Resume()).ok
    s.until(lambda st: st.state == "running" and len(st.entries) > entries)
    events = s.events()
    again = max(n for n, e in enumerate(events) if isinstance(e, ev.SupervisorStarted))
    states = [e.state for e in events[again:] if isinstance(e, ev.CampaignState)]
    assert states.index("running") == len(states) - 1


def test_stop_ends_it_and_leaves_no_process(made):
    s = made(leave_child=True)
    s.start(instances=2)
    s.until(lambda st: busy(st) and len(s.marked()) == 4)
    result = s.send(Stop())
    assert (result.ok, result.detail) == (True, "stopped (2 instances)")
    assert s.state().state == "stopped"  # as it says
    state = s.over()
    assert state.state == "stopped"
    assert state.reason.startswith("stopped by ")
    assert {i.state for i in state.instances.values()} == {"stopped"}
    assert s.marked() == []
    with pytest.raises(NotRunning):
        s.send(Stop())
    s.check_nothing_lost_or_doubled("main", "s1")


def test_an_engine_that_does_not_want_to_go_is_killed(made):
    s = made(ignore_term=True).at_work()
    assert s.send(Stop(), timeout=DEADLINE_S).ok
    state = s.over()
    assert state.state == "stopped"
    assert "had to be killed" in state.instances["main"].reason
    assert s.marked() == []
    s.check_nothing_lost_or_doubled()


def test_stopping_while_it_waits_to_start_again(made):
    s = made()
    s.python.write_text("#!/bin/sh\nexit 7\n")
    s.start()
    s.until(lambda st: st.instances.get("main") and st.instances["main"].restarts >= 3)
    assert s.stop().state == "stopped"


def test_a_command_without_an_answer_stays_pending_and_ends_with_the_campaign(made):
    s = made(deaf=True).at_work()
    result = s.send(SkipEntry(1), timeout=0.3)
    assert (result.ok, result.pending) == (False, True)
    s.until(lambda st: [c.state for c in st.commands.values()] == ["pending"])
    state = s.stop()
    assert [c.state for c in state.commands.values()] == ["rejected", "applied"]


def test_a_command_is_answered_once_over_a_killed_supervisor(made):
    s = made(deaf=True).at_work()
    s.send(SkipEntry(1), timeout=0.2)
    s.until(lambda st: st.commands)
    s.kill_supervisor()
    s.kill_engines()
    s.plan["deaf"] = False
    s.start()
    s.until(lambda st: all(c.state == "applied" for c in st.commands.values()))
    control = (s.run / "out/main/control.jsonl").read_text()
    assert control.count("skip") == 1
    (issued,) = s.events(ev.CommandIssued)
    assert [e.id for e in s.events(ev.CommandApplied)] == [issued.id]


def test_a_command_that_was_logged_and_not_sent_is_sent(made):
    """The supervisor is killed between the two: the next one sends it."""
    s = made().at_work()
    s.kill_supervisor()
    s.kill_engines()
    from fuzztui.kernel.log.writer import LogWriter

    writer = LogWriter(s.run / "log")
    writer.append(ev.CommandIssued("c-lost", {"c": "skip", "entry": 1}, "me"), 1.0)
    writer.append(ev.CommandIssued("c-stop", {"c": "stop"}, "me"), 1.0)
    writer.close()
    s.start()
    state = s.until(lambda st: all(c.state != "pending" for c in st.commands.values()))
    assert state.commands["c-lost"].state == "applied"
    assert state.commands["c-stop"].state == "rejected"
    assert state.state == "running" or s.until(busy)


def test_commands_before_the_engine_is_up_wait_for_it(made):
    s = made()
    s.python.write_text(s.python.read_text().replace("exec", "sleep 1; exec"))
    s.start()
    result = s.send(SkipEntry(0))
    assert result.ok
    assert s.events(ev.CommandRejected) == []


def test_a_torn_line_in_control_does_not_swallow_a_command(made):
    s = made()
    s.start()
    s.until(lambda state: state.entries)
    with (s.run / "out/main/control.jsonl").open("a") as control:
        control.write('{"id":"torn')
    assert s.send(SkipEntry(entry=0, instance="main")).ok


def test_several_people_at_once(made):
    s = made().at_work()
    results: dict[int, bool] = {}

    def ask(n: int) -> None:
        results[n] = s.send(SkipEntry(n if n % 2 else n + 1_000_000)).ok

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: bool(n % 2) for n in range(12)}
    issued = [e.id for e in s.events(ev.CommandIssued)]
    answered = [e.id for e in s.events() if isinstance(e, (ev.CommandApplied, ev.CommandRejected))]
    assert len(set(issued)) == 12
    assert sorted(issued) == sorted(answered)


def test_the_socket_comes_back_after_a_logout(made):
    s = made().at_work()
    path = Path((s.run / "supervisor/socket").read_text().strip())
    supervisor = psutil.Process(running(s.run))
    path.unlink()

    def answers(_) -> bool:
        try:
            return s.send(SkipEntry(1)).ok
        except RemoteError:  # it is not there yet, or nobody listens yet
            return False

    s.until(answers)
    assert path.exists()
    s.stop()
    assert not path.exists()
    assert psutil.wait_procs([supervisor], timeout=DEADLINE_S)[1] == []
