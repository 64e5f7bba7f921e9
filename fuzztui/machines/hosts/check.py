"""``fuzztui hosts check``: whether each host is ready for a campaign, and what to do if not."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from fuzztui.kernel.base.bounds import real, whole
from fuzztui.kernel.base.ssh import users_ssh
from fuzztui.kernel.base.text import ago, several, visible
from fuzztui.kernel.remote.protocol import ProtocolError
from fuzztui.machines.hosts.bundle import open_host, python_of
from fuzztui.machines.hosts.facts import CHECKS
from fuzztui.machines.hosts.link import Hello, HostLink, LinkLost, LinkUser
from fuzztui.machines.hosts.sending import ship
from fuzztui.machines.hosts.shipping import RUNS, shipment
from fuzztui.machines.hosts.ssh import HostError
from fuzztui.run.campaign import FrozenCampaign
from fuzztui.run.campaign.places import HERE, HostPlace
from fuzztui.run.campaign.schema import AFL
from fuzztui.run.inprocess.ask import texts
from fuzztui.tools.doctor.findings import (
    FAILED,
    OK,
    WARNING,
    MachineFinding,
    disk_finding,
    judged,
    kernel_findings,
    size_text,
)

AT_ONCE: Final = 8
"""Hosts that are checked at the same time: a jump host's sshd refuses more at once."""

_CLOCK_S: Final = 5.0
"""Seconds by which clocks may differ without a warning."""

_LEAST_MEMORY: Final = 256 << 20
"""Free memory that one instance needs, roughly: less is a warning."""

_ANSWER_S: Final = 60.0
_TARGET_S: Final = 300.0
"""Seconds for importing the target over there."""


@dataclass(slots=True)
class HostReport:
    """What was found out about one host."""

    place: HostPlace
    findings: list[MachineFinding] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    """The host's own answer, for ``--json``."""

    @property
    def is_ready(self) -> bool:
        """Whether a campaign can run there."""
        return all(finding.state != FAILED for finding in self.findings)

    def add(self, what: str, state: str, text: str, advice: str = "") -> None:
        """Add a line; what comes from the host is escaped."""
        self.findings.append(
            MachineFinding(what, state, visible(text)[:1000], visible(advice)[:1000])
        )

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {
            "host": self.place.name,
            "address": self.place.address,
            "instances": self.place.instances,
            "ready": self.is_ready,
            "findings": [asdict(finding) for finding in self.findings],
            "facts": self.facts,
        }


async def check_hosts(
    places: Iterable[HostPlace],
    loaded: FrozenCampaign | None,
    progress: Callable[[str], None],
) -> list[HostReport]:
    """Check all hosts, several at the same time. ``loaded``: the campaign; None: none is tried."""
    turn = asyncio.Semaphore(AT_ONCE)
    places = list(places)
    done = 0

    async def one(place: HostPlace, index: int) -> HostReport:
        nonlocal done
        async with turn:
            report = HostReport(place)
            try:
                await _check(report, loaded, index, progress)
            except HostError as e:
                report.add(
                    "reached" if not report.findings else "target", FAILED, e.reason, e.advice
                )
            except (LinkLost, ProtocolError, OSError) as e:
                command = f"`{users_ssh()} {place.address} true`"
                again = f"try again; {command} shows whether the host answers"
                report.add("connection", FAILED, str(e), again if place.address else "try again")
            done += 1
            progress(f"{done} of {several(len(places), 'host')} checked")
            return report

    return list(await asyncio.gather(*(one(place, at) for at, place in enumerate(places))))


async def _check(
    report: HostReport,
    loaded: FrozenCampaign | None,
    index: int,
    progress: Callable[[str], None],
) -> None:
    place = report.place
    async with _visit(place, f"{CHECKS}/{place.name}-{time.time_ns():x}") as visitor:
        hello = visitor.hello.result()
        report.add("reached", OK, f"in {visitor.seconds:.1f} s, as {hello.host}")
        report.add("fuzztui", OK, hello.version)
        python = f"{hello.python}, {python_of(place)}" if place.address else hello.python
        report.add("python", OK, python)
        kind = loaded.campaign.kind if loaded is not None else ""
        ask = visitor.link.ask
        before = time.time()
        path = place.path or RUNS  # not the run directory, whose name is only known at the start
        facts = await ask("check", patience=_ANSWER_S, engine=kind, path=path)
        clock = real(facts.get("wall")) - (before + time.time()) / 2
        if error := facts.get("error"):
            raise HostError(f"the host cannot answer: {error}", "see that its /proc is readable")
        report.facts = {k: v for k, v in facts.items() if k not in ("n", "wall")}
        report.facts["clock_s"] = round(clock, 2)
        report.findings += machine_findings(place, clock, facts, kind)
        if loaded is None:
            return
        try:
            if place.address and kind == AFL and not texts(facts.get("afl")).get("path"):
                return  # reported already; nothing could be started
            await _target(report, visitor, loaded, index, progress)
        finally:
            with contextlib.suppress(LinkLost):
                await ask("check", patience=5.0, remove=True)


async def _target(
    report: HostReport,
    visitor: _Visitor,
    loaded: FrozenCampaign,
    index: int,
    progress: Callable[[str], None],
) -> None:
    """Ship the campaign's files to a place of their own, and try the target there."""
    place = report.place
    campaign = loaded.campaign
    built = campaign.target.get("build") and not campaign.table("mutants")
    if built and not campaign.build_directory.is_dir():
        start = "start the campaign, which builds the target"
        report.add("target", WARNING, f"not tried: there is no {campaign.build_directory}", start)
        return
    cargo = await asyncio.to_thread(shipment, loaded, place, index)
    ask = visitor.link.ask
    await ship(cargo, ask, lambda text: progress(f"{place.name}: {text}"))
    report.add("files", OK, "; ".join(cargo.described()) or "none are needed")
    answer = await ask("check", patience=_TARGET_S, campaign=cargo.campaign_text)
    if error := answer.get("error"):
        raise HostError(f"the target cannot be tried: {error}", "correct that on the host")
    target = texts(answer.get("target"))
    if problem := target.get("problem"):
        where = f"{loaded.origin(target['key'])}: " if target.get("key") else ""
        advice = target.get("advice") or "make the target start there, as it does here"
        report.add("target", FAILED, f"{where}{problem}", advice)
    else:
        report.add("target", OK, "starts" if campaign.kind == AFL else "can be imported")


# ------------------------------------------------------------------------ the machine


def machine_findings(
    place: HostPlace, clock_s: float, facts: Mapping[str, Any], kind: str
) -> Iterator[MachineFinding]:
    """Yield what a host's facts about itself mean."""
    text = texts(facts)
    cores, load = whole(facts.get("cores")), real(facts.get("load"))
    yield judged(
        "cores",
        f"{cores}, load {load:.1f}, for {several(place.instances, 'instance')}",
        "" if place.instances <= cores else f"give it at most {cores} instances: each uses a core",
    )
    free, total = whole(facts.get("memory_free")), whole(facts.get("memory"))
    yield judged(
        "memory",
        f"{size_text(free)} free of {size_text(total)}",
        ""
        if free >= _LEAST_MEMORY * place.instances
        else "give it fewer instances, or end what uses the memory there",
    )
    yield disk_finding(
        facts,
        "free space there, or set another path for this host",
        f'set another path: [hosts] "{place.address or HERE}" = {{ path = "/data/fuzz" }}',
    )
    yield judged(
        "clock",
        _clock_text(clock_s),
        ""
        if abs(clock_s) <= _CLOCK_S
        else "set the clock there (NTP): times of its findings are off",
    )
    if kind == AFL:
        yield from _afl(facts, text)


def _clock_text(seconds: float) -> str:
    if abs(seconds) <= _CLOCK_S:
        return f"{round(seconds, 1) + 0.0:+.1f} s"
    return f"{ago(abs(seconds))} {'ahead' if seconds > 0 else 'behind'}"


def _afl(facts: Mapping[str, Any], text: Mapping[str, str]) -> Iterator[MachineFinding]:
    afl = texts(facts.get("afl"))
    if not afl.get("path"):
        yield MachineFinding(
            "afl++",
            FAILED,
            "afl-fuzz is not on PATH there",
            "install AFL++ (Debian: apt install afl++)",
        )
        return
    yield MachineFinding("afl++", OK, visible(f"{afl.get('version') or 'unknown'}, {afl['path']}"))
    yield from kernel_findings(text.get("core_pattern", ""), text.get("governor", ""))


# ---------------------------------------------------------------------------- the visit


class _Visitor(LinkUser):
    """A short connection to a host, over which nothing is followed and no command sent."""

    def __init__(self, place: HostPlace, run: str) -> None:
        self._since = time.monotonic()
        self.hello: asyncio.Future[Hello] = asyncio.get_running_loop().create_future()
        """Has the first message of the server."""
        self.link = HostLink(lambda: open_host(place, [run]), self, patient=False)
        self.seconds = 0.0

    async def connected(self, hello: Hello) -> int | None:
        """Set ``hello`` and the time that connecting took; do not follow the log."""
        if not self.hello.done():
            self.seconds = time.monotonic() - self._since
            self.hello.set_result(hello)
        return None


@contextlib.asynccontextmanager
async def _visit(place: HostPlace, run: str) -> AsyncIterator[_Visitor]:
    """Connect to a host for the body. Raises what :meth:`HostLink.run` raises."""
    visitor = _Visitor(place, run)
    connection = asyncio.ensure_future(visitor.link.run())
    ends: set[asyncio.Future[Any]] = {connection, visitor.hello}
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if connection.done():
            connection.result()  # raises why there is none
        yield visitor
    finally:
        connection.cancel()
        await asyncio.gather(connection, return_exceptions=True)
