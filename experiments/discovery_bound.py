"""How often the upper bound of the discovery rate holds (fuzztui/kernel/model/discovery.py).

zest runs each subject. At a half, a third and a quarter of the trials the bound is computed from
the last half of the trials until then; it holds if as many trials again find no more. Nominal: 95%.

    python experiments/discovery_bound.py --repeat 20 --trials 20000 --jobs 2

Results go to ``--results`` as they come; the same command continues where it was stopped, and
``--report`` shows what is there.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lab.cells import Key, Row, add_cell_options, answer_cell, run_cells
from lab.figures import median, table
from lab.options import parse
from lab.rows import Rows
from lab.runs import Instance, check
from lab.subjects import SUBJECTS_HELP, Subject, choose

from fuzztui.kernel.model.discovery import poisson_bound

_FIRST_SEED = 301
_SHARES = (0.5, 1 / 3, 0.25)
"""Shares of the trials at which the bound is computed."""


def measure(subject: Subject, seed: int, args: argparse.Namespace) -> dict[str, Any]:
    """Run zest; return the trials that covered something new."""
    root = Path(tempfile.mkdtemp(prefix="discovery-", dir=args.scratch))
    try:
        instance = Instance(subject, "zest", root, seed, args.python)
        instance.run(instance.spec(budget_trials=args.trials), limit_s=3600)
        reasons = {
            event["id"]: event["reasons"]
            for event in instance.events("entry_described")
            if "reasons" in event
        }
        found = [
            int(at[2])
            for file in instance.queue.iterdir()
            if (at := re.match(r"id:(\d+).*,execs:(\d+)", file.name))
            and "edge" in reasons.get(int(at[1]), ())
        ]
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return {"subject": subject.name, "seed": seed, "trials": args.trials, "found": sorted(found)}


def judged(row: dict[str, Any], share: float) -> tuple[float, int]:
    """Return the bound for as many trials again, and how many they found."""
    n = int(row["trials"] * share)
    late = sum(n // 2 < at <= n for at in row["found"])
    after = sum(n < at <= 2 * n for at in row["found"])
    return poisson_bound(late) / (n - n // 2) * n, after


def report(subjects: Sequence[Subject], args: argparse.Namespace) -> bool:
    """Print the table; returns whether the bound held in 95% of the cases."""
    rows = [row for row in args.rows.read() if row["trials"] == args.trials]
    lines, held, cases = [], 0, 0
    for subject in subjects:
        own = [row for row in rows if row["subject"] == subject.name]
        if not own:
            continue
        each = [[judged(row, share) for row in own] for share in _SHARES]
        good = [sum(after <= bound for bound, after in at) for at in each]
        held, cases = held + sum(good), cases + len(own) * len(_SHARES)
        lines.append([subject.name, len(own), *good,
                      f"{median([b for b, _ in each[0]]):.0f}",
                      f"{median([float(a) for _, a in each[0]]):.0f}"])  # fmt: skip
    if not cases:
        print(f"{args.results}: no run of {args.trials} trials")
        return False
    heads = ["subject", "runs", "held at 1/2", "1/3", "1/4", "bound at 1/2 (median)", "found then"]
    print(table(heads, lines))
    print(f"held in {held} of {cases}: {100 * held / cases:.1f}%; nominal 95%")
    print("(the three points of one run overlap: they are not independent)")
    return held >= 0.95 * cases


def run(subjects: Sequence[Subject], args: argparse.Namespace) -> bool:
    """Do what is missing; returns whether all went well."""
    done = {(r["subject"], r["seed"]) for r in args.rows.read() if r["trials"] == args.trials}
    seeds = range(_FIRST_SEED, _FIRST_SEED + args.repeat)
    missing = [(s, seed) for seed in seeds for s in subjects if (s.name, seed) not in done]
    check([s for s in subjects if any(s is other for other, _ in missing)], args.python)
    keys = [[subject.name, seed] for subject, seed in missing]
    return run_cells(keys, partial(cell, args), args, lambda row: f"{len(row['found'])} found")


def cell(args: argparse.Namespace, key: Key) -> Row:
    """The row of a subject's name and a seed."""
    [subject] = choose(key[0])
    return measure(subject, key[1], args)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--subjects", default="held-out", help=SUBJECTS_HELP)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--trials", type=int, default=20_000, help="of each run")
    add_cell_options(parser)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--scratch", type=Path, help="where engines run (default: TMPDIR)")
    parser.add_argument("--report", action="store_true", help="run nothing")
    args = parse(parser, "discovery_bound", subjects="tomllib", repeat=1, trials=2000)
    args.rows = Rows("discovery_bound", args.results)
    if answer_cell(args, partial(cell, args)):
        return
    subjects = choose(args.subjects)
    well = args.report or run(subjects, args)
    held = report(subjects, args)
    sys.exit(0 if well and (held or args.smoke) else 1)


if __name__ == "__main__":
    main()
