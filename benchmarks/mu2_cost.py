"""What a trial of mu2 costs, pruning by pruning, and what running a mutant in place saves.

Part 1 (the paper's Figure 6): CPU time of a trial against a plain call of the target with the
same argument made by the same generator, for zest, for mu2 without a schedule (every survivor
that is not soundly pruned runs), and for the same with each pruning switched off in turn.
Survivors are those of a short zest run's queue; inputs are mutations of that queue. A
switched-off pruning runs more mutants, so it gets fewer inputs: what fits ``--seconds``.

Part 2 (Figure 5): one mutant on one input, swapped into this process, in a fork of it, and
in an interpreter of its own (which imports the plain target: the least that this can cost).

    python benchmarks/mu2_cost.py --seconds 10
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from lab.figures import table
from lab.options import parse
from lab.rows import Rows
from lab.runs import queue_of
from lab.subjects import Subject, choose

from fuzztui.engines.execute.executor import Execution

INTERPRETER = """
import importlib, importlib.util, pathlib, sys
where, _, name = {function!r}.rpartition(":")
if where.endswith(".py"):
    spec = importlib.util.spec_from_file_location("harness", where)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
else:
    module = importlib.import_module(where)
text = pathlib.Path(sys.argv[1]).read_text("utf-8", "surrogatepass")
try:
    getattr(module, name)(text)
except Exception:
    pass
"""
PAIRS = 30


def cpu() -> float:
    """CPU seconds of this process and of its children that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


class Ladder:
    """Trials of one subject with more or less pruning."""

    def __init__(self, subject: Subject, trials: int, seconds: float) -> None:
        from lab.inprocess import load

        self.seconds = seconds
        corpus = queue_of(subject, trials)
        self.loaded = loaded = load(subject)
        everyone = [m.index for m in loaded.mutants]
        self.all, self.some = loaded.program.probing(), loaded.program.probing()
        self.all.want(everyone)
        alive = set(everyone)
        for data in corpus:
            seen = loaded.watch(self.all, data)
            loaded.program.install(None)
            if loaded.oracle.judges(seen.original.outcome):
                alive -= set(loaded.kills(seen.original, alive.intersection(seen.infected)))
        self.everyone, self.alive = everyone, sorted(alive)
        self.some.want(alive)
        self.inputs = loaded.inputs(corpus, 400)
        for data in self.inputs:  # what is compiled on first use is compiled here
            loaded.watch(self.some, data)
            loaded.watch(self.all, data)

    def plain(self, data: bytes) -> None:
        try:
            self.loaded.plain(self.loaded.form.build(data))
        except Exception:
            return

    def zest(self, data: bytes) -> int:
        self.loaded.executor.run(data)
        return 0

    def mu2(self, data: bytes) -> int:
        seen = self.loaded.look(self.some, data)
        return self._run(seen.original, seen.infected)

    def no_infection(self, data: bytes) -> int:
        seen = self.loaded.look(self.some, data)
        return self._run(seen.original, seen.reached)

    def no_execution(self, data: bytes) -> int:
        return self._run(self.loaded.executor.run(data), self.alive)

    def no_dead(self, data: bytes) -> int:
        seen = self.loaded.look(self.all, data)
        return self._run(seen.original, seen.infected)

    def nothing(self, data: bytes) -> int:
        return self._run(self.loaded.executor.run(data), self.everyone)

    def _run(self, original: Execution, mutants: Sequence[int]) -> int:
        if not self.loaded.oracle.judges(original.outcome):
            return 0
        self.loaded.kills(original, mutants)
        return len(mutants)

    def cost(self, way: Callable[[bytes], int]) -> tuple[float, float]:
        """Against plain calls on the same inputs, and mutants run a trial."""
        self.loaded.program.install(None)
        for data in self.inputs[:3]:
            way(data)
        self.loaded.program.install(None)
        plain = spent = 0.0
        runs = count = 0
        until = time.process_time() + self.seconds
        for data in self.inputs:
            began = time.process_time()
            self.plain(data)
            between = time.process_time()
            runs += way(data)
            spent += time.process_time() - between
            plain += between - began
            count += 1
            if time.process_time() > until:
                break
        return spent / plain, runs / count

    def pairs(self) -> list[tuple[Execution, int, bytes]]:
        """Runs, survivors that they infect, and the argument's text."""
        found: list[tuple[Execution, int, bytes]] = []
        for data in self.inputs:
            seen = self.loaded.look(self.some, data)
            if seen.infected and self.loaded.oracle.judges(seen.original.outcome):
                text = str(self.loaded.form.build(data)).encode("utf-8", "surrogatepass")
                found += [(seen.original, at, text) for at in seen.infected]
        self.loaded.program.install(None)
        return random.Random(1).sample(found, min(PAIRS, len(found)))

    def isolation(self) -> list[float]:
        """Medians over pairs, in plain calls: in place, forked, in an interpreter of its own."""
        ways: list[list[float]] = [[], [], []]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "input"
            code = INTERPRETER.format(function=self.loaded.subject.function)
            for original, at, text in self.pairs():
                file.write_bytes(text)
                plain = _best(partial(self.plain, original.data))
                in_place = _best(partial(self.loaded.kills, original, [at]))
                forked = _best(partial(self._forked, original, at), times=3)
                argv = [sys.executable, "-c", code, str(file)]
                alone = _best(partial(subprocess.run, argv, check=False), times=1)
                for times, spent in zip(ways, (in_place, forked, alone), strict=True):
                    times.append(spent / plain)
        return [statistics.median(times) if times else float("nan") for times in ways]

    def _forked(self, original: Execution, at: int) -> None:
        child = os.fork()
        if not child:
            self.loaded.executor.in_child()
            self.loaded.kills(original, [at])
            os._exit(0)
        os.waitpid(child, 0)


def _best(call: Callable[[], object], times: int = 5) -> float:
    """The median of some calls' CPU time, in a unit fine enough for the fastest."""
    spent = []
    for _ in range(times):
        began_all, began = cpu(), time.process_time()
        call()
        own = time.process_time() - began
        # os.times() has a coarse clock: only what children add is taken from it.
        spent.append(max(own, cpu() - began_all))
    return statistics.median(spent)


def measure(subject: Subject, trials: int, seconds: float) -> tuple[list[object], list[object]]:
    ladder = Ladder(subject, trials, seconds)
    ways = (ladder.zest, ladder.mu2, ladder.no_infection, ladder.no_execution, ladder.no_dead,
            ladder.nothing)  # fmt: skip
    found = [ladder.cost(way) for way in ways]
    cells = [f"{ratio:.3g} ({runs:.3g})" if runs else f"{ratio:.2f}" for ratio, runs in found]
    alive = f"{len(ladder.alive)}/{len(ladder.everyone)}"
    apart = [f"{x:.3g}" for x in ladder.isolation()]
    return [subject.name, alive, *cells], [subject.name, *apart]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--subjects", default="six")
    parser.add_argument("--trials", type=int, default=3000, help="of the zest run for the queue")
    parser.add_argument("--seconds", type=float, default=10, help="for each way and subject")
    args = parse(parser, "mu2_cost", subjects="tomllib", trials=200, seconds=0.2)
    kept = Rows("mu2_cost", args.results)
    ladder, apart = [], []
    for subject in choose(args.subjects):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            rows = pool.apply(measure, (subject, args.trials, args.seconds))
        ladder.append(rows[0])
        apart.append(rows[1])
        kept.add(subject=subject.name, trial=rows[0][1:], mutant=rows[1][1:])
        print(f"{subject.name} done", file=sys.stderr)
    print("A trial, in plain calls (in brackets: mutants run a trial); Figure 6")
    print(table(["subject", "alive", "zest", "mu2", "no infection", "no execution", "dead stay",
                 "none"], ladder))  # fmt: skip
    print("\nA mutant on an input that infects it, in plain calls; Figure 5")
    print(table(["subject", "in place", "forked", "an interpreter"], apart))


if __name__ == "__main__":
    main()
