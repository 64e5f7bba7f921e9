"""One instance of a foreign campaign: what it is, how it is, and what is new about it."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace

from fuzztui.base.signals import signal_signature, signal_title
from fuzztui.base.text import ago
from fuzztui.observe.pace import UNKNOWN
from fuzztui.observe.peers import Peers
from fuzztui.observe.saved_inputs import SavedInputs, Watching, entry_event
from fuzztui.watch.directories import WatchedDirectory
from fuzztui.watch.liveness import held, process_is
from fuzztui.watch.queue import Numbered, WatchedQueue, choose, number_of
from fuzztui.watch.stats import WatchedStats
from fuzztui.wire.commands import COMMAND_NAMES, MUTANT_COMMANDS
from fuzztui.wire.events import (
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

__all__ = ["STOPPED", "WatchedInstance", "with_signal"]

STALE_S = 180.0
"""AFL rewrites a file every minute at least: figures of a living one are not older."""

UNSEEN_S = 150.0
"""Where locks tell nothing, an instance with figures younger than this is taken to live."""

PEERS_S = 60.0

SHARE = 0.01
"""The part of one core that listing all the directories of a campaign may cost."""

RENEW_S = 5.0
"""AFL fills a new ``queue/`` with what was in the old one: time for that."""

NEWEST = 1000
"""Entries that are reported a queue that is met in the middle of things."""

FINDS_AT_ONCE = 5000
MAX_FINDINGS = 1_000_000

STOPPED = "stopped"

SIGNALS = 127
"""No kernel has more: a name with another number is not of AFL's making."""

_MUTANTS = {command.name for command in MUTANT_COMMANDS}
_UNABLE = {
    name: "watched only: fuzztui did not start it" for name in COMMAND_NAMES if name not in _MUTANTS
}


class WatchedInstance:
    """The instance at ``place``. For one thread.

    :param siblings: how many instances there are about: they share what may be spent.
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
        self.state = ""
        self.reason = ""
        self._gate: tuple[int, int, float] | None = None
        self._lock: bool | None = None
        self._introduced: tuple[int, str | None] = (0, None)
        self._said: set[str] = set()
        self._unsaid: list[Message] = []
        self._renew_at = math.inf
        self.last_find = -1.0
        """Campaign time of the last find of its own that :mod:`history` told of."""

    @property
    def alive(self) -> bool:
        """Whether a process works on it, be it paused or stalled."""
        return self.state in ("running", "paused", "stalled")

    @property
    def gone(self) -> bool:
        """Whether its directory was not there when it was looked at last."""
        return self.reason == DIRECTORY_GONE

    def look(self) -> list[Event]:
        """What is new: its state first, its finds last."""
        stats = self.figures.look()
        events: list[Event] = [*self.changed_state(stats)]
        if synced := self.peers.look():
            events.append(synced)
        events += self._unsaid
        self._unsaid.clear()
        events += self.new_finds()
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
        """What :meth:`look` brings, its figures in any case: for who was just told its past.

        ``t``: campaign time of the present.
        """
        events = self.look()
        if not any(isinstance(event, Stats) for event in events):
            # Without any, at least this is known: nobody tells its rate.
            latest = self.figures.latest or Stats(self.name, execs_per_sec=UNKNOWN)
            events.append(self.counted(latest))
        if self.last_find < 0:
            return events
        find_age = round(max(0.0, t - self.last_find), 2)
        return [replace(e, find_age=find_age) if isinstance(e, Stats) else e for e in events]

    def new_finds(self) -> list[Event]:
        """Entries and findings that were not told yet."""
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

    def newest_entries(self, findings: Iterable[FindingSaved] = ()) -> list[EntrySaved]:
        """The newest of all that ``queue/`` has, whatever was told; all of it is known then.

        And what ``findings`` were made of, as far as that is in this queue.
        """
        queue = WatchedQueue(f"{self.path}/queue")
        choose({self.name: queue}, [(self.name, f.src[0]) for f in findings if f.src], NEWEST)
        return self.chosen_entries(queue)

    def chosen_entries(self, queue: WatchedQueue) -> list[EntrySaved]:
        """What was chosen of its queue, in the order of ids; all the rest is known too then."""
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
        """The findings that are there, which are then known. What ``queue/`` has is left out."""
        found = self.finds.look(MAX_FINDINGS, entries=False, last=True)
        self._unsaid += (e for e in found if isinstance(e, Message))
        findings = [e for e in found if isinstance(e, FindingSaved)]
        self._count(findings)
        return findings

    def told(self, folder: str, file: str) -> list[Event]:
        """The watcher says that a file is complete."""
        return self._as_logged(self.finds.file_completed(folder, file))

    def hello(self) -> InstanceHello:
        """Its introduction."""
        pid = self.figures.pid if self.alive else 0
        return InstanceHello(
            self.name,
            engine="afl-fuzz",
            version=self.figures.version,
            pid=pid,
            unable=dict(_UNABLE),
            directory=self.path,
        )

    def counted(self, stats: Stats) -> Stats:
        """Figures over all its starts: AFL counts its crashes from 0 again when it is resumed."""
        crashes = max(stats.crashes, self.finds.count("crashes"))
        hangs = max(stats.hangs, self.finds.count("hangs"))
        return replace(stats, crashes=crashes, hangs=hangs)

    # ----------------------------------------------------------------------- state

    def standing(self) -> tuple[str, str]:
        """Its state and why, in words."""
        written, age = self.figures.written, self.figures.age
        if self._probe() is False:
            if self._gate is None:
                return STOPPED, DIRECTORY_GONE
            if not written:
                return STOPPED, "no figures: not afl-fuzz's, or not begun"
            return STOPPED, f"last figures {ago(self.figures.silent)} ago"
        process = process_is(self.figures.pid)
        if process == "paused":
            return "paused", "stopped by a signal (SIGSTOP)"
        if self._lock is None and not process and not age < UNSEEN_S:
            silent = ago(self.figures.silent)
            return STOPPED, f"last figures {silent} ago" if written else "no figures"
        if STALE_S < age < math.inf:
            return "stalled", f"it lives, but its figures are {ago(age)} old"
        return "running", ""

    def changed_state(self, stats: Stats | None = None) -> list[Event]:
        """Its state, if it is another than before."""
        before, was = self.state, self.reason
        state, reason = self.standing()
        self.state, self.reason = state, reason
        pid = self.figures.pid if self.alive else 0
        events: list[Event] = []
        who = (pid or self._introduced[0], self.figures.version)  # an end is no introduction
        if who != self._introduced:
            self._introduced = who
            events.append(self.hello())
        if state != before or (DIRECTORY_GONE in (reason, was) and reason != was):
            if "paused" in (state, before):
                self.figures.interrupted()
            events.append(InstanceState(self.name, state, pid, reason))
            latest = self.figures.latest
            if state == "stalled" and latest and not stats:
                events.append(self.counted(replace(latest, execs_per_sec=0.0)))
        return events

    def _probe(self) -> bool | None:
        """Whether the directory's lock is held; asked again where that may have changed."""
        try:
            status = os.lstat(self.path)
        except OSError:
            self._gate, self._lock = None, False
            return False
        gate = (status.st_ino, status.st_mtime_ns, self.figures.written)
        # One that starts makes files: without that, a free lock is still free.
        if self._lock is not False or gate != self._gate:
            self._gate = gate
            self._lock = held(self.path)
        return self._lock

    # --------------------------------------------------------------------- details

    def _log_name(self, sibling: str) -> str:
        return self.place.prefix + sibling

    def _count(self, finds: Iterable[EntrySaved | FindingSaved]) -> None:
        """Names tell how many executions there were: more than a file that is a minute old."""
        # What a resume has named again may be a seed from another campaign's queue.
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
                events += with_signal(event)
            else:
                events.append(self.in_log(event) if isinstance(event, EntrySaved) else event)
        return events

    def in_log(self, entry: EntrySaved) -> EntrySaved:
        """The same event with the peer's name as the log has it."""
        if self.place.prefix and entry.sync:
            return replace(entry, sync=self._log_name(entry.sync))
        return entry


def with_signal(finding: FindingSaved) -> list[Event]:
    """The event, and what the name says of the cause.

    What is only watched is never run: crashes of one signal are one group, and called that.
    """
    if finding.category != "crash" or not 0 < finding.sig <= SIGNALS:
        return [finding]
    words = signal_signature(finding.sig), signal_title(finding.sig)
    return [finding, FindingDescribed(finding.instance, finding.category, finding.file, *words)]


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except (OSError, ValueError):
        return -1
