"""What counters of extension modules bring: edges that zest covers in msgspec and MarkupSafe.

Each package is built twice from its source package: with clang's counters, and as it is. Campaigns
with the first name the extension (``target.extensions``), campaigns with the second cannot.

    python experiments/extension_edges.py [--trials 1000,10000,100000] [--seeds 3]

The figures are those of the corpus after so many trials, medians of the random seeds; the same
trials give the same figures everywhere. Needs clang, pip and the network.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from lab.options import parse
from lab.rows import Rows
from lab.runs import Instance
from lab.subjects import Subject

from fuzztui.run.process.library import counter_library

EXTENSIONS = {"markupsafe": "markupsafe._speedups", "msgspec": "msgspec._core"}
SUBJECTS = (
    Subject("markupsafe", "", "markupsafe:escape", ("markupsafe",)),
    Subject("msgspec", "", "msgspec.json:decode", ("msgspec",), ("msgspec.DecodeError",)),
)
FIGURES = ("edges_found", "total_edges", "corpus_count")
COUNTERS = "-fsanitize-coverage=inline-8bit-counters,pc-table"


def built(name: str, folder: Path, **env: str) -> str:
    """Build a package from its source package; returns the directory from which it is imported."""
    pip = [shutil.which("pip3") or "pip", "--python", sys.executable, "install", "-q"]
    argv = [*pip, "--no-deps", "--no-cache-dir", "--no-binary", name, "--target", str(folder), name]
    done = subprocess.run(argv, env={**os.environ, **env}, capture_output=True, text=True,
                          check=False)  # fmt: skip
    if done.returncode:
        sys.exit(f"{done.stderr}\n{name}: cannot be downloaded, or cannot be built")
    return str(folder)


def measured(instance: Instance, target: dict[str, Any], trials: int) -> dict[str, int]:
    """Continue a campaign up to so many trials; returns its figures."""
    instance.run(instance.spec(target=target, budget_trials=trials), limit_s=1800)
    stats = instance.stats()
    return {key: int(stats[key]) for key in FIGURES}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--trials", default="1000,10000,100000")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--subjects", default=",".join(EXTENSIONS))
    args = parse(parser, "extension_edges", trials="200", seeds=1, subjects="markupsafe")
    rows = Rows("extension_edges", args.results)
    library, why = counter_library()
    if library is None or shutil.which("clang") is None:
        sys.exit(why or "clang is missing: it comes with afl++")
    root = Path(tempfile.mkdtemp(prefix="extension-edges-"))
    print(f"{'subject':12}{'counters':>9}{'trials':>10}{'edges':>8}{'of':>8}{'corpus':>8}")
    try:
        for subject in SUBJECTS:
            if subject.name not in args.subjects.split(","):
                continue
            flags = {"CC": "clang", "CFLAGS": COUNTERS}
            places = {
                "with": built(subject.name, root / f"{subject.name}-with", **flags),
                "without": built(subject.name, root / f"{subject.name}-without"),
            }
            for way, place in places.items():
                keys: dict[str, Any] = {"path": [place]}
                if way == "with":
                    keys["extensions"] = [EXTENSIONS[subject.name]]
                    keys["counters"] = {"library": str(library), "why": ""}
                target = subject.target(**keys)
                for trials in map(int, args.trials.split(",")):
                    found = [
                        measured(Instance(subject, "zest", root / way, seed), target, trials)
                        for seed in range(args.seeds)
                    ]
                    for seed, figures in enumerate(found):
                        rows.add(
                            subject=subject.name, counters=way, seed=seed, trials=trials, **figures
                        )
                    shown = (f"{statistics.median(f[key] for f in found):8g}" for key in FIGURES)
                    print(f"{subject.name:12}{way:>9}{trials:10,}", *shown, sep="", flush=True)
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
