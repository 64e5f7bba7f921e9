"""What an engine of Python costs until it runs: CPU time of an instance with a budget of one trial.

Each round starts an instance with an empty cache (cold), then one with what that left (warm), with
``--before`` two of another version, of which the second (warm) counts, and a plain interpreter
that imports the same package. CPU time is that of all processes, from the start of the monitor to
its end.

    python benchmarks/engine_start.py [--rounds 9] [--before DIR] [--trials 1] [--kinds zest mu2]

``--before``: the directory that contains another version's ``fuzztui``. mu2 starts without an exact
pass. Goals: at most 0.35 s warm and 0.6 s cold, for zest on tomlkit.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from lab.options import parse
from lab.rows import Rows
from lab.runs import Instance, call
from lab.subjects import Subject

SUBJECTS = (
    Subject("tomlkit", "", "tomlkit:parse", ("tomlkit",), ("tomlkit.exceptions.TOMLKitError",)),
    Subject("parso", "", "parso:parse", ("parso",), ()),
    Subject("tomllib", "", "tomllib:loads", ("tomllib",), ("tomllib.TOMLDecodeError",)),
)
KINDS = ("zest", "mu2")


def cpu_of(argv: list[str], root: Path, cache: Path, package: Path | None) -> float:
    """CPU seconds of a command and all its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    call(argv, root, root / "said", limit_s=120, env={"XDG_CACHE_HOME": str(cache)},
         package=package)  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def started(
    subject: Subject, kind: str, trials: int, cache: Path, package: Path | None = None
) -> float:
    """CPU seconds of an instance that runs so many trials."""
    root = Path(tempfile.mkdtemp(prefix="engine-start-"))
    try:
        options = {"exact": False} if kind == "mu2" else {}
        spec = Instance(subject, kind, root).spec(options, budget_trials=trials)
        argv = [sys.executable, "-P", "-m", "fuzztui.engines", str(spec)]
        return cpu_of(argv, root, cache, package)
    finally:
        shutil.rmtree(root)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--trials", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--before", type=Path, help="the directory of another version's fuzztui")
    args = parse(parser, "engine_start", rounds=1)
    rows = Rows("engine_start", args.results)
    print(f"CPU seconds until {args.trials:,} trials have run, medians of {args.rounds} rounds")
    print(f"{'subject':10} {'kind':4} {'cold':>7} {'warm':>7} {'before':>7} {'import':>7}")
    for subject, kind in itertools.product(SUBJECTS, args.kinds):
        found: dict[str, list[float]] = {"cold": [], "warm": [], "before": [], "import": []}
        for _ in range(args.rounds):
            root = Path(tempfile.mkdtemp(prefix="engine-start-"))
            cache = root / "cache"
            found["cold"].append(started(subject, kind, args.trials, cache))
            found["warm"].append(started(subject, kind, args.trials, cache))
            if args.before:
                started(subject, kind, args.trials, cache, args.before)
                found["before"].append(started(subject, kind, args.trials, cache, args.before))
            plain = [sys.executable, "-c", f"import {subject.include[0]}"]
            found["import"].append(cpu_of(plain, root, cache, None))
            shutil.rmtree(root)
        for name, seconds in found.items():
            rows.add(
                subject=subject.name, kind=kind, trials=args.trials, start=name, seconds=seconds
            )
        shown = {n: f"{statistics.median(s):7.3f}" if s else f"{'-':>7}" for n, s in found.items()}
        print(f"{subject.name:10} {kind:4}", *shown.values(), flush=True)


if __name__ == "__main__":
    main()
