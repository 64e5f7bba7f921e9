"""One instance of a watched campaign: its state, whether its afl-fuzz works, what is new."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import math
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace

from fuzztui.features.watch.directories import WatchedDirectory
from fuzztui.features.watch.queue import Numbered, WatchedQueue, choose, number_of
from fuzztui.features.watch.reproduced import Reproduced
from fuzztui.features.watch.stats import WatchedStats
from fuzztui.kernel.base.signals import signal_signature, signal_title
from fuzztui.kernel.base.text import ago
from fuzztui.kernel.wire.commands import COMMAND_NAMES, MutantCommand, names_of
from fuzztui.kernel.wire.events import (
    DIRECTORY_GONE,
    EntrySaved,
    Event,
    FindingDescribed,
    FindingSaved,
    InstanceHello,
    InstanceState,
    Message,
    Stats,
)
from fuzztui.kernel.wire.finding_kinds import CRASH, CRASHES, HANGS
from fuzztui.run.observe.inotify import file_system, is_remote
from fuzztui.run.observe.pace import UNKNOWN
from fuzztui.run.observe.peers import Peers
from fuzztui.run.observe.saved_inputs import SavedInputs, Watching, entry_event

STALE_S = 180.0
"""Age of statistics above which a running instance counts as stalled: AFL writes each minute."""

UNSEEN_S = 150.0
"""Age of statistics below which an instance whose lock is not visible counts as running."""

UNSEEN = "updating; its process cannot be seen"
"""The reason of the state of an instance that is running only by the age of its statistics."""

ROW_S = 7.0
"""Age of the statistics up to which the next row of ``plot_data`` may still come: AFL writes one
each 5 seconds."""

PEERS_S = 60.0
"""Seconds between two reads of what was imported from peers."""

SHARE = 0.01
"""Share of one core that listing all directories of a campaign may use."""

RENEW_S = 5.0
"""Seconds to wait after ``queue/`` was replaced: AFL fills it with the entries of the old one."""

NEWEST = 1000
"""Maximum number of entries that are reported of a queue that was replaced."""

FINDS_AT_ONCE = 5000
MAX_FINDINGS = 1_000_000

STOPPED = "stopped"

SIGNALS = 127
"""Highest signal number: a file name with a higher one is not AFL's."""

_MUTANTS = names_of(MutantCommand)
_UNABLE = {
    name: "watched only: not started by fuzztui" for name in COMMAND_NAMES if name not in _MUTANTS
}


class WatchedInstance:
    """Reads the instance at ``place``. Not thread-safe.

    :param siblings: approximate number of instances, which share the allowed CPU time.
    """

    def __init__(self, place: WatchedDirectory, watcher: Watching, siblings: int = 1) -> None:
        self.place = place
        self.name = place.name
        self.path = place.path
        self.figures = WatchedStats(place.path, place.name)
        self.seen = Numbered()
        self.finds = SavedInputs(
            self.path,
            self.name,
            watcher,
            queue=self.seen,
            share=SHARE / max(1, siblings),
        )
        self.peers = Peers(place.path, place.name, rename=self._log_name, every=PEERS_S)
        self.reproduced = Reproduced(place.path)
        self.state = ""
        self.reason = ""
        self._gate: tuple[int, int, float] | None = None
        self._lock: bool | None = None
        self._free_since = math.inf
        """Unix time since which no process holds the lock; infinite: one does, or unknown."""
        self._introduced: tuple[int, str | None] = (0, None)
        self._said: set[str] = set()
        self._unsaid: list[Message] = []
        self._renew_at = math.inf
        self.last_find = -1.0
        """Campaign time of the last entry of its own in :mod:`history`; -1: none."""

    @property
    def alive(self) -> bool:
        """Whether a process works on the directory; it may be paused or stalled."""
        return self.state in ("running", "paused", "stalled")

    @property
    def gone(self) -> bool:
        """Whether the directory did not exist at the last look."""
        return self.reason == DIRECTORY_GONE

    def look(self) -> list[Event]:
        """Return new events: first the state, then saved inputs, at last the statistics."""
        stats = self.figures.look()
        events: list[Event] = [*self.changed_state(stats)]
        if synced := self.peers.look():
            events.append(synced)
        events += self._unsaid
        self._unsaid.clear()
        events += self.new_finds()
        events += self.reproduced.look()
        if stats:
            events.append(self.counted(stats))
        for problem in (self.figures.plot.problem, self.finds.unwatched):
            if problem and problem not in self._said:
                self._said.add(problem)
                level = "warning" if problem == self.figures.plot.problem else "info"
                text = problem if level == "warning" else f"polling only: {problem}"
                events.append(Message(level, text, self.name))
        return events

    def present(self, t: float) -> list[Event]:
        """Return the events of :meth:`look`, always with statistics; called after the history.

        ``t``: the present campaign time.
        """
        events = self.look()
        if not any(isinstance(event, Stats) for event in events):
            # Without a statistics file, the rate is reported as unknown.
            latest = self.figures.latest or Stats(self.name, execs_per_sec=UNKNOWN)
            events.append(self.counted(latest))
        if self.last_find < 0:
            return events
        find_age = round(max(0.0, t - self.last_find), 2)
        return [replace(e, find_age=find_age) if isinstance(e, Stats) else e for e in events]

    def new_finds(self) -> list[Event]:
        """Return new entries and findings."""
        now = time.monotonic()
        if self.finds.renewed:
            self.finds.renewed = False
            self._renew_at = now + RENEW_S
        waits = self._renew_at < math.inf
        found = self.finds.look(FINDS_AT_ONCE, entries=not waits)
        events = self._as_logged(found)
        if now >= self._renew_at:
            self._renew_at = math.inf
            events += self.newest_entries()
        return events

    def newest_entries(self) -> list[EntrySaved]:
        """Return the newest entries, also those that were reported before.

        All entries count as reported afterwards.
        """
        queue = WatchedQueue(f"{self.path}/queue")
        choose({self.name: queue}, [], NEWEST)
        return self.chosen_entries(queue)

    def chosen_entries(self, queue: WatchedQueue) -> list[EntrySaved]:
        """Return the chosen entries of a queue, by id; all its entries count as reported then."""
        self.seen.take_over(queue.seen)
        self.finds.know_queue(queue.mtime_ns)
        events, odd = [], 0
        for file in sorted(queue.chosen, key=number_of):
            event = entry_event(self.name, file, _size(f"{queue.path}/{file}"), odd - 1)
            odd = min(odd, event.id)
            events.append(self.in_log(event))
        self._count(events)
        return events

    def old_findings(self) -> list[FindingSaved]:
        """Return the present findings, which are not reported again."""
        found = self.finds.look(MAX_FINDINGS, entries=False, last=True)
        self._unsaid += (e for e in found if isinstance(e, Message))
        findings = [e for e in found if isinstance(e, FindingSaved)]
        self._count(findings)
        return findings

    def described(self, finding: FindingSaved) -> list[Event]:
        """Return the event, and a description by the user's ``repro``, else by the file's name.

        A watcher runs nothing: crashes that were not run are one group if their signal is the same.
        """
        if known := self.reproduced.of(finding):
            return [finding, known]
        if finding.category != CRASH.category or not 0 < finding.sig <= SIGNALS:
            return [finding]
        words = signal_signature(finding.sig), signal_title(finding.sig)
        return [finding, FindingDescribed(finding.instance, finding.category, finding.file, *words)]

    def file_completed(self, folder: str, file: str) -> list[Event]:
        """Called when inotify reports that a file is complete; return its events."""
        return self._as_logged(self.finds.file_completed(folder, file))

    def hello(self) -> InstanceHello:
        """Return the event that introduces the instance."""
        return InstanceHello(
            self.name,
            engine="afl-fuzz",
            version=self.figures.version,
            pid=self.pid,
            unable=dict(_UNABLE),
            directory=self.path,
            command_line=self.figures.command_line,
        )

    def counted(self, stats: Stats) -> Stats:
        """Return statistics over all starts: a resumed AFL counts its crashes from 0 again."""
        crashes = max(stats.crashes, self.finds.count(CRASHES))
        hangs = max(stats.hangs, self.finds.count(HANGS))
        return replace(stats, crashes=crashes, hangs=hangs)

    # ----------------------------------------------------------------------- state

    @property
    def pid(self) -> int:
        """Process id of a running afl-fuzz of this machine; 0: none."""
        return self.figures.pid if self.alive and self.reason != UNSEEN else 0

    def standing(self) -> tuple[str, str]:
        """Return the present state and its reason."""
        written, age = self.figures.written, self.figures.age
        lock = self._probe()
        if lock is False and self._gate is None:
            return STOPPED, DIRECTORY_GONE
        process = "" if lock is False else process_is(self.figures.pid)
        if process == "paused":
            return "paused", "stopped by a signal (SIGSTOP)"
        if not lock and not process:
            if age < UNSEEN_S and (lock is None or self._is_written_elsewhere()):
                return "running", UNSEEN
            if not written:
                return STOPPED, "no statistics: not afl-fuzz's, or not started"
            return STOPPED, f"last statistics {ago(self.figures.silent)} ago"
        if STALE_S < age < math.inf:
            return "stalled", f"the process exists, but its statistics are {ago(age)} old"
        return "running", ""

    def _is_written_elsewhere(self) -> bool:
        """Whether a process that holds no lock here writes the statistics: rsync, LibAFL."""
        is_new_copy = self.figures.copied and self.figures.silent < UNSEEN_S
        return is_new_copy or self.figures.advanced > self._free_since

    @property
    def undecided(self) -> bool:
        """Whether only the next row of ``plot_data`` can show if it runs: its lock is free."""
        is_fresh = self.figures.age < ROW_S and not self.figures.copied
        return self._lock is False and is_fresh and not self._is_written_elsewhere()

    def changed_state(self, stats: Stats | None = None) -> list[Event]:
        """Return events for a state that differs from the one before."""
        before, was = self.state, self.reason
        state, reason = self.standing()
        self.state, self.reason = state, reason
        pid = self.pid
        events: list[Event] = []
        who = (pid or self._introduced[0], self.figures.version)  # at the end the last pid stays
        if who != self._introduced:
            self._introduced = who
            events.append(self.hello())
        if state != before or (reason != was and {DIRECTORY_GONE, UNSEEN} & {reason, was}):
            if "paused" in (state, before):
                self.figures.interrupted()
            events.append(InstanceState(self.name, state, pid, reason))
            latest = self.figures.latest
            if state == "stalled" and latest and not stats:
                events.append(self.counted(replace(latest, execs_per_sec=0.0)))
        return events

    def _probe(self) -> bool | None:
        """Whether the directory's lock is held; tested again only if that may have changed."""
        try:
            status = os.lstat(self.path)
        except OSError:
            self._gate, self._lock = None, False
            return False
        gate = (status.st_ino, status.st_mtime_ns, self.figures.written)
        # A starting afl-fuzz makes files: without a change, a free lock is still free.
        if self._lock is not False or gate != self._gate:
            self._gate = gate
            self._lock = held(self.path)
            free_since = min(self._free_since, time.time())
            self._free_since = math.inf if self._lock else free_since
        return self._lock

    # --------------------------------------------------------------------- details

    def _log_name(self, sibling: str) -> str:
        return self.place.prefix + sibling

    def _count(self, finds: Iterable[EntrySaved | FindingSaved]) -> None:
        """Read executions from file names, which are newer than fuzzer_stats of a minute ago."""
        # An entry that a resume has renamed may be a seed from another campaign's queue.
        own = [f for f in finds if not (isinstance(f, EntrySaved) and f.first >= 0)]
        latest = max(own, key=lambda f: f.execs, default=None)
        if latest is not None and latest.execs:
            with contextlib.suppress(OSError, ValueError):
                at = os.lstat(f"{self.path}/{latest.file}").st_mtime
                self.figures.named(latest.execs, at)

    def _as_logged(self, found: Sequence[EntrySaved | FindingSaved | Message]) -> list[Event]:
        events: list[Event] = []
        self._count(e for e in found if not isinstance(e, Message))
        for event in found:
            if isinstance(event, FindingSaved):
                events += self.described(event)
            else:
                events.append(self.in_log(event) if isinstance(event, EntrySaved) else event)
        return events

    def in_log(self, entry: EntrySaved) -> EntrySaved:
        """Return the event with the peer's name replaced by its name in the log."""
        if self.place.prefix and entry.sync:
            return replace(entry, sync=self._log_name(entry.sync))
        return entry


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except (OSError, ValueError):
        return -1


_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_STOPPED = frozenset("Tt")
_DEAD = frozenset("ZX")


def held(directory: str) -> bool | None:
    """Whether a process holds afl-fuzz's lock on its directory; None: unknown.

    The probe takes a shared lock and releases it at once. An afl-fuzz that starts at that instant
    would find the directory in use, so a directory without a holder should only be probed again
    when something in it has changed.
    """
    try:
        fd = os.open(directory, _FLAGS)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as e:
        return True if e.errno in (errno.EWOULDBLOCK, errno.EAGAIN) else None
    finally:
        os.close(fd)
    # A lock of another machine may not be visible here, so "free" means unknown.
    return None if _remote(directory) else False


_kinds: dict[int, bool] = {}


def _remote(directory: str) -> bool:
    try:
        device = os.lstat(directory).st_dev
    except OSError:
        return False
    if device not in _kinds:
        _kinds[device] = is_remote(file_system(directory))
    return _kinds[device]


def process_is(pid: int) -> str:
    """Return the state of the afl-fuzz with this pid: "running", "paused" (SIGSTOP), "": none.

    The pid comes from a file, and may now belong to another program: "".
    """
    if not 0 < pid < 1 << 31:
        return ""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            head, _, tail = file.read(512).decode(errors="replace").rpartition(")")
    except OSError:
        return ""
    if "afl" not in head.partition("(")[2] or not tail.strip():
        return ""
    state = tail.split()[0]
    if state in _DEAD:
        return ""
    return "paused" if state in _STOPPED else "running"
