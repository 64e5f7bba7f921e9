"""The supervisor: one process, one event loop, the only writer of the campaign's log.

Data flows one way: processes and directories are observed, what happened is recorded,
recorded events are folded into the state, and decisions are taken on the state. Blocking
work on files is done in a thread, one piece at a time; everything else is in the loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import RunDir, SupervisorError
from fuzztui.fuzzfirst.handlers import worklist_handlers
from fuzztui.instances.launcher import Deed
from fuzztui.instances.life import EndReason, InstanceLife
from fuzztui.model.fuzzfirst import HANDED
from fuzztui.model.oracle import ORACLE
from fuzztui.model.selectors import ENDED, running_time
from fuzztui.model.state import State
from fuzztui.mutators.process import CollectorProcess
from fuzztui.oracle.process import OracleProcess
from fuzztui.process.execute import children
from fuzztui.process.identity import kill_marked
from fuzztui.process.reaper import Reaper
from fuzztui.remote.address import announce, socket_path
from fuzztui.remote.server import ControlServer
from fuzztui.supervise.campaign_log import CampaignLog
from fuzztui.supervise.command_router import CommandRouter
from fuzztui.supervise.end_reason import StopRequest, outcome
from fuzztui.supervise.launchers import launcher_for
from fuzztui.supervise.limits import CampaignLimits, spent
from fuzztui.supervise.observation import ObservationLoop
from fuzztui.supervise.pending_checks import PendingChecks
from fuzztui.supervise.phases import CampaignPhases
from fuzztui.supervise.resources import ResourceMeter
from fuzztui.supervise.resume import CampaignStartup
from fuzztui.supervise.tasks import AT_LEAST_S, Tasks
from fuzztui.supervise.write_check import Notice, WriteCheck
from fuzztui.wire.commands import Command, Pause, Resume, SetMixture, Stop
from fuzztui.wire.events import (
    CampaignEnded,
    CampaignState,
    CommandApplied,
    CommandRejected,
    EntryDescribed,
    EntrySaved,
    Event,
    FindingSaved,
    InstanceHello,
    Message,
    MutantsFound,
    MutantState,
    MutationStats,
    Resources,
    Stats,
)

__all__ = ["Supervisor"]

OBSERVE_S = 0.1
"""Looks at the directories: so often, and sooner when something is told."""

RESOURCES_S = 3.0
SOCKET_S = 1.0
HALTS_S = 1.0
TIDY_S = 60.0
LAST_FLUSH_S = 60.0

_SIGNS = (EntrySaved, EntryDescribed, Message, MutantsFound, MutantState, MutationStats)
"""Events that show that an instance is at work, though it executes no trials."""

_log = logging.getLogger(__name__)


class Supervisor:
    """Supervises one campaign. The caller holds the run's lock.

    :param progress: told what takes time while starting.
    :param trouble: told what cannot be said in the log, or cannot wait: nothing can be written.
    """

    def __init__(
        self,
        campaign: Campaign,
        home: RunDir,
        progress: Callable[[str], None],
        trouble: Callable[[str], None],
    ) -> None:
        self._campaign = campaign
        self._home = home
        self._launcher = launcher = launcher_for(campaign.kind)
        self._progress = progress
        progress("opening the campaign log")
        notice = Notice(trouble)
        self._journal = CampaignLog(home, self._react, notice.of("log"))
        self.state: State = self._journal.state
        self.record = self._journal.record
        self.flush = self._journal.flush
        self._write_check = WriteCheck(self.record, notice.of("directories"))
        self._clock = self._journal.clock
        self.now, self.unpaid = self._clock.now, self._clock.unpaid
        self._spent = spent(campaign, self.state, running_time(self.state))
        # One whose supervisor died at the very end still has to be brought to it.
        if self._spent and self.state.state in ENDED:
            raise SupervisorError(
                f"{home.path} has finished: {self._spent}; "
                "raise campaign.budget or the like to go on"
            )
        self._limits = CampaignLimits(campaign, running_time(self.state))
        self._tasks = Tasks(self.record)
        self._looks = ObservationLoop(home, launcher, self._journal, self._tasks)
        self.last_look = self._looks.last
        self._told: Sequence[Message] = ()
        self._halt = StopRequest()
        self.abide = self._halt.abide
        self._stages = CampaignPhases(
            campaign, home, launcher, self, looks=self._looks, tasks=self._tasks
        )
        self.lives = self._stages.lives
        self.live = self._stages.live
        self._triage = launcher.triage(campaign, home, self.record, self.state)
        self._oracle = OracleProcess(home, self.record) if OracleProcess.wanted(campaign) else None
        self._unseen = PendingChecks(self._triage, self._oracle, self.record)
        self.unfinished = self._unseen.words
        self.deeds: Mapping[str, Deed] = {
            **launcher.deeds(campaign, home),
            **(worklist_handlers(self.state, self.record) if campaign.mutants else {}),
        }
        self._steering = CommandRouter(self)
        self._server = ControlServer(home.path, self._steering.submit)

    def setup(self) -> None:
        """Make what the instances need, unless they run already. Blocking.

        Raises :class:`SupervisorError`; nothing has been logged then.
        """
        with contextlib.suppress(OSError):  # who looks for the campaign finds it from now on
            announce(self._home.path, socket_path(self._home.path))
        if not self._stages.living():
            self._told = self._launcher.setup(self._campaign, self._home, self._progress)
            self._clock.start()

    async def run(self, ready: Callable[[], None]) -> None:
        """Run the campaign to its end, after :meth:`setup`; ``ready``: it is in progress.

        Raises :class:`SupervisorError` when it cannot begin, and then has logged nothing.
        """
        try:
            socket_path(self._home.path)
        except OSError as e:
            raise SupervisorError(str(e)) from None
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._told_to_end, signal.Signals(number).name)
        loop.add_signal_handler(signal.SIGHUP, lambda: None)  # a lost terminal is not our end
        reaper = Reaper(lambda: {life.pid for life in self.lives.values()} | children())
        reaper.start(loop)
        await self._begin()
        with contextlib.suppress(OSError):  # it is tried again, and then told
            await self._server.listen()
        ready()
        self._steering.take_up()
        tasks = self._tasks
        tasks.repeat(self._look_and_decide, OBSERVE_S, self._looks.woken)
        tasks.repeat(self._measure(reaper), RESOURCES_S)
        tasks.repeat(self._server.listen, SOCKET_S)
        tasks.repeat(self._watch_halts, HALTS_S)
        tasks.repeat(self._check_writing, RESOURCES_S)
        tasks.repeat(self._tidy, TIDY_S)
        if self._triage:
            tasks.repeat(self._triage.run, RESOURCES_S)
        if CollectorProcess.wanted(self._campaign):
            tasks.beside(CollectorProcess(self._campaign, self._home, self.record))
        if self._oracle:
            tasks.beside(self._oracle)
        await self._stages.run()
        self._clock.stop()  # no budget pays for what follows, and no rate counts it
        # What was found last is often what the campaign ended for.
        if words := self._unseen.words():
            reason = (self._halt.ending or self._outcome()).reason
            self.record(CampaignState("stopping", f"{reason}; {words}".lstrip("; ")))
        await self._unseen.finish()
        await tasks.close()
        await self._finish()

    async def _begin(self) -> None:
        """Open the directories, and take the campaign up."""
        notes = [*self._journal.repairs, *self._told]
        try:
            notes += self._looks.at(self.lives.values())
        except OSError as e:
            raise SupervisorError(f"{e.filename}: cannot be made: {e.strerror}") from None
        beside = {HANDED: self._campaign.mutants, ORACLE: self._oracle}
        notes += self._looks.at_names(name for name, wanted in beside.items() if wanted)
        beginning = CampaignStartup(self._campaign, self._home, self._journal, self._looks)
        await beginning.take_up(self.lives, self._stages.first, notes, spent=bool(self._spent))

    # ---------------------------------------------- what lives, stages and steering need

    @property
    def leaving(self) -> bool:
        """Whether the campaign is being ended."""
        return self._halt.ending is not None

    def moved(self, life: InstanceLife) -> None:
        """An instance came to another state: the campaign may have too."""
        if life.over:
            self._steering.gone(life)
        # Into a pause and out of it: a last packet may come after it has started.
        self._looks.interrupted(life.name)
        if life.state == "running" and self.state.state == "starting":
            self.record(CampaignState("running"))
        self.pauses_changed()

    def pauses_changed(self) -> None:
        """The campaign is paused when all of it is."""
        living = [life for life in self.lives.values() if not life.over]
        if self.leaving or not living:
            return
        paused = all(life.paused for life in living)
        if paused and self.state.state in ("starting", "running"):
            self.record(CampaignState("paused"))
        elif not paused and self.state.state == "paused":
            self.record(CampaignState("running"))

    def between(self, command: Command, by: str) -> bool:
        """What is for all while a mutant is being built or its finds are transferred."""
        one: str = getattr(command, "instance", "")
        if self._stages.first is None or self.leaving or one:
            return False
        match command:
            case Stop():
                self.end(EndReason("stopped", f"stopped by {by}" if by else "stopped"))
            case Pause():
                self.record(CampaignState("paused"))
            case Resume():
                self.record(CampaignState("running"))
            case SetMixture() if self._campaign.text:
                pass  # those that begin next are told
            case _:
                return False
        return True

    def end(self, ending: EndReason) -> None:
        """End the campaign: all instances, cleanly. Told again they end without finishing."""
        if self.leaving and ending.state == "finished":
            return
        if not self.leaving:
            self._halt.tell(ending)
            self.record(CampaignState("stopping", ending.reason))
        for life in list(self.lives.values()):
            self.end_one(life, ending)

    def deserted(self) -> None:
        """The run directory or its log was deleted, or another took its place: let go of it."""
        self.end(EndReason("failed", "the run directory was deleted"))

    def end_one(self, life: InstanceLife, ending: EndReason) -> None:
        """End one instance, cleanly; the others go on."""
        self._tasks.spawn(life.end(ending))

    # -------------------------------------------------------------- the loop

    def _react(self, event: Event) -> None:
        """Something was recorded and is in the state."""
        if first := self._stages.first:
            first.on_event(event)
        life = self.lives.get(getattr(event, "instance", ""))
        if self._triage and isinstance(event, FindingSaved):
            self._triage.saw(event)
        if isinstance(event, (CommandApplied, CommandRejected)):
            self._steering.answered(event)
        elif life is not None and isinstance(event, _SIGNS):
            life.heard_of()
        elif life is not None and isinstance(event, Stats):
            life.note(event)
        elif life is not None and isinstance(event, Resources):
            life.measured(event.cpu)
        elif life is not None and isinstance(event, InstanceHello):
            if life.launcher.says_hello:
                life.hello()
                self._steering.greeted(life)
            self._steering.begins(life)

    async def _look_and_decide(self) -> None:
        self._looks.woken.clear()
        if self._journal.writable:  # else what happens waits safely in the directories
            await self._looks.look()
        self.flush()
        if not self.leaving:
            if ending := self._limits.reached(self.state, self._running()):
                self.end(ending)
            for life in list(self.lives.values()):
                life.watch_progress()

    def _measure(self, reaper: Reaper) -> Callable[[], Awaitable[None]]:
        meter = ResourceMeter()

        async def measure() -> None:
            reaper.reap()
            roots = {life.name: life.pid for life in self.lives.values() if life.pid}
            measured = await asyncio.to_thread(meter.measure, roots)
            if self._journal.writable:
                self.record(*measured)

        return measure

    async def _watch_halts(self) -> None:
        for life in list(self.lives.values()):
            life.watch_halts()
            life.watch_directory()

    async def _check_writing(self) -> None:
        if self._journal.writable:  # else that is reported, and the reason is the same
            directories = [life.directory for life in self.lives.values() if not life.over]
            await self._write_check.look([self._home.supervisor, *directories])

    async def _tidy(self) -> None:
        for life in list(self.lives.values()):
            await asyncio.to_thread(self._launcher.tidy, life.directory)

    def _told_to_end(self, name: str) -> None:
        self.end(EndReason("stopped", f"the supervisor got {name}"))

    def _running(self) -> float:
        return running_time(self.state, self._clock.now())

    # ------------------------------------------------------------- the end

    async def _finish(self) -> None:
        await asyncio.to_thread(kill_marked, self._home.path)
        try:
            await self._looks.look()
        except Exception as e:
            self._tasks.trouble(e)
        self._looks.close()
        self._steering.close()
        # The last thing of all: who reads it may start the campaign again at once.
        ending = self._halt.ending or self._outcome()
        self.record(CampaignEnded(ending.state, ending.reason))
        patience = time.monotonic() + LAST_FLUSH_S
        while not self.flush() and time.monotonic() < patience:
            await asyncio.sleep(AT_LEAST_S)
        self._steering.farewell()
        await asyncio.sleep(AT_LEAST_S)  # the last answers to clients
        await self._server.close()
        try:
            self._journal.close()
        except OSError as e:
            # Finds are in the directories: the next start logs them.
            _log.error("%s: the end of the log is lost: %s", self._home.log, e)

    def _outcome(self) -> EndReason:
        """How a campaign ended that nobody ended."""
        if words := spent(self._campaign, self.state, self._running()):
            return EndReason("finished", words)  # the campaign's budget, not an instance's share
        return outcome(self.state, self.lives)
