"""The present state of a watched campaign, for ``status``: statistics and findings, no history."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace

from fuzztui.features.watch.directories import Trees
from fuzztui.features.watch.history import Times, began, ended, found_at
from fuzztui.features.watch.instance import WatchedInstance
from fuzztui.features.watch.watcher import campaign_started, campaign_state, machine_load
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import (
    CampaignEnded,
    CampaignState,
    Event,
    InstanceState,
    Record,
    Stats,
)
from fuzztui.run.observe.pace import UNKNOWN

EVERY_S = 0.2
"""Seconds between two reads of statistics that may be about to change."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The folded state, and the age of each instance's statistics (seconds; -1: none)."""

    state: State
    ages: dict[str, float]
    problems: list[str]


class _NoWatcher:
    """Replaces inotify: a snapshot ends before any file could be reported."""

    def add(self, directory: str) -> str:
        return ""

    def remove(self, directory: str) -> None:
        pass


def snapshot(trees: Trees) -> Snapshot:
    """Read everything once. Only queues of instances without statistics are listed."""
    places = trees.places()
    instances = {p.name: WatchedInstance(p, _NoWatcher(), len(places)) for p in places}
    figures = {name: i.figures.look() for name, i in instances.items()}
    _decide([*instances.values()])
    now = time.time()
    times = Times({name: began(i, now) for name, i in instances.items()}, now)
    timed: list[tuple[float, Event]] = [(0.0, campaign_started(trees, instances, times.zero))]
    for name, instance in instances.items():
        timed.append((times.began(name), InstanceState(name, "running")))  # when it began
        for find in instance.old_findings():
            t = found_at(instance, find, times)
            timed += ((t, event) for event in instance.described(find))
    timed.sort(key=lambda pair: pair[0])
    end = max([t for t, _ in timed] + [ended(i, times) for i in instances.values()])
    alive = any(i.alive for i in instances.values())
    problems = []
    present: list[Event] = [machine_load(instances.values())]
    for name, instance in instances.items():
        present += instance.changed_state()
        if figures[name] is None:  # only file names contain the number of executions
            instance.newest_entries()
        stats = instance.figures.latest or Stats(name, execs_per_sec=UNKNOWN)
        corpus = stats.corpus or _files(f"{instance.path}/queue")
        found = instance.figures.last_find
        find_age = max(0.0, (now if alive else times.zero + end) - found) if found else -1.0
        present.append(instance.counted(replace(stats, corpus=corpus, find_age=find_age)))
        if synced := instance.peers.look():
            present.append(synced)
        problems += instance.finds.problems
    state, reason = campaign_state(instances.values())
    present.append(CampaignState(state, reason) if alive else CampaignEnded(state, reason))
    timed += ((times.now if alive else end, event) for event in present)
    folded = State()
    apply(folded, [Record(n, t, event) for n, (t, event) in enumerate(timed, 1)])
    ages = {name: _age(i, now) for name, i in instances.items()}
    return Snapshot(folded, ages, problems)


def _decide(instances: list[WatchedInstance]) -> None:
    """Wait for the next statistics of instances that may run where no lock is seen: 7 s at most."""
    for instance in instances:
        instance.standing()
    while any(instance.undecided for instance in instances):
        time.sleep(EVERY_S)
        for instance in instances:
            instance.figures.look()


def _age(instance: WatchedInstance, now: float) -> float:
    figures = instance.figures
    written = figures.written if instance.alive else figures.ended(now)
    return max(0.0, now - written) if written else -1.0


def _files(queue: str) -> int:
    try:
        return sum(1 for name in os.listdir(queue) if not name.startswith("."))  # noqa: PTH208
    except OSError:
        return 0
