"""What a whole trial of zest costs beyond calling the target, as the loop runs it.

Each subject is loaded twice into a process of its own: plain, and by the worker, whose loop then
runs trials as in a campaign: choosing, mutating, journal, execution, judging, saving, and the
ticks between. After a warm-up of ``--warm-up`` trials, each round runs ``--trials`` more, then
calls the plain target with the inputs of the same trials. A figure is the median over rounds of
the CPU time of the loop against that of the plain calls of the round.

    python benchmarks/zest_cost.py [--subjects six] [--rounds 15] [--engine coverage=counts]

Subjects with a generator are left out: its time would be in both. Goal: <= 1.25 in the median.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from lab.inprocess import plain_target
from lab.options import parse
from lab.rows import Rows
from lab.runs import Instance
from lab.subjects import SUBJECTS_HELP, Subject, choose
from lab.zest_targets import TOML

from fuzztui.engines.base.spec import read_spec
from fuzztui.engines.directory.events import EventLog
from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.process.worker import build

SMALL = Subject(
    "tomllib-text", "", "tomllib:loads", ("tomllib",), ("tomllib.TOMLDecodeError",), seeds="seeds"
)
"""The cheapest target: the fixed cost of a trial shows most."""


def measure(
    subject: Subject, engine: dict[str, Any], rounds: int, warm_up: int, trials: int
) -> dict[str, Any]:
    """Run in a process of its own: the worker changes its process."""
    folder = Path(tempfile.mkdtemp(prefix="zest-cost-")).resolve()
    if subject.name == SMALL.name:
        (folder / "seeds").mkdir()
        for number, seed in enumerate(TOML):
            (folder / "seeds" / f"{number}.toml").write_text(seed)
        subject = replace(subject, seeds=str(folder / "seeds"))
    spec = read_spec(Instance(subject, "zest", folder).spec(engine))
    plain = plain_target(spec).function
    journal = TrialJournal(spec.dir / ".cur_input", spec.engine.max_size)
    loop = build(spec, journal, EventLog(spec.dir / "events.jsonl", spec.instance))
    form, done = loop.parts.executor.form, 0
    inputs: list[bytes] = []
    gc.collect()
    gc.freeze()  # as the worker does
    before = loop.parts.before

    def note(candidate: Any) -> None:
        inputs.append(candidate.data)
        before(candidate)

    loop.parts.before = note

    def run(count: int) -> float:
        nonlocal done
        done += count
        inputs.clear()
        loop.budget_trials = done
        began = time.process_time()
        loop.run()
        return time.process_time() - began

    run(warm_up)
    ratios, plain_us = [], []
    for _ in range(rounds):
        whole = run(trials)
        began = time.process_time()
        for data in inputs:
            try:
                plain(form.build(data))
            except Exception:
                continue
        spent = time.process_time() - began
        ratios.append(whole / spent)
        plain_us.append(spent / len(inputs) * 1e6)
    return {
        "subject": subject.name,
        "plain_us": statistics.median(plain_us),
        "whole": statistics.median(ratios),
        "edges": loop.parts.coverage.edges,
        "cells": loop.parts.executor.coverage.size,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--subjects", default="tuning", help=SUBJECTS_HELP)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--warm-up", type=int, default=20_000)
    parser.add_argument("--trials", type=int, default=2_000, help="trials of one round")
    parser.add_argument("--engine", action="append", default=[], metavar="KEY=VALUE",
                        help="a key of [engine]; the value is JSON or text")  # fmt: skip
    args = parse(parser, "zest_cost", rounds=1, warm_up=300, trials=100, subjects="rfc3986")
    rows = Rows("zest_cost", args.results)
    engine = {}
    for pair in args.engine:
        key, _, value = pair.partition("=")
        try:
            engine[key] = json.loads(value)
        except ValueError:
            engine[key] = value
    subjects = [SMALL, *(s for s in choose(args.subjects) if not s.generator)]
    print(f"Python {sys.version.split()[0]}; {args.rounds} rounds of {args.trials} trials")
    print(f"{'subject':14} {'plain us':>9} {'whole trial':>12} {'edges':>12}")
    found = []
    spawn = multiprocessing.get_context("spawn")
    for subject in subjects:
        with ProcessPoolExecutor(1, spawn) as pool:
            row = pool.submit(
                measure, subject, engine, args.rounds, args.warm_up, args.trials
            ).result()
        rows.add(**row, engine=engine)
        found.append(row["whole"])
        edges = f"{row['edges']}/{row['cells']}"
        print(f"{row['subject']:14} {row['plain_us']:9.1f} {row['whole']:12.2f} {edges:>12}",
              flush=True)  # fmt: skip
    print(f"{'median':14} {'':9} {statistics.median(found):12.2f}")
    os.chdir("/")


if __name__ == "__main__":
    main()
