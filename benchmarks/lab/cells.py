"""Cells of an experiment: subjects x engines x repetitions, here or as jobs of a cluster.

    add_cell_options(parser)
    args = parse(parser, ...)
    if answer_cell(args, partial(measure, args)):
        return
    run_cells(missing, partial(measure, args), args, lambda row: f"{row['trials']} trials")

A cell is named by a *key*: a list of JSON data. With ``--cluster`` each one is a job that runs the
same command with ``--cell KEY``, which prints its row. The machines need this checkout, the
interpreter and ``--scratch`` at the same paths (docs/cluster.md).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from fuzztui.features.jobs.bag import Bag, BagListener
from fuzztui.features.jobs.config import ClusterConfig, ClusterError, read_cluster
from fuzztui.features.jobs.opening import open_place
from fuzztui.features.jobs.queue import ENDS, JobQueue, JobState, QueuedJob
from fuzztui.features.jobs.request import request_of
from lab.runs import RunFailed, stop

Key = Sequence[Any]
Row = dict[str, Any]
Measure = Callable[[Key], Row]
"""Measure one cell. Raises :class:`RunFailed`."""


def add_cell_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--jobs``, ``--cluster`` and ``--cell``."""
    parser.add_argument("--jobs", type=int, default=2, help="cells at a time on this machine")
    words = "run cells as jobs: a TOML file with [cluster], or local (docs/cluster.md)"
    parser.add_argument("--cluster", default="", help=words)
    parser.add_argument("--cell", default="", help=argparse.SUPPRESS)


def answer_cell(args: argparse.Namespace, measure: Measure) -> bool:
    """If this process is a job, measure its cell and print the row. Returns whether it is a job."""
    if not args.cell:
        return False
    request = json.loads(args.cell)
    os.chdir(request["cwd"])
    try:
        row = measure(request["key"])
    except RunFailed as e:
        sys.exit(f"fuzztui: {' '.join(str(e).split())}")
    print(json.dumps({"result": row}))
    return True


def run_cells(
    keys: Sequence[Key], measure: Measure, args: argparse.Namespace, said: Callable[[Row], str]
) -> bool:
    """Measure cells and add their rows to ``args.rows`` as they come; print the progress.

    ``said`` returns the text about a row for the progress. Returns whether no cell has failed.
    """
    report = _Report(len(keys), args, said)
    if not keys:
        return True
    (_on_cluster if args.cluster else _here)(keys, measure, args, report)
    return report.well


class _Report:
    """Adds rows, and prints a line for each cell."""

    def __init__(self, total: int, args: argparse.Namespace, said: Callable[[Row], str]) -> None:
        self._total, self._args, self._said = total, args, said
        self._began, self._ended = time.monotonic(), 0
        self.well = True

    def row(self, key: Key, row: Row) -> None:
        self._args.rows.add(**row)
        self._tell(key, self._said(row))

    def failed(self, key: Key, why: str) -> None:
        self.well = False
        self._tell(key, why)

    def _tell(self, key: Key, text: str) -> None:
        self._ended += 1
        left = (time.monotonic() - self._began) / self._ended * (self._total - self._ended) / 60
        where = f"[{self._ended}/{self._total}, {left:.0f} min left]"
        print(f"{where} {' '.join(map(str, key))}: {text}", file=sys.stderr)


def _here(keys: Sequence[Key], measure: Measure, args: argparse.Namespace, report: _Report) -> None:
    with ThreadPoolExecutor(args.jobs) as pool:
        jobs = {pool.submit(measure, key): key for key in keys}
        try:
            for job in as_completed(jobs):
                try:
                    report.row(jobs[job], job.result())
                except RunFailed as e:
                    report.failed(jobs[job], str(e))
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            stop()
            raise


def _on_cluster(
    keys: Sequence[Key], measure: Measure, args: argparse.Namespace, report: _Report
) -> None:
    """Measure the cells as jobs. The job queue is temporary, because the kept rows already show
    which cells are done: ``keys`` are the missing ones.
    """
    by_id = {json.dumps(key): key for key in keys}
    # The script by its absolute path: the job runs in a directory of its own.
    argv = [sys.executable, str(Path(sys.argv[0]).absolute()), *sys.argv[1:], "--cell"]

    class Told(BagListener):
        def on_end(self, job: QueuedJob) -> None:
            if job.state == JobState.DONE and job.result is not None:
                report.row(by_id[job.id], job.result)
            elif job.state in ENDS:
                report.failed(by_id[job.id], job.why)

        def on_note(self, text: str) -> None:
            print(text, file=sys.stderr)

    def request(id_: str) -> dict[str, Any]:
        cell = json.dumps({"key": by_id[id_], "cwd": str(Path.cwd())})
        return request_of([*argv, cell], env={"PYTHONPATH": os.environ.get("PYTHONPATH", "")})

    try:
        config = ClusterConfig() if args.cluster == "local" else read_cluster(Path(args.cluster))
        place = open_place(config, args.jobs, lambda text: print(text, file=sys.stderr))
    except ClusterError as e:
        raise SystemExit(str(e)) from None
    try:
        with tempfile.TemporaryDirectory() as folder:
            queue = JobQueue(Path(folder, "journal"), "cells", list(by_id))
            Bag(queue, place, request, listener=Told()).run()
            queue.close(sync=False)
    finally:
        place.close()
