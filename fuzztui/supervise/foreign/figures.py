"""A foreign instance's figures: ``fuzzer_stats`` once a minute, ``plot_data`` every 5 seconds.

AFL 4.04c writes its first row after a minute, AFL 2.5x rows without executions, and only
where something else has changed: then its own figure of a row has to do for the rate.
"""

from __future__ import annotations

import time
from dataclasses import replace

from fuzztui.supervise.figures import StatsFile
from fuzztui.supervise.foreign.plot import Plot, Row
from fuzztui.supervise.pace import FILES_S, UNKNOWN, Pace
from fuzztui.supervise.stats import own_rate, whole
from fuzztui.wire.events import Stats

__all__ = ["ForeignFigures"]

FIRST_AFL = 1384000000
"""November 2013: no campaign began before."""

DAY = 86400.0

ROWS_S = 20.0
"""Longer than that between two rows, and it did not run in between."""


class ForeignFigures:
    """The figures of the instance ``name`` in the directory ``path``."""

    def __init__(self, path: str, name: str) -> None:
        self._name = name
        self._file = StatsFile(f"{path}/fuzzer_stats", name)
        self.plot = Plot(f"{path}/plot_data")
        self._stats: Stats | None = None
        self._row: Row | None = None
        self._rate = UNKNOWN
        self._by_rows = Pace(ROWS_S)
        self._by_files = Pace(FILES_S)
        self._process = (0, 0)
        self._begun = False
        """Whether it ran all the time from one row to the last."""

    def look(self) -> Stats | None:
        """The newest figures if one of the files has changed, else None."""
        stats, row = self._file.read(), self.plot.news()
        if stats is None and row is None:
            return None
        if stats is not None:
            self._measure(stats)
        if row is not None and (self._row is None or row.seconds != self._row.seconds):
            self._measure_row(row)
        self._stats = stats or self._stats
        self._row = row or self._row
        return replace(self._merged(), execs_per_sec=self._rate)

    def interrupted(self) -> None:
        """It is paused, or no longer: no rate spans that."""
        self._by_rows.interrupted()
        self._by_files.interrupted()
        self._begun = False

    @property
    def latest(self) -> Stats | None:
        """The newest figures with their age as of now; None if there are none."""
        if self._stats is None and self._row is None:
            return None
        return replace(self._merged(), execs_per_sec=self._rate)

    @property
    def written(self) -> float:
        """Unix time of the newest figures, 0 without any."""
        return max(self._file.mtime, self.plot.mtime)

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

        A campaign that was resumed goes on where it had stopped: its own clock leaves the
        time between out.
        """
        if not self._file.values:
            return 0.0
        written = min(self._file.mtime, now)
        last, run = self._whole("last_update"), self._whole("run_time")
        if not FIRST_AFL < last < written + DAY:
            last = int(written)
        start = self._whole("start_time")
        if "run_time" in self._file.values and last - run > FIRST_AFL:
            return float(last - run)
        return float(start) if FIRST_AFL < start <= last else float(last)

    def _merged(self) -> Stats:
        """The last row over the last ``fuzzer_stats`` if it is the newer of the two."""
        now = time.time()
        stats, row = self._stats, self._row
        stats_age = max(0.0, now - self._file.mtime)
        if row is None or (stats is not None and self._file.mtime > self.plot.mtime):
            assert stats is not None
            return replace(stats, age=round(stats_age, 2))
        base = stats or Stats(self._name)
        return replace(
            of_row(self._name, row),
            execs=row.count("total_execs", base.execs),
            favored=base.favored,
            edges=row.count("edges_found", base.edges),
            edges_total=base.edges_total,
            stability=base.stability,
            age=round(max(0.0, now - self.plot.mtime), 2),
            slow_age=round(stats_age, 2) if stats else -1.0,
        )

    def _measure(self, stats: Stats) -> None:
        """A rate of ``fuzzer_stats``, where rows have none."""
        process = (self.pid, self._whole("start_time"))
        if process != self._process:  # what was measured is of another start
            self._process, self._begun = process, False
            self._rate = UNKNOWN
            self._by_rows.forget()
            self._by_files.forget()
        self._by_files.add(self._whole("last_update"), stats.execs, self._file.mtime)
        if self._rate < 0 or self._file.mtime > self.plot.mtime + ROWS_S:
            self._rate = self._by_files.rate
        if self._rate < 0:
            self._rate = own_rate(self._file.values)

    def _measure_row(self, row: Row) -> None:
        """A rate of ``plot_data``."""
        before = [r for r in self.plot.ending() if r.seconds < row.seconds] if not self._row else []
        if "total_execs" not in row.values:
            # Its first row, like its first file, is of the seeds.
            if self._begun or before:
                self._rate = row.values.get("execs_per_sec", UNKNOWN)
            self._begun = True
            return
        for each in before:  # what was written before we came
            self._by_rows.add(each.seconds, each.count("total_execs"))
        known = self._by_rows.rate >= 0
        self._by_rows.add(row.seconds, row.count("total_execs"), self.plot.mtime)
        if known or self._by_rows.rate >= 0:  # known before: it was started anew
            self._rate = self._by_rows.rate

    def _whole(self, key: str) -> int:
        return whole(self._file.values, key)


def of_row(name: str, row: Row) -> Stats:
    """The figures that a row has."""
    return Stats(
        name,
        execs=row.count("total_execs", 0),
        execs_per_sec=row.values.get("execs_per_sec", 0.0),
        corpus=row.count("corpus_count", 0),
        pending=row.count("pending_total"),
        crashes=row.count("saved_crashes", 0),
        hangs=row.count("saved_hangs", 0),
        edges=row.count("edges_found"),
        cycles=row.count("cycles_done"),
        cur_item=row.count("cur_item"),
        max_depth=row.count("max_depth"),
    )
