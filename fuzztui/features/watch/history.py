"""Reconstruct the events from before the watcher started, with their times.

Campaign time 0 is the start of the first instance. An instance's own clock counts its run time and
continues after a resume, so breaks are left out.
"""

from __future__ import annotations

import contextlib
import os
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from fuzztui.features.watch.instance import STOPPED, WatchedInstance
from fuzztui.features.watch.plot_data import PlotRow
from fuzztui.features.watch.queue import WatchedQueue, choose
from fuzztui.features.watch.stats import FIRST_AFL, of_row
from fuzztui.kernel.wire.events import EntrySaved, Event, FindingSaved, InstanceState, Stats
from fuzztui.run.observe.pace import MIN_S, UNKNOWN

ROWS = 6_000
"""Rows of plot_data for all instances together; a series of the model has at most 512 points."""

MAX_ROWS, FEWEST_ROWS = 600, 60
"""Limits of the rows of one instance."""

ENTRIES = 10_000
"""Queue entries of all instances together, besides ancestors of findings."""


class Times:
    """Converts Unix times, and times of an instance's own clock, to campaign times."""

    def __init__(self, began: Mapping[str, float], now: float, zero: float | None = None) -> None:
        """``zero``: Unix time of campaign time 0; None: the first start in ``began``."""
        known = [t for t in began.values() if t > 0]
        self.zero = min(known, default=now) if zero is None else zero
        self.now = max(0.0, now - self.zero)
        self._offsets = {name: t - self.zero if t > 0 else 0.0 for name, t in began.items()}

    def began(self, name: str) -> float:
        """Return the campaign time at which the instance started."""
        return self._offsets[name]

    def own(self, name: str, seconds: float) -> float:
        """Convert ``seconds`` on the instance's own clock."""
        return self._between(self._offsets[name] + seconds)

    def wall(self, unix: float) -> float:
        """Convert a Unix time."""
        return self._between(unix - self.zero)

    def _between(self, t: float) -> float:
        return min(max(0.0, t), self.now)


def began(instance: WatchedInstance, now: float) -> float:
    """Return the Unix time of 0 on the instance's clock, from its statistics or else its files."""
    start = instance.figures.began(now)
    if not start:
        start = min([now, *_oldest(instance.path), *_oldest(f"{instance.path}/queue")])
    # AFL 2.5x: rows have Unix times, and fuzzer_stats contains only the last start.
    rows = instance.figures.plot.history(1)
    if rows and rows[0].unix and rows[0].seconds > FIRST_AFL:
        start = min(start, rows[0].seconds)
    return start


def _oldest(directory: str) -> Iterator[float]:
    """Yield the modification times of the directory and of the first file in it."""
    for path in (directory, f"{directory}/{_first(directory)}"):
        with contextlib.suppress(OSError, ValueError):
            yield os.lstat(path).st_mtime


def _first(directory: str) -> str:
    try:
        return min(os.listdir(directory), default="")  # noqa: PTH208
    except OSError:
        return ""


def history(
    instances: Mapping[str, WatchedInstance], times: Times, read: Callable[[float], None]
) -> tuple[list[tuple[float, Event]], dict[str, WatchedQueue]]:
    """Return all events until now, sorted by campaign time, and what was chosen from the queues.

    Afterwards the instances do not report these events again. ``read`` is called with the part of
    the files that was read so far.
    """
    steps = 2 * len(instances)
    timed: list[tuple[float, Event]] = []
    parents: list[tuple[str, int]] = []
    for n, (name, instance) in enumerate(instances.items()):
        read(n / steps)
        timed += _figures(instance, times, len(instances))
        finds = instance.old_findings()
        parents += ((name, find.src[0]) for find in finds if find.src)
        for find in finds:
            t = found_at(instance, find, times)
            timed += ((t, event) for event in instance.described(find))
    queues = {
        name: WatchedQueue(f"{i.path}/queue", i.place.prefix) for name, i in instances.items()
    }
    choose(queues, parents, ENTRIES)
    for n, (name, queue) in enumerate(queues.items(), len(instances)):
        read(n / steps)
        instance = instances[name]
        entries = list(_entries(instance, instance.chosen_entries(queue), times))
        # A resume renames every entry (orig:): these are not new, nor are imports.
        own = (t for t, e in entries if not e.sync and not e.op.startswith("orig:"))
        instance.last_find = max(own, default=-1.0)
        timed += entries
    # Stable: findings and entries of the same time stay in the order of their ids.
    timed.sort(key=lambda pair: pair[0])
    return timed, queues


def _figures(
    instance: WatchedInstance, times: Times, siblings: int
) -> Iterator[tuple[float, Event]]:
    name = instance.name
    yield times.began(name), InstanceState(name, "running")
    most = min(MAX_ROWS, max(FEWEST_ROWS, ROWS // siblings))
    before = None
    for row in instance.figures.plot.history(most):
        t = times.wall(row.seconds) if row.unix else times.own(name, row.seconds)
        stats: Stats = of_row(name, row)
        if before is None:
            stats = replace(stats, execs_per_sec=_first_rate(row))
        elif "total_execs" in row.values:
            # The average since the previous row that was read.
            done = stats.execs - before.count("total_execs")
            rate = done / (row.seconds - before.seconds)
            stats = replace(stats, execs_per_sec=round(max(0.0, rate), 2))
        before = row
        yield t, stats
    events = instance.changed_state()
    # A stopped instance has no rate from its end on, whatever its last statistics contain.
    end = times.now if instance.alive else ended(instance, times)
    yield from ((end, event) for event in events)


def ended(instance: WatchedInstance, times: Times) -> float:
    """Return the campaign time of a stopped instance's newest statistics, or of its start."""
    unix = instance.figures.ended(times.zero + times.now)
    return max(times.began(instance.name), times.wall(unix) if unix else 0.0)


def _entries(
    instance: WatchedInstance, entries: list[EntrySaved], times: Times
) -> Iterator[tuple[float, EntrySaved]]:
    """Yield entries with the campaign times at which they were found."""
    # Ids increase with time. The name of an import contains no time, and the break between its
    # file's time and a resume is unknown, so the time of the entry before it is used.
    timely = sorted((e.first if e.first >= 0 else e.id, e.time_ms) for e in entries if e.time_ms)
    for entry in entries:
        place = bisect_left(timely, (entry.first, 0))
        if entry.first >= 0 and not entry.time_ms and place:
            yield times.own(instance.name, timely[place - 1][1] / 1000), entry
        else:
            yield found_at(instance, entry, times), entry


def _first_rate(row: PlotRow) -> float:
    """Return the average rate up to the first row; AFL's own may only cover the seeds."""
    if row.unix or row.seconds < MIN_S or "total_execs" not in row.values:
        return UNKNOWN
    return round(row.count("total_execs") / row.seconds, 2)


def found_at(instance: WatchedInstance, find: EntrySaved | FindingSaved, times: Times) -> float:
    """Return the campaign time of a saved input, from its name, or else its mtime."""
    if find.time_ms:
        return times.own(instance.name, find.time_ms / 1000)
    if isinstance(find, EntrySaved) and find.op.startswith("orig:"):
        return times.began(instance.name)
    try:
        found = times.wall(os.lstat(f"{instance.path}/{find.file}").st_mtime)
    except (OSError, ValueError):
        return times.began(instance.name)
    # The files of a copied directory are newer than the events.
    return min(found, ended(instance, times)) if instance.state == STOPPED else found
