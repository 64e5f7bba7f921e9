"""A campaign on several hosts, as the log of its hub would tell of it."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from folding import state_of

from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.events import Event, Record

WALL = 1_800_000_000.0
CAPABILITIES = ["pause", "resume", "stop", "skip", "promote", "reset"]
CUT = "the connection was lost: no answer for 10 s"


class HubLog:
    """Records in memory, stamped as a hub would: its own, and those of hosts."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.t = 0.0
        self._seqs: dict[str, int] = {}

    def add(self, *events: Event, dt: float = 0.0, host: str = "") -> HubLog:
        """Append events of the hub, or of a host, after ``dt`` seconds."""
        self.t += dt
        for event in events:
            seq = len(self.records) + 1
            if not host:
                self.records.append(Record(seq, self.t, event))
                continue
            there = self._seqs[host] = self._seqs.get(host, 0) + 1
            self.records.append(Record(seq, self.t, event, host, there, max(0.0, self.t - 1.0)))
        return self

    @property
    def state(self) -> State:
        """What the records fold to; a new one each time."""
        return state_of(self.records)


def write_run(run: Path, log: HubLog, *, now: bool = False) -> None:
    """Write a run directory with ``log``; ``now``: as if its last record were from this second."""
    for name in ("supervisor", "log", "out"):
        (run / name).mkdir(parents=True)
    (run / "campaign.toml").write_text("")
    writer = LogWriter(run / "log")
    for r in log.records:
        event = r.event
        if now and isinstance(event, ev.CampaignStarted | ev.SupervisorStarted):
            event = replace(event, wall=time.time() - log.t + r.t)
        there = Record(r.host_seq, r.host_t, event, r.host) if r.host else None
        writer.append(event, r.t, there)
    writer.flush()


def instances_on(host: str, each: int) -> list[str]:
    """The names of a host's instances."""
    return [f"{host}_main", *(f"{host}_s{n}" for n in range(1, each))]


def connected(log: HubLog, host: str, n: int = 1) -> None:
    """A host that is reached, prepared and started."""
    where = f"ann@box{n}"
    log.add(
        ev.HostState(host, "connecting", address=where),
        ev.HostState(
            host, "connected", "", where, f"/runs/ann/run{n}", 3_600_000 if n == 2 else 30, f"b{n}"
        ),
        ev.HostState(host, "preparing", "sending the campaign", where),
        ev.HostState(host, "preparing", "sending the campaign 40%", where),
        ev.HostState(host, "preparing", "starting the campaign", where),
        ev.HostState(host, "connected", "", where),
        dt=0.1,
    )


def hosted(
    hosts: int = 3,
    each: int = 2,
    *,
    seconds: int = 600,
    lost: Sequence[str] = ("h2",),
    lost_s: float = 42.0,
    engine: str = "zest",
) -> HubLog:
    """A campaign some way in; the connections to ``lost`` were cut ``lost_s`` seconds ago."""
    rng = random.Random(5)
    log = HubLog()
    names = {f"h{n}": instances_on(f"h{n}", each) for n in range(1, hosts + 1)}
    log.add(
        ev.CampaignStarted(
            "toml", engine, "targets.toml_target:fuzz", 7, 1800.0, 0,
            [i for ids in names.values() for i in ids], WALL, "0.1",
        ),
        ev.SupervisorStarted(4711, WALL, "desk"),
        ev.CampaignState("starting"),
    )  # fmt: skip
    for n, host in enumerate(names, 1):
        connected(log, host, n)
        start(log, host, names[host], cores=8)
    log.add(ev.CampaignState("running"))
    times = sorted({*range(0, seconds, 60), seconds - int(lost_s), seconds})[1:]
    for second in times:
        log.t = float(second)
        if second == seconds - int(lost_s):
            log.add(*(ev.HostState(h, "lost", CUT, "ann@box2") for h in lost))
        for n, (host, ids) in enumerate(names.items(), 1):
            if host in lost and second >= seconds - int(lost_s):
                continue
            for k, name in enumerate(ids):
                figures(log, name, 10 * n + k, second, rng)
    file = "crashes/id:000000,sig:00,time:9"
    for host in [name for name in names if name not in lost][:2]:
        found = f"{host}_main", "crash", file
        log.add(
            ev.FindingSaved(*found, 0, [1], "havoc", 0, 9000, 700, 31),
            ev.FindingDescribed(
                *found, "sig-1", "KeyError: 'a.b'", "_parser.py:212 in parse_value", "..."
            ),
            host=host,
        )
    return log


def start(log: HubLog, host: str, ids: Sequence[str], cores: int = 8) -> None:
    """What the log of a host begins with."""
    log.add(
        ev.CampaignStarted("toml", "zest", "targets.toml_target:fuzz", 7, 1800.0, 0, [*ids], WALL),
        ev.SupervisorStarted(59, WALL, host=f"{host}.lan", cores=cores),
        ev.CampaignState("starting"),
        host=host,
    )
    for name in ids:
        log.add(
            ev.InstanceState(name, "running", 5000),
            ev.InstanceHello(name, "zest", "0.1", "3.11.2", 5000, CAPABILITIES),
            ev.EntrySaved(name, 0, "queue/id:000000,time:0", [], "orig:a", "", 0, 1, 9, True),
            host=host,
        )
    log.add(ev.CampaignState("running"), host=host)


def figures(log: HubLog, name: str, n: int, second: int, rng: random.Random) -> None:
    """The statistics of an instance, and an entry."""
    edges = int(1100 * (1 - 2.0 ** (-second / 120))) - n
    entry = second // 60 + 1
    log.add(
        ev.EntrySaved(
            name, entry, f"queue/id:{entry:06d}", [0], "havoc", "", second * 1000, second * 2300,
            64, True,
        ),
        ev.Stats(
            name, second * (2300 + n), 2300 + n + rng.uniform(-30, 30), 40 + n, 10, 20, 0, 0,
            max(0, edges), 4096, age=0.2,
        ),
        ev.Resources(name, 0.97, 48 << 20, 2),
        host=name.partition("_")[0],
    )  # fmt: skip
