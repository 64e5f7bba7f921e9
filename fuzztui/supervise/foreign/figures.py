"""A foreign instance's figures: ``fuzzer_stats`` once a minute, ``plot_data`` every 5 seconds."""

from __future__ import annotations

import time
from dataclasses import replace

from fuzztui.supervise.figures import StatsFile
from fuzztui.supervise.foreign.plot import Plot, Row
from fuzztui.wire.events import Stats

__all__ = ["ForeignFigures"]

FIRST_AFL = 1384000000
"""November 2013: no campaign began before."""

DAY = 86400.0


class ForeignFigures:
    """The figures of the instance ``name`` in the directory ``path``."""

    def __init__(self, path: str, name: str) -> None:
        self._name = name
        self._file = StatsFile(f"{path}/fuzzer_stats", name)
        self.plot = Plot(f"{path}/plot_data")
        self._stats: Stats | None = None
        self._row: Row | None = None
        self._rate = -1.0
        """Executions a second as last measured; -1: never yet."""

    def look(self) -> Stats | None:
        """The newest figures if one of the files has changed, else None."""
        stats, row = self._file.read(), self.plot.news()
        if stats is None and row is None:
            return None
        before = self._row
        self._stats = stats or self._stats
        self._row = row or self._row
        merged = self._merged()
        if row is not None or self._rate < 0:
            self._rate = _rate(before, row, merged.execs_per_sec)
        return replace(merged, execs_per_sec=self._rate)

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

    def _whole(self, key: str) -> int:
        text = self._file.values.get(key, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


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


def _rate(before: Row | None, row: Row | None, said: float) -> float:
    """Executions a second, from what was executed between two rows.

    AFL's own figure is wrong after a pause, and an average over all its life in
    ``fuzzer_stats``: it serves until there are two rows.
    """
    if before is None or row is None or "total_execs" not in row.values:
        return said
    took = row.seconds - before.seconds
    done = row.count("total_execs") - before.count("total_execs")
    if took <= 0 or done < 0:  # it was started anew
        return said
    return round(done / took, 2)
