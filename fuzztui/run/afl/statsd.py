"""Statistics of a supervised afl-fuzz, a second old; those in its files are up to a minute old.

afl-fuzz sends its gauges by StatsD (UDP) about once a second. The packets of 4.04c do not name
their instance, so each instance has its own port on the loopback interface. Values that StatsD
lacks (stability, the size of the map) come from ``fuzzer_stats``, with their own age. Any local
process can send packets: they are untrusted and used as numbers only.

An afl-fuzz that outlives its supervisor continues to send to its port. If another program has taken
the port meanwhile, only the files are used until the program or afl-fuzz has ended.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import time
from collections import deque
from dataclasses import replace
from pathlib import Path

from fuzztui.kernel.base import bounds
from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.files import read_json
from fuzztui.kernel.model.state import Instance
from fuzztui.kernel.wire.events import Message, Stats
from fuzztui.run.afl.printed_warnings import PrintedWarnings
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.observe.fuzzer_stats import own_rate, to_stats, whole
from fuzztui.run.observe.pace import FILES_S, UNKNOWN, Pace
from fuzztui.run.observe.stats_reader import StatsFile, StatsSource, unchanged
from fuzztui.run.process.identity import ProcessId

MAX_PACKET = 4096
PACKETS_AT_ONCE = 64
EVERY_S = 0.9
AGAIN_S = 5.0
"""Seconds after which a port that another process uses is tried again."""

FASTEST = 10_000_000
"""Executions per second that no afl-fuzz reaches."""

MOST = 2**53
WINDOW_S = 5.0
"""Seconds over which the rate is computed."""

_GAUGE = re.compile(rb"fuzzing\.([a-z_]{1,40}):([0-9]{1,20}(?:\.[0-9]{1,20})?)\|g(?:\|#.*)?")

_NAMES = {"cycle_done": "cycles_done"}
"""Gauges with another name in ``fuzzer_stats``."""

_LIVE = (
    "execs", "corpus", "favored", "pending", "crashes", "hangs", "edges", "cycles", "cur_item",
    "max_depth", "pending_favored", "idle_cycles",
)  # fmt: skip
"""The fields of Stats for which gauges are newer than the file."""

_NEVER_LESS = ("edges", "max_depth")
"""Fields that never decrease as long as the program is the same."""


def parse_gauges(packet: bytes) -> dict[str, str]:
    """Return the gauges of one packet by their names in ``fuzzer_stats``; skips other lines."""
    found = (_GAUGE.fullmatch(line) for line in packet.splitlines())
    gauges = {match[1].decode(): match[2].decode() for match in found if match}
    return {_NAMES.get(name, name): value for name, value in gauges.items()}


def statsd_port(run_dir: RunDir, name: str) -> int:
    """Return the port to which an instance sends its gauges (see :class:`Gauges`); 0: none."""
    port = (read_json(_memory(run_dir, name)) or {}).get("port")
    return port if type(port) is int and 0 < port < 65536 else 0


def _memory(run_dir: RunDir, name: str) -> Path:
    return run_dir.supervisor / f"statsd-{name}.json"


class Gauges(StatsSource):
    """The statistics of one instance; a :class:`~fuzztui.run.observe.stats_reader.StatsSource`.

    The port is kept in ``supervisor/``: an engine that outlives its supervisor continues to send to
    the port, and the next supervisor listens there again.
    """

    def __init__(self, run_dir: RunDir, name: str, known: Instance | None = None) -> None:
        """``known``: the instance's state from the log; None for a new one."""
        self._name = name
        self._memory = _memory(run_dir, name)
        self._file = StatsFile(run_dir.instance(name) / "fuzzer_stats", name)
        self._slow: Stats | None = None
        self._slow_at = 0.0
        self._live: Stats | None = None
        self._live_at = time.monotonic()
        self._reported: Stats | None = None
        self._due = 0.0
        self._rate = UNKNOWN
        self._pace = Pace(FILES_S)
        """The rate from the file alone, if no packets come."""
        self._samples: deque[tuple[float, int]] = deque()
        self._cut = True
        """Whether the instance was interrupted; set by another thread."""
        self._restarted = True
        """Whether afl-fuzz may have been restarted, and counts from an older number."""
        known = known or Instance(name)
        self._execs, self._cycles = known.stats.execs, known.stats.cycles
        self._highest = {field: known.stat(field) for field in _NEVER_LESS}
        self._edges_total = known.stats.edges_total
        memory = read_json(self._memory) or {}
        self._lost = min(bounds.whole(memory.get("lost"), 0), MOST)
        """Executions that afl-fuzz no longer counts: a killed and resumed afl-fuzz continues from
        the counts in its last ``fuzzer_stats``, which may be a minute old."""
        self._lost_cycles = min(bounds.whole(memory.get("lost_cycles"), 0), MOST)
        """Cycles that afl-fuzz no longer counts."""
        self._notes: list[Message] = []
        self._warnings = PrintedWarnings(run_dir.instance(name), name, known.warnings)
        self._port = statsd_port(run_dir, name)
        self._socket = _listen(self._port)
        self._again_at = self._live_at + AGAIN_S
        sender = ProcessId.from_json(read_json(run_dir.instance(name) / "process.json"))
        if self._socket is None and self._port and sender and sender.alive():
            self._notes.append(self._port_taken())
        else:
            self._renew()

    def look(self, *, last: bool = False) -> Stats | None:
        """Return new statistics, about once a second; None if there are none."""
        now = time.monotonic()
        if self._cut:
            self._cut, self._restarted = False, True
            self._samples.clear()
            self._pace.interrupted()
        if (slow := self._file.read(always=last)) is not None:
            self._slow, self._slow_at = slow, now - slow.age
            at = whole(self._file.values, "last_update")
            self._pace.add(at, slow.execs, self._file.mtime)
        if self._socket is None:
            self._try_again(now, last=last)
        self._drain(now)
        if not last and now < self._due:
            return None
        stats = self._together(now)
        if stats is None or self._same(stats := self._never_less(stats), last=last):
            return None
        self._due = now + EVERY_S
        self._reported = stats
        self._execs = max(self._execs, stats.execs)
        self._cycles = max(self._cycles, stats.cycles)
        return stats

    def notes(self) -> list[Message]:
        """Return messages about statistics that are delayed, and what afl-fuzz has warned of."""
        notes, self._notes = self._notes, []
        return [*notes, *self._warnings.look()]

    def interrupted(self) -> None:
        """Note a pause or a restart, which no rate spans."""
        self._cut = True

    def close(self) -> None:
        """Stop listening."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _port_taken(self) -> Message:
        text = (
            f"statistics of {self._name} are up to a minute old until it is restarted: "
            f"port {self._port} is used by another process"
        )
        return Message("warning", text, self._name)

    def _try_again(self, now: float, *, last: bool) -> None:
        """Listen on the old port once it is free; after the process has ended, on a new one."""
        if last:  # no process sends to the old port any more
            self._renew()
        elif now >= self._again_at:
            self._again_at = now + AGAIN_S
            self._socket = _listen(self._port) if self._port else None
            if self._socket is not None:
                text = f"port {self._port} is free: statistics of {self._name} are up to date again"
                self._notes.append(Message("info", text, self._name))

    def _renew(self) -> None:
        """Listen on a free port, if possible; engines started from now on send to it."""
        self._socket = self._socket or _listen(0)
        self._port = self._socket.getsockname()[1] if self._socket else 0
        self._save()

    def _drain(self, now: float) -> None:
        for _ in range(PACKETS_AT_ONCE if self._socket else 0):
            assert self._socket is not None
            try:
                gauges = parse_gauges(self._socket.recv(MAX_PACKET))
            except OSError:  # nothing there
                return
            live = replace(to_stats(self._name, gauges, 0.0), other={})  # any process can send
            if "execs_done" in gauges and self._credible(live, now):
                self._live = live = self._with_lost(live)
                self._live_at = now
                self._execs = max(self._execs, live.execs)
                self._measure(now, live)

    def _with_lost(self, stats: Stats) -> Stats:
        """Add the counts that afl-fuzz has lost to its statistics; -1 (unknown) stays -1."""
        cycles = stats.cycles + self._lost_cycles if stats.cycles >= 0 else -1
        return replace(stats, execs=stats.execs + self._lost, cycles=cycles)

    def _never_less(self, stats: Stats) -> Stats:
        """Keep the highest counts, because a resumed afl-fuzz has not run its queue yet."""
        if stats.edges_total != self._edges_total and stats.edges_total >= 0:
            if self._edges_total >= 0:  # the target is another program now, with other edges
                self._highest = dict.fromkeys(_NEVER_LESS, -1)
            self._edges_total = stats.edges_total
        for field in _NEVER_LESS:
            self._highest[field] = max(self._highest[field], getattr(stats, field))
        return replace(stats, **self._highest)

    def _credible(self, live: Stats, now: float) -> bool:
        """Whether the counts can come from afl-fuzz: any local process can send packets.

        Fewer executions than known are possible only after a restart: afl-fuzz has lost the rest.
        """
        execs = live.execs
        known = max(self._execs, self._slow.execs + self._lost if self._slow else 0)
        most = known + FASTEST * (now - self._live_at + 1)
        if not execs + self._lost <= most:
            return False
        if execs + self._lost < known:
            if not self._restarted:
                return False
            self._lost = known - execs
            self._save()
        if self._restarted and 0 <= live.cycles + self._lost_cycles < self._cycles:
            self._lost_cycles = self._cycles - live.cycles
            self._save()
        self._cycles = max(self._cycles, live.cycles + self._lost_cycles)
        self._restarted = False
        return True

    def _measure(self, now: float, live: Stats) -> None:
        samples = self._samples
        if samples and now - samples[-1][0] < EVERY_S / 2:
            samples.pop()  # several packets at once: the supervisor was busy
        samples.append((now, live.execs))
        while len(samples) > 2 and now - samples[0][0] > WINDOW_S:
            samples.popleft()
        (since, before), (until, after) = samples[0], samples[-1]
        if until > since:
            self._rate = (after - before) / (until - since)

    def _together(self, now: float) -> Stats | None:
        live, slow = self._live, self._slow
        if slow is not None:
            slow = self._with_lost(slow)
        # At the end of its process the file is written once more, after the last packet.
        if live is None or (slow is not None and self._slow_at > self._live_at):
            if slow is None or (live is None and slow.execs < self._execs):
                return None  # the log has newer statistics
            known = (self._rate, self._pace.rate, own_rate(self._file.values))
            rate = next((rate for rate in known if rate >= 0), UNKNOWN)
            # A resumed afl-fuzz writes the file before its first packet: older counts again.
            execs, cycles = max(slow.execs, self._execs), max(slow.cycles, self._cycles)
            rate, age = round(rate, 2), _age(now, self._slow_at)
            return replace(slow, execs=execs, cycles=cycles, execs_per_sec=rate, age=age)
        # There is no rate in the first second.
        merged = replace(live, execs_per_sec=round(self._rate, 2), age=_age(now, self._live_at))
        if slow is not None:
            fresh = {name: value for name in _LIVE if (value := getattr(live, name)) >= 0}
            merged = replace(
                slow,
                **fresh,
                execs_per_sec=merged.execs_per_sec,
                age=merged.age,
                slow_age=_age(now, self._slow_at),
            )
        return merged

    def _same(self, stats: Stats, *, last: bool) -> bool:
        before = self._reported
        same = before is not None and unchanged(stats, before, last=last)
        return same and self._live_at <= self._due - EVERY_S

    def _save(self) -> None:
        memory = {"port": self._port, "lost": self._lost, "lost_cycles": self._lost_cycles}
        with contextlib.suppress(OSError):  # disk full: only the next supervisor is affected
            replace_text(self._memory, json.dumps(memory))


def _age(now: float, at: float) -> float:
    return round(max(0.0, now - at), 2)


def _listen(port: int) -> socket.socket | None:
    """A socket on the port (0: any free port); None if another process uses the port."""
    try:
        listening = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    except OSError:
        return None
    try:
        listening.bind(("127.0.0.1", port))
    except OSError:
        listening.close()
        return None
    return listening
