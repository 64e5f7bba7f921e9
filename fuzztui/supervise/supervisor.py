"""The supervisor: one process, one event loop, the only writer of the campaign's log.

Data flows one way: processes and directories are observed, what happened is recorded,
recorded events are folded into the state, and decisions are taken on the state. Blocking
work on files is done in a thread, one piece at a time; everything else is in the loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import fuzztui
from fuzztui.campaign import Campaign
from fuzztui.model.first import HANDED
from fuzztui.model.oracle import FUZZLESS, ORACLE
from fuzztui.model.selectors import ENDED, running_time
from fuzztui.model.state import State
from fuzztui.remote.address import socket_path
from fuzztui.remote.server import ControlServer
from fuzztui.supervise.afl.execute import children
from fuzztui.supervise.engines import launcher_for
from fuzztui.supervise.first.desk import Halted
from fuzztui.supervise.first.plan import spent_on_mutants, wants_mutants
from fuzztui.supervise.first.stage import MutantsStage
from fuzztui.supervise.first.steering import queue_deeds
from fuzztui.supervise.identity import kill_marked
from fuzztui.supervise.journal import Journal
from fuzztui.supervise.launcher import Deed, instance_names
from fuzztui.supervise.life import TERM_GRACE_S, Ending, Life
from fuzztui.supervise.limits import Limits, spent
from fuzztui.supervise.looks import Looks
from fuzztui.supervise.oracle.keeper import OracleKeeper
from fuzztui.supervise.orphans import Reaper
from fuzztui.supervise.processes import EngineProcess
from fuzztui.supervise.resources import ResourceMeter
from fuzztui.supervise.rundir import RunDir, SupervisorError
from fuzztui.supervise.steer import Steering
from fuzztui.supervise.tasks import AT_LEAST_S, Tasks
from fuzztui.supervise.text.harvester import Harvester
from fuzztui.supervise.unseen import Unseen
from fuzztui.wire.commands import Command, Pause, Resume, SetMixture, Stop
from fuzztui.wire.events import (
    BudgetSet,
    CampaignEnded,
    CampaignStarted,
    CampaignState,
    CommandApplied,
    CommandRejected,
    EntryDescribed,
    EntrySaved,
    Event,
    FindingSaved,
    InstanceHello,
    InstanceState,
    Message,
    MutantsFound,
    MutantState,
    MutationStats,
    StageStarted,
    Stats,
    SupervisorStarted,
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
    :param trouble: told what cannot be said in the log: that it cannot be written.
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
        self._journal = Journal(home, self._react, trouble)
        self.state: State = self._journal.state
        self.record = self._journal.record
        self.flush = self._journal.flush
        self._clock = self._journal.clock
        self._spent = spent(campaign, self.state, running_time(self.state))
        # One whose supervisor died at the very end still has to be brought to it.
        if self._spent and self.state.state in ENDED:
            raise SupervisorError(
                f"{home.path} has finished: {self._spent}; "
                "raise campaign.budget or the like to go on"
            )
        self._limits = Limits(campaign, running_time(self.state))
        self._tasks = Tasks(self.record)
        self._looks = Looks(home, launcher, self._journal, self._tasks)
        self.last_look = self._looks.last
        self._ending: Ending | None = None
        self._warnings: Sequence[str] = ()
        self._halt = asyncio.Event()
        self._first: MutantsStage | None = None
        self.lives: dict[str, Life] = {}
        """The instances that are to live now: those of a mutant's turn, or the target's."""
        # Those who fuzz the target since its turn came, and outlived a supervisor, go on.
        target = self.state.stage == "target" and self._target_lives()
        if campaign.mutants and not target and wants_mutants(campaign, self.state):
            self._first = MutantsStage(campaign, home, launcher, self)
        else:
            self._muster()
        self._triage = launcher.triage(campaign, home, self.record, self.state)
        self._oracle = OracleKeeper(home, self.record) if OracleKeeper.wanted(campaign) else None
        self._unseen = Unseen(self._triage, self._oracle, self.record)
        self.unfinished = self._unseen.words
        self.deeds: Mapping[str, Deed] = {
            **launcher.deeds(campaign, home),
            **(queue_deeds(self.state, self.record) if campaign.mutants else {}),
        }
        self._steering = Steering(self)
        self._server = ControlServer(home.path, self._steering.submit)

    def setup(self) -> None:
        """Make what the instances need, unless they run already. Blocking.

        Raises :class:`SupervisorError`; nothing has been logged then.
        """
        if not self._living():
            self._warnings = self._launcher.setup(self._campaign, self._home, self._progress)
            self._clock.start()

    async def run(self, ready: Callable[[], None]) -> None:
        """Run the campaign to its end, after :meth:`setup`; ``ready``: it is under way.

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
        tasks.repeat(self._tidy, TIDY_S)
        if self._triage:
            tasks.repeat(self._triage.run, RESOURCES_S)
        if Harvester.wanted(self._campaign):
            tasks.beside(Harvester(self._campaign, self._home, self.record))
        if self._oracle:
            tasks.beside(self._oracle)
        await self._stages()
        self._clock.stop()  # no budget pays for what follows, and no rate counts it
        # What was found last is often what the campaign ended for.
        if words := self._unseen.words():
            reason = (self._ending or self._outcome()).reason
            self.record(CampaignState("stopping", f"{reason}; {words}".lstrip("; ")))
        await self._unseen.finish()
        await tasks.close()
        await self._finish()

    async def _stages(self) -> None:
        """Fuzz: mutants of the target first, if the campaign says so, and then the target."""
        if self._first is not None:
            try:
                await self._first.run()
            except Halted:
                return
            except SupervisorError as e:
                self.end(Ending("failed", str(e)))
                return
            if self._ending:
                return
            self._first = None
            self._muster()
            for life in self.lives.values():
                life.revive()  # of a campaign that was another one before
                life.paused |= self.state.state == "paused"
            await self._looks.join([*self.lives.values()])
        if self.state.stage == "mutants":
            self.record(StageStarted("target", spent_on_mutants(self.state, self.now())))
        await asyncio.gather(*(self._live(life) for life in self.lives.values() if not life.over))

    def _muster(self) -> None:
        """The target's instances come forward."""
        campaign = self._campaign
        if campaign.budget_trials:  # which mutants have used a part of
            used = sum(i.execs for i in self.state.instances.values() if i.mutant)
            campaign = replace(campaign, budget_trials=max(1, campaign.budget_trials - used))
        self.lives = {
            name: Life(
                campaign,
                self._home,
                index,
                launcher=self._launcher,
                desk=self,
                before=self.state.instances.get(name),
            )
            for index, name in enumerate(instance_names(campaign))
        }

    # ------------------------------------------------------------ beginning

    async def _begin(self) -> None:
        """Adopt what still runs, say who supervises now, open the directories."""
        state, campaign = self.state, self._campaign
        notes = [Message("warning", words) for words in self._warnings]
        try:
            notes += self._looks.at(self.lives.values())
        except OSError as e:
            raise SupervisorError(f"{e.filename}: cannot be made: {e.strerror}") from None
        beside = {HANDED: campaign.mutants, ORACLE: self._oracle}
        notes += self._looks.at_names(name for name, wanted in beside.items() if wanted)
        fresh = state.state == "empty"
        # With all instances over, only the campaign's own end was not logged any more.
        ended = state.state in ENDED or (
            bool(self.lives) and all(life.over for life in self.lives.values())
        )
        ended = ended and not self._spent
        budget = (campaign.budget_s, campaign.budget_trials)
        changed = not fresh and budget != (state.budget_s, state.budget_trials)
        for life in self.lives.values():
            life.paused |= state.state == "paused"
            # A campaign that ended goes on as a whole. In one whose supervisor died, what
            # was stopped stays stopped.
            if ended or life.state == "failed" or (changed and life.state == "finished"):
                life.revive()
        adopted = [] if fresh else [n for n, life in self.lives.items() if life.adopt()]
        if adopted:
            self._clock.count_gap()
        elif self._first and (adopted := self._first.living()):
            notes += _overtime(adopted, self._clock.count_gap(self._first.unwatched()))
        if fresh:
            self.record(self._campaign_started())
        elif changed:
            self.record(BudgetSet(*budget))
        resumed = [n for n, life in self.lives.items() if not life.over and n not in adopted]
        self.record(
            SupervisorStarted(
                pid=os.getpid(),
                wall=time.time(),
                host=socket.gethostname(),
                adopted=adopted,
                resumed=[] if fresh else resumed,
            )
        )
        if state.state not in ("running", "paused") or (not adopted and state.state != "paused"):
            self.record(CampaignState("starting", "" if fresh else "resumed"))
        if self._first:
            self._ask_to_wait()
        self._save_clock()
        self.record(*notes)
        await self._retire()
        self.flush()

    def _ask_to_wait(self) -> None:
        """Whoever fuzzed the target before goes on with it when mutants have had their turns."""
        for name in instance_names(self._campaign):
            if (known := self.state.instances.get(name)) and known.state in ENDED:
                self.record(InstanceState(name, "waiting", 0, "mutants come first", known.restarts))

    def _campaign_started(self) -> CampaignStarted:
        campaign = self._campaign
        return CampaignStarted(
            name=campaign.name,
            engine=campaign.kind,
            target=campaign.subject,
            seed=campaign.seed,
            budget_s=campaign.budget_s,
            budget_trials=campaign.budget_trials,
            instances=instance_names(campaign),
            wall=time.time(),
            version=fuzztui.__version__,
        )

    async def _retire(self) -> None:
        """End the instances of an earlier start that this campaign has no more."""
        ours = {*instance_names(self._campaign), *FUZZLESS}
        known = self.state.instances
        gone = [name for name in known if name not in ours and not known[name].mutant]
        await asyncio.gather(
            *(self._retire_one(n) for n in gone if self.state.instances[n].state not in ENDED)
        )

    async def _retire_one(self, name: str) -> None:
        """As cleanly as any other: what it writes at its end is its newest count."""
        directory, reason = self._home.instance(name), "the campaign has it no more"
        if directory.is_dir():
            self._looks.at_retired(self._home, name, self.state.instances[name].execs)
        process = EngineProcess.adopt(directory)
        if process and not await process.stop(TERM_GRACE_S):
            reason += " (it had to be killed)"
        await EngineProcess.sweep(self._home.path, name)
        await self.last_look(name)
        restarts = self.state.instances[name].restarts
        self.record(InstanceState(name, "stopped", 0, reason, restarts))

    # ---------------------------------------------------- what the first stage needs

    @property
    def leaving(self) -> bool:
        """Whether the campaign is being ended."""
        return self._ending is not None

    def now(self) -> float:
        """Campaign time."""
        return self._clock.now()

    @contextlib.contextmanager
    def unpaid(self) -> Iterator[None]:
        """No budget pays for what is done in it: campaign time stands still."""
        self._clock.stop()
        try:
            yield
        finally:
            self._clock.start()
            self._save_clock()

    async def abide(self, job: Awaitable[None]) -> None:
        """Wait for ``job``; give it up and raise :class:`Halted` when the campaign ends."""
        task = asyncio.ensure_future(job)
        if self._ending:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            raise Halted
        halt = asyncio.ensure_future(self._halt.wait())
        try:
            await asyncio.wait({task, halt}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise Halted
            await task
        finally:
            for one in (task, halt):
                one.cancel()
            await asyncio.gather(task, halt, return_exceptions=True)

    async def live(self, lives: Sequence[Life], home: RunDir, mutant: str) -> None:
        """Let instances that fuzz a mutant live, observed, to their end."""
        if self._ending:
            raise Halted
        where = home.out.relative_to(self._home.path)
        for life in lives:
            life.paused |= self.state.state == "paused"
            self.record(InstanceHello(life.name, mutant=mutant, directory=str(where / life.name)))
            life.adopt()
            self.lives[life.name] = life
        try:
            await self._looks.join(lives, mutant=True)
            await asyncio.gather(*(self._live(life) for life in lives))
        finally:
            for life in lives:
                await self._looks.leave(life.name)
                del self.lives[life.name]

    def _living(self) -> bool:
        """Whether any engine of the run is at work, from an earlier supervisor."""
        return self._target_lives() or bool(self._first and self._first.living())

    def _target_lives(self) -> bool:
        own = (self._home.instance(name) for name in instance_names(self._campaign))
        return any(map(EngineProcess.adopt, own))

    # ---------------------------------------------------------- what lives need

    def moved(self, life: Life) -> None:
        """An instance came to another state: the campaign may have too."""
        if life.over:
            self._steering.gone(life)
        # Into a pause and out of it: a last packet may come after it has begun.
        self._looks.interrupted(life.name)
        if life.state == "running" and self.state.state == "starting":
            self.record(CampaignState("running"))
        self.pauses_changed()

    def pauses_changed(self) -> None:
        """The campaign is paused when all of it is."""
        living = [life for life in self.lives.values() if not life.over]
        if self._ending or not living:
            return
        paused = all(life.paused for life in living)
        if paused and self.state.state in ("starting", "running"):
            self.record(CampaignState("paused"))
        elif not paused and self.state.state == "paused":
            self.record(CampaignState("running"))

    def between(self, command: Command, by: str) -> bool:
        """What is for all while a mutant is being built or its finds are handed over."""
        one: str = getattr(command, "instance", "")
        if self._first is None or self._ending or one:
            return False
        match command:
            case Stop():
                self.end(Ending("stopped", f"stopped by {by}" if by else "stopped"))
            case Pause():
                self.record(CampaignState("paused"))
            case Resume():
                self.record(CampaignState("running"))
            case SetMixture() if self._campaign.text:
                pass  # those that begin next are told
            case _:
                return False
        return True

    def end(self, ending: Ending) -> None:
        """End the campaign: all instances, cleanly. Told again they end without finishing."""
        if self._ending and ending.state == "finished":
            return
        if not self._ending:
            self._ending = ending
            self._halt.set()
            self.record(CampaignState("stopping", ending.reason))
        for life in list(self.lives.values()):
            self.end_one(life, ending)

    def deserted(self) -> None:
        """The run directory was deleted, or another took its place: let go of it."""
        self.end(Ending("failed", "the run directory was deleted"))

    def end_one(self, life: Life, ending: Ending) -> None:
        """End one instance, cleanly; the others go on."""
        self._tasks.spawn(life.end(ending))

    # -------------------------------------------------------------- the loop

    def _react(self, event: Event) -> None:
        """Something was recorded and is in the state."""
        if self._first:
            self._first.heard(event)
        life = self.lives.get(getattr(event, "instance", ""))
        if self._triage and isinstance(event, FindingSaved):
            self._triage.saw(event)
        if isinstance(event, (CommandApplied, CommandRejected)):
            self._steering.answered(event)
        elif life is not None and isinstance(event, _SIGNS):
            life.heard_of()
        elif life is not None and isinstance(event, Stats):
            life.note(event)
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
        if not self._ending:
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

    async def _tidy(self) -> None:
        for life in list(self.lives.values()):
            await asyncio.to_thread(self._launcher.tidy, life.directory)

    async def _live(self, life: Life) -> None:
        try:
            await life.run()
        except Exception as e:
            self._tasks.trouble(e)
            life.abandon(f"internal error: {e!r}")

    def _told_to_end(self, name: str) -> None:
        self.end(Ending("stopped", f"the supervisor got {name}"))

    def _running(self) -> float:
        return running_time(self.state, self._clock.now())

    def _save_clock(self) -> None:
        with contextlib.suppress(OSError):
            self._clock.save()

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
        ending = self._ending or self._outcome()
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

    def _outcome(self) -> Ending:
        """How a campaign ended whose instances all ended by themselves."""
        if words := spent(self._campaign, self.state, self._running()):
            return Ending("finished", words)  # the campaign's budget, not an instance's share
        if not self.lives:
            return Ending("stopped", "")
        states = {life.state for life in self.lives.values()}
        reasons = [self.state.instances[name].reason for name in self.lives]
        for state in ("finished", "stopped", "failed"):
            if state in states:
                return Ending(state, next((r for r in reasons if r), ""))
        return Ending("failed", "no instance could be kept alive")


def _overtime(names: Sequence[str], seconds: float) -> list[Message]:
    """A word on what fuzzed a mutant for so much longer than it should."""
    if seconds < 1:
        return []
    words = f"fuzzed for {seconds:.0f} s longer than the mutant's budget"
    why = "while there was no supervisor to end that: no budget pays for it"
    return [Message("info", f"{', '.join(names)}: {words}, {why}")]
