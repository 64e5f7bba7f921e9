"""``fuzzer_stats``, ``plot_data`` and the other text files that AFL's tools read."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
import time
from collections import deque
from pathlib import Path
from typing import Final

from fuzztui import __version__
from fuzztui.engines.base.spec import Spec
from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.directory.store import Store
from fuzztui.kernel.wire.afl import PLOT_HEADER

_STATS_EVERY_S: Final = 1.0
_PLOT_EVERY_S: Final = 5.0
_FIRST_MS: Final = 5000
"""Running time after which statistics are written even without entries and executions."""


class Reporter:
    """Writes the counters of the journal to AFL's files, in the worker monitor.

    So the statistics continue while a trial hangs, and are right after the worker's end. A full
    disk costs a row, not the campaign.
    """

    def __init__(self, spec: Spec, journal: TrialJournal, store: Store) -> None:
        self._spec, self._counters, self._store = spec, journal.counters, store
        self._dir = spec.dir
        self._stats_due = 0.0
        self._plot_due = 0.0
        self._minute: deque[tuple[float, int]] = deque()
        self._last_rate = 0.0
        # A shell reads the file in afl-whatsup: no characters that it would interpret.
        self._banner = re.sub(r"[^A-Za-z0-9_.:/+-]", "_", spec.target.function)[-60:]
        self.worker_pid = 0
        self._peak_rss_mb = 0

    def setup(self, argv: list[str]) -> None:
        """Write the files that are written once at each start. Raises OSError."""
        command = " ".join(map(shlex.quote, argv))
        keys = sorted(k for k in os.environ if k.startswith(("PYTHON", "FUZZTUI")))
        environment = "".join(f"{k}={os.environ[k]}\n" for k in keys)
        self._store.replace(
            self._dir / "fuzzer_setup",
            f"# environment variables:\n{environment}\n# command line:\n{command}\n".encode(),
        )
        self._store.replace(self._dir / "cmdline", ("\n".join(argv) + "\n").encode())
        plot = self._dir / "plot_data"
        if not plot.exists() or plot.stat().st_size == 0:
            self._store.replace(plot, PLOT_HEADER.encode())

    def tick(self, now: float, *, final: bool = False) -> None:
        """Write the files that are due. ``now``: monotonic seconds. ``final``: write all now."""
        if now < self._stats_due and not final:
            return
        counters = self._counters
        has_both = counters[j.CORPUS] and counters[j.TRIAL]
        if not final and not has_both and counters[j.RUN_MS] < _FIRST_MS:
            return  # afl-whatsup divides by both numbers
        self._stats_due = now + _STATS_EVERY_S
        rate = self._rate(now)
        self._peak_rss_mb = max(self._peak_rss_mb, _peak_rss_mb(self.worker_pid))
        with contextlib.suppress(OSError):
            self._store.replace(self._dir / "fuzzer_stats", self._stats(rate).encode())
        if now >= self._plot_due or final:
            self._plot_due = now + _PLOT_EVERY_S
            with contextlib.suppress(OSError), (self._dir / "plot_data").open("a") as plot:
                plot.write(self._row(rate))

    def _rate(self, now: float) -> float:
        """Executions per second in the last minute; the last known rate if under 0.5 s passed."""
        execs = self._counters[j.TRIAL]
        minute = self._minute
        minute.append((now, execs))
        while len(minute) > 2 and now - minute[0][0] > 60:
            minute.popleft()
        elapsed = now - minute[0][0]
        if elapsed >= 0.5:
            self._last_rate = (execs - minute[0][1]) / elapsed
        elif not self._last_rate and self._counters[j.RUN_MS] > 0:
            self._last_rate = execs * 1000 / self._counters[j.RUN_MS]
        return self._last_rate

    def _coverage(self) -> float:
        return 100 * self._counters[j.EDGES] / max(1, self._counters[j.EDGES_TOTAL])

    def _row(self, rate: float) -> str:
        w = self._counters
        columns = [w[j.RUN_MS] // 1000, w[j.CYCLES], w[j.CUR_ITEM], w[j.CORPUS], w[j.PENDING]]
        return (
            f"{', '.join(map(str, columns))}, {w[j.PENDING_FAVORED]}, {self._coverage():.2f}%,"
            f" {w[j.CRASHES]}, {w[j.HANGS]}, {w[j.MAX_DEPTH]}, {rate:.2f}, {w[j.TRIAL]},"
            f" {w[j.EDGES]}\n"
        )

    def _stats(self, rate: float) -> str:
        w = self._counters
        execs, run_s = w[j.TRIAL], w[j.RUN_MS] / 1000
        edges, varying = w[j.EDGES], w[j.EDGES_VARIABLE]
        watched = self._spec.engine.third_party
        third_party = {"edges_third_party": w[j.EDGES_THIRD_PARTY]} if watched else {}
        stats: dict[str, object] = {
            "start_time": w[j.START_TIME],
            "last_update": int(time.time()),
            "run_time": int(run_s),
            "fuzzer_pid": os.getpid(),
            **{key: w[counter] for counter, key in j.REPORTED.items()},
            **third_party,
            "execs_per_sec": f"{execs / run_s if run_s else rate:.2f}",
            "execs_ps_last_min": f"{rate:.2f}",
            "stability": f"{100 * (1 - varying / edges) if edges else 100:.2f}%",
            "bitmap_cvg": f"{self._coverage():.2f}%",
            "execs_since_crash": execs - w[j.LAST_CRASH_TRIAL],
            "exec_timeout": int(self._spec.target.timeout_s * 1000),
            "slowest_exec_ms": w[j.SLOWEST_NS] // 1_000_000,
            "peak_rss_mb": self._peak_rss_mb,
            "cpu_affinity": -1,
            "havoc_expansion": 0,
            "testcache_size": 0,
            "testcache_count": 0,
            "testcache_evict": 0,
            "afl_banner": self._banner,
            "afl_version": f"fuzztui-{__version__}",
            "target_mode": self._spec.engine.kind,
            "command_line": " ".join(map(shlex.quote, sys.orig_argv)),
        }
        return "".join(f"{key:<18}: {value}\n" for key, value in stats.items())


def _peak_rss_mb(pid: int) -> int:
    """Peak resident size of the worker, in MiB; 0 if there is no worker."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    match = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return int(match[1]) // 1024 if match else 0
