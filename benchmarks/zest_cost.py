"""What a trial costs beyond calling the target: ratios to the plain call, in one run.

Plain, instrumented and complete trials are interleaved; a figure is the median over
rounds of CPU time against the plain call of the same round. The inputs are the seeds
and mutants of them, as zest makes them.

    python benchmarks/zest_cost.py [--rounds 15]

Goal: instrumented trial (target called with coverage cleared and checked for news,
fixture reset, guard) <= 1.5 plain calls on the median target.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.options import parse
from lab.rows import Rows
from lab.zest_targets import TARGETS, Target

from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.execute.executor import Executor
from fuzztui.engines.execute.fixture import Fixture
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.inputs.inputs import TextInput
from fuzztui.engines.instrument.edges import CoverageMap, EdgeTable
from fuzztui.engines.instrument.guard import Guard
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.loop.corpus import CorpusEntry
from fuzztui.engines.loop.feedback import CoverageFeedback
from fuzztui.engines.loop.mutate import Havoc

MUTANTS = 100


def forget(packages: tuple[str, ...]) -> None:
    for name in list(sys.modules):
        if name.partition(".")[0] in packages or name == "bench_target":
            del sys.modules[name]


def inputs_of(target: Target) -> list[bytes]:
    """The seeds, and mutants of them by one or two edits: some valid, some not."""
    havoc = Havoc(random.Random(1), 10240, text=True, stack=(1, 2))
    entries = [CorpusEntry(i, "", seed.encode(), 1) for i, seed in enumerate(target.seeds)]
    mutants = [havoc.mutate(entries[i % len(entries)]).data for i in range(MUTANTS)]
    return [e.data for e in entries] * 10 + mutants


def load(target: Target, application: Application | None) -> Callable[[Any], Any]:
    forget(target.include)
    if application is not None:
        application.install()
    function: Callable[[Any], Any] = importlib.import_module("bench_target").target
    if application is not None:
        sys.meta_path.remove(application)
    return function


def measure(target: Target, mode: str, rounds: int, folder: Path) -> tuple[float, list[float]]:
    """Plain microseconds a call, and the ratios: instrumented, and with mutation and journal."""
    (folder / "bench_target.py").write_text(target.code)
    importlib.invalidate_caches()
    plain = load(target, None)
    coverage, guard, table = CoverageMap(mode), Guard(10.0), EdgeTable()  # type: ignore[arg-type]
    function = load(target, Application(target.include, (), table, coverage, guard))
    executor = Executor(
        function, TextInput(), (Exception,), coverage=coverage, guard=guard, fixture=Fixture(folder)
    )
    feedback = CoverageFeedback(coverage)
    journal = TrialJournal(folder / ".cur_input", 10240)
    data = inputs_of(target)
    for number, each in enumerate(data):
        feedback.learn(executor.run(each), CorpusEntry(number, "", each, 1))
    havoc = Havoc(random.Random(1), 10240, text=True)
    entry = CorpusEntry(0, "", target.seeds[0].encode(), 1)

    def run_plain() -> None:
        for each in data:
            text = each.decode("utf-8", "replace")
            try:
                plain(text)
            except Exception:
                continue

    def run_instrumented() -> None:
        for each in data:
            feedback.judge(executor.run(each))

    def run_trials() -> None:
        for each in data:
            havoc.mutate(entry)
            journal.begin(time.monotonic_ns(), Candidate(each, "havoc", 0))
            execution = executor.run(each)
            journal.judging()
            feedback.judge(execution)
            journal.end()

    ways = (run_plain, run_instrumented, run_trials)
    spent: list[list[float]] = [[], [], []]
    for _ in range(rounds):
        for way, times in zip(ways, spent, strict=True):
            began = time.process_time()
            way()
            times.append(time.process_time() - began)
    ratios = [
        statistics.median(b / a for a, b in zip(spent[0], times, strict=True))
        for times in spent[1:]
    ]
    return statistics.median(spent[0]) / len(data) * 1e6, ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=15)
    args = parse(parser, "zest_cost", rounds=1)
    rows = Rows("zest_cost", args.results)
    print(f"Python {sys.version.split()[0]}; ratios to the plain call, {args.rounds} rounds")
    print(f"{'target':12} {'mode':7} {'plain us':>9} {'instrumented':>13} {'whole trial':>12}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        os.chdir(folder)
        sys.path.insert(0, name)
        for mode in ("edges", "counts"):
            found = []
            for target in TARGETS:
                plain, ratios = measure(target, mode, args.rounds, folder)
                found.append(ratios)
                rows.add(target=target.name, mode=mode, plain_us=plain, instrumented=ratios[0],
                         whole=ratios[1])  # fmt: skip
                print(f"{target.name:12} {mode:7} {plain:9.1f} {ratios[0]:13.2f} {ratios[1]:12.2f}")
            medians = [statistics.median(column) for column in zip(*found, strict=True)]
            print(f"{'median':12} {mode:7} {'':9} {medians[0]:13.2f} {medians[1]:12.2f}")
        os.chdir("/")


if __name__ == "__main__":
    main()
