"""Is the pruning sound? Run everything that it would spare, and see whether it kills.

Offline, exhaustively: for inputs of a queue and mutations of them, *every* mutant that can
be swapped in and that the probes say is not infected (or not reached) is run anyway.
In the loop, for a full run (``schedule = "full"``) of each subject: the engine's permanent
audit, which does this for about 1% of the pruned pairs.

    python benchmarks/mu2_audit.py --inputs 30 --seconds 60

Goal: 0 kills among pruned pairs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from lab.figures import table
from lab.options import parse
from lab.rows import Rows
from lab.runs import Instance, queue_of
from lab.subjects import Subject, choose

if TYPE_CHECKING:
    from lab.inprocess import Loaded, Seen

    from fuzztui.engines.mutants.program import Probing

HEADS = ["subject", "inputs", "pruned pairs run", "of them kill", "infected pairs", "of them kill"]
KEYS = ["subject", "inputs", "pruned", "wrong", "infected", "kills"]


def exhaustive(subject: Subject, count: int, seconds: float) -> list[object]:
    """Up to ``count`` inputs, as many as fit into the time; one row of figures."""
    from lab.inprocess import load

    corpus = queue_of(subject, 3000)
    loaded = load(subject)
    probing = loaded.program.probing()
    probing.want(m.index for m in loaded.mutants)
    everyone = {m.index for m in loaded.mutants}
    until = time.monotonic() + seconds
    pruned = wrong = infected = kills = inputs = 0
    half = count // 2
    for data in [*corpus[-half:], *loaded.inputs(corpus, count - half)]:
        if inputs and time.monotonic() > until:
            break
        seen = loaded.watch(probing, data)
        if not loaded.oracle.judges(seen.original.outcome) or not probing.watched:
            continue
        inputs += 1
        loaded.program.install(None)
        # What has no probe is never pruned.
        spared = sorted((everyone - set(seen.infected)) & _prunable(loaded, probing, seen))
        for at in loaded.kills(seen.original, spared):
            wrong += 1
            print(f"  unsound: {loaded.program.mutants[at].id} on {seen.original.data!r}")
        pruned += len(spared)
        infected += len(seen.infected)
        kills += len(loaded.kills(seen.original, seen.infected))
    return [subject.name, inputs, pruned, wrong, infected, kills]


def _prunable(loaded: Loaded, probing: Probing, seen: Seen) -> set[int]:
    """Mutants that are watched, or in units that the input does not enter."""
    entered = set(map(id, loaded.program.units_of(seen.original.observed)))
    outside = {m.index for m in loaded.mutants if id(m.unit) not in entered}
    return outside | set(probing.watched)


def in_the_loop(subject: Subject, seconds: float) -> list[object]:
    """The engine's own audit over a full run."""
    with tempfile.TemporaryDirectory(prefix="mu2-audit-") as folder:
        instance = Instance(subject, "mu2", Path(folder), 1)
        spec = instance.spec({"schedule": "full", "exact": False}, budget_cpu_s=seconds)
        instance.run(spec, limit_s=300 + 10 * seconds)
        last = list(instance.events("mutation_stats"))[-1]
        stats = instance.stats()
    names = ("runs", "unexecuted", "uninfected", "audits", "audit_kills")
    return [subject.name, stats["execs_done"], *(last.get(name, 0) for name in names)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--subjects", default="six")
    parser.add_argument("--inputs", type=int, default=30, help="inputs that everything is run on")
    parser.add_argument("--seconds", type=float, default=60, help="for each subject and part")
    parser.add_argument("--only", choices=("exhaustive", "loop"), help="one part only")
    args = parse(parser, "mu2_audit", subjects="tomllib", inputs=2, seconds=1.0)
    kept = Rows("mu2_audit", args.results)
    wrong = 0
    if args.only != "loop":
        rows = []
        for subject in choose(args.subjects):
            rows.append(_apart(subject, args))
            kept.add(part="exhaustive", **dict(zip(KEYS, rows[-1], strict=True)))
        wrong += sum(int(str(row[3])) for row in rows)
        print("Every pruned pair run, as far as the time goes")
        print(table(HEADS, rows), flush=True)
    if args.only != "exhaustive":
        found = []
        for subject in choose(args.subjects):
            found.append(in_the_loop(subject, args.seconds))
            kept.add(part="loop", subject=subject.name, audits=found[-1][-2], wrong=found[-1][-1])
        wrong += sum(int(str(row[-1])) for row in found)
        print(f'\nThe permanent audit in a run of {args.seconds:g} s of CPU with schedule = "full"')
        print(table(["subject", "trials", "runs", "not executed", "not infected", "audits",
                     "audit kills"], found))  # fmt: skip
    print(f"\n{wrong} kills among pruned pairs: the goal (0) is {'not met' if wrong else 'met'}")
    sys.exit(1 if wrong else 0)


def _apart(subject: Subject, args: argparse.Namespace) -> list[object]:
    """In a separate process, which holds one subject."""
    import multiprocessing

    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(exhaustive, (subject, args.inputs, args.seconds))


if __name__ == "__main__":
    main()
