"""What mutants cost before any of them runs: finding, compiling, swapping, watching.

Ratios are CPU time against a plain call (not instrumented) of the same round, interleaved;
the inputs are the seeds. Swapping is set against an empty call of a method.

    python benchmarks/mu2_program.py [--rounds 15]

Goals: probes for survivors <= 1.77 plain calls on the median target, a mutant's own code
about 1.0; compiling one mutant <= 1.5 ms; swap and restore < 1 us.
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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lab.options import parse
from lab.rows import Rows
from lab.zest_targets import TARGETS, Target, inputs_of, load

from fuzztui.engines.instrument.edges import CoverageMap, EdgeTable
from fuzztui.engines.instrument.guard import Guard
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.mutants.mutant import mutated_node
from fuzztui.engines.mutants.operators import DEFAULT_OPERATORS
from fuzztui.engines.mutants.program import CannotSwap, Probing, Program

SHARES = (0.1, 0.3, 1.0)
"""Parts of all mutants that are watched."""


class Bench:
    """One target, plain and as a program with mutants."""

    def __init__(self, target: Target, folder: Path) -> None:
        (folder / "bench_target.py").write_text(target.code)
        importlib.invalidate_caches()
        self.plain = load(target, None)
        self.coverage, self.guard = CoverageMap(), Guard(10.0)
        application = Application(target.include, (), EdgeTable(), self.coverage, self.guard)
        self.program = Program(application, DEFAULT_OPERATORS)
        self.function = load(target, application)
        began = time.process_time()
        self.program.scan()
        self.scan_s = time.process_time() - began
        self.inputs = [data.decode("utf-8", "replace") for data in inputs_of(target)]

    def call(self, function: Callable[[Any], Any], clear: Callable[[], None] | None = None) -> None:
        for text in self.inputs:
            if clear is not None:
                self.coverage.clear()
                clear()
            try:
                function(text)
            except Exception:
                continue

    def compile_all(self) -> tuple[list[float], int]:
        """Milliseconds to compile each mutant, and how many cannot be swapped."""
        times, failed = [], 0
        for mutant in self.program.mutants:
            began = self.program.compile_ns
            try:
                self.program.enter(mutant)
            except CannotSwap:
                failed += 1
                continue
            self.program.leave()
            times.append((self.program.compile_ns - began) / 1e6)
        return times, failed

    def watch(self, share: float) -> Probing:
        """Watch this share of the mutants, taken by chance."""
        indices = [m.index for m in self.program.mutants]
        random.Random(1).shuffle(indices)
        probing = self.program.probing()
        probing.want(indices[: round(share * len(indices))])
        probing.cover(self.program.units)
        return probing

    def swap_ns(self) -> float:
        """One enter and leave of a mutant that was compiled before."""
        program = self.program
        mutants = [m for m in program.mutants if m.code]
        began = time.perf_counter_ns()
        for mutant in mutants:
            program.enter(mutant)
            program.leave()
        return (time.perf_counter_ns() - began) / len(mutants)


def large_unit() -> list[float]:
    """Milliseconds to compile a mutant of html5lib's getPhases (2,398 lines): the whole unit, and
    only the function with the mutation. Medians over every third mutant."""
    application = Application(["html5lib.html5parser"], (), EdgeTable(), CoverageMap(), Guard(10.0))
    program = Program(application, DEFAULT_OPERATORS)
    application.install()
    importlib.import_module("html5lib.html5parser")
    sys.meta_path.remove(application)
    program.scan()
    compiler = program.compiler
    spent: list[list[float]] = [[], []]
    for mutant in [m for m in program.mutants if m.unit and m.unit.name == "getPhases"][::3]:
        assert mutant.unit is not None
        prepared = compiler.for_mutants(mutant.unit)
        point = prepared.points[mutant.point - mutant.unit.points[0]]
        changed = mutated_node(point.changes[mutant.change][1], point.node)
        prepared.nested[id(point.node)] = None
        for times in spent:
            began = time.process_time()
            compiler.mutant(mutant.unit, prepared, point.node, changed)
            times.append(1e3 * (time.process_time() - began))
            del prepared.nested[id(point.node)]
    return [statistics.median(times) for times in spent]


def measure(target: Target, rounds: int, folder: Path) -> list[float]:
    """Prints a line; returns the ratios."""
    bench = Bench(target, folder)
    program = bench.program
    times, failed = bench.compile_all()
    swap = statistics.median(bench.swap_ns() for _ in range(9))
    probings = [None, *(bench.watch(share) for share in SHARES)]
    spent: list[list[float]] = [[] for _ in range(len(probings) + 2)]

    def round_() -> Iterator[float]:
        """CPU seconds of each way to run the inputs."""

        def timed(function: Callable[[Any], Any], clear: Callable[[], None] | None = None) -> float:
            began = time.process_time()
            bench.call(function, clear)
            return time.process_time() - began

        yield timed(bench.plain)
        program.quiet(program.units)
        yield timed(bench.function)
        program.end_quiet()
        for probing in probings:
            program.install(probing)
            yield timed(bench.function, probing.clear if probing else lambda: None)
        program.install(None)

    for _ in range(rounds):
        for times_, seconds in zip(spent, round_(), strict=True):
            times_.append(seconds)
    ratios = [
        statistics.median(b / a for a, b in zip(spent[0], way, strict=True)) for way in spent[1:]
    ]
    print(
        f"{target.name:12} {len(program.mutants):7} {failed:6} {bench.scan_s * 1e3:8.0f}"
        f" {statistics.median(times):8.2f} {max(times):8.2f} {swap:8.0f}"
        + "".join(f" {r:9.2f}" for r in ratios)
    )
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="targets whose name contains this")
    args = parse(parser, "mu2_program", rounds=1, only="tomllib")
    rows = Rows("mu2_program", args.results)
    print(f"Python {sys.version.split()[0]}; ratios to the plain call, {args.rounds} rounds")
    ways = ["base", "coverage", *(f"{share:.0%} seen" for share in SHARES)]
    print(
        f"{'target':12} {'mutants':>7} {'static':>6} {'scan ms':>8} {'compile':>8} {'worst':>8}"
        f" {'swap ns':>8}" + "".join(f" {way:>9}" for way in ways)
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        os.chdir(folder)
        sys.path.insert(0, name)
        found = []
        for target in (t for t in TARGETS if args.only in t.name):
            found.append(measure(target, args.rounds, folder))
            rows.add(target=target.name, **dict(zip(ways, found[-1], strict=True)))
        medians = [statistics.median(column) for column in zip(*found, strict=True)]
        print(f"{'median':63}" + "".join(f" {m:9.2f}" for m in medians))
        os.chdir("/")
    whole, alone = large_unit()
    rows.add(target="html5lib", whole_ms=whole, alone_ms=alone)
    print(
        f"compiling a mutant of a unit of 2,398 lines: {whole:.2f} ms whole, {alone:.2f} ms alone"
    )


if __name__ == "__main__":
    main()
