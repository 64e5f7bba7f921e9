"""A synthetic AFL++ sync directory, as deep as those of long campaigns.

    python benchmarks/afl_tree.py DIR [--instances 50] [--entries 20000] [--crashes 40]
        [--hours 24] [--resumes 1] [--alive [SECONDS]]

Layout, names and figures are those of AFL++ 4.04c. The entries of a queue are links to one
file, or a million of them would take a minute. ``--alive`` continues as 50 fuzzers do: it
holds their locks, appends a row to each plot_data every 5 seconds and rewrites each
fuzzer_stats every 60.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import random
import time
from pathlib import Path

HEADER = (
    "# relative_time, cycles_done, cur_item, corpus_count, pending_total, pending_favs, "
    "map_size, saved_crashes, saved_hangs, max_depth, execs_per_sec, total_execs, edges_found\n"
)
EXECS = 900
"""A second, of one instance."""

ROW_S, STATS_S = 5, 60


def name_of(index: int) -> str:
    return "main" if index == 0 else f"s{index:02d}"


class Fuzzer:
    """One instance's directory."""

    def __init__(self, root: Path, index: int, entries: int, crashes: int, start: float) -> None:
        self.path = root / name_of(index)
        self.index = index
        self.entries = entries
        self.crashes = crashes
        self.start = start

    def make(self, seconds: int, resumes: int, siblings: int) -> None:
        for folder in ("queue", "crashes", "hangs", ".synced"):
            (self.path / folder).mkdir(parents=True, mode=0o700)
        rng = random.Random(self.index)
        queue = os.fspath(self.path / "queue")
        first = f"{queue}/id:000000,time:0,execs:0,orig:seed"
        Path(first).write_bytes(b"A" * 64)
        for n in range(1, self.entries):
            ms = seconds * 1000 * n // self.entries
            src = rng.randrange(n // 4, n)  # 18 generations deep at the end
            if siblings > 1 and rng.random() < 0.3:
                peer = name_of((self.index + rng.randrange(1, siblings)) % siblings)
                rest = f"sync:{peer},src:{src:06d},+cov"
            else:
                made = f"time:{ms},execs:{ms * EXECS // 1000},op:havoc,rep:{rng.randrange(2, 16)}"
                rest = f"src:{src:06d},{made},+cov"
            os.link(first, f"{queue}/id:{n:06d},{rest}")
        for n in range(self.crashes):
            ms = seconds * 1000 * (n + 1) // (self.crashes + 1)
            old = resumes and n < self.crashes // 4
            into = self.path / ("crashes.2026-01-02-03:04:05" if old else "crashes")
            into.mkdir(exist_ok=True)
            src = rng.randrange(self.entries)
            made = f"time:{ms},execs:{ms * EXECS // 1000},op:havoc,rep:4"
            (into / f"id:{n:06d},sig:11,src:{src:06d},{made}").write_bytes(b"boom")
        (self.path / "crashes" / "README.txt").write_text("Command line used to find this...\n")
        for n in range(siblings):
            if n != self.index:
                done = (self.entries // 2).to_bytes(4, "little")
                (self.path / ".synced" / name_of(n)).write_bytes(done)
        rows = "".join(self.row(s) for s in range(60, seconds + 1, ROW_S))
        (self.path / "plot_data").write_text(HEADER + rows)
        self.stats(seconds)

    def row(self, s: int) -> str:
        part = min(1.0, s / 86400)
        return (
            f"{s}, {s // 7000}, {s % 5000}, {int(self.entries * part)}, 1200, 3, 4.21%, "
            f"{int(self.crashes * part)}, 0, 23, {EXECS + s % 37}.{s % 100:02d}, {EXECS * s}, "
            f"{int(2759 * part**0.3)}\n"
        )

    def stats(self, s: int) -> None:
        now = int(self.start) + s
        values = {
            "start_time": int(self.start), "last_update": now, "run_time": s,
            "fuzzer_pid": os.getpid(), "cycles_done": s // 7000, "cycles_wo_finds": 0,
            "execs_done": EXECS * s, "execs_per_sec": f"{EXECS:.2f}",
            "execs_ps_last_min": f"{EXECS:.2f}", "corpus_count": self.entries,
            "corpus_favored": 800, "corpus_found": self.entries - 1, "corpus_imported": 0,
            "corpus_variable": 0, "max_depth": 23, "cur_item": s % 5000, "pending_favs": 3,
            "pending_total": 1200, "stability": "99.20%", "bitmap_cvg": "4.21%",
            "saved_crashes": self.crashes, "saved_hangs": 0, "last_find": now, "last_crash": now,
            "last_hang": 0, "execs_since_crash": 1, "exec_timeout": 20, "slowest_exec_ms": 0,
            "peak_rss_mb": 3, "cpu_affinity": 0, "edges_found": 2759, "total_edges": 65536,
            "var_byte_count": 30, "havoc_expansion": 2, "auto_dict_entries": 0,
            "testcache_size": 1, "testcache_count": 2, "testcache_evict": 0,
            "afl_banner": "target", "afl_version": "++4.04c",
            "target_mode": "shmem_testcase default",
            "command_line": f"afl-fuzz -i in -o out -S {self.path.name} -- ./target",
        }  # fmt: skip
        text = "".join(f"{key:<18}: {value}\n" for key, value in values.items())
        (self.path / "fuzzer_stats").write_text(text)


def make(
    root: Path,
    *,
    instances: int = 50,
    entries: int = 20_000,
    crashes: int = 40,
    hours: float = 24,
    resumes: int = 1,
) -> list[Fuzzer]:
    """Make the tree, as if its fuzzers had started ``hours`` ago."""
    seconds = int(hours * 3600)
    start = time.time() - seconds
    fuzzers = [Fuzzer(root, n, entries, crashes, start) for n in range(instances)]
    for fuzzer in fuzzers:
        fuzzer.make(seconds, resumes, instances)
    return fuzzers


def keep_alive(fuzzers: list[Fuzzer], seconds: float) -> None:
    """Be all the fuzzers for so long: their locks, rows and figures."""
    locks = []
    for fuzzer in fuzzers:
        fd = os.open(fuzzer.path, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        locks.append(fd)
    begun, n = time.monotonic(), len(fuzzers)
    step = 0
    # Each has a time of its own within the 5 and the 60 seconds, as real ones do.
    while time.monotonic() - begun < seconds:
        fuzzer = fuzzers[step % n]
        s = int(time.time() - fuzzer.start)
        with (fuzzer.path / "plot_data").open("a") as file:
            file.write(fuzzer.row(s))
        if step // n % (STATS_S // ROW_S) == step % n % (STATS_S // ROW_S):
            fuzzer.stats(s)
        step += 1
        time.sleep(max(0.0, begun + step * ROW_S / n - time.monotonic()))
    for fd in locks:
        os.close(fd)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--instances", type=int, default=50)
    parser.add_argument("--entries", type=int, default=20_000)
    parser.add_argument("--crashes", type=int, default=40)
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--resumes", type=int, default=1)
    parser.add_argument("--alive", type=float, nargs="?", const=1e9, default=0.0)
    options = parser.parse_args()
    begun = time.monotonic()
    fuzzers = make(
        options.directory,
        instances=options.instances,
        entries=options.entries,
        crashes=options.crashes,
        hours=options.hours,
        resumes=options.resumes,
    )
    print(f"{options.directory}: made in {time.monotonic() - begun:.1f} s", flush=True)
    keep_alive(fuzzers, options.alive)


if __name__ == "__main__":
    main()
