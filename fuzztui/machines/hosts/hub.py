"""The hub: the owner of the log of a campaign that runs on several hosts.

Each host has an ordinary run, with an ordinary supervisor, that does not need the hub. The hub
starts these runs, relays their logs into one log, passes commands on to them, and carries new
entries from host to host. As in a supervisor, decisions are taken on the state of its log.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fuzztui.features.fuzzfirst.ranking import rank_once
from fuzztui.kernel.model.selectors import ENDED, running_time
from fuzztui.kernel.model.state import State
from fuzztui.kernel.remote.address import link_to_run, socket_path
from fuzztui.kernel.remote.protocol import CommandRequest, ProtocolError
from fuzztui.kernel.remote.server import ControlServer
from fuzztui.kernel.wire.commands import AddSeed, Stop
from fuzztui.kernel.wire.events import (
    BudgetSet,
    CampaignEnded,
    CampaignState,
    Event,
    HostState,
    Message,
    SupervisorStarted,
)
from fuzztui.machines.hosts.exchange import HostExchange
from fuzztui.machines.hosts.fetching import HostFiles
from fuzztui.machines.hosts.link import Turns
from fuzztui.machines.hosts.member import HostMember, gathered_s, host_instances
from fuzztui.machines.hosts.paths import PathsHere
from fuzztui.machines.hosts.room import HubRoom
from fuzztui.machines.hosts.routing import HostRouter
from fuzztui.machines.hosts.shipping import shipped_files
from fuzztui.run.campaign import FrozenCampaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.campaign.schema import AFL
from fuzztui.run.inprocess.spec import write_spec
from fuzztui.run.instances.add_seed import add_seed
from fuzztui.run.instances.life import EndReason
from fuzztui.run.process.service import Progress, ServiceContext
from fuzztui.run.supervise.campaign_log import CampaignLog
from fuzztui.run.supervise.ending import CampaignLimits
from fuzztui.run.supervise.launchers import launcher_for
from fuzztui.run.supervise.resume import campaign_started
from fuzztui.run.supervise.services import Services, all_services
from fuzztui.run.supervise.sharing import SHARE_S, RunSharing
from fuzztui.run.supervise.tasks import Tasks
from fuzztui.run.supervise.write_check import Notice

FLUSH_S = 0.05
DECIDE_S = 0.5
SOCKET_S = 1.0
LOOK_S = 3.0
LAST_MEMBER_S = 2.0
READ_S = 15.0
"""Seconds for a file that a user wants to see."""

STOP_S = 60.0
"""Seconds for which a stopped campaign waits for hosts that are not connected."""


class Hub:
    """The hub of one campaign. The caller holds the run's lock.

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
        self._loaded = loaded
        self._campaign = campaign = loaded.campaign
        self._run_dir = run_dir
        self._progress = progress
        self._sharing = RunSharing(campaign, run_dir)
        progress("opening the campaign log")
        notice = Notice(trouble)
        self.log = CampaignLog(run_dir, self._react, notice.setter("log"))
        self.state: State = self.log.state
        self.record, self.flush = self.log.record, self.log.flush
        self._clock = self.log.clock
        budget = (campaign.budget_s, campaign.budget_trials)
        self._changed = budget != (self.state.budget_s, self.state.budget_trials)
        if self.state.state == "finished" and not self._changed:
            raise SupervisorError(
                f"{run_dir.path} has finished: {self.state.reason}; "
                "raise campaign.budget (or the stop condition) to continue"
            )
        # Each host spends its own budget; the hub only ends what no host can see alone.
        self._alone = replace(campaign, budget_s=0.0, budget_trials=0)
        self._limits = CampaignLimits(self._alone, running_time(self.state))
        self._tasks = Tasks(self.record)
        self._links: dict[str, asyncio.Future[None]] = {}
        """By host: what is connected to it until its campaign has ended."""
        self._over = asyncio.Event()
        self._end_reason: EndReason | None = None
        self._left = False
        """Whether only the hub ends, and the hosts continue."""
        self._linked = False
        """Whether hosts are connected to; before, mutants are ranked here."""
        self._stopping_since = 0.0
        self.exchange = HostExchange(
            run_dir, [host_instances(place)[0] for place in campaign.hosts], self._warn
        )
        self._show_full = notice.setter("room")
        relayed = {host.name: host.seq for host in self.state.hosts.values()}
        self.turns = Turns()
        self.hosts: Sequence[str] = [place.name for place in campaign.hosts]
        self.room = HubRoom(run_dir, campaign.hosts, relayed, self._full)
        self.gathered_s = gathered_s(sum(place.instances for place in campaign.hosts))
        self.members = {
            place.name: HostMember(self, loaded, run_dir, place, index)
            for index, place in enumerate(campaign.hosts)
        }
        of = (campaign, run_dir, self.state, self.record, self._clock.now)
        made = all_services(ServiceContext(*of, is_hub=True))
        self._services = Services(made, self._tasks, self.record)
        self.paths = PathsHere({})
        self._first_events: list[Event] = []
        self.handlers = self._services.handlers({AddSeed.name: self._add_seed})
        self.router: HostRouter
        self._server: ControlServer

    @property
    def log_name(self) -> str:
        """A name for the log of this hub, the same after a restart: the time at which it began."""
        number, name = int(self.state.started_wall * 1000), ""
        while number:
            number, digit = divmod(number, 36)
            name = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + name
        return name or "0"

    def setup(self) -> None:
        """Build what is the same on all hosts. Blocking. Raises SupervisorError."""
        with contextlib.suppress(OSError):
            link_to_run(self._run_dir.path, socket_path(self._run_dir.path))
        self._first_events += self._services.at_start()
        campaign = self._campaign
        if campaign.kind == AFL:
            launcher = launcher_for(campaign.kind)
            self._first_events += launcher.setup(campaign, self._run_dir, self._progress)
        self._first_events += self._services.setup(self._progress)
        if campaign.kind != AFL:  # findings are run and minimised here, too
            try:
                self._run_dir.expose_package(campaign.kind)
                spec = self._run_dir.supervisor / "spec.json"
                write_spec(spec, campaign, self._run_dir.instance("main"))
            except OSError as e:
                raise SupervisorError(f"{e.filename}: {e.strerror or e}") from None
        self.paths = PathsHere(
            shipped_files(self._loaded, self._run_dir.path),
            str(self._campaign.target.get("python") or ""),
        )
        self.exchange.load(self._progress)
        self.room.load()

    async def run(self, ready: Callable[[], None]) -> None:
        """Run the campaign until it has ended on all hosts, after :meth:`setup`.

        Raises :class:`SupervisorError` if the campaign cannot start on any host.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._leave, signal.Signals(number).name)
        loop.add_signal_handler(signal.SIGHUP, lambda: None)
        self._begin()
        self.router = HostRouter(self, self.log_name)
        await asyncio.to_thread(self._sharing.share_all)
        access = self._sharing.access
        files = HostFiles(self._run_dir.path, self.state, self._read)
        await asyncio.to_thread(files.begin)
        self._server = ControlServer(
            self._run_dir.path, self.router.submit, access, fetch=files.fetch
        )
        with contextlib.suppress(OSError):  # tried again below, and reported there
            await self._server.listen()
        tasks = self._tasks
        self.router.resume()
        tasks.repeat(self._flush, FLUSH_S)
        tasks.repeat(self._decide, DECIDE_S)
        tasks.repeat(self._server.listen, SOCKET_S)
        tasks.repeat(self._look, LOOK_S)
        if self._sharing.on:
            tasks.repeat(self._sharing.run, SHARE_S)
        self._services.start()
        ready()
        ranked = await self._rank()
        self._linked = ranked
        for name in self.members if ranked else ():
            self._link(name)
        await self._over.wait()
        links = list(self._links.values())
        if links and not self._left:  # each records the end of its host
            await asyncio.wait(links, timeout=LAST_MEMBER_S)
        for link in links:
            link.cancel()
        await asyncio.gather(*links, return_exceptions=True)
        end = self._end_reason
        if not self._left:
            await self._services.finish(is_stopped=end is not None and end.state == "stopped")
        await tasks.close()
        if end and not self._left:  # else the next hub ends the campaign
            await self._services.ended(end.state, end.reason)
        await self._finish()

    async def _rank(self) -> bool:
        """Rank the mutants of a fuzz-first campaign, once for all hosts; False if it cannot."""
        if not self._campaign.table("mutants"):
            return True

        def progress(text: str) -> None:
            self.record(CampaignState("starting", text))

        ranking = asyncio.ensure_future(rank_once(self._campaign, self._run_dir, progress))
        over = asyncio.ensure_future(self._over.wait())
        try:
            await asyncio.wait({ranking, over}, return_when=asyncio.FIRST_COMPLETED)
            if ranking.done():
                ranking.result()
                return True
        except (SupervisorError, OSError) as e:
            self._end_reason = EndReason("failed", str(e))
            self._over.set()
        finally:
            for task in (ranking, over):
                task.cancel()
            await asyncio.gather(ranking, over, return_exceptions=True)
        return False

    def _begin(self) -> None:
        """Record the start of the campaign, or of another hub."""
        campaign, state = self._campaign, self.state
        fresh, over = state.state == "empty", state.state in ENDED
        if not fresh and any(h.campaign not in ENDED for h in state.hosts.values()):
            self._clock.count_gap()  # hosts have continued
        if self._changed and not fresh:
            self.record(BudgetSet(campaign.budget_s, campaign.budget_trials, campaign.exact_s))
        if fresh or not state.engine:
            instances = [n for place in campaign.hosts for n in host_instances(place)]
            self.record(campaign_started(campaign, instances))
        self.record(*self._first_events)
        started = SupervisorStarted(os.getpid(), time.time(), host=socket.gethostname())
        self.record(replace(started, cores=sum(h.cores for h in state.hosts.values())))
        if state.state not in ("running", "paused"):
            self.record(CampaignState("starting", "" if fresh else "resumed"))
        for name, known in state.hosts.items():
            # A host that a user has stopped stays so when the hub is started again.
            again = over or self._changed or known.campaign == "failed"
            if (
                known.campaign in ENDED
                and again
                and (self._changed or known.campaign != "finished")
            ):
                self.record(HostState(name, "connecting"))  # started again
        gone = [h for h in state.hosts.values() if h.name not in self.members]
        for host in (h for h in gone if h.campaign not in ENDED):
            self._warn(
                f"{host.name} is no longer one of the campaign's hosts; its campaign continues: "
                f"fuzztui ctl {host.address}:{host.run} stop ends it"
            )
        self.record(*self.log.repairs, *self._sharing.notes)
        self._clock.save()
        self.flush()

    def _link(self, host: str) -> None:
        self._links[host] = self._tasks.spawn(self._run_member(self.members[host]))

    async def _run_member(self, member: HostMember) -> None:
        try:
            await member.run()
        except Exception as e:  # the other hosts continue
            self._tasks.report_error(e)
            member.failed(f"internal error: {e!r}")

    # ------------------------------------------- the contexts of members and the router

    @property
    def leaving(self) -> bool:
        """Whether the campaign, or the hub, is being ended."""
        return self._left or self._end_reason is not None

    @property
    def ending(self) -> bool:
        """Whether the campaign is being ended on all hosts."""
        return self._end_reason is not None

    @property
    def budget_raised(self) -> bool:
        """Whether hosts may run with a smaller budget of an earlier hub."""
        old, new = (self.state.budget_s, self.state.budget_trials), self._campaign
        pairs = ((old[0], new.budget_s), (old[1], new.budget_trials))
        return self._changed and any(was and (not now or now > was) for was, now in pairs)

    def request(self, host: str, request: Mapping[str, Any]) -> bool:
        """Send a request to the supervisor on a host; False if it is not connected."""
        return self.members[host].request(request)

    def retry(self, host: str) -> str:
        """Connect again to a host that was given up. Returns why not; "" if it is done."""
        link = self._links.get(host)
        if self.leaving or link is None or not link.done():
            return f"{host} cannot be tried again now"
        self.members[host].retry()
        self._link(host)
        return ""

    async def _read(self, host: str, file: str) -> bytes:
        if host not in self.members:
            raise ProtocolError(f"{host} is no longer one of the campaign's hosts")
        return await self.members[host].link.read(file, READ_S)

    async def _add_seed(self, command: AddSeed, progress: Progress) -> str:
        answer = await asyncio.to_thread(add_seed, self._run_dir.out, Path(command.file))
        await self._look()
        return f"{answer.detail}, on all hosts"

    def stopping(self, by: str) -> None:
        """Note that a user stops the campaign on all hosts."""
        self._stop(EndReason("stopped", f"stopped by {by}" if by else "stopped"))
        if not self._linked:
            self._over.set()

    def run_gone(self, why: str) -> None:
        """End, because the run, its log or its lock was deleted or moved: the hosts continue."""
        self._warn(f"{why}; the hub has ended, and the hosts continue")
        self._left = True
        self._over.set()

    def _warn(self, text: str) -> None:
        self.record(Message("warning", text))

    def _full(self, why: str) -> None:
        """Report that the disk is nearly full, or that there is room again."""
        text = f"nothing is taken from hosts: {why}. They continue, and keep all of it. Free space"
        self._show_full(text if why else "")
        if why:
            self._warn(text)
        else:
            self.record(Message("info", "there is room on the disk again: hosts are relayed"))

    # --------------------------------------------------------------- decisions

    def _react(self, event: Event) -> None:
        self._sharing.saw(event)
        self._services.saw(event)

    async def _look(self) -> None:
        self.exchange.pass_on(await asyncio.to_thread(self.exchange.look))

    async def _flush(self) -> None:
        self.flush()

    async def _decide(self) -> None:
        """Draw conclusions for the whole campaign from the states of its hosts."""
        if self._over.is_set():
            return None
        self.room.look()
        state = self.state
        campaigns = {m.place.name: m.campaign_state for m in self.members.values()}
        living = {c for c in campaigns.values() if c not in ENDED}
        if not living:
            return self._end()
        if self._end_reason is not None:
            if time.monotonic() - self._stopping_since > STOP_S:
                missing = [name for name, c in campaigns.items() if c not in ENDED]
                known = (state.hosts.get(name) for name in missing)
                stop = "".join(
                    f"; fuzztui ctl {h.address}:{h.run} stop ends it there"
                    for h in known
                    if h is not None and h.address and h.run
                )
                self._warn(f"not connected, and so perhaps not stopped: {', '.join(missing)}{stop}")
                self._end()
            return None
        if "running" in living and state.state in ("starting", "paused"):
            self.record(CampaignState("running"))
        elif living == {"paused"} and state.state in ("starting", "running"):
            self.record(CampaignState("paused"))
        running = running_time(state, self._clock.now())
        if any(m.is_living and not m.is_heard for m in self.members.values()):
            # A host whose finds are not known here may have news: time without news starts again.
            self._limits = CampaignLimits(self._alone, running)
        reason = self._limits.reached(state, running)
        if reason and self.log.writable:  # else no command can be given; the state stays
            self._stop(reason)
            self.router.submit(CommandRequest(Stop(), "fuzztui"))
        return None

    def _stop(self, reason: EndReason) -> None:
        if self._end_reason is None:
            self._end_reason = reason
            self._stopping_since = time.monotonic()
            self.record(CampaignState("stopping", reason.reason))

    def _end(self) -> None:
        """End, because the campaign has ended on all hosts."""
        if self._end_reason is None:
            ends = [(m.campaign_state, m.end_reason) for m in self.members.values()]
            for name in ("finished", "stopped", "failed"):
                reasons = [why for state, why in ends if state == name]
                if reasons:
                    each = "; ".join(
                        f"{m.place.name}: {m.end_reason}" for m in self.members.values()
                    )
                    reason = each if name == "failed" else next(filter(None, reasons), "")
                    self._end_reason = EndReason(name, reason)
                    break
        self._over.set()

    def _leave(self, name: str) -> None:
        """End the hub alone: its hosts continue, and the next hub catches up."""
        self._left = True
        self.record(Message("info", f"the hub got {name} and ends; the hosts continue without it"))
        self._over.set()

    async def _finish(self) -> None:
        self.router.close()
        if not self._left and self._end_reason is not None:
            self.router.campaign_ended()
            self.record(CampaignEnded(self._end_reason.state, self._end_reason.reason))
        await self.log.close_at_end(self._close_server)

    async def _close_server(self) -> None:
        await asyncio.sleep(FLUSH_S)  # the last answers to clients
        await self._server.close()
