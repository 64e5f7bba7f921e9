"""Watching a foreign campaign: from its directories to a campaign log of our own.

The log is what a supervisor would have written: first what happened before we came, then
what happens. So the live screen, ``status`` and a replay work on it as on any other.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

import fuzztui
from fuzztui.base.text import ago, listed
from fuzztui.log.writer import LogWriter
from fuzztui.observe.inotify import Watcher
from fuzztui.process.error_reporter import ErrorReporter
from fuzztui.watch.directories import Trees, WatchedDirectory
from fuzztui.watch.history import Times, began, ended, history
from fuzztui.watch.instance import STOPPED, WatchedInstance
from fuzztui.watch.queue import WatchedQueue
from fuzztui.wire.events import (
    ALL_GONE,
    CampaignEnded,
    CampaignStarted,
    CampaignState,
    Event,
    Message,
    Stats,
)

__all__ = ["CampaignWatcher", "campaign_started", "campaign_state"]

LOOK_S, LOOK_EACH_S = 2.0, 0.08
"""Seconds between two looks at everything, and more for each instance: a screen of 50 that
is drawn again every second costs more than all else. Rows of figures come every five."""

TOLD_S = 0.05
"""Seconds between two looks at what inotify told, at least."""

UNSETTLED_S = 0.2
"""Seconds between looks while directories are being replaced."""

TREES_S = 4.0

RETRY_S = 1.0

FLUSH_RECORDS = 2000

BEGUN = ("running", "")
"""State of the campaign and its reason, as history begins."""


class CampaignWatcher:
    """Watches the instances of ``trees`` and writes the log in ``directory``.

    Raises OSError or :class:`~fuzztui.log.files.LogError` when the log cannot be written.
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
        self._zero = 0.0
        self._stop = False
        self._troubles = ErrorReporter("while watching", "", self._tell)

    def begin(self) -> None:
        """Log all that happened so far."""
        self._begin_with(self._trees.places())

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
        self._writer.flush()  # there is something to open: the screen can come
        timed, queues = history(self._instances, times)
        for n, (t, event) in enumerate(timed):
            self._writer.append(event, t)
            if n % FLUSH_RECORDS == 0:
                self._writer.flush()
        alive = any(i.alive for i in self._instances.values())
        # Where nothing lives, campaign time stands where the last of it was.
        ends = [ended(i, times) for i in self._instances.values()]
        end = max(self._writer.last_t, times.now if alive else max(ends, default=0.0))
        self._go_on_from(end)
        present = [e for i in self._instances.values() for e in i.present(end)]
        self._log([*present, *_left_out(queues.values())])
        self._flush()

    def run(self) -> None:
        """Log what happens until :meth:`stop`."""
        look_due = trees_due = 0.0
        while not self._stop:
            now = time.monotonic()
            try:
                if not self._flush():  # the disk is full: what happens waits in the directories
                    time.sleep(RETRY_S)
                    continue
                if now >= trees_due:
                    trees_due = now + TREES_S
                    self._find_more()
                self._log(self._told())
                if now >= look_due:
                    look_due = now + LOOK_S + LOOK_EACH_S * len(self._instances)
                    self._log(self._looked())
            except Exception as e:  # whatever it is, the rest is worth watching
                self._troubles.report(e)
            self._flush()
            unsettled = any(i.finds.unsettled for i in self._instances.values())
            if unsettled:
                look_due = min(look_due, now + UNSETTLED_S)
            time.sleep(TOLD_S)
            self._woken.wait(max(0.0, look_due - time.monotonic()))
            self._woken.clear()

    def stop(self) -> None:
        """End :meth:`run`; from any thread."""
        self._stop = True
        self._woken.set()

    def close(self) -> None:
        """Seal the log and let go of everything. Raises OSError when the disk is full."""
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
            self._begin_with(fresh)  # as if we had come only now
        elif fresh:
            self._take_in([WatchedInstance(place, self._watcher, len(places)) for place in fresh])

    def _take_in(self, fresh: list[WatchedInstance]) -> None:
        """Log what newcomers to a campaign have behind them, as far as its time reaches."""
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
        timed, _ = history(instances, times)
        for t, event in timed:
            # What was before the log's end has no place in its curves any more.
            if t > self._writer.last_t or not isinstance(event, Stats):
                self._writer.append(event, t)
        # Where nothing lives, campaign time stands where the last of it was.
        end = self._writer.last_t if at != now else now - times.zero
        present = [e for i in fresh for e in i.present(end)]
        news = [Message("info", f"{i.path} has appeared", i.name) for i in fresh]
        self._log([*news, *present])

    def _told(self) -> list[Event]:
        files, lost = self._watcher.take()
        events: list[Event] = []
        for directory, file in files:
            path, folder = os.path.split(directory)
            if instance := self._by_path.get(path):
                events += instance.told(folder, file)
        if lost:
            for instance in self._instances.values():
                instance.finds.rescan()
        return events

    def _looked(self) -> list[Event]:
        events = [event for i in self._instances.values() for event in i.look()]
        return [*events, *self._changed_directories()]

    def _changed_directories(self) -> Iterator[Message]:
        """Messages about directories that have gone, or have come back, since the last look.

        With the time of day: campaign time stands still while nothing lives.
        """
        before, self._gone = self._gone, {i.path for i in self._instances.values() if i.gone}
        now = datetime.fromtimestamp(time.time()).strftime("%H:%M:%S")
        if fresh := sorted(self._gone - before):
            yield Message("warning", f"deleted or renamed ({now}): {listed(fresh)}")
        if back := sorted(before - self._gone):
            yield Message("info", f"there again ({now}): {listed(back)}")

    # -------------------------------------------------------------------- logging

    def _log(self, events: Iterable[Event]) -> None:
        for event in events:
            self._writer.append(event, self._now())
        state = campaign_state(self._instances.values())
        # Other reasons of an end are not recorded again: ages of figures change all the time.
        news = state[0] != self._state[0] or ALL_GONE in (state[1], self._state[1])
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
        """Campaign time, which stands still while nothing lives."""
        stopped = self._state[0] == STOPPED
        return self._writer.last_t if stopped else time.monotonic() - self._zero

    def _go_on_from(self, t: float) -> None:
        self._zero = time.monotonic() - t

    def _flush(self) -> bool:
        """False when the disk does not take it all: the rest goes first the next time."""
        try:
            self._writer.flush()
        except OSError:
            return False
        return True


def _left_out(queues: Iterable[WatchedQueue]) -> Iterator[Message]:
    """What of deep queues the log does not have, in words."""
    every = list(queues)
    if unlisted := sum(q.count - len(q.chosen) for q in every):
        text = f"{unlisted:,} older queue entries are not listed; AFL's figures count them"
        yield Message("info", text)
    if unsought := sum(len(q.wanted) for q in every):
        text = f"{unsought:,} ancestors of findings, in queues of peers, were not looked for"
        yield Message("info", text)


def campaign_started(
    trees: Trees, instances: dict[str, WatchedInstance], zero: float
) -> CampaignStarted:
    """The first record."""
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
    """The state of the whole, from those of its parts, and why."""
    every = list(instances)
    states = {i.state for i in every if i.alive}
    if every and all(i.gone for i in every):
        return STOPPED, ALL_GONE
    if not every:
        return "starting", "no instance has started yet"
    if states:
        return ("paused" if states == {"paused"} else "running"), ""
    silent = min((i.figures.silent for i in every if i.figures.written), default=-1.0)
    last = f"; last figures {ago(silent)} ago" if silent >= 0 else ""
    return STOPPED, f"no instance is running{last}"
