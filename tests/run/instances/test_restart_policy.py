"""One instance's life and the campaign's limits, without a supervisor."""

import asyncio
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import ClassVar
from unittest import mock

import psutil
import pytest
from campaigns import campaign
from lab_clock import LabClock
from waiting import DEADLINE_S, until

from fuzztui.engines.base.spec import LOAD_LIMIT_S
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.selectors import WAITS_FOR_TURN
from fuzztui.kernel.model.state import Instance, State
from fuzztui.kernel.wire.events import (
    EntrySaved,
    Event,
    FindingSaved,
    InstanceHello,
    InstanceState,
    Message,
    Record,
    Stats,
)
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.instances import life as life_module
from fuzztui.run.instances import standstill
from fuzztui.run.instances.launcher import TERM_GRACE_S, Launch, instance_names
from fuzztui.run.instances.life import EndReason, InstanceLife
from fuzztui.run.process.identity import kill_marked
from fuzztui.run.supervise.ending import CampaignLimits, spent


class Desk:
    """Keeps what a life records, and in which order it looks."""

    def __init__(self) -> None:
        self.log: list[object] = []
        self.changed = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def record(self, *events: Event) -> None:
        self.log += events

    async def observe_final(self, name: str) -> None:
        self.log.append("last look")

    def state_changed(self, life: InstanceLife) -> None:
        self.changed.set()

    @property
    def states(self) -> list[str]:
        return [e.state for e in self.log if isinstance(e, InstanceState)]


class Launcher:
    """An engine as AFL++ will be: a program that knows nothing of our files."""

    says_hello = False
    signals: ClassVar = {"pause": signal.SIGSTOP, "resume": signal.SIGCONT}
    stall_s = 30.0
    finishes = False

    grace_s = TERM_GRACE_S

    def __init__(self, code: str = "import time; time.sleep(1000)") -> None:
        self.code = code
        self.errors: list[OSError] = []
        self.cleaned: list[Path] = []

    def prepare(self, campaign, home, index) -> Launch:
        if self.errors:
            raise self.errors.pop()
        return Launch([sys.executable, "-c", self.code])

    def hello(self, campaign, home, index) -> InstanceHello:
        return InstanceHello(
            instance_names(campaign)[index], "test", capabilities=["pause", "resume", "stop"]
        )

    def limit_reached(self, directory, status) -> str:
        return "at its limit" if self.finishes and status == 0 else ""

    def refusal(self, directory, status) -> str:
        return ""

    def shortage(self, directory) -> str:
        return ""

    def clean_up(self, directory) -> None:
        self.cleaned.append(directory)


@pytest.fixture
def make(tmp_path):
    (tmp_path / "out").mkdir()

    def make(launcher=None, before=None, **changes) -> tuple[InstanceLife, Desk]:
        desk = Desk()
        launcher = launcher or Launcher()
        parts = campaign(**changes), RunDir(tmp_path), 0
        return InstanceLife(*parts, launcher=launcher, context=desk, before=before), desk

    yield make
    kill_marked(tmp_path)


@pytest.fixture
async def start(make, monkeypatch):
    """A life that runs; what has not ended is stopped after the test."""
    started: list[tuple[InstanceLife, Desk]] = []

    def start(*args, delay_s=life_module.FIRST_DELAY_S, **kwargs) -> tuple[InstanceLife, Desk]:
        monkeypatch.setattr(life_module, "FIRST_DELAY_S", delay_s)
        life, desk = make(*args, **kwargs)
        desk.task = asyncio.ensure_future(life.run())
        started.append((life, desk))
        return life, desk

    yield start
    for life, desk in started:
        await life.end(EndReason("stopped", ""))
        await desk.task


async def test_a_launcher_that_takes_its_time_stops_nobody_else(start):
    """It may have to wait for a compiler."""
    begun, others = threading.Event(), threading.Event()

    class Slow(Launcher):
        def prepare(self, campaign, home, index) -> Launch:
            begun.set()
            assert others.wait(DEADLINE_S)
            return super().prepare(campaign, home, index)

    life, desk = start(Slow())
    await until(begun.is_set)
    others.set()
    await reach(life, desk, "starting")
    await life.end(EndReason("stopped", "enough"))
    await desk.task
    assert life.state == "stopped"


async def reach(life: InstanceLife, desk: Desk, state: str) -> None:
    while life.state != state:
        desk.changed.clear()
        await asyncio.wait_for(desk.changed.wait(), DEADLINE_S)


async def test_what_a_killed_process_left_is_removed_also_if_it_is_not_started_again(start):
    launcher = Launcher()
    life, desk = start(launcher)
    await reach(life, desk, "starting")
    assert launcher.cleaned == []
    life.signal(signal.SIGKILL)
    await reach(life, desk, "restarting")
    await life.end(EndReason("finished", "its budget is used up"))
    await desk.task
    assert desk.states == ["starting", "restarting", "finished"]
    assert launcher.cleaned == [life.directory]


async def test_figures_are_signs_of_life_and_their_standstill_an_alarm(start):
    life, desk = start()
    await reach(life, desk, "starting")
    (hello,) = [e for e in desk.log if isinstance(e, InstanceHello)]
    assert (hello.engine, hello.pid) == ("test", life.pid)
    assert hello.capabilities == ["pause", "resume", "stop"]
    life.on_stats(Stats("main", execs=0))
    assert life.state == "starting"
    life.on_stats(Stats("main", execs=10))
    assert life.state == "running"
    life.watch_progress()
    assert life.state == "running"
    life.launcher.stall_s = -1.0
    life.watch_progress()
    assert life.state == "stalled"
    life.on_stats(Stats("main", execs=10))
    assert life.state == "stalled"
    life.on_stats(Stats("main", execs=11))
    assert life.state == "running"
    life.set_paused(True)
    life.watch_progress()
    assert life.state == "paused"  # which is no stall
    life.set_paused(False)
    await life.end(EndReason("stopped", "enough"))
    await desk.task
    assert desk.states == [
        *("starting", "running", "stalled", "running", "paused", "running", "stopped")
    ]
    assert desk.log[-1].reason == "enough"
    assert desk.log[-2] == "last look"


async def test_an_engine_that_never_comes_up_is_an_alarm_too(start):
    life, desk = start()
    await reach(life, desk, "starting")
    life.launcher.stall_s = -1.0
    life.watch_progress()
    assert life.state == "stalled"
    assert "since the start" in desk.log[-1].reason


async def test_one_without_a_turn_is_paused_again_whatever_has_resumed_it(start):
    life, desk = start()
    await reach(life, desk, "starting")
    life.hello()
    life.rest(WAITS_FOR_TURN)
    identity = life._process.identity
    await until(identity.stopped)
    identity.signal(signal.SIGCONT)
    await until(lambda: not identity.stopped())
    life.rest(WAITS_FOR_TURN)
    await until(identity.stopped)
    life.rest("")
    await until(lambda: not identity.stopped())
    assert desk.states == ["starting", "running", "paused", "running"]
    # A turn that only goes on is no sign of life.
    life.launcher.stall_s = -1.0
    life.rest("")
    life.watch_progress()
    assert life.state == "stalled"
    life.rest("")
    assert life.state == "stalled"


async def test_a_paused_one_starts_paused(start):
    life, desk = start(before=Instance("main", state="paused"))
    await until(lambda: life.pid and psutil.Process(life.pid).status() == psutil.STATUS_STOPPED)
    life.mark_running()
    assert life.state == "paused"
    await life.end(EndReason("stopped", ""))
    await desk.task
    assert life.state == "stopped"


async def test_a_shortage_is_waited_out_and_hopelessness_is_not(make, monkeypatch):
    monkeypatch.setattr(life_module, "FIRST_DELAY_S", 0.01)
    launcher = Launcher("raise SystemExit(0)")
    launcher.finishes = True
    launcher.errors = [OSError(28, "No space left on device", "/full")]
    life, desk = make(launcher)
    await asyncio.wait_for(life.run(), DEADLINE_S)
    assert desk.states == ["restarting", "starting", "finished"]
    assert "/full: No space left on device" in desk.log[1].reason
    launcher.errors = [PermissionError(13, "Permission denied", "/bin/x")]
    life, desk = make(launcher)
    await life.run()
    assert desk.states == ["failed"]
    assert desk.log[-1].reason == "cannot start: /bin/x: Permission denied"


async def test_an_end_that_nobody_asked_for_is_no_end(start):
    """Whatever sent the SIGTERM: a campaign is not to fuzz on with one instance less."""
    launcher = Launcher("import signal, sys; signal.signal(15, lambda *_: sys.exit(0)); " + READY)
    life, desk = start(launcher, delay_s=0.2)
    await ready(life)
    life.on_stats(Stats("main", execs=10))
    life.signal(signal.SIGTERM)
    await reach(life, desk, "restarting")
    said = "exited without being asked to (exit status 0); again in 0.2 s"
    assert desk.log[-1].reason == said
    await reach(life, desk, "starting")
    assert life.restarts == 1
    launcher.finishes = True
    await ready(life)
    life.signal(signal.SIGTERM)
    await desk.task
    assert (life.state, life.restarts) == ("finished", 1)


READY = "import os, time; os.close(os.open('ready', os.O_CREAT))\nwhile True: time.sleep(0.1)"
"""No file object, no long sleep: a signal that meets the end of the one, or comes just before the
other, is lost."""


async def ready(life: InstanceLife) -> None:
    """Wait until a process of :data:`READY` handles signals."""
    path = life.directory / "ready"
    await until(path.exists)
    path.unlink()


async def halts(life: InstanceLife, status: str) -> None:
    """Let it look at its process until psutil says so too, and twice again."""
    await until(
        lambda: (psutil.Process(life.pid).status() == psutil.STATUS_STOPPED) == (status == "T")
    )
    life.watch_signals()
    life.watch_signals()


async def stopped(life: InstanceLife) -> None:
    life.signal(signal.SIGSTOP)
    await halts(life, "T")


async def continued(life: InstanceLife) -> None:
    life.signal(signal.SIGCONT)
    await halts(life, "S")


async def test_one_that_somebody_else_stops_is_paused_until_it_goes_on(start):
    life, desk = start(Launcher(READY))
    await ready(life)
    await stopped(life)
    assert (life.state, life.paused) == ("paused", False)
    assert desk.log[-2].reason == "stopped by a signal (SIGSTOP)"
    life.launcher.stall_s = -1.0
    life.watch_progress()
    assert life.state == "paused"
    await continued(life)
    assert life.state == "starting"  # it has not begun yet
    life.on_stats(Stats("main", execs=10))
    await stopped(life)
    assert life.state == "paused"
    life.on_stats(Stats("main", execs=11))  # a packet that was in progress
    assert life.state == "paused"
    await continued(life)
    assert life.state == "running"
    # A user's pause of one that is stopped already is that person's to end.
    await stopped(life)
    life.set_paused(True)
    assert (life.state, desk.log[-1].reason) == ("paused", "")
    life.watch_signals()
    life.set_paused(False)
    await continued(life)
    assert life.state == "running"
    assert life.restarts == 0


async def test_what_slows_a_process_down_does_not_stop_it(start):
    life, desk = start(Launcher(READY))
    await ready(life)
    life.on_stats(Stats("main", execs=10))
    for _ in range(5):
        life.signal(signal.SIGSTOP)
        life.watch_signals()
        life.signal(signal.SIGCONT)
        life.watch_signals()
    assert desk.states == ["starting", "running"]


async def test_a_stop_from_outside_does_not_outlive_the_process(start):
    before = Instance("main", state="paused", reason=standstill.HALTED)
    life, _ = start(Launcher(READY), before=before)
    assert not life.paused
    await ready(life)
    life.watch_signals()
    assert life.state == "starting"


async def test_health_resets_the_back_off(start, monkeypatch):
    monkeypatch.setattr(life_module, "HEALTHY_S", 0.0)
    life, desk = start(Launcher("raise SystemExit(1)"), delay_s=0.001)
    await until(lambda: life.restarts >= 4)
    reasons = [e.reason for e in desk.log if getattr(e, "state", "") == "restarting"]
    assert {r.rpartition("again in ")[2] for r in reasons} == {"0.001 s"}


async def test_a_share_that_is_used_up_is_an_end_however_it_died(make):
    life, desk = make(Launcher("import os; os.kill(os.getpid(), 9)"), budget_trials=100)
    life.execs = 100
    await life.run()
    assert desk.states == ["starting", "finished"]


async def test_ended_before_it_began(make):
    life, desk = make()
    await life.end(EndReason("stopped", "no"))
    await life.run()
    assert desk.states == ["stopped"]
    assert life.over


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os; os.kill(os.getpid(), 35)", "killed by signal 35"),
        ("raise SystemExit(42)", "status 42"),
    ],
    ids=["signal", "status"],
)
async def test_how_a_process_ended_is_the_reason(start, code, reason):
    life, desk = start(Launcher(code), delay_s=30.0)
    await reach(life, desk, "restarting")
    assert reason in desk.log[-1].reason


# ------------------------------------------------------------------------- the limits


def test_budgets():
    main = Instance("main", stats=Stats("main", 60), crash_files=1)
    some = State(instances={"main": main, "s1": Instance("s1", stats=Stats("s1", 40))})
    assert spent(campaign(), some, 1e9) == ""
    assert spent(campaign(budget_s=10), some, 9.9) == ""
    assert spent(campaign(budget_s=600), some, 600) == "the budget of 10 min is used up"
    assert spent(campaign(budget_trials=101), some, 0) == ""
    assert spent(campaign(budget_trials=100), some, 0) == "the budget of 100 trials is used up"
    assert spent(campaign(stop_crashes=2), some, 0) == ""
    assert "1 crash was" in spent(campaign(stop_crashes=1), some, 0)


def test_news_are_what_the_campaign_had_not():
    limits, campaign_ = CampaignLimits(campaign(stop_idle_s=10), 100), State()

    def at(running_s, *events):
        seq = campaign_.seq + 1
        apply(campaign_, [Record(seq + n, running_s - 50, e) for n, e in enumerate(events)])
        return limits.reached(campaign_, running_s)

    assert at(109) is None
    assert at(105, EntrySaved("main", 1, "queue/id:000001,src:000000,time:1,op:havoc")) is None
    imported = EntrySaved("main", 2, "queue/id:000002,sync:s1,src:000001", [1], sync="s1")
    anew = EntrySaved("main", 0, "queue/id:000000,orig:id:000002,sync:s1", first=2)
    same = EntrySaved("main", 1, "queue/id:000001,src:000000,time:1,op:havoc")
    assert at(112, imported) is None
    assert at(114, anew, same) is None  # a resume
    assert at(115).state == "finished"
    assert at(115, FindingSaved("main", "crash", "crashes/x")) is None
    assert at(124) is None


def test_the_time_budget_waits_for_the_first_execution_but_not_for_ever():
    limits, state = CampaignLimits(campaign(budget_s=10), 0), State()
    starting = Instance("main", state="starting")
    state.instances["main"] = starting
    assert limits.reached(state, 10) is None
    assert limits.reached(state, 10 + LOAD_LIMIT_S - 1) is None
    assert limits.reached(state, 10 + LOAD_LIMIT_S).state == "finished"
    starting.stats = Stats("main", 1)
    assert limits.reached(state, 9) is None
    assert limits.reached(state, 10).state == "finished"
    limits = CampaignLimits(campaign(stop_crashes=1), 0)
    state.instances["main"] = Instance("main", state="starting", crash_files=1)
    assert limits.reached(state, 1).state == "finished"


def test_a_campaign_ends_when_no_new_edge_is_covered():
    limits = CampaignLimits(campaign(stop_edges_s=10), 100)
    edges = {"main": 7, "s": 6}
    some = {name: Instance(name, stats=Stats(name, edges=n)) for name, n in edges.items()}
    state = State(instances=some)
    assert limits.reached(state, 105) is None
    assert limits.reached(state, 114.9) is None
    assert limits.reached(state, 115) == EndReason("finished", "no new edge for 10 s (stop.edges)")


# ------------------------------------------------------------------------- standstills


class Still(Launcher):
    """An engine that says hello, and executes nothing."""

    says_hello = True
    stall_s = -1.0


async def stalls(life: InstanceLife) -> int:
    """Wait for a process that has started, and have it stall; returns its pid."""
    await ready(life)
    life.hello()
    life.watch_progress()
    assert life.state == "stalled"
    return life.pid


async def is_gone(pid: int) -> bool:
    """Wait for the end of a process."""
    return await until(lambda: not psutil.pid_exists(pid))


def measured(life: InstanceLife, seconds: float, cpu: float = 0.0, step: float = 3.0) -> None:
    """Measure what its processes use, as if so much time passed."""
    clock = LabClock()
    life._standstill._measured_at = clock.now
    with mock.patch.object(life_module.time, "monotonic", clock):
        for _ in range(int(seconds / step)):
            clock.now += step
            life.measured(cpu)


async def test_a_standstill_ends_in_a_restart_and_many_in_a_failure(start):
    life, desk = start(Still(READY), delay_s=0.01)
    for _ in range(standstill.STANDSTILLS + 1):
        pid = await stalls(life)
        measured(life, standstill.STILL_S / 2)
        assert psutil.pid_exists(pid)
        measured(life, standstill.STILL_S)
        assert await is_gone(pid), "it was not killed for standing still"
    await asyncio.wait_for(desk.task, 60)
    reasons = [e.reason for e in desk.log if getattr(e, "state", "") == "restarting"]
    assert len(reasons) == standstill.STANDSTILLS
    assert all("no CPU time" in reason for reason in reasons)
    assert life.state == "failed"
    assert ", 4 times without an execution in between" in desk.log[-1].reason


async def test_an_execution_in_between_is_progress(start):
    life, _ = start(Still(READY), delay_s=0.01)
    for n in range(standstill.STANDSTILLS + 2):
        await stalls(life)
        measured(life, 1.5 * standstill.STILL_S)
        await ready(life)
        life.on_stats(Stats("main", execs=10 + n))
        life.watch_progress()
        (life.directory / "ready").touch()
    assert life.restarts == standstill.STANDSTILLS + 2


async def test_what_is_no_standstill(start, monkeypatch, tmp_path):
    """Work, a suspended machine, a pause, a full disk: nothing is started again for these."""
    life, _ = start(Still(READY))
    await stalls(life)
    measured(life, 10 * standstill.STILL_S, cpu=0.3)
    measured(life, 4 * 3600.0, step=3600.0)
    life.set_paused(True)
    measured(life, 10 * standstill.STILL_S)
    life.set_paused(False)
    life.watch_progress()
    assert life.state == "stalled"

    def full(directory):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(standstill, "check_writable", full)
    measured(life, 10 * standstill.STILL_S)
    assert (life.state, life.restarts) == ("stalled", 0)


TRACEABLE = "import ctypes; ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(-1), 0, 0, 0)\n"
"""PR_SET_PTRACER: for where only parents may trace their children."""

TRACE = """\
import ctypes, os, sys
attached = ctypes.CDLL(None).ptrace(16, int(sys.argv[1]), 0, 0) == 0
if attached:
    os.waitpid(int(sys.argv[1]), 0)
print(attached, flush=True)
sys.stdin.read()
"""


async def test_one_that_a_debugger_holds_stands_still_for_as_long_as_that_takes(start):
    life, _ = start(Still(TRACEABLE + READY))
    await stalls(life)
    command = [sys.executable, "-c", TRACE, str(life.pid)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as debugger:
        assert debugger.stdin and debugger.stdout
        attached = await asyncio.to_thread(debugger.stdout.readline)
        if attached == b"True\n":
            assert life._process and life._process.identity.held_by() == debugger.pid
            measured(life, 10 * standstill.STILL_S)
            assert (life.state, life.restarts, life._standstill.why) == ("stalled", 0, "")
        debugger.stdin.close()
    if attached != b"True\n":
        pytest.skip("ptrace is not allowed here")


async def test_a_standstill_names_the_process_that_is_stopped(start):
    child = "import os, signal\nif not os.fork(): os.kill(os.getpid(), signal.SIGSTOP)\n"
    life, desk = start(Still(child + READY), delay_s=30.0)
    await stalls(life)
    (child,) = psutil.Process(life.pid).children()
    await until(lambda: child.status() == psutil.STATUS_STOPPED)
    measured(life, 2 * standstill.STILL_S)
    await reach(life, desk, "restarting")
    assert f"process {child.pid} is stopped by a signal" in desk.log[-1].reason


def warned(desk) -> list[str]:
    return [e.text for e in desk.log if isinstance(e, Message) and e.level == "warning"]


async def halted(life: InstanceLife, looks: int) -> None:
    """Stop its process, see that, and look so often."""
    await stopped(life)
    for _ in range(looks - 2):
        life.watch_signals()


async def test_an_engine_of_ours_that_is_stopped_for_too_long_is_continued(start):
    """Its target may have done that, as it may stop its parent; the second time it is known to."""
    life, desk = start(Still(READY))
    await stalls(life)
    few, many = standstill.BAD_HALT_LOOKS, standstill.HALT_LOOKS
    for looks, stays in ((few, True), (many - few, False), (few, False)):
        if life.state == "paused":
            for _ in range(looks):
                life.watch_signals()
        else:
            await halted(life, looks)
        if stays:
            assert life.state == "paused"
            continue
        await halts(life, "S")
        assert life.state in ("starting", "running")
    said = warned(desk)
    assert len(said) == 2
    assert "time 2" in said[1]


STOPS_AGAIN = """\
import os, signal
def again(number, frame):
    os.write(os.open("stops", os.O_WRONLY | os.O_CREAT | os.O_APPEND), b".")
    os.kill(os.getpid(), signal.SIGSTOP)
signal.signal(signal.SIGCONT, again)
"""


async def test_one_that_stops_again_at_once_is_continued_again_and_again(start):
    """However it is looked at, it is never seen running in between."""
    life, desk = start(Still(STOPS_AGAIN + READY))
    await stalls(life)
    await halted(life, standstill.HALT_LOOKS)
    for times in (1, 2, 3):
        await until((life.directory / "stops").exists)
        (life.directory / "stops").unlink()
        assert len(warned(desk)) == times
        await halts(life, "T")
        for _ in range(standstill.BAD_HALT_LOOKS - 2):
            life.watch_signals()


async def stops_again(life: InstanceLife, looks: int) -> None:
    """Look so often at an engine that has stopped itself; wait until it does so again or ends."""
    (life.directory / "stops").unlink(missing_ok=True)
    pid, process = life.pid, psutil.Process(life.pid)
    for _ in range(looks):
        life.watch_signals()
    await until(lambda: life.pid != pid or (life.directory / "stops").exists())
    await until(lambda: life.pid != pid or process.status() == psutil.STATUS_STOPPED)


@pytest.mark.slow
async def test_one_that_is_always_continued_in_vain_starts_again_and_fails_in_the_end(start):
    life, desk = start(Still(STOPS_AGAIN + READY), delay_s=0.01)
    for _ in range(standstill.STANDSTILLS + 1):
        pid = await stalls(life)
        await halted(life, standstill.HALT_LOOKS - 1)
        for n in range(standstill.CONTINUES):
            await stops_again(life, standstill.BAD_HALT_LOOKS if n else 1)
            assert life.pid == pid
        for _ in range(standstill.BAD_HALT_LOOKS):
            life.watch_signals()
        assert await is_gone(pid), "it is continued without end"
    await asyncio.wait_for(desk.task, 60)
    restarts = [e for e in desk.log if getattr(e, "state", "") == "restarting"]
    assert len(restarts) == standstill.STANDSTILLS
    assert all("SIGSTOP" in e.reason for e in restarts)
    assert life.state == "failed"


@pytest.mark.slow
async def test_one_that_executes_in_between_is_continued_for_ever(start):
    life, desk = start(Still(STOPS_AGAIN + READY))
    pid = await stalls(life)
    await halted(life, standstill.HALT_LOOKS - 1)
    for n in range(2 * standstill.CONTINUES):
        await stops_again(life, standstill.BAD_HALT_LOOKS if n else 1)
        life.on_stats(Stats("main", execs=1 + n))
        assert (life.pid, len(warned(desk))) == (pid, 1 + n)


async def test_fewer_executions_are_no_execution(start):
    """A new process may begin its figure at 0, or fall back when it reads an old one."""
    life, desk = start(Still(READY), delay_s=0.01)
    life.on_stats(Stats("main", execs=100))
    for n in range(standstill.STANDSTILLS + 1):
        await stalls(life)
        life.on_stats(Stats("main", execs=90 - n))
        life.watch_progress()
        pid = life.pid
        measured(life, 1.5 * standstill.STILL_S)
        assert await is_gone(pid)
    await asyncio.wait_for(desk.task, 60)
    assert life.state == "failed"


async def test_one_whose_worker_runs_on_is_continued_soon(start):
    child = "import os, time\nif not os.fork(): time.sleep(1000)\n"
    life, desk = start(Still(child + READY))
    await stalls(life)
    await halted(life, standstill.BAD_HALT_LOOKS)
    await halts(life, "S")
    assert life.state != "paused"
    assert len(warned(desk)) == 1


async def test_afl_fuzz_is_continued_too_but_not_soon(start):
    """A pause of its process group leaves its fork server running, which has a session."""
    child = "import os, time\nif not os.fork(): time.sleep(1000)\n"
    life, desk = start(Launcher(child + READY))
    await ready(life)
    await halted(life, standstill.HALT_LOOKS - 1)
    assert life.state == "paused"
    (said,) = [e for e in desk.log if isinstance(e, Message)]
    assert said.level == "info"
    life.watch_signals()
    await halts(life, "S")
    assert len(warned(desk)) == 1
