"""A watched instance's statistics: ``fuzzer_stats`` once a minute, ``plot_data`` every 5 seconds.

AFL 4.04c writes its first row after a minute. AFL 2.5x writes rows without executions, and only if
another column has changed: then the rate in the row is used.

The number of executions is the maximum of both files and of file names (``execs:23829``), because
``fuzzer_stats`` may be a minute old, contain no number, or not exist (``-n``).
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from itertools import pairwise

from fuzztui.features.watch.plot_data import Plot, PlotRow
from fuzztui.kernel.wire.afl import MAX_COMMAND_LINE
from fuzztui.kernel.wire.events import Stats
from fuzztui.run.observe.fuzzer_stats import own_rate, whole
from fuzztui.run.observe.pace import FILES_S, STEPS, UNKNOWN, Pace
from fuzztui.run.observe.stats_reader import StatsFile

FIRST_AFL = 1384000000
"""Unix time of AFL's first release, in November 2013: no campaign started before."""

DAY = 86400.0

_GAPS = ("pending", "edges", "cycles", "cur_item", "max_depth")
"""Fields of a row of ``plot_data`` that are taken from it if ``fuzzer_stats`` lacks them (-1)."""

_OF_ROW = (
    "execs_per_sec", "corpus", "pending", "crashes", "hangs", "cycles", "cur_item", "max_depth",
)  # fmt: skip
"""Fields that are taken from a row of ``plot_data`` if it is newer than ``fuzzer_stats``."""

LATE_S = 300.0
"""Seconds that a row of ``plot_data`` may be newer than ``fuzzer_stats``."""

COPIED_S = 5.0
"""Seconds by which the times of ``fuzzer_stats`` must differ for it to count as a copy."""

ROWS_S = 20.0
"""Seconds between two rows above which the instance is taken not to have run in between."""


class _Age:
    """The age of a file: by the wall clock when a change was seen, from then on by the monotonic
    clock, so that setting the wall clock makes no file newer than another, and none stale.
    """

    def __init__(self) -> None:
        self._then = math.inf
        self._seen = 0.0

    def changed(self, mtime: float) -> None:
        """Set the Unix time of the last change."""
        self._then = max(0.0, time.time() - mtime)
        self._seen = time.monotonic()

    @property
    def seconds(self) -> float:
        """The present age; infinite if the file does not exist."""
        return self._then + time.monotonic() - self._seen


class WatchedStats:
    """Reads the statistics of the instance ``name`` in the directory ``path``."""

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
        """``run_time`` when ``fuzzer_stats`` was last read."""
        self._named = 0
        """The highest number of executions in a file name."""
        self._reported = 0
        """Executions that were last reported."""
        self._begun = False
        """Whether the instance ran without a break since an earlier row."""
        self.advanced = 0.0
        """Unix time at which statistics were written that are newer than earlier ones; 0: never."""

    def look(self) -> Stats | None:
        """Return the newest statistics; None if nothing is new."""
        before = self._times
        stats = self._file.read()
        last, start = self._whole("last_update"), self._whole("start_time")
        # Within a start no row can come longer after another than the start has lasted.
        self.plot.longest_break = last - start + LATE_S if last >= start > 0 else math.inf
        row = self.plot.news()
        if stats is None and row is None and self._named <= self._reported:
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
        if any(0 < old < new for old, new in zip(before, self._times, strict=True)):
            self.advanced = max(self._file.ctime, self.plot.ctime)
        latest = self.latest
        self._reported = latest.execs if latest else 0
        return latest

    def named(self, execs: int, at: float) -> None:
        """Set the number of executions in the name of a file that was saved at a Unix time."""
        if execs > self._named:
            self._named = execs
            self._named_age.changed(at)

    def interrupted(self) -> None:
        """Called when the instance is paused or continues: no rate is measured across that."""
        self._by_rows.interrupted()
        self._by_files.interrupted()
        self._begun = False

    @property
    def latest(self) -> Stats | None:
        """The newest statistics with their present age; None: there are none."""
        if self._stats is None and self._row is None and not self._named:
            return None
        return replace(self._merged(), execs_per_sec=self._rate)

    @property
    def written(self) -> float:
        """Unix time of the newest statistics; 0: none."""
        return max(self._file.mtime, self.plot.mtime)

    @property
    def copied(self) -> bool:
        """Whether the files are copies: afl-fuzz writes ``fuzzer_stats`` at its ``last_update``."""
        file = self._file
        return max(file.ctime - file.mtime, file.mtime - self._last_update(file.mtime)) > COPIED_S

    @property
    def _times(self) -> tuple[float, float]:
        """The newest times in both files; 0: none."""
        return float(self._whole("last_update")), self._row.seconds if self._row else 0.0

    @property
    def age(self) -> float:
        """Seconds since the newest statistics; infinite: none."""
        return min(self._stats_age.seconds, self._row_age.seconds)

    @property
    def pid(self) -> int:
        """Process id of afl-fuzz in ``fuzzer_stats``."""
        return self._whole("fuzzer_pid")

    @property
    def version(self) -> str:
        """Version of AFL; "": unknown."""
        return self._file.values.get("afl_version", "")[:100]

    @property
    def command_line(self) -> str:
        """The command line in ``fuzzer_stats``; an empty string if it has none."""
        return self._file.values.get("command_line", "")[:MAX_COMMAND_LINE]

    @property
    def target(self) -> str:
        """The target's name in AFL's banner."""
        return self._file.values.get("afl_banner", "")[:200]

    @property
    def last_find(self) -> float:
        """Unix time of the last entry that was not imported, by ``fuzzer_stats``; 0: unknown."""
        found = self._whole("last_find")
        return float(found) if FIRST_AFL < found <= self.written else 0.0

    def began(self, now: float) -> float:
        """Return the Unix time of 0 on the instance's own clock; 0: unknown.

        The clock of a resumed instance leaves out the break, so this is later than the first start.
        """
        if not self._file.values:
            return 0.0
        last, start = self._last_update(now), self._whole("start_time")
        run = self._whole("run_time")
        if not run and self._row and not self._row.unix:  # the file contains no number
            run = int(self._row.seconds)
        if "run_time" in self._file.values and last - run > FIRST_AFL:
            return float(last - run)
        return float(start) if FIRST_AFL < start <= last else float(last)

    def ended(self, now: float) -> float:
        """Return the Unix time in the newest statistics, as a copy's files are newer; 0: none."""
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
        """Merge the last row and ``fuzzer_stats``; the newer one takes precedence."""
        stats, row = self._stats or Stats(self._name), self._row
        execs = max(stats.execs, self._named, row.count("total_execs", 0) if row else 0)
        stats_age, row_age = self._stats_age.seconds, self._row_age.seconds
        if row is not None and row_age <= stats_age:
            newer = of_row(self._name, row)
            return replace(
                stats,
                **{field: getattr(newer, field) for field in _OF_ROW},
                execs=execs,
                edges=row.count("edges_found", stats.edges),
                age=round(row_age, 2),
                slow_age=round(stats_age, 2) if self._stats else -1.0,
            )
        if row is not None:  # for fields that fuzzer_stats does not contain
            older = of_row(self._name, row)
            gaps = {field: getattr(older, field) for field in _GAPS if getattr(stats, field) < 0}
            stats = replace(stats, corpus=stats.corpus or older.corpus, **gaps)
        age = stats_age if self._stats else self._named_age.seconds
        return replace(stats, execs=execs, age=round(age, 2))

    def _measure(self, stats: Stats) -> None:
        """Measure the rate of ``fuzzer_stats``, and use it if rows have none."""
        process = (self.pid, self._whole("start_time"))
        is_first = self._process not in ((0, 0), process)
        if process != self._process:  # earlier measurements are from another start
            self._process, self._begun = process, False
            self._rate = UNKNOWN
            self._by_rows.forget()
            self._by_files.forget()
            if self._whole("run_time") < self._run:  # started again, not resumed
                self._row, self._named = None, 0
        self._run = self._whole("run_time")
        if stats.execs:  # else the file contains no number
            self._by_files.add(self._whole("last_update"), stats.execs, self._file.mtime)
        if self._rate < 0 or self._row_age.seconds > self._stats_age.seconds + ROWS_S:
            self._rate = self._by_files.rate
        if self._rate < 0 and not is_first:  # AFL's first file after a resume has no rate
            self._rate = own_rate(self._file.values)

    def _measure_row(self, row: PlotRow) -> None:
        """Measure the rate of ``plot_data``."""
        before = [r for r in self.plot.ending() if r.seconds < row.seconds] if not self._row else []
        if "total_execs" not in row.values:
            # The rate of the first row, as of the first fuzzer_stats, is that of the seeds.
            if self._begun or before:
                self._rate = row.rate(UNKNOWN)
            self._begun = True
            return
        steps = [new.seconds - old.seconds for old, new in pairwise([*before, row])]
        if steps[1:] and steps[-1] > max(ROWS_S, STEPS * steps[-2]):
            before = []  # of an earlier process
        for each in before:  # written before the watcher started
            self._by_rows.add(each.seconds, each.count("total_execs"))
        known = self._by_rows.rate >= 0
        self._by_rows.add(row.seconds, row.count("total_execs"), self.plot.mtime)
        if self._row_age.seconds > self._stats_age.seconds + ROWS_S:
            self._by_rows.forget()  # the process that runs now has not written a row yet
            known = True
        if known or self._by_rows.rate >= 0:  # known before: unknown now, after a new start
            self._rate = self._by_rows.rate

    def _whole(self, key: str) -> int:
        return whole(self._file.values, key)


def of_row(name: str, row: PlotRow) -> Stats:
    """Convert a row to statistics."""
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
