"""What the lines of queue entries cost a campaign: each new entry runs once more with line tracing.

Of each subject, engine and random seed, two campaigns run at equal CPU time, with and without the
traced runs, in turns of ``--slice`` seconds, so that a busy machine slows down both. A figure is
the ratio of their executions per second. Beside it is the share of the CPU time that went into
traced runs and their events, which the machine's load changes less. Most entries are found early:
the longer the campaigns, the smaller the cost.

    python benchmarks/line_cost.py [--subjects tomllib,PyYAML] [--pairs 5] [--seconds 30]

Goal: at most 2% fewer executions per second.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import statistics
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from lab.options import parse
from lab.rows import Rows
from lab.runs import Instance
from lab.subjects import SUBJECTS_HELP, Subject, choose

from fuzztui.engines.base.spec import read_spec
from fuzztui.engines.directory.events import EventLog
from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.process.worker import build


def campaign(pipe: Connection, instance: Instance, traces: bool) -> None:
    """Run in a process of its own: for each number received, for so many seconds of CPU time.

    Sends trials, entries, CPU seconds, and those of traced runs, since the start.
    """
    spec = read_spec(instance.spec())
    journal = TrialJournal(spec.dir / ".cur_input", spec.engine.max_size)
    loop = build(spec, journal, EventLog(spec.dir / "events.jsonl", spec.instance))
    entries, traced, trials = 0, 0.0, -1
    until = start = 0.0
    before, lines = loop.parts.before, loop.reruns.lines
    add, advance = lines.add, lines.advance

    def counted(entry: int, execution: Any, *, at_once: bool = False) -> None:
        nonlocal entries
        entries += 1
        if traces:
            add(entry, execution, at_once=at_once)

    def timed() -> None:
        nonlocal traced
        began = time.process_time()
        advance()
        traced += time.process_time() - began

    def turn(candidate: Any) -> None:
        nonlocal trials, until
        trials += 1
        if (now := time.process_time()) >= until:
            pipe.send((trials, entries, now - start, traced))
            until = time.process_time() + pipe.recv()
        before(candidate)

    lines.add = counted  # type: ignore[method-assign]
    lines.advance = timed  # type: ignore[method-assign]
    loop.parts.before = turn
    gc.collect()
    gc.freeze()  # as the worker does
    until = start = time.process_time()
    loop.run()


def pair(
    subject: Subject, kind: str, seed: int, seconds: float, slice_s: float
) -> list[tuple[int, int, float, float]]:
    """Run both campaigns, with and without traced runs. Returns what they have sent last."""
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="line-cost-") as folder:
        both = []
        for traces in (True, False):
            mine, theirs = spawn.Pipe()
            instance = Instance(subject, kind, Path(folder) / str(traces), seed)
            arguments = (theirs, instance, traces)
            process = spawn.Process(target=campaign, args=arguments, daemon=True)
            process.start()
            both.append((process, mine))
        try:
            sent = [pipe.recv() for _, pipe in both]
            while min(cpu for *_, cpu, _ in sent) < seconds:
                for number, (_, pipe) in enumerate(both):
                    pipe.send(slice_s)
                    sent[number] = pipe.recv()
        finally:
            for process, _ in both:
                process.kill()
                process.join()
    return sent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--subjects", default="tomllib,PyYAML", help=SUBJECTS_HELP)
    parser.add_argument("--engines", default="zest,mu2")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=30.0, help="CPU time of each campaign")
    parser.add_argument("--slice", type=float, default=0.5, help="CPU time of a turn")
    args = parse(parser, "line_cost", subjects="tomllib", pairs=1, seconds=0.5, slice=0.2)
    kept = Rows("line_cost", args.results)
    print(f"Python {sys.version.split()[0]}; {args.pairs} pairs of {args.seconds:g} s")
    print(f"{'':20}{'with':>10}{'without':>10}{'ratio':>8}{'traced':>9}{'entries':>9}")
    for subject in choose(args.subjects):
        for kind in args.engines.split(","):
            ratios, shares, speeds, entries = [], [], [], []
            for seed in range(args.pairs):
                ours, plain = pair(subject, kind, seed, args.seconds, args.slice)
                speeds.append((ours[0] / ours[2], plain[0] / plain[2]))
                ratios.append(speeds[-1][0] / speeds[-1][1])
                shares.append(ours[3] / ours[2])
                entries.append(ours[1])
                kept.add(subject=subject.name, engine=kind, seed=seed, seconds=args.seconds,
                         per_second=speeds[-1], ratio=ratios[-1], traced=shares[-1],
                         entries=ours[1])  # fmt: skip
            with_, without = (statistics.median(s) for s in zip(*speeds, strict=True))
            print(f"{f'{subject.name}, {kind}':20}{with_:8,.0f}/s{without:8,.0f}/s"
                  f"{statistics.median(ratios):8.3f}{statistics.median(shares):9.2%}"
                  f"{statistics.median(entries):9,.0f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
