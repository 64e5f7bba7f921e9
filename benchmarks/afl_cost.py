"""What supervising costs afl-fuzz: its executions per second with fuzztui and without.

The same target, seeds and random seed; runs with and without in turns, a pair each round, so
that a busy moment of the machine meets both. Without: plain ``afl-fuzz -M main`` with
AFL_NO_UI. With: ``fuzztui FILE --detach``, which brings StatsD, the steering library, the
observer, the log. The ratio of each pair is taken, the median of the ratios counts.

    python benchmarks/afl_cost.py --repeat 9 --seconds 15

Goal: 0.98 or more.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from lab.figures import ratio, table
from lab.options import parse
from lab.rows import Rows

from fuzztui.kernel.remote.lock import running

GOAL = 0.98

TARGET = r"""
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
__AFL_FUZZ_INIT();
/* The same work for every input, and one path: the queue does not grow, so that two runs
   differ in nothing but what is measured. */
static uint32_t work(const unsigned char *b, size_t n) {
  uint32_t h = (uint32_t)n;
  for (int i = 0; i < 20000; i++) h = (h ^ b[0]) * 16777619u;
  return h;
}
int main(void) {
  __AFL_INIT();
  unsigned char *b = __AFL_FUZZ_TESTCASE_BUF;
  while (__AFL_LOOP(10000)) {
    size_t n = __AFL_FUZZ_TESTCASE_LEN;
    if (n) printf("%u", work(b, n));
  }
  return 0;
}
"""

FORKING = TARGET.replace("while (__AFL_LOOP(10000))", "if (b)")


def build(folder: Path, source: str, name: str) -> Path:
    code, program = folder / f"{name}.c", folder / name
    code.write_text(source)
    subprocess.run(
        ["afl-cc", "-O2", "-o", program, code],
        check=True,
        env={**os.environ, "AFL_QUIET": "1"},
    )
    return program


def rate(stats: Path) -> float:
    """Executions a second over the whole run, by afl-fuzz's own count."""
    for line in stats.read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "execs_per_sec":
            return float(value)
    raise SystemExit(f"{stats}: has no execs_per_sec")


def plain(folder: Path, program: Path, seconds: int, seed: int) -> float:
    out = folder / f"plain-{program.name}-{seed}"
    env = {
        **os.environ,
        "AFL_NO_UI": "1",
        "AFL_SKIP_CPUFREQ": "1",
        "AFL_NO_AFFINITY": "1",
        "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES": "1",
    }
    subprocess.run(
        ["afl-fuzz", "-M", "main", "-s", str(seed), "-V", str(seconds),
         "-i", folder / "seeds", "-o", out, "--", program],
        env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    return rate(out / "main" / "fuzzer_stats")


def supervised(folder: Path, program: Path, seconds: int, seed: int) -> float:
    run = folder / f"run-{program.name}-{seed}"
    campaign = folder / f"{run.name}.toml"
    campaign.write_text(
        f"[campaign]\noutput = {json.dumps(str(run))}\nbudget = {json.dumps(f'{seconds}s')}\n"
        f"seed = {seed}\n[target]\ncommand = [{json.dumps(str(program))}]\n"
        f'[engine]\nkind = "afl"\nseeds = [{json.dumps(str(folder / "seeds"))}]\n'
    )
    subprocess.run(
        [sys.executable, "-m", "fuzztui", campaign, "--detach"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    while running(run):
        time.sleep(0.5)
    return rate(run / "out" / "main" / "fuzzer_stats")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--seconds", type=int, default=15)
    args = parse(parser, "afl_cost", repeat=1, seconds=1)
    rows = Rows("afl_cost", args.results)
    with tempfile.TemporaryDirectory(prefix="afl-cost-") as name:
        folder = Path(name)
        (folder / "seeds").mkdir()
        (folder / "seeds" / "a").write_text('(a (b "c") 12)')
        found = []
        for kind, source in (("persistent", TARGET), ("forking", FORKING)):
            program = build(folder, source, kind)
            pairs = []
            for n in range(args.repeat):
                turns = [plain, supervised] if n % 2 else [supervised, plain]
                seen = {turn: turn(folder, program, args.seconds, n + 1) for turn in turns}
                pairs.append((seen[plain], seen[supervised]))
                rows.add(target=kind, seed=n + 1, plain=seen[plain], supervised=seen[supervised])
                print(f"{kind} {n + 1}: {pairs[-1][0]:,.0f} plain, {pairs[-1][1]:,.0f} supervised")
            ratios = sorted(ratio(with_, without) for without, with_ in pairs)
            found.append(
                (
                    kind,
                    f"{median(p for p, _ in pairs):,.0f}",
                    f"{median(s for _, s in pairs):,.0f}",
                    f"{median(ratios):.3f}",
                    f"{ratios[0]:.2f}-{ratios[-1]:.2f}",
                )
            )
    print(table(["target", "plain/s", "supervised/s", "ratio", "range"], found))
    print(f"goal: {GOAL} or more")


if __name__ == "__main__":
    main()
