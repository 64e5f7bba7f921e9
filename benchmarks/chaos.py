"""Does a campaign survive whatever happens to it? Random faults, and all invariants after them.

    python benchmarks/chaos.py --rounds 100 [--engine all] [--parallel 2] [--seed 1]
        [--series 15] [--fault NAME]... [--results FILE] [--resume] [--verbose]

A series is one campaign (a shipped sample) that is hurt round after round: in each round one fault
at a random moment, then the same command again, until the log says that all instances run and
execute more. At its end the campaign is stopped in order, and everything is compared.

Engines: zest mu2 spoton text afl text-afl oracle first-python first-afl; or all, fuzz-first; names
may be joined by commas. Faults: SIGKILL of the supervisor, a worker monitor, a worker, an isolated
child, afl-fuzz, its fork server, a helper process, of anything, of everything, of what is just
starting; a screen that gets SIGINT, SIGTERM, SIGHUP, SIGKILL or loses its terminal; SIGSTOP of one
or all processes for some seconds; a full disk, also while the supervisor is killed (root only: a
tmpfs in a mount namespace); jumps of the wall clock (by a preloaded library, where there is a C
compiler; not for crashy-afl, whose sanitizer comes first).

Invariants, checked by code that imports nothing of fuzztui (``faults/fold.py``):
lost       every file in queue/ crashes/ hangs/ is in the log, every logged file is on disk
doubled    no entry, finding or kill of a mutant is logged twice; unkilled: none is taken back
gap, time  sequence numbers without gaps, campaign time never decreases
back:...   cumulative figures never decrease
rewritten  what was read while the campaign ran is in the log at the end
damaged, zcat, torn   each member and line is sound, also for zcat; files have their logged size
disagrees, problems   status --json, replay --json and the second fold have the same figures
afl-disk   what afl-fuzz itself lost on a full disk: empty files that it forgets when resumed
left       no process, temporary file, lock, socket or shared memory is left behind
terminal   a screen that was ended by SIGINT, SIGTERM or SIGHUP has restored its terminal
resume     the same command succeeds, and the campaign continues within --limit seconds

A round takes 7 to 8 seconds with every engine (two busy cores, --parallel 2, ends of series
included; median 3.3 s of that until the campaign continues): 100 rounds 13 minutes, or 7 with
--parallel 2; 1,000 rounds a bit more than an hour.

Each round is a line in the results file as soon as it is over; --resume continues an interrupted
command. The choice of faults is repeatable by --seed; what they hit depends on the moment. A failed
round prints where its run was copied to, and the command that repeats its series.
Exit status: 0 if nothing was found, 1 otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from faults.campaigns import GROUPS, SUBJECTS
from faults.clock import build
from faults.inject import FAULTS
from faults.series import PRIVATE, run_series
from lab.figures import table
from lab.options import parse
from lab.rows import Rows

Job = dict[str, Any]

TERM_GRACE_S = 30.0
"""Seconds that an interrupted series has for killing its processes."""


def main() -> int:
    """Parse the arguments, run all series, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=100, help="of all engines together")
    parser.add_argument("--engine", default="all", help="names joined by commas; all")
    parser.add_argument("--series", type=int, default=15, help="rounds on one campaign")
    parser.add_argument("--only", type=int, help="run this series of each engine alone")
    parser.add_argument("--fault", action="append", choices=sorted(FAULTS), help="these alone")
    parser.add_argument("--seed", type=int, help="default: random, and printed")
    parser.add_argument("--parallel", type=int, default=1, help="series at the same time")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds to go on after a fault")
    parser.add_argument("--resume", action="store_true", help="go on with the results file")
    parser.add_argument("--keep", type=Path, help="where runs of failed rounds are copied to")
    parser.add_argument("--verbose", action="store_true", help="a line for each round")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    args = parse(parser, "chaos", rounds=2, series=2, engine="zest", fault=["worker"])
    if args.job:
        return _run_job(json.loads(args.job))
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # also then nothing is left behind
    # A shell's background job has SIGINT ignored, and so would all screens that are started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    status = Command(args).run()
    return 0 if args.smoke else status


class Command:
    """The rounds of one call: plans them, runs their series, reports."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self._results = Rows("chaos", args.results)
        self.rows: list[dict[str, Any]] = list(self._results.read()) if args.resume else []
        seeds = {row["seed"] for row in self.rows}
        self.seed = args.seed if args.seed is not None else max(seeds, default=_random_seed())
        if seeds - {self.seed}:
            raise SystemExit(
                f"{args.results}: has rows of seed {seeds}; use --seed, or another file"
            )
        self.private = _may_unshare()
        self.home = Path(tempfile.mkdtemp(prefix="chaos-cache-"))
        self.keep = args.keep or Path(tempfile.gettempdir()) / f"chaos-failed-{self.seed}"
        self._lock = threading.Lock()
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._running: set[subprocess.Popen[str]] = set()
        self._ending = False
        self._broken = 0
        self._begun = time.monotonic()
        self._done_before = self._rounds_done()

    def run(self) -> int:
        """Run the remaining rounds; returns the exit status."""
        jobs = list(self._plan())
        self._total = self._rounds_done() + sum(job["last"] - job["first"] for job in jobs)
        self._announce(jobs)
        for job in jobs:
            self._jobs.put(job)
        threads = [threading.Thread(target=self._work) for _ in range(self.args.parallel)]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            print("\nending the series in progress; --resume continues them", flush=True)
            self._end(threads)
        shutil.rmtree(self.home, ignore_errors=True)
        return self._report()

    # --------------------------------------------------------------------- plan

    def _plan(self) -> Iterator[Job]:
        """The series that are left, those of different engines in turn."""
        names = self._engines()
        each = -(-self.args.rounds // len(names))
        done: dict[tuple[str, int], set[int]] = defaultdict(set)
        for row in self.rows:
            done[row["engine"], row["series"]].add(row["round"])
        for number in range(-(-each // self.args.series)):
            for name in names:
                over = done[name, number]
                first = max(over, default=-1) + 1
                last = min(self.args.series, each - number * self.args.series)
                if -1 in over or (self.args.only is not None and number != self.args.only):
                    continue
                yield {
                    "engine": name, "series": number, "first": first, "last": max(first, last),
                    "seed": self.seed, "limit": self.args.limit, "keep": str(self.keep),
                    "cache": str(self.home), "faults": self.args.fault,
                }  # fmt: skip

    def _engines(self) -> list[str]:
        wanted: dict[str, None] = {}
        for word in self.args.engine.split(","):
            for name in GROUPS.get(word, (word,)):
                if name not in SUBJECTS:
                    known = ", ".join([*SUBJECTS, *GROUPS])
                    raise SystemExit(f"--engine: {name!r} is unknown; there are: {known}")
                if program := SUBJECTS[name].missing():
                    print(f"{name}: skipped, {program} is not installed", flush=True)
                else:
                    wanted[name] = None
        if not wanted:
            raise SystemExit("--engine: none of these can run here")
        return list(wanted)

    def _announce(self, jobs: list[Job]) -> None:
        print(f"seed {self.seed}; {len(jobs)} series; results in {self.args.results}", flush=True)
        if not self.private:
            print("no full disks, and shared memory is not checked: that takes root", flush=True)
        if build(self.home) is None:
            print("no jumps of the clock: there is no C compiler", flush=True)

    # ---------------------------------------------------------------------- run

    def _work(self) -> None:
        while not self._ending:
            try:
                job = self._jobs.get_nowait()
            except Empty:
                return
            self._run_series(job)

    def _run_series(self, job: Job) -> None:
        command = [sys.executable, __file__, "--job", json.dumps(job)]
        env = dict(os.environ)
        if self.private:
            command = ["unshare", "--mount", "--ipc", "--propagation", "private", *command]
            env[PRIVATE] = "1"
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=env, start_new_session=True
        ) as process:
            self._running.add(process)
            for line in process.stdout or ():
                self._take(json.loads(line))
        self._running.discard(process)
        if process.returncode and not self._ending:
            with self._lock:
                self._broken += 1
                print(f"{job['engine']}/{job['series']}: the series itself broke", flush=True)

    def _take(self, row: dict[str, Any]) -> None:
        with self._lock:
            self.rows.append(row)
            self._results.add(**row)
            self._progress(row)

    def _end(self, threads: list[threading.Thread]) -> None:
        self._ending = True
        for process in list(self._running):
            process.terminate()
        for thread in threads:
            thread.join(TERM_GRACE_S)

    # ------------------------------------------------------------------- report

    def _rounds_done(self) -> int:
        return sum(row["round"] >= 0 for row in self.rows)

    def _progress(self, row: dict[str, Any]) -> None:
        if row["violations"] or self.args.verbose:
            what = "end" if row["round"] < 0 else str(row["round"])
            killed = f" killed {'+'.join(row['killed'])}" if row["killed"] else ""
            resumed = f" resumed {row['resumed_s']:.1f} s" if row["resumed_s"] >= 0 else ""
            place = f"{row['engine']}/{row['series']}/{what}"
            print(f"{place:<18} {row['fault']:<16}{resumed}{killed}", flush=True)
        for violation in row["violations"][:10]:
            print(f"  {violation['invariant']}: {violation['text'][:300]}", flush=True)
        if row["violations"]:
            print(f"  the run: {row['kept']}\n  again: {self._again(row)}", flush=True)
        done = self._rounds_done()
        pace = (time.monotonic() - self._begun) / max(1, done - self._done_before)
        if row["round"] < 0 or done % 10 == 0:
            failed = sum(bool(r["violations"]) for r in self.rows)
            left = pace * (self._total - done) / 60
            print(
                f"{done} of {self._total} rounds, {failed} failed, {left:.0f} min left", flush=True
            )

    def _again(self, row: dict[str, Any]) -> str:
        faults = "".join(f" --fault {name}" for name in self.args.fault or ())
        rounds = self.args.rounds if len(self._engines()) == 1 else self.args.series
        rounds = max(rounds, (row["series"] + 1) * self.args.series)
        return (
            f"python benchmarks/chaos.py --engine {row['engine']} --seed {self.seed} "
            f"--only {row['series']} --series {self.args.series} --rounds {rounds}{faults}"
        )

    def _report(self) -> int:
        groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        for row in self.rows:
            groups[row["engine"], row["fault"]].append(row)
        for engine in dict.fromkeys(row["engine"] for row in self.rows):
            groups[engine, "all"] = [r for r in self.rows if r["engine"] == engine]
        groups["all", "all"] = self.rows
        heads = ["engine fault", "rounds", "kills", "median s", "max s", *_COLUMNS, "other"]
        lines = [[f"{e} {f}", *_figures(rows)] for (e, f), rows in sorted(groups.items())]
        print(table(heads, lines))
        kinds: dict[str, int] = defaultdict(int)
        for row in self.rows:
            for violation in row["violations"]:
                kinds[violation["invariant"]] += 1
        print("broken:", ", ".join(f"{k} {n}" for k, n in sorted(kinds.items())) or "nothing")
        return 1 if kinds or self._broken else 0


_COLUMNS = {
    "lost": ("lost", "torn", "damaged", "zcat"),
    "doubled": ("doubled", "unkilled"),
    "left": ("left",),
    "terminal": ("terminal",),
    "back": ("back",),
}
"""Columns of the table, and the invariants that each counts."""


def _figures(rows: list[dict[str, Any]]) -> list[object]:
    rounds = [row for row in rows if row["round"] >= 0]
    took = [row["resumed_s"] for row in rounds if row["resumed_s"] >= 0]
    broken = [v["invariant"].partition(":")[0] for row in rows for v in row["violations"]]
    counts = [sum(name in names for name in broken) for names in _COLUMNS.values()]
    return [
        len(rounds),
        sum(len(row["killed"]) for row in rounds),
        f"{statistics.median(took):.1f}" if took else "-",
        f"{max(took):.1f}" if took else "-",
        *counts,
        len(broken) - sum(counts),
    ]


def _run_job(job: Job) -> int:
    """One series, in a separate process; rows go to stdout."""
    # Also while another signal is handled: its processes must not stay.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    for row in run_series(job):
        print(json.dumps(asdict(row)), flush=True)
    return 0


def _may_unshare() -> bool:
    """Whether a process can have mount and IPC namespaces of its own here."""
    if os.geteuid() or shutil.which("unshare") is None:
        return False
    done = subprocess.run(
        ["unshare", "--mount", "--ipc", "--propagation", "private", "mount", "-t", "tmpfs",
         "tmpfs", "/dev/shm"], capture_output=True, check=False,
    )  # fmt: skip
    return done.returncode == 0


def _random_seed() -> int:
    return int.from_bytes(os.urandom(3), "big")


if __name__ == "__main__":
    raise SystemExit(main())
