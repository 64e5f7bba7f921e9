"""Tables II and III of the SpotOn paper for our seven Lambda handlers: coverage against zest.

``--subjects tuning`` or ``held-out``: the same for typed libraries (lab/handlers.py).

Each cell is one run of one engine on one handler: ``--seconds`` of CPU time from its first trial
on, so neither loading boto3 nor what else the machine does is charged. Variants have the same
generators, fixture and seeds:

    zest             Zest, whose generators draw no constants (the paper's baseline)
    zest+constants   with the application's constants among the draws (the paper's ZestStrOpt)
    spoton-global    with the distances of all uncovered goals, as in the paper (its other
                     differences from the paper remain: docs/spoton.md)
    spoton-untargeted  without targeted mutations: what the others bring (docs/spoton.md)
    spoton-frontier  the default

    python experiments/spoton_tables.py --python VENV/bin/python

Seven handlers, five variants, 20 repetitions take about 75 minutes on two cores; ``--hour`` is the
paper's hour a cell. Cells come in random order, repetition after repetition, and go to
``--results`` as they come; the same command continues where it was stopped, and
``--tabulate`` only shows what is there. ``--python``: with boto3, moto and Pillow; 3.12 or newer,
since before that third-party coverage is but functions, seen in every 128th trial.

Common, +one, +other: means over all pairs of a run of one and a run of the other of the code
targets that both have covered, or one only; in brackets where the coverage differs
significantly (Mann-Whitney, p < .05). An application's targets are its blocks and arms, as the
corpus covers them; a library's are its lines. "Equal trials" cuts each run off at the trials of
the shortest one.

Goal: application coverage +18.2% (geometric mean over handlers) over zest at equal time, and no
handler significantly worse.
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

from lab.figures import interval, table
from lab.handlers import SETS, VARIANTS, Handler, RunFailed, find, require, run
from lab.options import parse
from lab.rows import Rows
from lab.runs import stop

from fuzztui.tools.report.two_samples import mann_whitney

SECONDS = 10.0
"""Of a cell: with two to three of loading, 560 of them fit into an hour on two cores."""

_LOADING_S = 3.0
_FIRST_SEED = 1
_SIGNIFICANT = 0.05
_PAIRS = (
    ("spoton-frontier", "zest"),
    ("spoton-global", "zest"),
    ("zest+constants", "zest"),
    ("spoton-frontier", "zest+constants"),
    ("spoton-frontier", "spoton-untargeted"),
)
"""What is compared to what."""


_BITS: defaultdict[object, int] = defaultdict(itertools.count().__next__)
"""A number for each goal, so that what a run has covered is an integer."""


def mask(things: Iterable[object]) -> int:
    """Those goals as a set of bits."""
    bits = [_BITS[thing] for thing in things]
    found = bytearray(max(bits, default=0) // 8 + 1)
    for bit in bits:
        found[bit >> 3] |= 1 << (bit & 7)
    return int.from_bytes(found, "little")


@dataclass(frozen=True)
class Cell:
    """One run."""

    handler: str
    variant: str
    seed: int
    seconds: float
    version: str
    trials: int
    found: list[tuple[str, int]]
    """The application's cells, and the trial that each was covered in first."""
    libraries: int
    """Lines of libraries, a :func:`mask`."""

    @classmethod
    def of(cls, row: dict[str, Any]) -> Cell:
        """From a row of the results."""
        data = dict(row)
        record = data.pop("record")
        found = [(name, trial) for name, trial, *_ in record["cells"]]
        lines = ((file, n) for file, numbers in record["libraries"].items() for n in numbers)
        return cls(**data, trials=record["trials"], found=found, libraries=mask(lines))

    def names(self, trials: int | None = None) -> set[str]:
        """The application's cells that the corpus covers (after so many trials)."""
        return {name for name, at in self.found if trials is None or at <= trials}

    def covered(self) -> int:
        """The same as a :func:`mask`."""
        return mask(self.names())

    def everything(self) -> int:
        """The libraries' lines, too."""
        return self.covered() | self.libraries


# ----------------------------------------------------------------------------- running


def load(measured: Rows, seconds: float) -> list[Cell]:
    """What is there of that length; of each handler the version that was run last."""
    cells = [c for c in map(Cell.of, measured.read()) if c.seconds == seconds]
    latest = {c.handler: c.version for c in cells}
    kept = [c for c in cells if c.version == latest[c.handler]]
    if len(kept) < len(cells):
        print(f"{len(cells) - len(kept)} cells in {measured.file} are of other sources: left out",
              file=sys.stderr)  # fmt: skip
    return kept


def plan(handlers: Sequence[Handler], args: argparse.Namespace) -> list[tuple[Handler, str, int]]:
    """What is missing, each repetition in a random order of its own."""
    done = {(c.handler, c.variant, c.seed, c.version) for c in load(args.rows, args.seconds)}
    missing = []
    for seed in range(_FIRST_SEED, _FIRST_SEED + args.repeat):
        row = [(h, v, seed) for h in handlers for v in args.variants
               if (h.name, v, seed, h.version) not in done]  # fmt: skip
        random.Random(seed).shuffle(row)
        missing += row
    return missing


def work_through(handlers: Sequence[Handler], args: argparse.Namespace) -> bool:
    """Run what is missing; returns whether all went well."""
    missing = plan(handlers, args)
    minutes = len(missing) * (args.seconds + _LOADING_S) / args.at_once / 60
    print(f"{len(missing)} cells are to be run: about {minutes:.0f} minutes", file=sys.stderr)
    for handler in {h for h, _, _ in missing}:
        assert handler.targets  # one analysis after the other, before the clocks run
    well = True
    began = time.monotonic()
    with ThreadPoolExecutor(args.at_once) as pool:
        jobs = {
            pool.submit(run, handler, variant, seed, seconds=args.seconds): (handler, variant, seed)
            for handler, variant, seed in missing
        }
        try:
            for n, job in enumerate(as_completed(jobs), 1):
                handler, variant, seed = jobs[job]
                left = (time.monotonic() - began) / n * (len(jobs) - n) / 60
                label = f"[{n}/{len(jobs)}, {left:.0f} min left] {handler.name} {variant} {seed}"
                try:
                    record = job.result()
                except RunFailed as e:
                    well = False
                    print(f"{label}: {e}", file=sys.stderr)
                    continue
                cell = {"handler": handler.name, "variant": variant, "seed": seed,
                        "seconds": args.seconds, "version": handler.version}  # fmt: skip
                args.rows.add(**cell, record=record)
                print(f"{label}: {len(record['cells'])} cells in {record['trials']:,} trials",
                      file=sys.stderr)  # fmt: skip
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            stop()
            raise
    return well


# --------------------------------------------------------------------------- tabulating

Cells = dict[tuple[str, str], list[Cell]]
"""Cells by handler and variant."""

Count = Callable[[Cell], int]


def split_table(rows: Cells, names: Sequence[str], one: str, other: str, count: Count) -> str:
    """The paper's: what both have, and what only one has, over all pairs of runs."""
    lines = []
    for name in names:
        a, b = ([count(c) for c in rows[name, v]] for v in (one, other))
        if not a or not b:
            continue
        both = statistics.mean((x & y).bit_count() for x in a for y in b)
        p = mann_whitney([x.bit_count() for x in a], [y.bit_count() for y in b])
        mark = "({})" if p < _SIGNIFICANT else "{}"
        only = [statistics.mean(x.bit_count() for x in side) - both for side in (a, b)]
        lines.append([name, f"{len(a)}+{len(b)}", f"{both:.2f}",
                      *(mark.format(f"{x:.2f}") for x in only), f"{p:.3f}"])  # fmt: skip
    return table(["handler", "runs", "common", f"+{one}", f"+{other}", "p"], lines)


Size = Callable[[Cell, int | None], int]
"""How much a run has covered, after so many trials if that is given."""

AT_EQUAL: dict[str, Size] = {
    "time": lambda cell, trials: len(cell.names()),
    "trials": lambda cell, trials: len(cell.names(trials)),
    "time, with libraries": lambda cell, trials: cell.everything().bit_count(),
}


def gains(
    rows: Cells, names: Sequence[str], one: str, other: str, size: Size
) -> tuple[dict[str, float], list[str], list[str]]:
    """Means of ``one`` to those of ``other`` by handler; who is significantly better, and worse."""
    found: dict[str, float] = {}
    better: list[str] = []
    worse: list[str] = []
    for name in names:
        a, b = rows[name, one], rows[name, other]
        if not a or not b:
            continue
        limit = least(rows, name)
        counts = [[size(c, limit) for c in cells] for cells in (a, b)]
        means = [statistics.mean(side) for side in counts]
        found[name] = means[0] / means[1] if means[1] else 1.0
        if mann_whitney(*counts) < _SIGNIFICANT:
            (better if means[0] > means[1] else worse).append(name)
    return found, better, worse


def least(rows: Cells, name: str) -> int:
    """The trials of the shortest run on that handler."""
    return min(c.trials for (handler, _), cells in rows.items() if handler == name for c in cells)


def coverage_table(rows: Cells, names: Sequence[str], variants: Sequence[str],
                   equal_trials: bool) -> str:  # fmt: skip
    """Medians with their intervals, by variant."""
    lines = []
    for name in names:
        limit = least(rows, name) if equal_trials else None
        line: list[object] = [name]
        for variant in variants:
            counts = [len(c.names(limit)) for c in rows[name, variant]]
            if not counts:
                line.append("")
                continue
            low, high = interval(counts)
            line.append(f"{statistics.median(counts):g} [{low:g}-{high:g}]")
        if equal_trials:
            line.append(f"{limit:,}")
        else:
            line += [f"{statistics.median(c.trials for c in rows[name, v]):,.0f}" if rows[name, v]
                     else "" for v in variants]  # fmt: skip
        lines.append(line)
    more = ["trials"] if equal_trials else [f"trials {v}" for v in variants]
    return table(["handler", *variants, *more], lines)


def differences(rows: Cells, names: Sequence[str], variants: Sequence[str]) -> str:
    """Cells whose share of covering runs differs by a quarter or more between variants."""
    lines = []
    for name in names:
        shares = {}
        for variant in variants:
            cells = rows[name, variant]
            counted = Counter(cell for c in cells for cell in c.names())
            shares[variant] = {cell: n / len(cells) for cell, n in counted.items()}
        for cell in sorted({cell for share in shares.values() for cell in share}, key=str):
            of = [shares[v].get(cell, 0.0) for v in variants]
            if max(of) - min(of) >= 0.25:
                lines.append([f"{name}: {cell}", *(f"{100 * x:.0f}%" for x in of)])
    return table(["covered in so many runs", *variants], lines)


def tabulate(names: Sequence[str], args: argparse.Namespace) -> bool:
    """Print the tables; returns whether the goal is met."""
    cells = load(args.rows, args.seconds)
    rows: Cells = {
        (name, variant): [c for c in cells if (c.handler, c.variant) == (name, variant)
                          and c.seed < _FIRST_SEED + args.repeat]
        for name in names for variant in VARIANTS
    }  # fmt: skip
    names = [n for n in names if any(rows[n, v] for v in VARIANTS)]
    if not names:
        print(f"{args.results}: there are no cells of {args.seconds:g} s of {args.subjects}")
        return False
    pairs = [p for p in _PAIRS if all(any(rows[n, v] for n in names) for v in p)]
    variants = [v for v in VARIANTS if any(rows[n, v] for n in names)]
    print(f"== {args.subjects}: {len(names)} subjects")
    print(f"Application coverage after {args.seconds:g} s of CPU time: medians [95%]; trials")
    print(coverage_table(rows, names, variants, equal_trials=False))
    print("\nAt equal trials")
    print(coverage_table(rows, names, variants, equal_trials=True))
    for one, other in pairs:
        print(f"\nTable II: application coverage, {one} and {other}")
        print(split_table(rows, names, one, other, Cell.covered))
    for one, other in pairs[:1]:
        print(f"\nTable III: with that of libraries, {one} and {other}")
        print(split_table(rows, names, one, other, Cell.everything))
    print("\nCoverage of one to the other: geometric means over handlers")
    lines, met = [], False
    for one, other in pairs:
        for what, size in AT_EQUAL.items():
            found, better, worse = gains(rows, names, one, other, size)
            gain = 100 * (statistics.geometric_mean(found.values()) - 1)
            lines.append([f"{one} to {other}", what, f"{gain:+.1f}%",
                          f"{len(better)} of {len(found)}",
                          ", ".join(worse) or "none"])  # fmt: skip
            if (one, other, what) == (*_PAIRS[0], "time"):
                met = gain >= 18.2 and not worse
    print(table(["", "at equal", "gain", "significantly better", "significantly worse"], lines))
    print(f"the goal (+18.2% over zest at equal time, none significantly worse) is"
          f" {'met' if met else 'not met'}")  # fmt: skip
    if args.cells:
        print()
        print(differences(rows, names, variants))
    return met


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--subjects", default="handlers", choices=SETS, help="a set")
    parser.add_argument("--handlers", default="", help="names of the set by comma; default all")
    parser.add_argument("--variants", default=",".join(VARIANTS), help="names by comma")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="CPU seconds of a cell")
    parser.add_argument("--hour", action="store_const", dest="seconds", const=3600.0,
                        help="the paper's hour a cell")  # fmt: skip
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--python", default=sys.executable, help="the handlers' interpreter")
    parser.add_argument("--tabulate", action="store_true", help="run nothing")
    parser.add_argument("--cells", action="store_true", help="show which cells differ, too")
    args = parse(parser, "spoton_tables", handlers="csvload", repeat=1, seconds=0.3,
                 variants="zest,spoton-frontier")  # fmt: skip
    args.rows = Rows("spoton_tables", args.results)
    args.variants = args.variants.split(",")
    if unknown := [v for v in args.variants if v not in VARIANTS]:
        parser.error(f"no variant {unknown[0]!r}; there are {', '.join(VARIANTS)}")
    names = [n for n in args.handlers.split(",") if n]
    try:
        handlers = find(args.python, names, subjects=args.subjects)
        if not args.tabulate:
            require(handlers)
        well = args.tabulate or work_through(handlers, args)
    except RunFailed as e:
        sys.exit(str(e))
    except KeyboardInterrupt:
        sys.exit("stopped: the same command continues")
    met = tabulate([h.name for h in handlers], args)
    sys.exit(0 if well and (met or args.smoke) else 1)


if __name__ == "__main__":
    main()
