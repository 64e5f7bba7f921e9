"""What a mutant costs that is fuzzed first, beside its fuzzing: a real campaign's log.

    python benchmarks/first_cost.py [--turns 8] [--seconds 10] [CAMPAIGN.toml]

json-parser (sample_campaigns/json-fuzzfirst.toml) without its stop condition, so many turns of so
many seconds each. Build is ahead of the fuzzer: it takes CPU, but no time of a slot. What a slot
loses is the time between two mutants' fuzzing (stopping, transfer, pruning, starting) and
until the first execution is counted; its share of a slot of five minutes is the figure that
counts. The named limit is 5%.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

from lab.figures import median, table
from lab.options import parse
from lab.rows import Rows

from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import MutantProgress

SAMPLE = Path(__file__).resolve().parent.parent / "sample_campaigns" / "json-fuzzfirst.toml"
SLOT_S = 300.0


def campaign(file: Path, run: Path, turns: int, seconds: float) -> None:
    """Run it to its end."""
    share = 0.98
    overrides = {
        "campaign.output": run,
        "campaign.budget": f"{(turns + 1) * (seconds + 2) / share:.0f}s",
        "mutants.share": share,
        "mutants.per_mutant": f"{seconds:g}s",
        "stop.crashes": 0,
    }
    words = [word for key, value in overrides.items() for word in ("--set", f"{key}={value}")]
    argv = [sys.executable, "-m", "fuzztui", str(file), "--headless", *words]
    done = subprocess.run(argv, check=False, stdout=subprocess.DEVNULL)
    if done.returncode not in (0, 10):  # 10: it has findings
        sys.exit(f"{file}: fuzztui ended with exit code {done.returncode}")


def main() -> None:
    """Run and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("file", type=Path, nargs="?", default=SAMPLE, metavar="CAMPAIGN.toml")
    options.add_argument("--turns", type=int, default=8)
    options.add_argument("--seconds", type=float, default=10.0)
    arguments = parse(options, "first_cost", turns=3, seconds=1.0)
    with tempfile.TemporaryDirectory(prefix="fuzztui-first-") as directory:
        run = Path(directory) / "run"
        campaign(arguments.file, run, arguments.turns, arguments.seconds)
        records = list(LogReader(run).records())
    state = State()
    apply(state, records)
    began: dict[str, float] = {}
    ended: dict[str, float] = {}
    for record in records:
        if isinstance(event := record.event, MutantProgress):
            times = {"fuzzing": began, "collecting": ended}.get(event.stage)
            if times is not None:
                times.setdefault(event.id, record.t)
    done = sorted((m for m in state.mutants.values() if m.id in ended), key=lambda m: began[m.id])
    gaps = [began[b.id] - ended[a.id] for a, b in pairwise(done)]
    starts = [m.costs["start"] for m in done if "start" in m.costs]
    sizes = [m.turn_results.get("kept", 0) + m.turn_results.get("aside", 0) for m in done]
    prunes = [m.costs["prune"] * 1000 / n for m, n in zip(done, sizes, strict=True) if n > 100]
    builds = [m.costs["build"] for m in state.mutants.values() if m.stage != "failed" and m.costs]
    lost = median(gaps) + median(starts)
    Rows("first_cost", arguments.results).add(
        build_s=median(builds), gap_s=median(gaps), start_s=median(starts), mutants=len(done)
    )
    rows = [
        ["build (ahead, wall)", f"{median(builds):.2f} s", f"{len(builds)} mutants"],
        [
            "prune, per 1,000 inputs",
            f"{median(prunes):.2f} s" if prunes else "-",
            f"{sizes[-1] if sizes else 0}",
        ],
        [
            "hand-over",
            f"{median(m.costs['handover'] for m in done if m.costs.get('handover')):.2f} s",
            "",
        ],
        ["from one mutant's end to the next one's start", f"{median(gaps):.2f} s", f"{len(gaps)}"],
        ["until its first execution is counted", f"{median(starts):.2f} s", f"{len(starts)}"],
        ["lost of a slot of five minutes", f"{lost / SLOT_S:.2%}", "limit 5%"],
    ]
    print(table(["", "median", "of"], rows))


if __name__ == "__main__":
    main()
