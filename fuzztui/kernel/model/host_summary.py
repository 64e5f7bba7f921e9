"""The hosts of a campaign with the sums over their instances, for screens, ``status`` and reports.

A host runs an ordinary run that needs no connection: while the connection is lost, its numbers are
the last ones that were relayed, and its executions per second and its use of processors are
unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from fuzztui.kernel.model.finding_tallies import FindingTally
from fuzztui.kernel.model.passive import is_passive
from fuzztui.kernel.model.selectors import ENDED, fuzzing_time, instance_throughput, known_rate
from fuzztui.kernel.model.state import CommandStatus, Host, Instance, State

LOST: Final = "lost"
"""State of a host whose connection was cut; the hub tries to connect again."""

CONNECTED: Final = "connected"

TROUBLE: Final = (LOST, "failed")
"""States of a connection without which the numbers of a host are old."""


CLOCK_S: Final = 2.0
"""Seconds by which the clock of a host must differ until the difference is reported."""

NO_HUB: Final = "no hub runs; the host continues without it"
"""Why no host is connected after the hub has ended."""


@dataclass(frozen=True, slots=True)
class HostSummary:
    """One host: its row of the state, and sums over its instances.

    Instances that fuzz mutants count for executions, ``cpu`` and ``rss`` only.
    """

    host: Host
    place: int = 0
    """The position of the host in the campaign, from 0."""
    instances: int = 0
    running: int = 0
    """Number of instances that run, as last reported."""
    execs: int = 0
    execs_per_sec: float = -1.0
    """Of all instances; -1: unknown, for example because the host is not connected."""
    corpus: int = 0
    edges: int = -1
    """The most edges of any instance; -1: not reported."""
    groups: Mapping[str, int] = field(default_factory=dict)
    """By category: number of groups of findings of which the host has a file."""
    cpu: float = -1.0
    """Cores in use; -1: unknown."""
    rss: int = 0
    stats_t: float = -1.0
    """Campaign time of the oldest statistics of an instance that runs or stalls; -1: none."""
    last_find_t: float = -1.0

    @property
    def name(self) -> str:
        """The name of the host."""
        return self.host.name

    @property
    def connected(self) -> bool:
        """Whether the host's log is relayed now."""
        return self.host.state == CONNECTED

    @property
    def in_trouble(self) -> bool:
        """Whether the connection is lost or was given up."""
        return self.host.state in TROUBLE

    @property
    def was_reached(self) -> bool:
        """Whether the host was ever connected, in this run."""
        return bool(self.host.run)

    @property
    def where(self) -> str:
        """Address and run directory, as a user needs them to attach by hand; may be empty."""
        there = self.host
        return f"{there.address}:{there.run}" if there.address and there.run else there.run


def is_reached(state: State, instance: Instance) -> bool:
    """Whether an instance runs on this machine, or on a host whose connection is not lost."""
    there = state.hosts.get(instance.host)
    return there is None or there.state not in TROUBLE


def host_summaries(state: State, found: Mapping[str, FindingTally]) -> dict[str, HostSummary]:
    """Return the hosts by name.

    ``found``: the result of :func:`~fuzztui.kernel.model.finding_tallies.tallies` for ``state``.
    """
    by_host: dict[str, list[Instance]] = {name: [] for name in list(state.hosts)}
    for i in list(state.instances.values()):
        if i.host in by_host:
            by_host[i.host].append(i)
    return {
        name: _summary(state, state.hosts[name], place, those, found)
        for place, (name, those) in enumerate(by_host.items())
    }


def _summary(
    state: State,
    there: Host,
    place: int,
    every: list[Instance],
    found: Mapping[str, FindingTally],
) -> HostSummary:
    own = [i for i in every if not (i.mutant or is_passive(i))]
    renewed = [i.stats_t for i in own if i.state in ("running", "stalled") and i.stats_t >= 0]
    known = there.state in (CONNECTED, "ended")
    return HostSummary(
        replace(there),  # a copy, which can be compared with a later one
        place,
        instances=len(own),
        running=sum(i.state == "running" for i in own),
        execs=sum(i.stats.execs for i in every),
        execs_per_sec=_rate(state, every) if known or state.state in ENDED else -1.0,
        corpus=sum(i.corpus for i in own),
        edges=max((i.stats.edges for i in own if not i.binary), default=-1),
        groups={name: n for name, of in found.items() if (n := of.groups_on.get(there.name, 0))},
        cpu=round(sum(i.cpu for i in every), 3) if known else -1.0,
        rss=sum(i.rss for i in every),
        stats_t=min(renewed, default=-1.0),
        last_find_t=max((i.last_find_t for i in own), default=-1.0),
    )


def _rate(state: State, instances: list[Instance]) -> float:
    """Executions per second now, or on average once the campaign has ended; -1: unknown."""
    if not instances:
        return -1.0
    over, seconds = state.state in ENDED, fuzzing_time(state)
    rates = (instance_throughput(i, seconds, over=over, lost=state.lost) for i in instances)
    return known_rate(list(rates))


def waiting_commands(state: State) -> list[CommandStatus]:
    """Return the pending commands that wait for a host that is not connected."""
    away = {h.name for h in list(state.hosts.values()) if h.state not in (CONNECTED, "ended")}
    if not away:
        return []
    found = []
    for command in list(state.commands.values()):
        if command.state != "pending" or not command.text:
            continue
        instance = state.instances.get(str(command.command.get("instance", "")))
        if instance is None or instance.host in away:
            found.append(command)
    return found


def hosts_list(state: State, found: Mapping[str, FindingTally]) -> list[dict[str, Any]]:
    """Return the hosts as ``fuzztui status --json`` has them; ``None``: unknown."""
    return [_host_dict(of, state.t) for of in host_summaries(state, found).values()]


def _host_dict(of: HostSummary, now: float) -> dict[str, Any]:
    there = of.host
    # An alert on false must not fire for a host that has nothing left to do.
    over = there.state == "ended"
    return {
        "name": there.name,
        "state": there.state,
        "reason": there.reason,
        "connected": None if over else of.connected,
        "since_s": there.changed_t,
        "for_s": round(max(0.0, now - there.changed_t), 3),
        "address": there.address,
        "run": there.run or None,
        "clock_s": there.clock_s,
        "machine": there.machine or None,
        "cores": there.cores or None,
        "campaign": there.campaign or None,
        "campaign_reason": there.campaign_reason,
        "phase": there.stage or None,
        "instances": of.instances,
        "running": of.running,
        "execs": of.execs,
        "execs_per_sec": of.execs_per_sec if of.execs_per_sec >= 0 else None,
        "corpus": of.corpus,
        "edges": of.edges if of.edges >= 0 else None,
        "groups": dict(of.groups),
        "cpu": of.cpu if of.cpu >= 0 else None,
        "rss": of.rss if of.connected else None,
        "age_s": round(max(0.0, now - of.stats_t), 3) if of.stats_t >= 0 else None,
        "log_seq": there.seq,
    }
