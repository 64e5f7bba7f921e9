"""Bags of jobs: what a job costs beyond running its command, and how many a second a bag can have.

    python benchmarks/jobs_cost.py                 # jobs of a minute, 100,000 stub jobs
    python benchmarks/jobs_cost.py --seconds 5     # shorter jobs
    python benchmarks/jobs_cost.py --stubs 0       # without the stubs

A real scheduler and real workers with TLS, on this machine. Three ways to run the same command, one
at a time, alternating:

* alone: the command, without anything around it;
* local: a bag on one local slot;
* dask: a bag on one worker with one thread (goal: < 1.02 times as long as alone).

The command computes for a number of seconds by the clock, as a job with a budget does. Stubs are
jobs that do nothing: the whole way of the queue, its journal, the scheduler and back, without a
process on the worker.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from lab.options import parse
from lab.rows import Rows

from fuzztui.features.jobs.bag import Bag
from fuzztui.features.jobs.dask_client import connect
from fuzztui.features.jobs.dask_place import DaskPlace
from fuzztui.features.jobs.nodes import SETTINGS, KeptProcess, OwnScheduler, worker_argv
from fuzztui.features.jobs.places import LocalSlots, Place
from fuzztui.features.jobs.queue import JobQueue, JobState
from fuzztui.features.jobs.request import request_of
from fuzztui.features.jobs.tls import TlsFiles, make_certificates, tls_files

WORK = """
import sys, time
end, n = time.monotonic() + float(sys.argv[1]), 0
while time.monotonic() < end:
    n += 1
print('{"result": {"n": %d}}' % n)
"""


def stub(request: dict[str, Any], channel: dict[str, Any]) -> dict[str, Any]:
    """A job that does nothing, in place of :func:`carry_out_on_worker`."""
    return {"how": "ended", "status": 0, "result": '{"result": {}}', "stderr": ""}


class Cluster:
    """A scheduler, and workers of one thread each."""

    def __init__(self, folder: Path, workers: int) -> None:
        make_certificates(folder / "tls")
        self.tls: TlsFiles = tls_files(str(folder / "tls"))
        self.scheduler = OwnScheduler("127.0.0.1", self.tls)
        argv = worker_argv(sys.executable, self.scheduler.address, "127.0.0.1", 1, self.tls)
        self.workers = [KeptProcess(argv, SETTINGS) for _ in range(workers)]

    def place(self, **more: Any) -> DaskPlace:
        """All workers."""
        place = DaskPlace(lambda: connect(self.scheduler.address, self.tls), **more)
        while place.slots() <= len(self.workers):
            time.sleep(0.05)
        return place

    def rss(self) -> int:
        """Bytes of the scheduler's memory."""
        [scheduler] = psutil.Process(self.scheduler.process.pid).children()
        return int(scheduler.memory_info().rss)

    def close(self) -> None:
        """End all processes."""
        for worker in self.workers:
            worker.close()
        self.scheduler.close()


def run_bag(place: Place, journal: Path, count: int, request: Callable[[str], Any]) -> float:
    """Seconds that a bag of ``count`` jobs takes."""
    queue = JobQueue(journal, str(journal), [str(n) for n in range(count)])
    began = time.monotonic()
    Bag(queue, place, request).run()
    spent = time.monotonic() - began
    assert queue.counts[JobState.DONE] == count, queue.counts
    queue.close()
    return spent


def overhead(args: argparse.Namespace, rows: Rows, folder: Path) -> None:
    """Time the three ways, round by round."""
    argv = [sys.executable, "-c", WORK, str(args.seconds)]
    request = request_of(argv)
    cluster = Cluster(folder, 1)
    places: dict[str, Place] = {"local": LocalSlots(1), "dask": cluster.place()}
    spent: dict[str, list[float]] = {"alone": [], "local": [], "dask": []}
    try:
        for n in range(args.rounds):
            for name, each in spent.items():
                began = time.monotonic()
                if name == "alone":
                    for _ in range(args.jobs):
                        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
                    seconds = time.monotonic() - began
                else:
                    seconds = run_bag(
                        places[name], folder / f"{name}{n}", args.jobs, lambda _: request
                    )
                each.append(seconds / args.jobs)
                rows.add(what="job", way=name, job_s=args.seconds, seconds=seconds / args.jobs)
    finally:
        for place in places.values():
            place.close()
        cluster.close()
    alone = statistics.median(spent["alone"])
    for name, each in spent.items():
        median = statistics.median(each)
        print(
            f"{name:<6} {median:8.3f} s a job of {args.seconds:g} s, {median / alone:.4f} of alone"
        )


def stubs(args: argparse.Namespace, rows: Rows, folder: Path) -> None:
    """Time a bag of stubs; memory of the scheduler before and after."""
    cluster = Cluster(folder, args.workers)
    place = cluster.place(task=stub)
    try:
        run_bag(place, folder / "warm", 20, lambda _: {})
        before = cluster.rss()
        seconds = run_bag(place, folder / "stubs", args.stubs, lambda _: {})
        after = cluster.rss()
    finally:
        place.close()
        cluster.close()
    size = (folder / "stubs").stat().st_size
    rate = args.stubs / seconds
    rows.add(
        what="stubs", stubs=args.stubs, workers=args.workers, seconds=seconds, rss=[before, after]
    )
    print(
        f"stubs  {args.stubs:,} in {seconds:.1f} s, {rate:,.0f}/s; scheduler {before >> 20} to "
        f"{after >> 20} MiB; journal {size / args.stubs:.0f} bytes a job"
    )


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="of one job")
    parser.add_argument("--jobs", type=int, default=4, help="of one bag")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--stubs", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2, help="for the stubs")
    args = parse(parser, "jobs_cost", seconds=0.2, jobs=2, rounds=1, stubs=50)
    rows = Rows("jobs_cost", args.results)
    with tempfile.TemporaryDirectory() as folder:
        for part in ("overhead", "stubs"):
            (Path(folder) / part).mkdir()
        if args.rounds:
            overhead(args, rows, Path(folder, "overhead"))
        if args.stubs:
            stubs(args, rows, Path(folder, "stubs"))


if __name__ == "__main__":
    main()
