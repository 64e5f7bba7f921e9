"""The supervisor: one process, one event loop, the only writer of the campaign's log.

Data flows one way: processes and directories are observed, events are recorded and folded into the
state, and decisions are taken on the state. Blocking work on files is done in a thread, one piece
at a time; everything else runs in the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Callable, Sequence

from fuzztui.kernel.model.selectors import ENDED, running_time
from fuzztui.kernel.model.state import State
from fuzztui.kernel.remote.address import link_to_run, socket_path
from fuzztui.kernel.remote.lock import running
from fuzztui.kernel.remote.server import ControlServer
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.commands import (
    AddSeed,
    Command,
    Pause,
    Resume,
    SetMixture,
    Stop,
    WeighMutator,
)
from fuzztui.kernel.wire.events import Event
from fuzztui.run.campaign import FrozenCampaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.instances.add_seed import seeder
from fuzztui.run.instances.life import EndReason, InstanceLife
from fuzztui.run.observe.passive import PassiveDirectories
from fuzztui.run.observe.resources import ResourceMeter
from fuzztui.run.process.execute import children
from fuzztui.run.process.identity import kill_marked
from fuzztui.run.process.reaper import Reaper
from fuzztui.run.process.service import ServiceContext
from fuzztui.run.supervise.campaign_log import CampaignLog
from fuzztui.run.supervise.command_router import CommandRouter
from fuzztui.run.supervise.ending import CampaignLimits, StopRequest, natural_end, spent
from fuzztui.run.supervise.launchers import launcher_for
from fuzztui.run.supervise.observation import ObservationLoop
from fuzztui.run.supervise.phases import CampaignPhases
from fuzztui.run.supervise.resume import CampaignStartup
from fuzztui.run.supervise.services import Services, all_services
from fuzztui.run.supervise.sharing import SHARE_S, RunSharing
from fuzztui.run.supervise.target_launcher import FINISH, WHOLE_FINISHED
from fuzztui.run.supervise.tasks import AT_LEAST_S, Tasks
from fuzztui.run.supervise.write_check import Notice, WriteCheck

OBSERVE_S = 0.1
"""Seconds between two passes over the directories; less when inotify reports something."""

RESOURCES_S = 3.0
SOCKET_S = 1.0
HALTS_S = 1.0
TIDY_S = 60.0

_SIGNS = (
    ev.EntrySaved,
    ev.EntryDescribed,
    ev.Message,
    ev.MutantsFound,
    ev.MutantState,
    ev.MutationStats,
)
"""Events that show that an instance works, although it executes no trials."""


class Supervisor:
    """Supervises one campaign. The caller holds the run's lock.

    :param progress: called with a message about each slow step of the start.
    :param trouble: called with a message while nothing can be written, as the log cannot show that.
    """

    def __init__(
        self,
        loaded: FrozenCampaign,
        run_dir: RunDir,
        progress: Callable[[str], None],
        trouble: Callable[[str], None],
    ) -> None:
        self._campaign = campaign = loaded.campaign
        self._run_dir = run_dir
        self._launcher = launcher = launcher_for(campaign.kind)
        self._sharing = RunSharing(campaign, run_dir)
        self._progress = progress
        progress("opening the campaign log")
        notice = Notice(trouble)
        self._log = CampaignLog(run_dir, self._react, notice.setter("log"))
        self.state: State = self._log.state
        self.record = self._log.record
        self.flush = self._log.flush
        self._write_check = WriteCheck(self.record, notice.setter("directories"))
        self._clock = self._log.clock
        self.now, self.unpaid = self._clock.now, self._clock.unpaid
        self._spent = spent(campaign, self.state, running_time(self.state))
        # A campaign whose supervisor died at the very end still has to be ended.
        if self._spent and self.state.state in ENDED:
            raise SupervisorError(
                f"{run_dir.path} has finished: {self._spent}; "
                "raise campaign.budget (or the stop condition) to continue"
            )
        self._limits = CampaignLimits(campaign, running_time(self.state))
        self._tasks = Tasks(self.record)
        self._observation = ObservationLoop(run_dir, launcher, self._log, self._tasks)
        self.observe_final = self._observation.observe_final
        self._passive = PassiveDirectories(run_dir.out)
        self._setup_messages: Sequence[ev.Message] = ()
        self._stop_request = StopRequest()
        self.abide = self._stop_request.wait
        self._phases = CampaignPhases(
            campaign, run_dir, launcher, self, observation=self._observation, tasks=self._tasks
        )
        self.lives = self._phases.lives
        self.live = self._phases.live
        context = ServiceContext(campaign, run_dir, self.state, self.record, self.now, self._rest)
        self._services = Services(all_services(context), self._tasks, self.record)
        self._first_events: Sequence[Event] = ()
        self.pending_work, self.refusal = self._services.pending, self._services.refusal
        own = {} if campaign.targets else {AddSeed.name: seeder(run_dir)}
        self.handlers = self._services.handlers(own)
        self._router = CommandRouter(self)
        self._server = ControlServer(run_dir.path, self._router.submit, self._sharing.access)

    def setup(self) -> None:
        """Prepare what all instances need, unless engines run already. Blocking.

        Raises :class:`SupervisorError`; nothing has been logged then.
        """
        with contextlib.suppress(OSError):  # other commands can find the campaign from now on
            link_to_run(self._run_dir.path, socket_path(self._run_dir.path))
        self._first_events = self._services.at_start()
        if not self._phases.living():
            messages = self._launcher.setup(self._campaign, self._run_dir, self._progress)
            self._setup_messages = [*messages, *self._services.setup(self._progress)]
            self._clock.start()

    async def run(self, ready: Callable[[], None]) -> None:
        """Run the campaign to its end, after :meth:`setup`.

        ``ready`` is called once the campaign runs. Raises :class:`SupervisorError` if the campaign
        cannot start; nothing has been logged then.
        """
        try:
            socket_path(self._run_dir.path, self._sharing.access.gid)
        except OSError as e:
            raise SupervisorError(str(e)) from None
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal, signal.Signals(number).name)
        loop.add_signal_handler(signal.SIGHUP, lambda: None)  # survive the terminal
        loop.add_signal_handler(FINISH, self.end, WHOLE_FINISHED)
        reaper = Reaper(lambda: {life.pid for life in self.lives.values()} | children())
        reaper.start(loop)
        await self._begin()
        await asyncio.to_thread(self._sharing.share_all)
        with contextlib.suppress(OSError):  # tried again below, and reported there
            await self._server.listen()
        ready()
        self._router.resume()
        tasks = self._tasks
        tasks.repeat(self._observe_and_decide, OBSERVE_S, self._observation.woken)
        tasks.repeat(self._measure(reaper), RESOURCES_S)
        tasks.repeat(self._server.listen, SOCKET_S)
        tasks.repeat(self._watch_signals, HALTS_S)
        tasks.repeat(self._check_writing, RESOURCES_S)
        tasks.repeat(self._tidy, TIDY_S)
        tasks.repeat(self._look_for_passive, RESOURCES_S)
        if self._sharing.on:
            tasks.repeat(self._sharing.run, SHARE_S)
        self._services.start()
        await self._phases.run()
        self._clock.stop()  # no budget and no rate counts the rest
        # The last findings are often the reason for the end of the campaign.
        end_reason = self._end_reason()
        if not self.leaving:
            self._stop_request.set(end_reason)
        if work := self.pending_work():
            self.record(ev.CampaignState("stopping", f"{end_reason.reason}; {work}".lstrip("; ")))
        is_stopped = end_reason.state == "stopped" and not end_reason.is_patient
        await self._observe_passive()  # a campaign may have ended before the first pass
        await self._services.finish(is_stopped=is_stopped)
        await tasks.close()
        await self._services.ended(end_reason.state, end_reason.reason)
        await self._finish()

    async def _begin(self) -> None:
        """Create and observe the directories, then start or resume the campaign."""
        notes = [*self._log.repairs, *self._setup_messages, *self._sharing.notes]
        try:
            notes += self._observation.add(self.lives.values())
        except OSError as e:
            raise SupervisorError(f"{e.filename}: cannot be created: {e.strerror}") from None
        notes += self._observation.add_passive(self._services.directories)
        startup = CampaignStartup(self._campaign, self._run_dir, self._log, self._observation)
        await startup.take_up(
            self.lives,
            self._phases.first,
            notes,
            first_events=self._first_events,
            spent=bool(self._spent),
        )

    # ------------------------------- the contexts of lives, phases and the command router

    @property
    def leaving(self) -> bool:
        """Whether the campaign is being ended."""
        return self._stop_request.end_reason is not None

    def state_changed(self, life: InstanceLife) -> None:
        """Update the campaign's state after an instance changed its state."""
        if life.over:
            self._router.instance_ended(life)
        # At the start and the end of a pause: a last packet may come after the pause has started.
        self._observation.interrupted(life.name)
        if life.state == "running" and self.state.state == "starting":
            self.record(ev.CampaignState("running"))
        self.pauses_changed()

    def pauses_changed(self) -> None:
        """Record whether the campaign is paused: it is if all its instances are."""
        # Instances end when the target is stuck, the paused ones last.
        living = [life for life in self.lives.values() if not (life.over or life.ending)]
        if self.leaving or not living:
            return
        paused = all(life.paused for life in living)
        if paused and self.state.state in ("starting", "running"):
            self.record(ev.CampaignState("paused"))
        elif not paused and self.state.state == "paused":
            self.record(ev.CampaignState("running"))

    def apply_without_instances(self, command: Command, by: str) -> str:
        """Apply a command for all instances while a mutant is built or transferred.

        Returns the answer; an empty string if that is impossible.
        """
        instance: str = getattr(command, "instance", "")
        if self.leaving and isinstance(command, Stop) and not instance:
            self._services.hurry()
            return "stopped"
        if self._phases.first is None or self.leaving or instance:
            return ""
        match command:
            case Stop():
                self.end(EndReason("stopped", f"stopped by {by}" if by else "stopped"))
                return "stopped"
            case Pause():
                self.record(ev.CampaignState("paused"))
                return "paused"
            case Resume():
                self.record(ev.CampaignState("running"))
                return "resumed"
            case SetMixture() | WeighMutator() if self._campaign.table("text"):
                return "applies to the instances that start next"
            case _:
                return ""

    def end(self, end_reason: EndReason) -> None:
        """End all instances cleanly. A second call ends them without finishing their work."""
        if self.leaving and (end_reason.state == "finished" or end_reason.is_patient):
            return
        if self.leaving:
            self._services.hurry()
        if not self.leaving:
            self._stop_request.set(end_reason)
            if self._campaign.targets:
                self._clock.stop()  # no budget counts the last findings of the targets
            self.record(ev.CampaignState("stopping", end_reason.reason))
        for life in list(self.lives.values()):
            self.end_one(life, end_reason)

    def run_gone(self, why: str) -> None:
        """End the campaign, because its run, log or lock was deleted or moved; ``why``: text."""
        self.end(EndReason("failed", why))

    def end_one(self, life: InstanceLife, end_reason: EndReason) -> None:
        """End one instance cleanly; the others continue."""
        self._tasks.spawn(life.end(end_reason))

    def _rest(self, name: str, why: str) -> None:
        """Let an instance rest, or run again."""
        if (life := self.lives.get(name)) is not None and not life.over:
            life.rest(why)

    # -------------------------------------------------------------- the loop

    def _react(self, event: Event) -> None:
        """Act on an event that was recorded and is in the state."""
        if first := self._phases.first:
            first.on_event(event)
        life = self.lives.get(getattr(event, "instance", ""))
        self._sharing.saw(event)
        self._services.saw(event)
        if isinstance(event, (ev.CommandApplied, ev.CommandRejected)):
            self._router.answered(event)
        elif life is not None and isinstance(event, _SIGNS):
            life.on_activity()
        elif life is not None and isinstance(event, ev.Stats):
            life.on_stats(event)
        elif life is not None and isinstance(event, ev.Resources):
            life.measured(event.cpu)
        elif life is not None and isinstance(event, ev.InstanceHello):
            if life.launcher.says_hello:
                life.hello()
                self._router.engine_ready(life)
            self._router.instance_started(life)

    async def _observe_and_decide(self) -> None:
        self._observation.woken.clear()
        if self._log.writable:  # otherwise all news waits safely in the directories
            await self._observation.observe()
        self.flush()
        if not self.leaving:
            if end_reason := self._limits.reached(self.state, self._running()):
                self.end(end_reason)
            self._phases.end_if_stuck(self._running())
            for life in list(self.lives.values()):
                life.watch_progress()

    def _measure(self, reaper: Reaper) -> Callable[[], Awaitable[None]]:
        meter = ResourceMeter()

        async def measure() -> None:
            reaper.reap()
            roots = {life.name: life.pid for life in self.lives.values() if life.pid}
            measured = await asyncio.to_thread(meter.measure, roots)
            if self._log.writable:
                self.record(*measured)

        return measure

    async def _watch_signals(self) -> None:
        for life in list(self.lives.values()):
            life.watch_signals()
            life.watch_directory()

    async def _check_writing(self) -> None:
        if self._log.writable:  # otherwise the same problem is already reported
            directories = [life.directory for life in self.lives.values() if not life.over]
            await self._write_check.check([self._run_dir.supervisor, *directories])

    async def _look_for_passive(self) -> None:
        if self._log.writable:  # each change is returned once
            known = {*self._services.directories, *self.lives}
            self.record(*await asyncio.to_thread(self._passive.look, known))

    async def _tidy(self) -> None:
        for life in list(self.lives.values()):
            await asyncio.to_thread(self._launcher.tidy, life.directory)

    def _on_signal(self, name: str) -> None:
        self.end(EndReason("stopped", f"the supervisor got {name}"))

    def _running(self) -> float:
        return running_time(self.state, self._clock.now())

    # ------------------------------------------------------------- the end

    async def _finish(self) -> None:
        for part in self._campaign.targets:  # of a supervisor that had to be killed
            if running(part.loaded.campaign.output) is None:
                await asyncio.to_thread(kill_marked, part.loaded.campaign.output)
        await asyncio.to_thread(kill_marked, self._run_dir.path)
        try:
            await self._observation.observe()
            await self._observe_passive()
        except Exception as e:
            self._tasks.report_error(e)
        self._observation.close()
        self._router.close()
        # The very last record: a reader may start the campaign again at once.
        end_reason = self._end_reason()
        self.record(ev.CampaignEnded(end_reason.state, end_reason.reason))
        await self._log.close_at_end(self._close_server)

    async def _observe_passive(self) -> None:
        """Record everything that is in the directories of services."""
        for name in self._services.directories:
            await self._observation.observe_final(name)

    async def _close_server(self) -> None:
        self._router.campaign_ended()
        await asyncio.sleep(AT_LEAST_S)  # the last answers to clients
        await self._server.close()

    def _end_reason(self) -> EndReason:
        """Why the campaign has ended: a stop request, its budget, or its instances."""
        if self._stop_request.end_reason is not None:
            return self._stop_request.end_reason
        natural = natural_end(self.state, self.lives)
        reason = spent(self._campaign, self.state, self._running())
        if reason and natural.state != "failed":
            return EndReason("finished", reason)  # the campaign's budget, not an instance's share
        return natural
