"""The life of one instance: start or adopt, watch, restart with back-off, end.

States, as logged: starting -> running <-> paused, running <-> stalled; after a crash
restarting -> starting; at the end finished, stopped or failed. An engine's last
figures and finds are always logged before the state that ends it.
"""

from __future__ import annotations

import asyncio
import errno
import signal
import threading
import time
from dataclasses import dataclass, replace
from typing import Protocol

from fuzztui.base.text import several
from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import RunDir
from fuzztui.instances.launcher import Launch, Launcher, instance_names, trials_share
from fuzztui.instances.process import EngineProcess
from fuzztui.instances.standstill import HALT_LOOKS, HALTED, STANDSTILLS, Standstill
from fuzztui.model.selectors import ENDED
from fuzztui.model.state import Instance
from fuzztui.observe.relay import end_torn_line
from fuzztui.wire.events import Event, InstanceHello, InstanceState, Message, Stats

__all__ = ["TERM_GRACE_S", "EndReason", "InstanceLife", "LifeContext"]

MAX_SILENT_ENDS = 5
"""An engine that ends so often without having shown any life will not do so the next time."""

FIRST_DELAY_S, MAX_DELAY_S, HEALTHY_S = 0.5, 60.0, 60.0
TERM_GRACE_S = 5.0
"""For a clean end, before it is killed."""

SILENCE_TIMES = 20
"""One that finishes its work may be silent for so many of the target's time limits."""

_PREPARING = threading.Lock()
"""Instances get ready in threads, but one after the other: what they share is made once."""

_HOPELESS = {errno.ENOENT, errno.EACCES, errno.EPERM, errno.ENOEXEC, errno.ENOTDIR}
"""Trying again does not make an interpreter executable; it may end a shortage."""


@dataclass(frozen=True, slots=True)
class EndReason:
    """Why an instance, or the campaign, is being ended: the state to log, and words."""

    state: str
    reason: str


class LifeContext(Protocol):
    """What a life needs of its supervisor."""

    def record(self, *events: Event) -> None:
        """Log events."""

    async def observe_final(self, name: str) -> None:
        """Log everything that is left to see of an instance without a process."""

    def state_changed(self, life: InstanceLife) -> None:
        """The instance came to another state."""


class InstanceLife:
    """One instance from its first process to its last. :meth:`run` it in a task.

    :param before: the instance as the log knows it, None for a new one.
    """

    def __init__(
        self,
        campaign: Campaign,
        run_dir: RunDir,
        index: int,
        *,
        launcher: Launcher,
        context: LifeContext,
        before: Instance | None,
    ) -> None:
        self.name = instance_names(campaign)[index]
        self.launcher = launcher
        self.state = before.state if before else "waiting"
        self.restarts = before.restarts if before else 0
        self._halted = self.state == "paused" and bool(before and before.reason == HALTED)
        """Stopped by a signal that is none of ours: it continues when its sender wants it to."""
        self._inode: tuple[int, int] | None = None
        """Device and inode of the directory that the process works in; None: not looked at yet."""
        self._lost = False
        """That directory is gone, and the process is being ended."""
        self._starting = False
        """It was stopped before it had started."""
        self.paused = self.state == "paused" and not self._halted
        """By a user who steers the campaign: that outlives the process."""
        self.greeted = bool(before and (before.engine or before.capabilities))
        self.execs = before.execs if before else 0
        self._campaign = campaign
        self.run_dir = run_dir
        self._index = index
        self._share = trials_share(campaign, index)
        self._context = context
        self.directory = run_dir.instance(self.name)
        self._logged_pid = before.pid if before else 0
        self._process: EngineProcess | None = None
        self._end_reason: EndReason | None = None
        self._finishing = False
        self._woken = asyncio.Event()
        self._delay = FIRST_DELAY_S
        self._progress_at = time.monotonic()
        self._silent_ends = 0
        self._timeout_s: float = campaign.target.get("timeout_s", 0.0)
        self._standstill = Standstill(
            self.name,
            self.directory,
            context.record,
            timeout_s=self._timeout_s,
            says_hello=launcher.says_hello,
        )

    @property
    def pid(self) -> int:
        """Of the engine, 0 without one."""
        return self._process.pid if self._process else 0

    @property
    def over(self) -> bool:
        """Whether it has come to its end."""
        return self.state in ENDED

    def adopt(self) -> bool:
        """Take over the engine that a dead supervisor left running; False if there is none."""
        if not self.over:
            self._process = EngineProcess.adopt(self.directory)
        return self._process is not None

    def revive(self) -> None:
        """Live again although an end had been reached."""
        self._silent_ends = 0
        if self.over:
            self.state = "waiting"

    async def run(self) -> None:
        """Keep an engine running until its end is reached."""
        if self._process and self._process.pid != self._logged_pid:
            self._to("starting")  # it was started, but its supervisor died before saying so
        while True:
            if self._process is None and not await self._start():
                return
            process = self._process
            assert process is not None
            born = time.monotonic()
            status = await process.ended()
            await EngineProcess.kill_leftovers(self.run_dir.path, self.name)
            await asyncio.to_thread(self.launcher.clean_up, self.directory)
            self._process = None
            await self._context.observe_final(self.name)
            end_reason = self._judge(status)
            if end_reason is not None:
                self._to(end_reason.state, end_reason.reason)
                return
            shortage = self.launcher.shortage(self.directory)
            words = self._standstill.ended() or _how_it_ended(status)
            if self._standstill.times > STANDSTILLS:
                again = f"{self._standstill.times} times without an execution in between"
                self._to("failed", f"{words}, {again}: see {self.directory / 'worker.log'}")
                return
            if not shortage and status != -signal.SIGKILL:  # those pass: a full night of memory
                self._silent_ends += 1
            if self._silent_ends > MAX_SILENT_ENDS:
                again = f"{words}, {self._silent_ends} times without having begun"
                self._to("failed", f"{again}: see {self.directory / 'worker.log'}")
                return
            if time.monotonic() - born >= HEALTHY_S:
                self._delay = FIRST_DELAY_S
            if not await self._back_off(words + (f": {shortage}" if shortage else "")):
                return

    async def end(self, end_reason: EndReason) -> None:
        """End it: SIGTERM, and SIGKILL for the whole tree if that does not do.

        When the end_reason is ``finished``, what the engine does at the end of its work comes
        first, for as long as it takes; to be told again ends that.
        """
        if self.over or (self._end_reason and not self._finishing):
            return
        finish = 0
        if self._end_reason is None:
            self._end_reason = end_reason
            self._woken.set()
            if end_reason.state == "finished" and self.greeted:
                finish = self.launcher.finish_signal
        self._finishing = finish > 0
        process = self._process
        if process is None:
            return
        if finish:
            process.identity.signal(finish)
            await self._await_finish(process)
        if not finish or self._finishing:
            self._finishing = False
            await process.stop(TERM_GRACE_S)

    async def _await_finish(self, process: EngineProcess) -> None:
        """Wait while it finishes its work: until it ends, falls silent, or is told again."""
        self._progress_at = time.monotonic()
        patience = max(self.launcher.stall_s, SILENCE_TIMES * self._timeout_s)
        while self._finishing and time.monotonic() - self._progress_at < patience:
            try:
                async with asyncio.timeout(1.0):
                    await process.ended()
                return
            except TimeoutError:
                pass

    def hello(self) -> None:
        """It introduced itself: what it can do is known from now on."""
        self.greeted = True
        self.mark_running()

    def mark_running(self) -> None:
        """It has something to say, or figures: it runs."""
        self._silent_ends = 0
        if self.state in ("starting", "restarting") and self._process:
            self._progress_at = time.monotonic()
            self._to("paused" if self.paused else "running")

    def on_stats(self, stats: Stats) -> None:
        """Its newest figures."""
        if stats.execs != self.execs:
            if stats.execs > self.execs:  # a new process may begin at 0
                self._standstill.executed()
            self.execs = stats.execs
            self._progress_at = time.monotonic()
            if self.state == "stalled" and not self._end_reason:
                self._to("running", "it continues")
            self.mark_running()

    def on_activity(self) -> None:
        """It told of something: whoever rebuilds a large queue executes no trials."""
        self._progress_at = time.monotonic()

    def abandon(self, reason: str) -> None:
        """Give it up after an error of ours: what it started must not go on unwatched."""
        self.signal(signal.SIGKILL)
        self._process = None
        self._to("failed", reason)

    def watch_progress(self) -> None:
        """Raise the alarm when nothing has been executed for too long. Call now and then."""
        if self.paused:
            return
        idle = time.monotonic() - self._progress_at
        patience = max(self.launcher.stall_s, 3 * self._timeout_s)
        if self.state in ("starting", "running") and idle > patience and not self._prints(patience):
            since = "the start" if self.state == "starting" else "the last execution"
            self._to("stalled", f"{idle:.0f} s since {since}")

    def measured(self, cpu: float) -> None:
        """Restart the instance if it stalls without CPU time. ``cpu``: cores that it uses now."""
        process = self._process
        stalled = process is not None and self.state == "stalled" and not self._end_reason
        identity = process.identity if process and stalled else None
        self._standstill.measured(identity, cpu, self._progress_at)

    def _prints(self, patience: float) -> bool:
        """Whether it has printed something of late: AFL tries all its seeds before it counts."""
        try:
            printed = (self.directory / "worker.log").stat().st_mtime
        except OSError:
            return False
        return abs(time.time() - printed) < patience

    def set_paused(self, paused: bool) -> None:
        """It has been paused, or resumed."""
        halted, self._halted, self._standstill.looks = self._halted, False, 0
        self.paused = paused
        self._progress_at = time.monotonic()
        if self.state in ("starting", "running", "stalled", "paused"):
            state = "paused" if paused else "running"
            if state != self.state or halted:
                self._to(state)

    def watch_signals(self) -> None:
        """See whether someone else stopped its process, or lets it go on. Call now and then.

        Stopped at two looks in a row: who slows processes down by SIGSTOP and SIGCONT (cpulimit)
        does not halt them.
        """
        if self.paused or self._process is None or self._end_reason:
            return
        stopped = self._process.identity.stopped()
        looks = self._standstill.looks = self._standstill.looks + 1 if stopped else 0
        if self._halted and not stopped:
            self._halted = False
            self._progress_at = time.monotonic()
            self._to("starting" if self._starting else "running")
        elif looks > 1 and self.state in ("starting", "running", "stalled"):
            self._halted = True
            self._starting = self.state == "starting"
            self._to("paused", HALTED)
            self._context.record(
                Message(
                    "info",
                    f"{HALTED} that fuzztui did not send: it is continued after"
                    f" {HALT_LOOKS / 60:g} min at the latest. To keep it paused, use the command"
                    " pause",
                    self.name,
                )
            )
        elif self._halted:
            self._standstill.halted(self._process.identity)

    def watch_directory(self) -> None:
        """Start the engine again if its directory was deleted, renamed or replaced.

        Else its saved inputs would be lost. Call now and then.
        """
        if self._process is None or self._end_reason or self._lost:
            return
        inode = self._inode_now()
        if inode is None:
            return
        self._inode = self._inode or inode
        if inode == self._inode and any(inode):
            return
        self._lost = True
        words = f"{self.directory} was deleted or renamed: the engine starts again in a new one"
        self._context.record(Message("warning", words, self.name))
        self.signal(signal.SIGKILL)

    def _inode_now(self) -> tuple[int, int] | None:
        """Device and inode of the directory, (0, 0) if it does not exist, None if unknown."""
        try:
            found = self.directory.stat()
        except (FileNotFoundError, NotADirectoryError):
            return 0, 0
        except OSError:  # a file system in trouble says nothing about the directory
            return None
        return found.st_dev, found.st_ino

    def signal(self, number: int) -> None:
        """Send its process a signal (SIGSTOP and SIGCONT for what cannot pause itself)."""
        if self._process:
            self._process.identity.signal(number)

    async def _start(self) -> bool:
        """Start a process; False when it came to its end without one."""
        while True:
            if self._end_reason:
                await self._context.observe_final(self.name)
                self._to(self._end_reason.state, self._end_reason.reason)
                return False
            try:
                await self._prepare()
                if self._end_reason:
                    continue
                launch, hello = await asyncio.to_thread(self._prepare_launch)
                if self._end_reason:
                    continue
                self._process = EngineProcess.start(launch, self.run_dir.path, self.directory)
            except OSError as e:
                what = f"{e.filename or self.directory}: {e.strerror or e}"
                if e.errno in _HOPELESS:
                    self._to("failed", f"cannot be started: {what}")
                    return False
                if not await self._back_off(f"could not be started: {what}"):
                    return False
                continue
            self._progress_at = time.monotonic()
            self._halted = False
            self._standstill.begun()
            self._inode, self._lost = self._inode_now(), False
            self._to("starting")
            if hello:
                self._introduce(hello)
            return True

    def _prepare_launch(self) -> tuple[Launch, InstanceHello | None]:
        """What to start, and the hello of an engine that says none. Compilers may have to run."""
        with _PREPARING:
            where = self._campaign, self.run_dir, self._index
            hello = None if self.launcher.says_hello else self.launcher.hello(*where)
            return self.launcher.prepare(*where), hello

    def _introduce(self, hello: InstanceHello) -> None:
        """Say hello for an engine that does not, and knows nothing of an old pause either."""
        if self.paused:
            self.signal(signal.SIGSTOP)
            self._to("paused")
        self._context.record(replace(hello, pid=self.pid))

    async def _prepare(self) -> None:
        """Leave nothing of an earlier process unseen or alive, then make the ground firm."""
        self.directory.mkdir(mode=0o700, exist_ok=True)
        await EngineProcess.kill_leftovers(self.run_dir.path, self.name)
        await self._context.observe_final(self.name)
        end_torn_line(self.directory / "events.jsonl")

    async def _back_off(self, reason: str) -> bool:
        """Wait before the next start; False when the end was asked for meanwhile."""
        self.restarts += 1
        self._to("restarting", f"{reason}; again in {self._delay:g} s")
        try:
            async with asyncio.timeout(self._delay):
                await self._woken.wait()
        except TimeoutError:
            self._delay = min(2 * self._delay, MAX_DELAY_S)
            return True
        assert self._end_reason is not None
        self._to(self._end_reason.state, self._end_reason.reason)
        return False

    def _judge(self, status: int | None) -> EndReason | None:
        """What the end of the process means; None: start it again."""
        if self._end_reason:
            killed = " (it had to be killed)" if status == -signal.SIGKILL else ""
            return EndReason(self._end_reason.state, self._end_reason.reason + killed)
        if self._share and self.execs >= self._share:
            return EndReason(
                "finished", f"its budget of {several(self._share, 'trial')} is used up"
            )
        if self.launcher.has_finished(self.directory, status):
            return EndReason("finished", "it ended by itself (a limit in its own options)")
        if reason := self.launcher.refusal(self.directory, status):
            return EndReason("failed", reason)
        return None

    def _to(self, state: str, reason: str = "") -> None:
        self.state = state
        self._context.record(InstanceState(self.name, state, self.pid, reason, self.restarts))
        self._context.state_changed(self)


def _how_it_ended(status: int | None) -> str:
    if status == 0:
        return "it ended although nobody here asked it to (exit status 0)"
    if status is None:
        return "it ended while adopted, so nobody knows how"
    if status >= 0:
        return f"it ended with exit status {status}"
    try:
        return f"it was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"it was killed by signal {-status}"
