"""The life of one instance: start or adopt, watch, restart with back-off, end.

States, as logged: starting -> running <-> paused, running <-> stalled; after a crash
restarting -> starting; at the end finished, stopped or failed. An engine's last
statistics and saved inputs are always logged before the state that ends it.
"""

from __future__ import annotations

import asyncio
import errno
import signal
import threading
import time
from dataclasses import dataclass, replace
from typing import Protocol

from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.selectors import ENDED, WAITS_FOR_TURN
from fuzztui.kernel.model.state import Instance
from fuzztui.kernel.wire.events import Event, InstanceHello, InstanceState, Message, Stats
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.instances.launcher import Launch, Launcher, instance_names, trials_share
from fuzztui.run.instances.process import EngineProcess
from fuzztui.run.instances.standstill import HALT_LOOKS, HALTED, STANDSTILLS, Standstill
from fuzztui.run.observe.relay import end_torn_line

MAX_SILENT_ENDS = 5
"""Consecutive ends without a sign of life after which an instance is marked failed."""

FIRST_DELAY_S, MAX_DELAY_S, HEALTHY_S = 0.5, 60.0, 60.0
SILENCE_TIMES = 20
"""An engine that finishes its work may be silent for this multiple of the target's time limit."""

_PREPARING = threading.Lock()
"""Held while an instance prepares in its thread, so that shared files are created once."""

_HOPELESS = {errno.ENOENT, errno.EACCES, errno.EPERM, errno.ENOEXEC, errno.ENOTDIR}
"""Errors of a start after which it is not tried again, because the next start would fail, too."""


@dataclass(frozen=True, slots=True)
class EndReason:
    """Why an instance, or the campaign, is being ended: the state to log, and a message."""

    state: str
    reason: str
    is_patient: bool = False
    """Whether services may take their time, although the campaign has not finished."""


class LifeContext(Protocol):
    """The part of the supervisor that an instance life uses."""

    def record(self, *events: Event) -> None:
        """Log events."""

    async def observe_final(self, name: str) -> None:
        """Log everything left in the directory of an instance without a process."""

    def state_changed(self, life: InstanceLife) -> None:
        """Called after the instance has changed its state."""


class InstanceLife:
    """One instance from its first process to its last. Call :meth:`run` in a task.

    :param before: the instance's state from the log; None for a new instance.
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
        """Stopped by a signal that fuzztui did not send."""
        self._inode: tuple[int, int] | None = None
        """Device and inode of the process's working directory; None: not read yet."""
        self._lost = False
        """Whether that directory is gone; the process is then being killed."""
        self._starting = False
        """Whether the process was stopped by a signal while it was still starting."""
        rested = bool(before and before.state == "paused" and before.reason == WAITS_FOR_TURN)
        self._rests = WAITS_FOR_TURN if rested else ""
        """Why the instance has no turn; an empty string: it has one."""
        self.paused = self.state == "paused" and not self._halted and not rested
        """Whether the user paused the instance; outlives the process."""
        self.greeted = bool(before and (before.engine or before.capabilities))
        self.execs = before.stats.execs if before else 0
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
        target = campaign.target
        longest = target.get("timeout_wall", 1) * target.get("timeout_confirm", 1)
        self._timeout_s: float = longest * target.get("timeout_s", 0.0)
        self._standstill = Standstill(
            self.name,
            self.directory,
            context.record,
            timeout_s=self._timeout_s,
            says_hello=launcher.says_hello,
        )

    @property
    def pid(self) -> int:
        """Process id of the engine; 0: no process."""
        return self._process.pid if self._process else 0

    @property
    def over(self) -> bool:
        """Whether the instance has ended."""
        return self.state in ENDED

    @property
    def ending(self) -> bool:
        """Whether the instance got a request to end."""
        return self._end_reason is not None

    def adopt(self) -> bool:
        """Take over the engine that a dead supervisor left running. Returns False if none is."""
        if not self.over:
            self._process = EngineProcess.adopt(self.directory)
        return self._process is not None

    def revive(self) -> None:
        """Let an instance that has ended start again."""
        self._silent_ends = 0
        if self.over:
            self.state = "waiting"

    async def run(self) -> None:
        """Keep an engine running until the instance ends."""
        if self._process and self._process.pid != self._logged_pid:
            self._to("starting")  # the supervisor died between the start and the log record
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
            reason = self._standstill.ended() or _how_it_ended(status)
            if self._standstill.times > STANDSTILLS:
                again = f"{self._standstill.times} times without an execution in between"
                self._to("failed", f"{reason}, {again}: see {self.directory / 'worker.log'}")
                return
            if not shortage and status != -signal.SIGKILL:  # a lack of memory may pass
                self._silent_ends += 1
            if self._silent_ends > MAX_SILENT_ENDS:
                again = f"{reason}, {self._silent_ends} times without a sign of life"
                self._to("failed", f"{again}: see {self.directory / 'worker.log'}")
                return
            if time.monotonic() - born >= HEALTHY_S:
                self._delay = FIRST_DELAY_S
            if not await self._back_off(reason + (f": {shortage}" if shortage else "")):
                return

    async def end(self, end_reason: EndReason) -> None:
        """Stop the instance: SIGTERM; SIGKILL for the process tree after the launcher's grace.

        If the end state is ``finished``, the engine may finish its work first, however long that
        takes, as long as it is not silent; a second call stops it at once.
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
            await process.stop(self.launcher.grace_s)

    async def _await_finish(self, process: EngineProcess) -> None:
        """Wait while the engine finishes its work: until it ends, is silent or :meth:`end`."""
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
        """Note that the engine has said hello: its capabilities are known, and it runs."""
        self.greeted = True
        number = self.launcher.signals.get("pause" if self._rests else "resume")
        if number and (self._rests or not self.paused):  # its own log may say that it was paused
            self.signal(number)
        self.mark_running()

    def mark_running(self) -> None:
        """Note a sign of life: an instance that was starting runs."""
        self._silent_ends = 0
        if self.state in ("starting", "restarting") and self._process:
            self._progress_at = time.monotonic()
            self._to_present()

    def on_stats(self, stats: Stats) -> None:
        """Note the newest statistics."""
        if stats.execs != self.execs:
            if stats.execs > self.execs:  # a new process may start at 0
                self._standstill.executed()
            self.execs = stats.execs
            self._progress_at = time.monotonic()
            if self.state == "stalled" and not self._end_reason:
                self._to("running", "executes again")
            self.mark_running()

    def on_activity(self) -> None:
        """Note an event: an engine that re-reads a large queue executes no trials."""
        self._progress_at = time.monotonic()

    def abandon(self, reason: str) -> None:
        """Kill the engine after an internal error: it must not run without supervision."""
        self.signal(signal.SIGKILL)
        self._process = None
        self._to("failed", reason)

    def watch_progress(self) -> None:
        """Mark the instance stalled if nothing was executed for too long. Call regularly."""
        if self.paused or self._rests:
            return
        idle = time.monotonic() - self._progress_at
        patience = max(self.launcher.stall_s, 3 * self._timeout_s)
        if self.state in ("starting", "running") and idle > patience and not self._prints(patience):
            since = "the start" if self.state == "starting" else "the last execution"
            self._to("stalled", f"{idle:.0f} s since {since}")

    def measured(self, cpu: float) -> None:
        """Restart the instance if it stalls without CPU time. ``cpu``: cores in use now."""
        process = self._process
        stalled = process is not None and self.state == "stalled" and not self._end_reason
        identity = process.identity if process and stalled else None
        self._standstill.measured(identity, cpu, self._progress_at)

    def _prints(self, patience: float) -> bool:
        """Whether the engine printed recently: AFL runs all seeds before its first statistics."""
        try:
            printed = (self.directory / "worker.log").stat().st_mtime
        except OSError:
            return False
        return abs(time.time() - printed) < patience

    def set_paused(self, paused: bool) -> None:
        """Note that the instance was paused, or resumed."""
        halted, self._halted, self._standstill.looks = self._halted, False, 0
        self.paused = paused
        self._progress_at = time.monotonic()
        if self.state in ("starting", "running", "stalled", "paused"):
            self._to_present(always=halted or bool(self._rests))

    def rest(self, why: str) -> None:
        """Pause the engine by the launcher's signal until its next turn; ``why`` empty: it has one.

        A pause by the user outlasts a rest. An engine that has not said hello rests when it has.
        The signal is sent again at each call: the engine may have been resumed by another way.
        """
        changed, self._rests = bool(why) != bool(self._rests), why
        if changed:
            self._progress_at = time.monotonic()
        if not self.paused and self.state in ("running", "stalled", "paused"):
            self.signal(self.launcher.signals["pause" if why else "resume"])
            if changed:
                self._to_present()

    def order(self, command: str) -> None:
        """Send the signal of a command; none if the engine is paused already and stays paused."""
        if not (self._rests and command in ("pause", "resume")):
            self.signal(self.launcher.signals[command])

    def _to_present(self, *, always: bool = False) -> None:
        """Log the state of an engine that lives: paused by the user, without a turn, or running."""
        state = "paused" if self.paused or self._rests else "running"
        if state != self.state or always:
            self._to(state, "" if self.paused else self._rests)

    def watch_signals(self) -> None:
        """Check whether another process stopped or continued the engine. Call once a second.

        Only an engine found stopped twice in a row counts as paused: cpulimit slows processes down
        with SIGSTOP and SIGCONT.
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
                    f"{HALTED} that fuzztui did not send: fuzztui continues the instance after"
                    f" at most {HALT_LOOKS / 60:g} min. To keep it paused, use the command pause",
                    self.name,
                )
            )
        elif self._halted:
            self._standstill.halted(self._process.identity)

    def watch_directory(self) -> None:
        """Restart the engine if its directory was deleted, renamed or replaced.

        Otherwise its saved inputs would be lost. Call regularly.
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
        text = f"{self.directory} was deleted or renamed: the engine restarts in a new directory"
        self._context.record(Message("warning", text, self.name))
        self.signal(signal.SIGKILL)

    def _inode_now(self) -> tuple[int, int] | None:
        """Device and inode of the directory, (0, 0) if it does not exist, None if unknown."""
        try:
            found = self.directory.stat()
        except (FileNotFoundError, NotADirectoryError):
            return 0, 0
        except OSError:  # an I/O error does not mean that the directory was deleted
            return None
        return found.st_dev, found.st_ino

    def signal(self, number: int) -> None:
        """Send the engine a signal, for example SIGSTOP if it cannot pause itself."""
        if self._process:
            self._process.identity.signal(number)

    async def _start(self) -> bool:
        """Start a process. Returns False if the instance ended without one."""
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
            except SupervisorError as e:
                self._to("failed", f"cannot start: {e}")
                return False
            except OSError as e:
                what = f"{e.filename or self.directory}: {e.strerror or e}"
                if e.errno in _HOPELESS:
                    self._to("failed", f"cannot start: {what}")
                    return False
                if not await self._back_off(f"could not start: {what}"):
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
        """Return what to start, and the hello if the engine says none itself. May run compilers."""
        with _PREPARING:
            where = self._campaign, self.run_dir, self._index
            launch = self.launcher.prepare(*where)
            return launch, None if self.launcher.says_hello else self.launcher.hello(*where)

    def _introduce(self, hello: InstanceHello) -> None:
        """Record the hello of an engine that says none itself; stop the engine if it is paused."""
        if self.paused:
            self.signal(signal.SIGSTOP)
            self._to("paused")
        self._context.record(replace(hello, pid=self.pid))

    async def _prepare(self) -> None:
        """Kill what an earlier process left running, record what it wrote, repair its files."""
        self.directory.mkdir(mode=0o700, exist_ok=True)
        await EngineProcess.kill_leftovers(self.run_dir.path, self.name)
        await self._context.observe_final(self.name)
        end_torn_line(self.directory / "events.jsonl")

    async def _back_off(self, reason: str) -> bool:
        """Wait before the next start. Returns False if :meth:`end` was called meanwhile."""
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
        """Return why the instance ends with its process; None: start the engine again."""
        if reason := self.launcher.refusal(self.directory, status):
            return EndReason("failed", reason)
        if self._end_reason:
            killed = " (had to be killed)" if status == -signal.SIGKILL else ""
            return EndReason(self._end_reason.state, self._end_reason.reason + killed)
        if self._share and self.execs >= self._share:
            return EndReason(
                "finished", f"the instance's budget of {several(self._share, 'trial')} is used up"
            )
        if limit := self.launcher.limit_reached(self.directory, status):
            return EndReason("finished", limit)
        return None

    def _to(self, state: str, reason: str = "") -> None:
        self.state = state
        self._context.record(InstanceState(self.name, state, self.pid, reason, self.restarts))
        self._context.state_changed(self)


def _how_it_ended(status: int | None) -> str:
    if status == 0:
        return "exited without being asked to (exit status 0)"
    if status is None:
        return "exited; its exit status is unknown because an earlier supervisor started it"
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"
