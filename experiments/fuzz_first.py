"""Fuzzing mutants first, against plain afl-fuzz: what share of runs reaches a hard nested bug.

The target of sample_campaigns/nested-fuzzfirst.toml. Arms: afl-fuzz alone, and half of the budget
on mutants in random order or furthest point first; each sequential (one afl-fuzz at a time, a
mutant starts from the last one's corpus) and parallel (two at a time, from the seeds). Each run has
the same number of executions; one that finds the bug ends early. For each arm the share of runs
that reached it, and Fisher's exact p (two-sided) against afl-fuzz alone with as many instances.

    python experiments/fuzz_first.py --repeat 10 --execs 2000000 --jobs 2

A run takes a minute or two, all of them an hour or two. Results go to
``--results`` as they come; the same command continues where it was stopped, ``--arms`` picks some,
``--report`` shows what is there.

The target was tuned until the effect showed, with other seeds than the ones counted here: this
demonstrates the method and is no evidence for real programs.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from lab.figures import table
from lab.headless import fuzztui
from lab.options import parse
from lab.rows import Rows
from lab.runs import RunFailed, stop

SAMPLES = Path(__file__).resolve().parent.parent / "sample_campaigns"
INSTANCES = {"sequential": 1, "parallel": 2}
ARMS = tuple(f"{order}-{use}" for use in INSTANCES for order in ("alone", "random", "fpf"))
_FIRST_SEED = 101


@dataclass(frozen=True)
class Plan:
    """One run: an arm (``fpf-parallel``), a seed, and what it may spend."""

    arm: str
    seed: int
    execs: int
    per_mutant: int

    def campaign(self, run: Path) -> str:
        order, _, use = self.arm.partition("-")
        nested = json.dumps(str(SAMPLES / "nested"))
        text = (
            f"[campaign]\noutput = {json.dumps(str(run))}\n"
            f"budget = {self.execs}\nseed = {self.seed}\n[stop]\ncrashes = 1\n"
            f'[target]\ncommand = ["./nested"]\nsource = {nested}\n'
            'build = "$CC -O2 -o nested $SOURCE/harness.c $SOURCE/nested.c"\n'
            f'[engine]\nkind = "afl"\ninstances = {INSTANCES[use]}\n'
            f"seeds = [{json.dumps(str(SAMPLES / 'seeds' / 'nested'))}]\n"
        )
        if order != "alone":
            text += (
                f'[mutants]\nsources = ["nested.c"]\norder = "{order}"\nuse = "{use}"\n'
                f"share = 0.5\nper_mutant = {self.per_mutant}\n"
            )
        return text


@dataclass(frozen=True)
class Result:
    """What came of a run; ``found_in`` is the directory of the crash, "handed" a mutant's gift."""

    arm: str
    seed: int
    execs: int
    per_mutant: int
    reached: bool
    found_in: str
    spent: int
    seconds: float
    reason: str

    @property
    def plan(self) -> Plan:
        return Plan(self.arm, self.seed, self.execs, self.per_mutant)


def carry_out(plan: Plan) -> Result:
    """Run it to its end. Raises :class:`RunFailed` with what fuzztui said."""
    with tempfile.TemporaryDirectory(prefix="fuzz-first-") as name:
        run, file = Path(name) / "run", Path(name) / "campaign.toml"
        file.write_text(plan.campaign(run))
        begun = time.monotonic()
        fuzztui(file, "--headless")
        took = time.monotonic() - begun
        status: dict[str, Any] = json.loads(fuzztui("status", run, "--json"))
        if status["state"] != "finished":
            raise RunFailed(f"{plan.arm}, seed {plan.seed}: {status['reason']}")
        found = sorted({p.parent.parent.name for p in run.glob("out/*/crashes/id:*")})
        return Result(
            **asdict(plan),
            reached=bool(found),
            found_in=" ".join(found),
            spent=status["execs"],
            seconds=round(took, 1),
            reason=status["reason"],
        )


def fisher(a: int, n: int, b: int, m: int) -> float:
    """Two-sided p of Fisher's exact test: ``a`` of ``n`` against ``b`` of ``m``."""
    hits = a + b

    def ways(k: int) -> int:
        return math.comb(n, k) * math.comb(m, hits - k)

    tables = [ways(k) for k in range(max(0, hits - m), min(n, hits) + 1)]
    return sum(w for w in tables if w <= ways(a)) / math.comb(n + m, hits)


def report(results: Sequence[Result]) -> str:
    rows = []
    for arm in ARMS:
        mine = [r for r in results if r.arm == arm]
        peers = [r for r in results if r.arm == f"alone-{arm.partition('-')[2]}"]
        if not mine:
            continue
        hits, base = reached(mine), reached(peers)
        spent = [r.spent for r in mine if r.reached]
        rows.append(
            (
                arm,
                f"{hits}/{len(mine)}",
                f"{hits / len(mine):.0%}",
                f"{sum('handed' in r.found_in for r in mine)}",
                f"{median(spent):,.0f}" if spent else "",
                f"{median(r.seconds for r in mine):.0f}",
                ""
                if mine == peers or not peers
                else f"{fisher(hits, len(mine), base, len(peers)):.3g}",
            )
        )
    heads = ["arm", "reached", "share", "handed over", "execs to it", "seconds", "p, to alone"]
    return table(heads, rows)


def reached(results: Iterable[Result]) -> int:
    return sum(r.reached for r in results)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--arms", default=",".join(ARMS), help="default: %(default)s")
    parser.add_argument("--repeat", type=int, default=10, help="runs of each arm (default: 10)")
    parser.add_argument("--execs", type=int, default=2_000_000, help="of a run, over all")
    parser.add_argument("--mutants", type=int, default=8, help="how many half of that is for")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--report", action="store_true", help="only show what is there")
    args = parse(parser, "fuzz_first", repeat=1, execs=20_000, mutants=2, jobs=2)
    rows = Rows("fuzz_first", args.results)
    arms = args.arms.split(",")
    if unknown := set(arms) - set(ARMS):
        parser.error(f"--arms: there is no {', '.join(sorted(unknown))}: it is one of {ARMS}")
    per_mutant = args.execs // 2 // args.mutants
    # Seed by seed, so that what is there of an interrupted run is a fair comparison.
    plans = [
        Plan(arm, _FIRST_SEED + n, args.execs, per_mutant)
        for n in range(args.repeat)
        for arm in arms
    ]
    results = [r for r in (Result(**row) for row in rows.read()) if r.plan in set(plans)]
    if not args.report:
        done = {r.plan for r in results}
        with ThreadPoolExecutor(args.jobs) as pool:
            runs = [pool.submit(carry_out, plan) for plan in plans if plan not in done]
            try:
                for n, run in enumerate(as_completed(runs), 1):
                    result = run.result()
                    results.append(result)
                    rows.add(**asdict(result))
                    where = f"reached ({result.found_in})" if result.reached else "not reached"
                    what = f"{where}, {result.spent:,} execs, {result.seconds:.0f} s"
                    print(f"{n}/{len(runs)} {result.arm} {result.seed}: {what}", flush=True)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                stop()
                raise
    print(f"{args.execs:,} executions a run, {args.mutants} mutants of {per_mutant:,}")
    print(report(results))


if __name__ == "__main__":
    main()
