"""One instance's life and the campaign's limits, without a supervisor."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from typing import ClassVar

import psutil
import pytest
from test_supervise_run import campaign

from fuzztui.model.fold import apply
from fuzztui.model.state import Instance, State
from fuzztui.supervise import life as life_module
from fuzztui.supervise.identity import kill_marked
from fuzztui.supervise.launcher import Launch, instance_names
from fuzztui.supervise.life import Ending, Life
from fuzztui.supervise.limits import Limits, spent
from fuzztui.supervise.rundir import RunDir
from fuzztui.wire.events import (
    EntrySaved,
    Event,
    FindingSaved,
    InstanceHello,
    InstanceState,
    Record,
    Stats,
)


class Desk:
    """Keeps what a life records, and in which order it looks."""

    def __init__(self) -> None:
        self.log: list[object] = []
        self.changed = asyncio.Event()

    def record(self, *events: Event) -> None:
        self.log += events

    async def last_look(self, name: str) -> None:
        self.log.append("last look")

    def moved(self, life: Life) -> None:
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

    def __init__(self, code: str = "import time; time.sleep(1000)") -> None:
        self.code = code
        self.errors: list[OSError] = []

    def prepare(self, campaign, home, index) -> Launch:
        if self.errors:
            raise self.errors.pop()
        return Launch([sys.executable, "-c", self.code])

    def hello(self, campaign, home, index) -> InstanceHello:
        return InstanceHello(
            instance_names(campaign)[index], "test", capabilities=["pause", "resume", "stop"]
        )

    def has_finished(self, directory, status) -> bool:
        return self.finishes and status == 0

    def refusal(self, directory, status) -> str:
        return ""

    def shortage(self, directory) -> str:
        return ""


@pytest.fixture
def make(tmp_path):
    (tmp_path / "out").mkdir()

    def make(launcher=None, before=None, **changes) -> tuple[Life, Desk]:
        desk = Desk()
        life = Life(
            campaign(**changes),
            RunDir(tmp_path),
            0,
            launcher=launcher or Launcher(),
            desk=desk,
            before=before,
        )
        return life, desk

    yield make
    kill_marked(tmp_path)


async def test_a_launcher_that_takes_its_time_stops_nobody_else(make):
    """It may have to wait for a compiler."""
    others = threading.Event()

    class Slow(Launcher):
        def prepare(self, campaign, home, index) -> Launch:
            assert others.wait(20)
            return super().prepare(campaign, home, index)

    life, desk = make(Slow())
    task = asyncio.ensure_future(life.run())
    await asyncio.sleep(0.05)
    others.set()
    await reach(life, desk, "starting")
    await life.end(Ending("stopped", "enough"))
    await task
    assert life.state == "stopped"


async def reach(life: Life, desk: Desk, state: str) -> None:
    while life.state != state:
        desk.changed.clear()
        await asyncio.wait_for(desk.changed.wait(), 20)


async def test_figures_are_signs_of_life_and_their_standstill_an_alarm(make, monkeypatch):
    life, desk = make()
    task = asyncio.ensure_future(life.run())
    await reach(life, desk, "starting")
    (hello,) = [e for e in desk.log if isinstance(e, InstanceHello)]
    assert (hello.engine, hello.pid) == ("test", life.pid)
    assert hello.capabilities == ["pause", "resume", "stop"]
    life.note(Stats("main", execs=0))
    assert life.state == "starting"
    life.note(Stats("main", execs=10))
    assert life.state == "running"
    life.watch_progress()
    assert life.state == "running"
    life.launcher.stall_s = -1.0
    life.watch_progress()
    assert life.state == "stalled"
    life.note(Stats("main", execs=10))
    assert life.state == "stalled"
    life.note(Stats("main", execs=11))
    assert life.state == "running"
    life.set_paused(True)
    life.watch_progress()
    assert life.state == "paused"  # which is no stall
    life.set_paused(False)
    await life.end(Ending("stopped", "enough"))
    await task
    assert desk.states == [
        *("starting", "running", "stalled", "running", "paused", "running", "stopped")
    ]
    assert desk.log[-1].reason == "enough"
    assert desk.log[-2] == "last look"


async def test_an_engine_that_never_comes_up_is_an_alarm_too(make):
    life, desk = make()
    task = asyncio.ensure_future(life.run())
    await reach(life, desk, "starting")
    life.launcher.stall_s = -1.0
    life.watch_progress()
    assert life.state == "stalled"
    assert "since the start" in desk.log[-1].reason
    await life.end(Ending("stopped", ""))
    await task


async def test_a_paused_one_starts_paused(make):
    life, _ = make(before=Instance("main", state="paused"))
    task = asyncio.ensure_future(life.run())
    while not life.pid or psutil.Process(life.pid).status() != psutil.STATUS_STOPPED:
        await asyncio.sleep(0.01)
    life.signs_of_life()
    assert life.state == "paused"
    await life.end(Ending("stopped", ""))
    await task
    assert life.state == "stopped"


async def test_a_shortage_is_waited_out_and_hopelessness_is_not(make, monkeypatch):
    monkeypatch.setattr(life_module, "FIRST_DELAY_S", 0.01)
    launcher = Launcher("raise SystemExit(0)")
    launcher.finishes = True
    launcher.errors = [OSError(28, "No space left on device", "/full")]
    life, desk = make(launcher)
    await asyncio.wait_for(life.run(), 20)
    assert desk.states == ["restarting", "starting", "finished"]
    assert "/full: No space left on device" in desk.log[1].reason
    launcher.errors = [PermissionError(13, "Permission denied", "/bin/x")]
    life, desk = make(launcher)
    await life.run()
    assert desk.states == ["failed"]
    assert desk.log[-1].reason == "cannot be started: /bin/x: Permission denied"


async def test_an_end_that_nobody_asked_for_is_no_end(make, monkeypatch):
    """Whatever sent the SIGTERM: a campaign is not to fuzz on with one instance less."""
    monkeypatch.setattr(life_module, "FIRST_DELAY_S", 0.2)
    launcher = Launcher("import signal, sys; signal.signal(15, lambda *_: sys.exit(0)); " + READY)
    life, desk = make(launcher)
    task = asyncio.ensure_future(life.run())
    await ready(life)
    life.note(Stats("main", execs=10))
    life.signal(signal.SIGTERM)
    await reach(life, desk, "restarting")
    said = "it ended although nobody here asked it to (exit status 0); again in 0.2 s"
    assert desk.log[-1].reason == said
    await reach(life, desk, "starting")
    assert life.restarts == 1
    launcher.finishes = True
    await ready(life)
    life.signal(signal.SIGTERM)
    await task
    assert (life.state, life.restarts) == ("finished", 1)


READY = "import os, time; os.close(os.open('ready', os.O_CREAT))\nwhile True: time.sleep(0.1)"
"""No file object, no long sleep: a signal that meets the end of the one, or comes just before the
other, is lost."""


async def ready(life: Life) -> None:
    """Wait until a process of :data:`READY` handles signals."""
    path = life.directory / "ready"
    async with asyncio.timeout(20):
        while not path.exists():
            await asyncio.sleep(0.01)
    path.unlink()


async def halts(life: Life, status: str) -> None:
    """Let it look at its process until psutil says so too, and twice again."""
    async with asyncio.timeout(20):
        while (psutil.Process(life.pid).status() == psutil.STATUS_STOPPED) != (status == "T"):
            await asyncio.sleep(0.01)
    life.watch_halts()
    life.watch_halts()


async def test_one_that_somebody_else_stops_is_paused_until_it_goes_on(make):
    life, desk = make(Launcher(READY))
    task = asyncio.ensure_future(life.run())
    await ready(life)
    life.signal(signal.SIGSTOP)
    await halts(life, "T")
    assert (life.state, life.paused) == ("paused", False)
    assert desk.log[-1].reason == "stopped by a signal (SIGSTOP)"
    life.launcher.stall_s = -1.0
    life.watch_progress()
    assert life.state == "paused"
    life.signal(signal.SIGCONT)
    await halts(life, "S")
    assert life.state == "starting"  # it has not begun yet
    life.note(Stats("main", execs=10))
    life.signal(signal.SIGSTOP)
    await halts(life, "T")
    assert life.state == "paused"
    life.note(Stats("main", execs=11))  # a packet that was under way
    assert life.state == "paused"
    life.signal(signal.SIGCONT)
    await halts(life, "S")
    assert life.state == "running"
    # A person's pause of one that is stopped already is that person's to end.
    life.signal(signal.SIGSTOP)
    await halts(life, "T")
    life.set_paused(True)
    assert (life.state, desk.log[-1].reason) == ("paused", "")
    life.watch_halts()
    life.set_paused(False)
    life.signal(signal.SIGCONT)
    await halts(life, "S")
    assert life.state == "running"
    assert life.restarts == 0
    await life.end(Ending("stopped", ""))
    await task


async def test_what_slows_a_process_down_does_not_stop_it(make):
    life, desk = make(Launcher(READY))
    task = asyncio.ensure_future(life.run())
    await ready(life)
    life.note(Stats("main", execs=10))
    for _ in range(5):
        life.signal(signal.SIGSTOP)
        life.watch_halts()
        life.signal(signal.SIGCONT)
        life.watch_halts()
    assert desk.states == ["starting", "running"]
    await life.end(Ending("stopped", ""))
    await task


async def test_a_stop_from_outside_does_not_outlive_the_process(make):
    before = Instance("main", state="paused", reason=life_module.HALTED)
    life, _ = make(Launcher(READY), before=before)
    assert not life.paused
    task = asyncio.ensure_future(life.run())
    await ready(life)
    life.watch_halts()
    assert life.state == "starting"
    await life.end(Ending("stopped", ""))
    await task


async def test_health_resets_the_back_off(make, monkeypatch):
    monkeypatch.setattr(life_module, "FIRST_DELAY_S", 0.001)
    monkeypatch.setattr(life_module, "HEALTHY_S", 0.0)
    life, desk = make(Launcher("raise SystemExit(1)"))
    task = asyncio.ensure_future(life.run())
    while life.restarts < 4:
        await asyncio.sleep(0.01)
    await life.end(Ending("stopped", ""))
    await task
    reasons = [e.reason for e in desk.log if getattr(e, "state", "") == "restarting"]
    assert {r.rpartition("again in ")[2] for r in reasons} == {"0.001 s"}


async def test_a_share_that_is_used_up_is_an_end_however_it_died(make):
    life, desk = make(Launcher("import os; os.kill(os.getpid(), 9)"), budget_trials=100)
    life.execs = 100
    await life.run()
    assert desk.states == ["starting", "finished"]


async def test_ended_before_it_began(make):
    life, desk = make()
    await life.end(Ending("stopped", "no"))
    await life.run()
    assert desk.states == ["stopped"]
    assert life.over


async def test_signal_words(make, monkeypatch):
    monkeypatch.setattr(life_module, "FIRST_DELAY_S", 30.0)
    for code, words in (
        ("import os; os.kill(os.getpid(), 35)", "killed by signal 35"),
        ("raise SystemExit(42)", "exit status 42"),
    ):
        life, desk = make(Launcher(code))
        task = asyncio.ensure_future(life.run())
        await reach(life, desk, "restarting")
        assert words in desk.log[-1].reason
        await life.end(Ending("stopped", ""))
        await task


# ------------------------------------------------------------------------- the limits


def state(**instances: Instance) -> State:
    return State(instances=instances)


def test_budgets():
    some = state(main=Instance("main", execs=60, crash_files=1), s1=Instance("s1", execs=40))
    assert spent(campaign(), some, 1e9) == ""
    assert spent(campaign(budget_s=10), some, 9.9) == ""
    assert spent(campaign(budget_s=600), some, 600) == "the budget of 10 min is used up"
    assert spent(campaign(budget_trials=101), some, 0) == ""
    assert spent(campaign(budget_trials=100), some, 0) == "the budget of 100 trials is used up"
    assert spent(campaign(stop_crashes=2), some, 0) == ""
    assert "1 crash was" in spent(campaign(stop_crashes=1), some, 0)


def test_news_are_what_the_campaign_had_not():
    limits, campaign_ = Limits(campaign(stop_idle_s=10), 100), State()

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


def test_a_campaign_ends_when_no_new_edge_is_covered():
    limits = Limits(campaign(stop_edges_s=10), 100)

    def state(edges=7):
        return State(instances={"main": Instance("main", edges=edges), "s": Instance("s", edges=6)})

    assert limits.reached(state(), 105) is None
    assert limits.reached(state(), 114.9) is None
    ending = limits.reached(state(), 115)
    assert ending == Ending("finished", "no new edge for 10 s (stop.edges)")
