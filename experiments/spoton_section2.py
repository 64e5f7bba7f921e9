"""The SpotOn paper's Section II: trials until the branch behind a date is covered.

The samples thumbnails-spoton.toml (the year of the last change) and thumbnails-chained-spoton.toml
(year, month, and the year of the last access), for zest and spoton: with the distances of all
uncovered goals ("spoton-global", as in the paper) and with those of the frontier; with and without
the application's constants, which both engines then get; with a choice for each byte of a
pixel, as in the paper, and with one block of all. Comparisons are off: with them both find the year
within 100 trials, without any type. What counts is trials, which do not
depend on how busy the machine is. A cell ends when the branch is covered, or at its cap.

    python experiments/spoton_section2.py --repeat 20 --at-once 2

Results are kept in ``--results`` line by line: started again, it does what is missing.
Goals: simple, no constants: spoton covers all, at half of zest's trials or less; chained, with
constants: 5 times fewer trials. p: Mann-Whitney against zest in the same row's setting.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path

from lab.figures import table
from lab.options import parse
from lab.rows import Rows
from lab.runs import RunFailed, environment

from fuzztui.features.targeting.analysis import Request, find_targets
from fuzztui.run.campaign import Campaign, load
from fuzztui.run.inprocess.spec import write_spec
from fuzztui.tools.report.two_samples import mann_whitney

SAMPLES = Path(__file__).resolve().parent.parent / "sample_campaigns"
CAPS = {"simple": 5000, "chained": 8000}
FILES = {"simple": "thumbnails-spoton.toml", "chained": "thumbnails-chained-spoton.toml"}
ENGINES: dict[str, dict[str, str]] = {
    "zest": {},
    "spoton-global": {"distances": "global"},
    "spoton-frontier": {"distances": "frontier"},
}
PIXELS = ("each", "block")
RESAMPLES = 2000

COVERED = """\
from thumbnails_harness import {function} as sheet
def target(photos):
    assert not sheet(photos), "covered"
"""
"""The sample's function, and a failure where the branch is: an engine saves that with its trial."""


@dataclass(frozen=True)
class Cell:
    variant: str
    pixels: str
    engine: str
    constants: bool
    seed: int

    @property
    def setting(self) -> tuple[str, str, bool]:
        """What must be alike for two engines to be compared."""
        return self.variant, self.pixels, self.constants

    @property
    def name(self) -> str:
        return "-".join(map(str, asdict(self).values()))


class Bench:
    def __init__(self, root: Path, poll_s: float = 0.05) -> None:
        self._root, self._poll_s = root, poll_s
        self._campaigns: dict[str, Campaign] = {}
        for variant, file in FILES.items():
            campaign = load(SAMPLES / file, [f"campaign.output={root / 'none'}"]).campaign
            document = find_targets(Request.of_target(campaign.target), lambda words: None)
            (root / f"{variant}.json").write_text(document.dumps())
            function = campaign.target["function"].rpartition(":")[2]
            harness = root / f"covered_{variant}.py"
            harness.write_text(COVERED.format(function=function))
            target = {**campaign.target, "function": f"{harness}:target"}
            self._campaigns[variant] = replace(campaign, target=target)

    def spec(self, cell: Cell) -> Path:
        campaign = self._campaigns[cell.variant]
        engine = {**campaign.engine, "kind": cell.engine.partition("-")[0],
                  "constants": cell.constants, "comparisons": False, "third_party": False,
                  "targets": str(self._root / f"{cell.variant}.json"),
                  **ENGINES[cell.engine]}  # fmt: skip
        env = {"PIXELS": cell.pixels, "TMPDIR": str(self._root)}
        target = {**campaign.target, "env": env}
        directory = self._root / cell.name / "main"  # alone: siblings would share what they find
        directory.mkdir(parents=True)
        file = directory / "spec.json"
        cell_of = replace(campaign, engine=engine, target=target, seed=cell.seed)
        write_spec(file, cell_of, directory, CAPS[cell.variant])
        return file

    def run(self, cell: Cell) -> int | None:
        """The trial that covered the branch; None: none did."""
        file = self.spec(cell)
        directory = file.parent
        with (directory / "worker.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "fuzztui.engines", str(file)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=environment(self._root), start_new_session=True,
            )  # fmt: skip
            try:
                while process.poll() is None and trial_of(directory) is None:
                    time.sleep(self._poll_s)
                if process.poll() is None:
                    process.send_signal(signal.SIGTERM)
                status = process.wait(60)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
        if status:
            raise RunFailed(f"{cell.name}: {(directory / 'worker.log').read_text()[-2000:]}")
        trial = trial_of(directory)
        if trial is None and trials_done(directory) < CAPS[cell.variant]:
            raise RunFailed(f"{cell.name}: ended from outside before its cap")
        return trial


def trials_done(directory: Path) -> int:
    found = re.search(r"execs_done\s*: (\d+)", (directory / "fuzzer_stats").read_text())
    return int(found[1]) if found else 0


def trial_of(directory: Path) -> int | None:
    for path in sorted((directory / "crashes").glob("id:*")):
        if found := re.search(r"execs:(\d+)", path.name):
            return int(found[1])
    return None


def median_interval(values: list[int]) -> tuple[float, float]:
    """95% of the medians of samples drawn from these, with replacement."""
    rng = random.Random(1)
    medians = sorted(
        statistics.median(rng.choices(values, k=len(values))) for _ in range(RESAMPLES)
    )
    return medians[RESAMPLES // 40], medians[-RESAMPLES // 40 - 1]


def lines(results: dict[Cell, int | None]) -> Iterator[list[object]]:
    """One a setting and engine; what was not covered counts as the cap."""
    trials: dict[tuple[str, str, bool], dict[str, list[int]]] = {}
    covered: dict[tuple[object, ...], int] = {}
    for cell, trial in results.items():
        cap = CAPS[cell.variant]
        of = trials.setdefault(cell.setting, {}).setdefault(cell.engine, [])
        of.append(cap if trial is None else trial)
        key = (*cell.setting, cell.engine)
        covered[key] = covered.get(key, 0) + (trial is not None)
    for (variant, pixels, constants), engines in sorted(trials.items(), reverse=True):
        base = engines.get("zest")
        for engine in ENGINES:
            if engine not in engines:
                continue
            mine = engines[engine]
            low, high = median_interval(mine)
            found = covered[variant, pixels, constants, engine]
            row = [f"{variant}, {pixels}, {'constants' if constants else 'none'}", engine,
                   f"{found}/{len(mine)}", f"{statistics.median(mine):.0f}",
                   f"{low:.0f}-{high:.0f}", f"{statistics.fmean(mine):.0f}"]  # fmt: skip
            if base and engine != "zest":
                row += [f"{statistics.median(base) / statistics.median(mine):.1f}x",
                        f"{statistics.fmean(base) / statistics.fmean(mine):.1f}x",
                        f"{mann_whitney(mine, base):.2g}"]  # fmt: skip
            yield [*row, *[""] * (9 - len(row))]


HEADS = ("variant, pixels, constants", "engine", "covered", "median", "95%", "mean",
         "zest/it", "of means", "p")  # fmt: skip


def kept(rows: Rows) -> dict[Cell, int | None]:
    """What was measured before with the same caps."""
    found: dict[Cell, int | None] = {}
    for row in rows.read():
        trial, cap = row.pop("trial"), row.pop("cap")
        cell = Cell(**row)
        if cap == CAPS[cell.variant]:
            found[cell] = trial
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--at-once", type=int, default=2, help="cells that run side by side")
    parser.add_argument("--folder", help="for folders of photographs: /dev/shm spares a busy disk")
    parser.add_argument("--variants", nargs="+", choices=CAPS, default=list(CAPS))
    parser.add_argument("--pixels", nargs="+", choices=PIXELS, default=list(PIXELS))
    parser.add_argument("--constants", nargs="+", type=int, choices=(0, 1), default=[0, 1])
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--cap", type=int, default=0, help="trials of a cell (default: %(default)s,"
                        " which means " + " and ".join(map(str, CAPS.values())) + ")")  # fmt: skip
    args = parse(parser, "spoton_section2", repeat=1, cap=60, pixels=["block"], constants=[1],
                 engines=["zest", "spoton-frontier"])  # fmt: skip
    CAPS.update(dict.fromkeys(CAPS, args.cap) if args.cap else {})
    rows = Rows("spoton_section2", args.results)
    cells = [
        Cell(variant, pixels, engine, constants, seed)
        for seed in range(args.repeat)
        for variant, pixels in product(args.variants, args.pixels)
        for constants, engine in product(map(bool, args.constants), args.engines)
    ]
    results = {cell: trial for cell, trial in kept(rows).items() if cell in set(cells)}
    missing = [cell for cell in cells if cell not in results]
    with (
        tempfile.TemporaryDirectory(prefix="section2-", dir=args.folder) as root,
        ThreadPoolExecutor(args.at_once) as pool,
    ):
        bench = Bench(Path(root).resolve())
        try:
            found = zip(missing, pool.map(bench.run, missing), strict=True)
            for number, (cell, trial) in enumerate(found, 1):
                results[cell] = trial
                rows.add(**asdict(cell), cap=CAPS[cell.variant], trial=trial)
                print(f"{number}/{len(missing)} {cell.name}: {trial or 'not covered'}",
                      file=sys.stderr, flush=True)  # fmt: skip
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    print(table(HEADS, list(lines(results))))


if __name__ == "__main__":
    main()
