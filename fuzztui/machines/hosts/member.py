"""One host of a campaign, as the hub sees it: its link, its position in the host's log, its end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from fuzztui.kernel.base.bounds import real, whole
from fuzztui.kernel.log.files import LogError
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.model.passive import HUB, OURS
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.model.state import Host
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.events import Event, Record
from fuzztui.machines.hosts.bundle import HostProcess, open_host
from fuzztui.machines.hosts.exchange import HostExchange
from fuzztui.machines.hosts.link import Batch, Hello, HostLink, LinkLost, LinkUser, Turns
from fuzztui.machines.hosts.paths import PathsHere
from fuzztui.machines.hosts.protocol import NAME, PING_S
from fuzztui.machines.hosts.room import HubRoom
from fuzztui.machines.hosts.routing import HostRouter
from fuzztui.machines.hosts.sending import ship
from fuzztui.machines.hosts.shipping import Shipment, host_run, shipment
from fuzztui.machines.hosts.ssh import HostError
from fuzztui.machines.hosts.storing import FULL_S, HostInputs
from fuzztui.run.campaign import FrozenCampaign
from fuzztui.run.campaign.places import HostPlace
from fuzztui.run.campaign.rundir import RunDir, is_inside
from fuzztui.run.supervise.campaign_log import CampaignLog

START_S: Final = 600.0
"""Seconds for the start of a campaign on a host, which may need the target's first import."""

DEAD_PONGS: Final = 2
"""Pings in a row that a host answers without a supervisor, after which the hub starts one again: at
the first of them a supervisor may just be starting."""

EXCHANGE_S: Final = 30.0
"""Seconds until entries are sent again to a host that could not store them (its disk is full)."""

AGAIN_S: Final = 300.0
"""Seconds between two attempts to start the campaign on a host again where it has run before."""

ATTEMPTS: Final = 12
"""Failed attempts to start the campaign again, after which the host is given up."""

_ROW: Final = 150
"""Bytes of a record about a connection, without its texts, that count for the host's limit."""

COMPARED: Final = 10_000
"""Latest relayed records of a host that are compared with its log after a reboot."""


class MemberContext(Protocol):
    """The part of the hub that a host uses."""

    exchange: HostExchange
    log: CampaignLog
    paths: PathsHere
    room: HubRoom
    router: HostRouter
    turns: Turns
    hosts: Sequence[str]
    """The names of all hosts."""
    gathered_s: float
    """Seconds for which hosts hold statistics back (:func:`gathered_s`); 0: not at all."""

    @property
    def log_name(self) -> str:
        """A name for the log of this hub, the same after a restart."""

    @property
    def leaving(self) -> bool:
        """Whether the campaign, or the hub, is being ended."""

    @property
    def ending(self) -> bool:
        """Whether the campaign is being ended on all hosts."""

    @property
    def budget_raised(self) -> bool:
        """Whether hosts may run with a smaller budget of an earlier hub."""


ALL_STATISTICS: Final = 40
"""Instances of a campaign up to which hosts send each statistics event at once."""


def gathered_s(instances: int) -> float:
    """Return the seconds for which hosts hold statistics back, so that the hub can keep up.

    0 if the campaign has few ``instances``: hosts then send all statistics at once.
    """
    return 0.0 if instances <= ALL_STATISTICS else min(10.0, instances / ALL_STATISTICS)


def host_instances(place: HostPlace) -> list[str]:
    """Return the names of the instances on a host, its main first."""
    return [f"{place.name}_main", *(f"{place.name}_s{i}" for i in range(1, place.instances))]


class HostMember(LinkUser):
    """A host. Its run is prepared and started when it is connected; its log is relayed."""

    def __init__(
        self,
        context: MemberContext,
        loaded: FrozenCampaign,
        run_dir: RunDir,
        place: HostPlace,
        index: int,
    ) -> None:
        self.place = place
        self._name = place.name
        self._context = context
        self._loaded = loaded
        self._run_dir = run_dir
        self._index = index
        self._main = host_instances(place)[0]
        self._failure = ""
        self._never_began = False
        """Whether the campaign was stopped before it began on this host."""
        self._over = asyncio.Event()
        """Set when the campaign over there has ended, or the host was given up."""
        self._inputs = HostInputs(
            run_dir,
            place.name,
            self._main,
            context.log.record,
            context.room,
            elsewhere=context.exchange.elsewhere,
        )
        self._known_upto = -1
        """The record up to which the log over there must be read before it is known whether the
        campaign has ended or its supervisor has died; -1: it is known."""
        self._log_upto = 0
        """The last record of the log over there at the time of connecting."""
        self._read_upto = 0
        """The last record of the log over there that has arrived."""
        self._dead_pongs = 0
        self._is_raised = context.budget_raised
        """Whether the budget was raised: a campaign over there that used up the former one is then
        started again."""
        self._starting = False
        self._attempts = 0
        """Failed attempts to start the campaign since it last ran."""
        self._steerable = False
        """Whether a supervisor runs over there, as far as is known, and the link to it is up."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._sending: asyncio.Task[None] | None = None
        others = (f"{name}_" for name in context.hosts if name != self._name)
        self._outside = (HUB, *others)
        wanted = {"queues": [self._main], "outside": [*self._outside], "crashes": True}
        wanted |= {"gathered": context.gathered_s} if context.gathered_s else {}
        self.link = HostLink(self._open, self, wanted=wanted)

    @property
    def campaign_state(self) -> str:
        """The state of the campaign over there; empty: not known yet."""
        if self._failure or self._never_began:
            return "failed" if self._failure else "stopped"
        return self._known.campaign

    @property
    def is_living(self) -> bool:
        """Whether the campaign over there has not ended, as far as is known."""
        return self.campaign_state not in ENDED

    @property
    def is_heard(self) -> bool:
        """Whether the host is connected and the log that it had when connecting is relayed."""
        return self.link.connected and self._read_upto >= self._log_upto

    @property
    def end_reason(self) -> str:
        """Why the campaign over there has ended."""
        if self._never_began:
            return "stopped before it began"
        return self._failure or self._known.campaign_reason

    @property
    def _known(self) -> Host:
        return self._context.log.state.hosts.get(self._name) or Host(self._name)

    async def run(self) -> None:
        """Relay the log until the campaign over there has ended."""
        link = asyncio.ensure_future(self.link.run())
        over = asyncio.ensure_future(self._over.wait())
        try:
            if self.campaign_state not in ENDED:
                await asyncio.wait({link, over}, return_when=asyncio.FIRST_COMPLETED)
            if link.done():
                link.result()  # raises what ended it
        finally:
            self._steerable = False
            tasks = [link, over, *self._tasks, *([self._sending] if self._sending else [])]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self._context.router.host_ended(self._name)
        if not self._failure:
            self._record("ended", self.end_reason)

    def failed(self, reason: str) -> None:
        """Give the host up."""
        self._failure = reason
        self._record("failed", reason)
        self._over.set()

    def retry(self) -> None:
        """Forget that the host was given up, so that :meth:`run` connects to it again."""
        self._failure, self._attempts = "", 0
        self._over.clear()
        self._record("connecting", "")

    def request(self, request: Mapping[str, Any]) -> bool:
        """Send a request to the supervisor over there; False if it cannot be reached now."""
        if self._steerable:
            self._spawn(self.link.send("request", request))
        return self._steerable

    # ------------------------------------------------------------ what the link calls

    async def connected(self, hello: Hello) -> int | None:
        """Begin to relay; send and start the campaign if it is neither running nor ended."""
        if (hello.last or hello.hub) and hello.hub != self._context.log_name:
            whose = "another hub" if hello.hub else "no hub"
            self.failed(
                f"{hello.run} over there is a run of {whose}: remove that directory, or give the "
                "host another path in [hosts]"
            )
            return None
        if self._is_excessive():
            return None
        after = await self._position(hello)
        self._record("connected", "", hello)
        self._known_upto, self._dead_pongs = -1, 0
        self._read_upto, self._log_upto = after, hello.last
        if hello.running is None:
            if hello.last > after:
                self._known_upto = hello.last
            else:
                await self._start()
        else:
            self._supervised()
        if self._sending is not None:
            self._sending.cancel()
        self._sending = asyncio.ensure_future(self._exchange())
        return after

    async def arrived(self, batch: Batch) -> None:
        """Store files, then log the records that name them."""
        await self._until_there_is_room()
        stored = await self._inputs.store(batch.files)
        self._context.room.add_lines(self._name, batch.size)
        if self._is_excessive():
            return
        await self._until_there_is_room()
        for record in batch.records:
            self._take(record)
        events = (r.event for r in batch.records)
        named = {f"{e.instance}/{e.file}" for e in events if isinstance(e, ev.EntrySaved)}
        for path, data in stored.items():
            instance, _, name = path.partition("/queue/")
            if instance == self._main and path in named:
                self._context.exchange.found(self._main, name, data)
        if self._is_raised and self.campaign_state == "finished":
            self._is_raised = False
            self._record("connecting", "the budget was raised")
            self._spawn(self._start())
        elif self.campaign_state in ENDED:
            self._over.set()
        if batch.records:
            self._read_upto = batch.records[-1].seq
        if 0 <= self._known_upto <= self._read_upto:
            self._known_upto = -1
            self._spawn(self._start())

    def replied(self, reply: dict[str, Any]) -> None:
        """Pass an answer on to the router."""
        self._context.router.replied(self._name, reply)

    def pong(self, running: int | None, trouble: str, last: int) -> None:
        """Start a supervisor again that has died; report one that cannot write its log."""
        if self._is_excessive():
            return
        self._dead_pongs = 0 if running else self._dead_pongs + 1
        if running:
            self._record("connected", trouble)
        elif self._dead_pongs >= DEAD_PONGS and self._known_upto < 0:
            if last > self._read_upto:  # it may have ended: what it wrote last is under way
                self._known_upto = last
            else:
                self._spawn(self._start())

    def changed(self, state: str, reason: str) -> None:
        """Log a new state of the connection."""
        self._steerable = False
        if self._failure:
            return
        if state == "connecting" and self._known.state == "lost":
            return  # else each attempt to connect would be logged
        self._record(state, reason)

    # ---------------------------------------------------------------------- parts

    async def _until_there_is_room(self) -> None:
        """Wait until the hub can store records again; meanwhile they stay in the host's log."""
        while self._context.room.full or not self._context.log.writable:
            await asyncio.sleep(FULL_S)

    def _is_excessive(self) -> bool:
        """Give the host up if it has sent too much. Returns whether nothing is taken from it."""
        if not self._failure and (reason := self._context.room.excess(self._name)):
            self.failed(reason)
        return bool(self._failure)

    async def _open(self) -> HostProcess:
        run = host_run(self._loaded.campaign, self.place, self._context.log_name)
        try:
            async with self._context.turns.turn():
                return await open_host(self.place, [run])
        except HostError as e:
            if e.lasting and not self._known.boot:  # never reached: waiting will not help
                self.failed(str(e))
            raise

    def _shipment(self) -> Shipment:
        hub = self._context.log_name
        return shipment(self._loaded, self.place, self._index, self._run_dir.path, hub)

    async def _position(self, hello: Hello) -> int:
        """Return the record of the host's log after which relaying continues.

        After a power cut the end of its log, which was relayed, may be lost, and other records may
        have taken its place.
        """
        known = self._known
        if not known.seq or (hello.last >= known.seq and hello.boot == known.boot):
            return known.seq
        last = (await self._stamps(known.seq)).get(known.seq) if hello.last else None
        if last is not None and abs(last - known.t) < 1e-3:
            return known.seq  # nothing was lost, as usual
        relayed = await asyncio.to_thread(self._relayed)
        there = await self._stamps(min(relayed, default=known.seq)) if hello.last else {}
        common = [seq for seq, t in relayed.items() if abs(there.get(seq, -1.0) - t) < 1e-3]
        after = max(common, default=0)
        if after < known.seq:
            lost = f"the end of the log over there was lost: it continues after record {after}"
            rewound = ev.HostState(self._name, "connected", lost, rewound=after)
            self._context.log.record(rewound, ev.Message("warning", f"{self._name}: {lost}"))
        return after

    async def _stamps(self, first: int) -> dict[int, float]:
        """Number and time of the records of the log over there, from number ``first`` on."""
        answer = await self.link.ask("stamps", after=max(0, first - 1))
        if error := answer.get("error"):  # no reason to take the records for lost
            raise LinkLost(str(error)[:500])
        rows = answer.get("stamps")
        good = (r for r in rows if isinstance(r, list) and len(r) == 2) if rows else ()
        return {whole(number): real(t) for number, t in good}

    def _relayed(self) -> dict[int, float]:
        """Number and time of the latest records of this host in the hub's log. Blocking.

        Read backwards: while the host was lost, others may have sent millions of records.
        """
        found: dict[int, float] = {}
        with contextlib.suppress(LogError, OSError):
            reader = LogReader(self._run_dir.path)
            before = reader.last_seq + 1
            while before > 1 and len(found) < COMPARED:
                after = max(0, before - 1 - COMPARED)
                part = reader.records(after, before - 1 - after)
                mine = {r.host_seq: r.host_t for r in part if r.host == self._name}
                # A record after a rewind replaces the lost one of the same number.
                found = mine | found
                before = after + 1
        return found

    async def _start(self) -> None:
        """Send what the campaign needs, and start its supervisor, unless it has ended."""
        if self._starting or self.campaign_state in ENDED or self._gives_way():
            return
        self._starting = True
        try:
            self._record("preparing", "sending the campaign")
            async with self._context.turns.turn():
                cargo = await asyncio.to_thread(self._shipment)
                await ship(cargo, self.link.ask, lambda text: self._record("preparing", text))
            if self._gives_way():
                return
            self._record("preparing", "starting the campaign")
            answer = await self.link.ask(
                "start",
                patience=START_S,
                campaign=cargo.campaign_text,
                hub=self._context.log_name,
            )
            if error := answer.get("error"):
                self._not_started(str(error)[:1000])
            else:
                self._dead_pongs = self._attempts = 0
                self._is_raised = False
                self._record("connected", "")
                self._supervised()
        except HostError as e:
            self._not_started(str(e))
        finally:
            self._starting = False

    def _gives_way(self) -> bool:
        """Whether nothing is to be started, because the campaign, or the hub, is being ended."""
        if self._context.ending and not self._known.campaign:  # no supervisor could take a "stop"
            self._never_began = True
            self._over.set()
        return self._context.leaving

    def _not_started(self, reason: str) -> None:
        """Give the host up; if the campaign has run there, first try again ``ATTEMPTS`` times.

        What prevents a start may pass, for example a full disk.
        """
        self._attempts += 1
        if not self._known.campaign or self._attempts > ATTEMPTS:
            self.failed(reason)
            return
        self._dead_pongs = DEAD_PONGS - int(AGAIN_S / PING_S)
        self._record("connected", f"cannot be started again now: {reason}")

    def _supervised(self) -> None:
        self._steerable = True
        self._context.router.connected(self._name)

    async def _exchange(self) -> None:
        while True:  # cancelled, and begun again, when the host is connected again
            with contextlib.suppress(LinkLost):
                await self._context.exchange.serve(self._main, self.link)
            await asyncio.sleep(EXCHANGE_S)

    def _spawn(self, job: Coroutine[Any, Any, None]) -> None:
        async def run() -> None:
            with contextlib.suppress(LinkLost):  # done again when it is connected again
                await job

        task = asyncio.ensure_future(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _take(self, record: Record) -> None:
        if record.seq <= self._known.seq:
            return  # it was taken already
        if problem := self._problem(record.event):
            self._inputs.refuse(f"record {record.seq}: {problem}")
            return
        translated = self._context.router.translate(self._name, record.event)
        event: Any = (
            None if translated is None else self._context.paths.event(translated, self._name)
        )
        if isinstance(event, ev.PassiveInstance) and self._is_sent(event.instance):
            return  # it contains what the hub has sent
        if instance := getattr(event, "instance", ""):
            if (
                instance in OURS
                and self._inputs.named(instance) not in self._context.log.state.instances
            ):
                passive = ev.PassiveInstance(
                    self._inputs.named(instance), f"{instance} on {self._name}"
                )
                self._context.log.record(passive)
            event = replace(event, instance=self._inputs.named(instance))
        if isinstance(event, ev.InstanceHello):
            event = replace(event, directory="")  # not one of this machine
        sync = getattr(event, "sync", "")
        if sync and not self._is_sent(sync):
            event = replace(event, sync=self._inputs.named(sync))
        if event is not None:
            self._context.log.log_from_host(Record(record.seq, record.t, event, self._name), event)

    def _problem(self, event: Event) -> str:
        """Why an event cannot be one of a host's log; an empty string if it can."""
        if isinstance(event, ev.HostState):
            return "a host knows nothing of hosts"
        instance = getattr(event, "instance", "")
        if instance and not NAME.fullmatch(self._inputs.named(instance)):
            return "no name of an instance"
        match event:
            case ev.EntrySaved() | ev.FindingSaved() | ev.FindingDescribed() | ev.ExampleSaved():
                file = event.file
            case ev.InputShown(row=str(file)):
                pass
            case _:
                return ""
        good = not file or (is_inside(file) and file.count("/") <= 1)
        return "" if good else "no file of an instance"

    def _is_sent(self, instance: str) -> bool:
        """Whether an instance over there is another host's, or the hub's."""
        return instance.startswith(self._outside)

    def _record(self, state: str, reason: str, hello: Hello | None = None) -> None:
        known = self._known
        if hello is None and (known.state, known.reason) == (state, reason):
            return
        event = ev.HostState(self._name, state, reason, self.place.address)
        if hello is not None:
            clock_ms = round(hello.clock_s * 1000)
            event = replace(event, run=hello.run, clock_ms=clock_ms, boot=hello.boot)
        self._context.room.add_lines(self._name, _ROW + len(event.reason) + len(event.run))
        self._context.log.record(event)
