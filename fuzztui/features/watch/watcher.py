"""Watch a campaign: read its directories, and write a campaign log elsewhere.

The log is like a supervisor's: first the reconstructed history, then what happens. So the live
screen, ``status`` and a replay can use it like any other.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

import fuzztui
from fuzztui.features.watch.directories import Trees, WatchedDirectory
from fuzztui.features.watch.history import Times, began, ended, history
from fuzztui.features.watch.instance import STOPPED, UNSEEN, WatchedInstance
from fuzztui.features.watch.queue import WatchedQueue
from fuzztui.kernel.base.cpus import usable_cpus
from fuzztui.kernel.base.text import ago, listed
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.wire.events import (
    ALL_GONE,
    CampaignEnded,
    CampaignStarted,
    CampaignState,
    CatchingUp,
    Event,
    MachineLoad,
    Message,
    Stats,
)
from fuzztui.run.observe.inotify import Watcher
from fuzztui.run.observe.resources import ResourceMeter
from fuzztui.run.process.error_reporter import ErrorReporter

LOOK_S, LOOK_EACH_S = 2.0, 0.08
"""Seconds between two passes over everything, plus seconds for each instance: redrawing a screen of
50 instances every second costs more than all else. AFL writes a row every five seconds."""

TOLD_S = 0.05
"""Minimum seconds between two reads of inotify's files."""

UNSETTLED_S = 0.2
"""Seconds between two passes while directories are being replaced."""

TREES_S = 4.0
"""Seconds between two searches for new instances."""

RETRY_S = 1.0
"""Seconds between two attempts to write to a full disk."""

MACHINE_S = 10.0
"""Minimum seconds between two records of the machine's load, and of the instances' CPU time."""

FLUSH_RECORDS = 2000

READING = 0.5
"""The part of catching up that is reading files; the rest is writing the log."""

BEGUN = ("running", "")
"""State of the campaign and its reason at the start of the history."""


class CampaignWatcher:
    """Watches the instances of ``trees`` and writes the log in ``directory``.

    Raises OSError or :class:`~fuzztui.kernel.log.files.LogError` if the log cannot be written.
    """

    def __init__(self, trees: Trees, directory: Path) -> None:
        self._trees = trees
        self._writer = LogWriter(directory)
        self._woken = threading.Event()
        self._watcher = Watcher(self._woken.set)
        self._instances: dict[str, WatchedInstance] = {}
        self._by_path: dict[str, WatchedInstance] = {}
        self._gone: set[str] = set()
        """Directories of instances that were deleted or renamed."""
        self._state: tuple[str, str] = ("", "")
        self._machine = MachineLoad()
        self._meter = ResourceMeter()
        self._metered: set[str] = set()
        self._machine_due = 0.0
        self._zero = 0.0
        self._stop = False
        self._troubles = ErrorReporter("while watching", "", self._tell)

    def begin(self) -> None:
        """Record the history."""
        self._begin_with(self._trees.places())
        self._writer.flush()

    def _begin_with(self, places: list[WatchedDirectory]) -> None:
        for place in places:
            self._add(WatchedInstance(place, self._watcher, len(places)))
        now = time.time()
        for instance in self._instances.values():
            instance.figures.look()
        times = Times({name: began(i, now) for name, i in self._instances.items()}, now)
        self._writer.append(campaign_started(self._trees, self._instances, times.zero), 0.0)
        self._writer.append(CampaignState(*BEGUN), 0.0)
        self._state = BEGUN
        self._catch_up(0.0)  # the screen can open the log now
        try:
            self._write_past(times)
        except Exception:  # ``run`` reports the error, and goes on from what was written
            self._go_on_from(self._writer.last_t)
            self._catch_up(1.0)
            raise

    def _write_past(self, times: Times) -> None:
        timed, queues = history(self._instances, times, lambda part: self._catch_up(part * READING))
        for n, (t, event) in enumerate(timed):
            self._writer.append(event, t)
            if n % FLUSH_RECORDS == 0:
                self._catch_up(READING + (1 - READING) * n / len(timed))
        alive = any(i.alive for i in self._instances.values())
        # If no instance is running, campaign time stops at the last event.
        ends = [ended(i, times) for i in self._instances.values()]
        end = max(self._writer.last_t, times.now if alive else max(ends, default=0.0))
        self._go_on_from(end)
        present = [e for i in self._instances.values() for e in i.present(end)]
        self._log([*present, *_left_out(queues.values()), CatchingUp(1.0)])
        self._flush()

    def _catch_up(self, share: float) -> None:
        """Record how much of the past was read and written: the screen shows nothing else of it."""
        self._writer.append(CatchingUp(round(share, 3)), self._writer.last_t)
        self._flush()

    def run(self) -> None:
        """Record events until :meth:`stop`."""
        look_due = trees_due = 0.0
        while not self._stop:
            now = time.monotonic()
            try:
                if not self._flush():  # the disk is full: read the directories later
                    time.sleep(RETRY_S)
                    continue
                if now >= trees_due:
                    trees_due = now + TREES_S
                    self._find_more()
                self._log(self._completed_files())
                if now >= look_due:
                    look_due = now + LOOK_S + LOOK_EACH_S * len(self._instances)
                    self._log(self._looked())
            except Exception as e:  # report the error, and continue with the rest
                self._troubles.report(e)
            self._flush()
            unsettled = any(i.finds.unsettled for i in self._instances.values())
            if unsettled:
                look_due = min(look_due, now + UNSETTLED_S)
            time.sleep(TOLD_S)
            self._woken.wait(max(0.0, look_due - time.monotonic()))
            self._woken.clear()

    def stop(self) -> None:
        """End :meth:`run`. Thread-safe."""
        self._stop = True
        self._woken.set()

    def close(self) -> None:
        """Seal the log and close everything. Raises OSError if the disk is full."""
        self._watcher.close()
        self._writer.close(at_rest=True)

    # -------------------------------------------------------------------- looking

    def _add(self, instance: WatchedInstance) -> None:
        self._instances[instance.name] = instance
        self._by_path[instance.path] = instance

    def _find_more(self) -> None:
        places = self._trees.places()
        fresh = [place for place in places if place.path not in self._by_path]
        if fresh and not self._instances:
            self._begin_with(fresh)  # as if the watcher had started only now
        elif fresh:
            self._log(self._looked())  # a renamed directory must not count twice
            self._take_in([WatchedInstance(place, self._watcher, len(places)) for place in fresh])

    def _take_in(self, fresh: list[WatchedInstance]) -> None:
        """Record the history of new instances, from campaign time 0 on."""
        now = at = time.time()
        instances = {i.name: i for i in fresh}
        for instance in fresh:
            instance.figures.look()
        if self._state[0] == STOPPED and all(i.standing()[0] == STOPPED for i in fresh):
            at = max(i.figures.ended(now) for i in self._instances.values()) or now
        for instance in fresh:
            self._add(instance)
        begun = {name: began(i, now) for name, i in instances.items()}
        times = Times(begun, now, at - self._now())
        timed, _ = history(instances, times, lambda _: None)
        for t, event in timed:
            # The log's curves can no longer show statistics from before its end.
            if t > self._writer.last_t or not isinstance(event, Stats):
                self._writer.append(event, t)
        # If no instance is running, campaign time stops at the last event.
        end = self._writer.last_t if at != now else now - times.zero
        present = [e for i in fresh for e in i.present(end)]
        news = [Message("info", f"{i.path} has appeared", i.name) for i in fresh]
        self._log([*news, *present])

    def _completed_files(self) -> list[Event]:
        files, lost = self._watcher.take()
        events: list[Event] = []
        for directory, file in files:
            path, folder = os.path.split(directory)
            if instance := self._by_path.get(path):
                events += instance.file_completed(folder, file)
        if lost:
            for instance in self._instances.values():
                instance.finds.rescan()
        return events

    def _looked(self) -> list[Event]:
        events = [event for i in self._instances.values() for event in i.look()]
        return [*events, *self._changed_machine(), *self._changed_directories()]

    def _changed_machine(self) -> Iterator[Event]:
        if self._machine_due <= (now := time.monotonic()) and self._state[0] != STOPPED:
            before, self._machine = self._machine, machine_load(self._instances.values())
            self._machine_due = now + MACHINE_S
            if before != self._machine:
                yield self._machine
            for used in self._meter.measure(processes_of(self._instances.values())):
                # The first measurement of a process has no CPU time, and is left out once.
                if used.instance in self._metered:
                    yield used
                self._metered.add(used.instance)

    def _changed_directories(self) -> Iterator[Message]:
        """Yield messages about directories that have disappeared or come back since the last pass.

        They contain the time of day, because campaign time stops while no instance is running.
        """
        before, self._gone = self._gone, {i.path for i in self._instances.values() if i.gone}
        now = datetime.fromtimestamp(time.time()).strftime("%H:%M:%S")
        if fresh := sorted(self._gone - before):
            yield Message("warning", f"deleted or renamed ({now}): {listed(fresh)}")
        if back := sorted(before - self._gone):
            yield Message("info", f"came back ({now}): {listed(back)}")

    # -------------------------------------------------------------------- logging

    def _log(self, events: Iterable[Event]) -> None:
        for event in events:
            self._writer.append(event, self._now())
        state = campaign_state(self._instances.values())
        # Other changes of the reason are not recorded: it contains an age, which always changes.
        news = state[0] != self._state[0] or {ALL_GONE, UNSEEN} & {state[1], self._state[1]}
        if state == self._state or not news:
            return
        if self._state[0] == STOPPED != state[0]:
            self._go_on_from(self._writer.last_t)
        kind = CampaignEnded if state[0] == STOPPED else CampaignState
        self._writer.append(kind(*state), self._now())
        self._state = state

    def _tell(self, event: Event) -> None:
        self._writer.append(event, self._now())

    def _now(self) -> float:
        """Return the campaign time, which stops while no instance is running."""
        stopped = self._state[0] == STOPPED
        return self._writer.last_t if stopped else time.monotonic() - self._zero

    def _go_on_from(self, t: float) -> None:
        self._zero = time.monotonic() - t

    def _flush(self) -> bool:
        """Flush the log; False if the disk is full: the rest is written by the next call."""
        try:
            self._writer.flush()
        except OSError:
            return False
        return True


def _left_out(queues: Iterable[WatchedQueue]) -> Iterator[Message]:
    """Yield messages about entries of large queues that are not in the log."""
    every = list(queues)
    if unlisted := sum(q.count - len(q.chosen) for q in every):
        text = f"{unlisted:,} older queue entries are not listed; AFL's statistics count them"
        yield Message("info", text)
    if unsought := sum(len(q.wanted) for q in every):
        text = f"{unsought:,} ancestors of findings, in queues of peers, were not searched"
        yield Message("info", text)


def processes_of(instances: Iterable[WatchedInstance]) -> dict[str, int]:
    """Return the process ids of the instances that run on this machine, by instance."""
    return {i.name: i.pid for i in instances if i.pid}


def machine_load(instances: Iterable[WatchedInstance]) -> MachineLoad:
    """Return load and free disk of this machine, rounded so that they change rarely."""
    free = []
    for directory in {os.path.dirname(i.path) for i in instances}:  # noqa: PTH120
        with contextlib.suppress(OSError):
            free.append(shutil.disk_usage(directory).free)
    load = round(os.getloadavg()[0], 1)
    return MachineLoad(load, usable_cpus(), min(free) >> 26 << 26 if free else -1)


def campaign_started(
    trees: Trees, instances: dict[str, WatchedInstance], zero: float
) -> CampaignStarted:
    """Return the log's first event."""
    targets = dict.fromkeys(i.figures.target for i in instances.values() if i.figures.target)
    return CampaignStarted(
        name=trees.title,
        engine="afl",
        target=", ".join(targets)[:200],
        instances=list(instances),
        wall=zero,
        version=fuzztui.__version__,
    )


def campaign_state(instances: Iterable[WatchedInstance]) -> tuple[str, str]:
    """Return the campaign's state and its reason, from the states of its instances."""
    every = list(instances)
    states = {i.state for i in every if i.alive}
    if every and all(i.gone for i in every):
        return STOPPED, ALL_GONE
    if not every:
        return "starting", "no instance has started yet"
    if states:
        unseen = all(i.reason == UNSEEN for i in every if i.alive)
        return "paused" if states == {"paused"} else "running", UNSEEN if unseen else ""
    silent = min((i.figures.silent for i in every if i.figures.written), default=-1.0)
    last = f"; last statistics {ago(silent)} ago" if silent >= 0 else ""
    return STOPPED, f"no instance is running{last}"
