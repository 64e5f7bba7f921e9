"""A foreign instance's figures: ``fuzzer_stats`` once a minute, ``plot_data`` every 5 seconds.

AFL 4.04c writes its first row after a minute, AFL 2.5x rows without executions, and only
where something else has changed: then its own figure of a row has to do for the rate.

Executions are the most that any of them tells, names of finds among them (``execs:23829``):
``fuzzer_stats`` may be a minute old, hold no number, or not be there at all (``-n``).
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

from fuzztui.observe.fuzzer_stats import own_rate, whole
from fuzztui.observe.pace import FILES_S, UNKNOWN, Pace
from fuzztui.observe.stats_reader import StatsFile
from fuzztui.watch.plot_data import Plot, PlotRow
from fuzztui.wire.events import Stats

__all__ = ["WatchedStats"]

FIRST_AFL = 1384000000
"""November 2013: no campaign began before."""

DAY = 86400.0

_GAPS = ("pending", "edges", "cycles", "cur_item", "max_depth")
"""Fields that are -1 where nobody tells them, and that a row has."""

ROWS_S = 20.0
"""Longer than that between two rows, and it did not run in between."""


class _Age:
    """How old a file is: by the wall clock when we saw it change, since then by one that
    nobody sets. So a clock that jumps makes no file newer than another, and none stale.
    """

    def __init__(self) -> None:
        self._then = math.inf
        self._seen = 0.0

    def changed(self, mtime: float) -> None:
        """It was written to at that Unix time."""
        self._then = max(0.0, time.time() - mtime)
        self._seen = time.monotonic()

    @property
    def seconds(self) -> float:
        """As of now; infinite without the file."""
        return self._then + time.monotonic() - self._seen


class WatchedStats:
    """The figures of the instance ``name`` in the directory ``path``."""

    def __init__(self, path: str, name: str) -> None:
        self._name = name
        self._file = StatsFile(f"{path}/fuzzer_stats", name)
        self.plot = Plot(f"{path}/plot_data")
        self._stats: Stats | None = None
        self._stats_age = _Age()
        self._row: PlotRow | None = None
        self._row_age = _Age()
        self._named_age = _Age()
        self._rate = UNKNOWN
        self._by_rows = Pace(ROWS_S)
        self._by_files = Pace(FILES_S)
        self._process = (0, 0)
        self._run = 0
        """Its run_time, when that was last read."""
        self._named = 0
        """Executions that the name of a find tells of."""
        self._told = 0
        self._begun = False
        """Whether it ran all the time from one row to the last."""

    def look(self) -> Stats | None:
        """The newest figures if there are any that were not told, else None."""
        stats, row = self._file.read(), self.plot.news()
        if stats is None and row is None and self._named <= self._told:
            return None
        if row is not None:
            self._row_age.changed(self.plot.mtime)
        if stats is not None:
            self._stats_age.changed(self._file.mtime)
            self._measure(stats)
        if row is not None and (self._row is None or row.seconds != self._row.seconds):
            self._measure_row(row)
        self._stats = stats or self._stats
        self._row = row or self._row
        latest = self.latest
        self._told = latest.execs if latest else 0
        return latest

    def named(self, execs: int, at: float) -> None:
        """A find at that Unix time was made after so many executions, as its name says."""
        if execs > self._named:
            self._named = execs
            self._named_age.changed(at)

    def interrupted(self) -> None:
        """It is paused, or no longer: no rate spans that."""
        self._by_rows.interrupted()
        self._by_files.interrupted()
        self._begun = False

    @property
    def latest(self) -> Stats | None:
        """The newest figures with their age as of now; None if there are none."""
        if self._stats is None and self._row is None and not self._named:
            return None
        return replace(self._merged(), execs_per_sec=self._rate)

    @property
    def written(self) -> float:
        """Unix time of the newest figures, 0 without any."""
        return max(self._file.mtime, self.plot.mtime)

    @property
    def age(self) -> float:
        """Seconds since then, infinite without any."""
        return min(self._stats_age.seconds, self._row_age.seconds)

    @property
    def pid(self) -> int:
        """The process that says it writes them."""
        return self._whole("fuzzer_pid")

    @property
    def version(self) -> str:
        """Of AFL, "" if the file does not say."""
        return self._file.values.get("afl_version", "")[:100]

    @property
    def target(self) -> str:
        """The program that is fuzzed, as AFL's banner names it."""
        return self._file.values.get("afl_banner", "")[:200]

    def began(self, now: float) -> float:
        """Unix time at which the instance's own clock stood at 0; 0 if nothing says so.

        A campaign that was resumed continues where it had stopped: its own clock leaves the
        time between out.
        """
        if not self._file.values:
            return 0.0
        last, start = self._last_update(now), self._whole("start_time")
        run = self._whole("run_time")
        if not run and self._row and not self._row.unix:  # the file holds no number
            run = int(self._row.seconds)
        if "run_time" in self._file.values and last - run > FIRST_AFL:
            return float(last - run)
        return float(start) if FIRST_AFL < start <= last else float(last)

    def ended(self, now: float) -> float:
        """Unix time of the newest figures by what they say: a copy's files are younger.

        0 without any.
        """
        if not self._file.values:
            return min(self.written, now)
        last, row = float(self._last_update(now)), self._row
        if row is not None:
            last = max(last, row.seconds if row.unix else self.began(now) + row.seconds)
        return min(last, self.written, now)

    @property
    def silent(self) -> float:
        """Seconds since :meth:`ended`."""
        now = time.time()
        return max(0.0, now - self.ended(now))

    def _last_update(self, now: float) -> int:
        written = min(self._file.mtime, now)
        last = self._whole("last_update")
        return last if FIRST_AFL < last < written + DAY else int(written)

    def _merged(self) -> Stats:
        """The last row over the last ``fuzzer_stats`` if it is the newer of the two."""
        stats, row = self._stats or Stats(self._name), self._row
        execs = max(stats.execs, self._named, row.count("total_execs", 0) if row else 0)
        stats_age, row_age = self._stats_age.seconds, self._row_age.seconds
        if row is not None and row_age <= stats_age:
            return replace(
                of_row(self._name, row),
                execs=execs,
                favored=stats.favored,
                edges=row.count("edges_found", stats.edges),
                edges_total=stats.edges_total,
                stability=stats.stability,
                age=round(row_age, 2),
                slow_age=round(stats_age, 2) if self._stats else -1.0,
            )
        if row is not None:  # for what the file has no number for
            older = of_row(self._name, row)
            gaps = {field: getattr(older, field) for field in _GAPS if getattr(stats, field) < 0}
            stats = replace(stats, corpus=stats.corpus or older.corpus, **gaps)
        age = stats_age if self._stats else self._named_age.seconds
        return replace(stats, execs=execs, age=round(age, 2))

    def _measure(self, stats: Stats) -> None:
        """A rate of ``fuzzer_stats``, where rows have none."""
        process = (self.pid, self._whole("start_time"))
        if process != self._process:  # what was measured is of another start
            self._process, self._begun = process, False
            self._rate = UNKNOWN
            self._by_rows.forget()
            self._by_files.forget()
            if self._whole("run_time") < self._run:  # begun again, not resumed
                self._row, self._named = None, 0
        self._run = self._whole("run_time")
        if stats.execs:  # else it is no number
            self._by_files.add(self._whole("last_update"), stats.execs, self._file.mtime)
        if self._rate < 0 or self._row_age.seconds > self._stats_age.seconds + ROWS_S:
            self._rate = self._by_files.rate
        if self._rate < 0:
            self._rate = own_rate(self._file.values)

    def _measure_row(self, row: PlotRow) -> None:
        """A rate of ``plot_data``."""
        before = [r for r in self.plot.ending() if r.seconds < row.seconds] if not self._row else []
        if "total_execs" not in row.values:
            # Its first row, like its first file, is of the seeds.
            if self._begun or before:
                self._rate = row.rate(UNKNOWN)
            self._begun = True
            return
        for each in before:  # what was written before we came
            self._by_rows.add(each.seconds, each.count("total_execs"))
        known = self._by_rows.rate >= 0
        self._by_rows.add(row.seconds, row.count("total_execs"), self.plot.mtime)
        if known or self._by_rows.rate >= 0:  # known before: it was started again
            self._rate = self._by_rows.rate

    def _whole(self, key: str) -> int:
        return whole(self._file.values, key)


def of_row(name: str, row: PlotRow) -> Stats:
    """The figures that a row has."""
    return Stats(
        name,
        execs=row.count("total_execs", 0),
        execs_per_sec=row.rate(0.0),
        corpus=row.count("corpus_count", 0),
        pending=row.count("pending_total"),
        crashes=row.count("saved_crashes", 0),
        hangs=row.count("saved_hangs", 0),
        edges=row.count("edges_found"),
        cycles=row.count("cycles_done"),
        cur_item=row.count("cur_item"),
        max_depth=row.count("max_depth"),
    )
