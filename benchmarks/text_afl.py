"""What mutating as text costs afl-fuzz: its executions per second against stock havoc's.

Persistent mode, the same seeds and random seed; runs with stock AFL++ and with the custom mutator
at P(text) = 1 in turns, a pair each round, so that a busy moment of the machine meets both. The
ratio of each pair is taken, the median of the ratios counts: of executions per second and, for
machines that are never at rest, a second of CPU time (afl-fuzz and its target together). No
supervisor: only the mutators differ. Three targets:

- empty: one path and no work, so that nothing but the mutator costs;
- parser: a recursive-descent parser of statements, whose queue grows;
- large: the empty one with seeds of 20 kB.

    python benchmarks/text_afl.py --repeat 7 --seconds 10

Where others use the processors, too, as root, on a core of its own:

    taskset -c 1 chrt -f 1 python benchmarks/text_afl.py --repeat 5 --seconds 2

Goal: 0.9 or more.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

import psutil
from lab.figures import ratio, table
from lab.options import parse
from lab.rows import Rows

from fuzztui.run.process.library import text_library

GOAL = 0.9

HEAD = r"""
#include <ctype.h>
#include <string.h>
#include <unistd.h>
__AFL_FUZZ_INIT();
"""

EMPTY = (
    HEAD
    + r"""
static volatile int kept;
static void run(const char *p, const char *end) { kept = p < end ? *p : 0; }
"""
)

PARSER = (
    HEAD
    + r"""
static const char *p, *end;
static int depth, failed;
static void blank(void) { while (p < end && isspace((unsigned char)*p)) p++; }
static int take(const char *word) {
  size_t n = strlen(word);
  blank();
  if ((size_t)(end - p) < n || strncmp(p, word, n)) return 0;
  p += n;
  return 1;
}
static void expression(void);
static void primary(void) {
  blank();
  if (take("(")) { expression(); if (!take(")")) failed = 1; }
  else if (take("!") || take("-")) primary();
  else if (p < end && isdigit((unsigned char)*p)) while (p < end && isdigit((unsigned char)*p)) p++;
  else if (p < end && isalpha((unsigned char)*p)) {
    while (p < end && isalnum((unsigned char)*p)) p++;
    if (take("(")) {
      if (!take(")")) { do expression(); while (!failed && take(",")); if (!take(")")) failed = 1; }
    }
  } else failed = 1;
}
static void expression(void) {
  if (++depth > 50) failed = 1;
  primary();
  while (!failed && (take("==") || take("!=") || take("&&") || take("||") || take("<") ||
                     take(">") || take("+") || take("-") || take("*") || take("/") || take("%")))
    primary();
  depth--;
}
static void statement(void) {
  if (++depth > 50) failed = 1;
  if (failed) return;
  if (take("{"))
    while (!failed && !take("}")) { blank(); if (p == end) failed = 1; else statement(); }
  else if (take("if") || take("while")) {
    if (!take("(")) failed = 1;
    if (!failed) expression();
    if (!take(")")) failed = 1;
    if (!failed) statement();
    if (take("else")) statement();
  } else if (take("break") || take("continue")) { if (!take(";")) failed = 1; }
  else { expression(); if (take("=")) expression(); if (!take(";")) failed = 1; }
  depth--;
}
static void run(const char *begin, const char *stop) {
  p = begin; end = stop; depth = failed = 0;
  while (!failed) { blank(); if (p == end) break; statement(); }
}
"""
)

TAIL = r"""
int main(void) {
  __AFL_INIT();
  const char *b = (const char *)__AFL_FUZZ_TESTCASE_BUF;
  while (__AFL_LOOP(100000)) run(b, b + __AFL_FUZZ_TESTCASE_LEN);
  return 0;
}
"""

SEED = """x = 1;
while (x < 10 && !done(x)) {
  if (f(a, b + 2) == 0) { x = x + 1; break; }
  else y = (x - 3) * 4;
  g(x, y, 5);
}
"""

TARGETS = {"empty": (EMPTY, 1), "parser": (PARSER, 1), "large": (EMPTY, 140)}

CALM = {
    "AFL_NO_UI": "1",
    "AFL_SKIP_CPUFREQ": "1",
    "AFL_NO_AFFINITY": "1",
    "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES": "1",
}


def build(folder: Path, name: str) -> Path:
    source, copies = TARGETS[name]
    code, program, seeds = folder / f"{name}.c", folder / name, folder / f"{name}.seeds"
    code.write_text(source + TAIL)
    seeds.mkdir()
    (seeds / "a").write_text(SEED * copies)
    subprocess.run(
        ["afl-clang-fast", "-O2", "-o", program, code],
        check=True,
        env={**os.environ, "AFL_QUIET": "1"},
    )
    return program


def spent(process: psutil.Process) -> float:
    """CPU seconds of a process, what it has started, and what of that has ended."""
    try:
        return sum(sum(p.cpu_times()[:4]) for p in [process, *process.children(recursive=True)])
    except psutil.Error:
        return 0.0


def rate(afl: str, program: Path, mutator: str, seconds: int, seed: int) -> tuple[float, float]:
    """Executions a second and a CPU second, by afl-fuzz's own count of them."""
    out = program.parent / f"{program.name}-{'text' if mutator else 'stock'}-{seed}"
    env = {**os.environ, **CALM}
    if program.name == "large":
        env["AFL_DISABLE_TRIM"] = "1"  # one path: all but a byte would go
    if mutator:
        env |= {
            "AFL_CUSTOM_MUTATOR_LIBRARY": mutator,
            "AFL_CUSTOM_MUTATOR_ONLY": "1",
            "FUZZTUI_TEXT": "0,1,0,0",
            "FUZZTUI_TEXT_BLOCK": f"{out}.block",
            "FUZZTUI_CONTROL": f"{out}.control",
            "FUZZTUI_EVENTS": f"{out}.events",
        }
    fuzzer = psutil.Popen(
        [afl, "-s", str(seed), "-V", str(seconds),
         "-i", f"{program}.seeds", "-o", out, "--", program],
        env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    cpu = 0.0
    while fuzzer.poll() is None:
        cpu = max(cpu, spent(fuzzer))
        time.sleep(0.05)
    lines = (out / "default" / "fuzzer_stats").read_text().splitlines()
    stats = {key.strip(): value.strip() for key, _, value in (x.partition(":") for x in lines)}
    return float(stats["execs_per_sec"]), ratio(int(stats["execs_done"]), cpu)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--afl", default="afl-fuzz", help="another afl-fuzz")
    parser.add_argument("--targets", nargs="*", default=list(TARGETS), choices=list(TARGETS))
    args = parse(parser, "text_afl", repeat=1, seconds=1)
    kept = Rows("text_afl", args.results)
    library, why = text_library()
    if library is None:
        raise SystemExit(why)
    rows = []
    with tempfile.TemporaryDirectory(prefix="text-afl-") as name:
        for target in args.targets:
            program = build(Path(name), target)
            pairs = []
            for n in range(args.repeat):
                turns = ["", str(library)] if n % 2 else [str(library), ""]
                seen = {m: rate(args.afl, program, m, args.seconds, n + 1) for m in turns}
                pairs.append((seen[""], seen[str(library)]))
                stock, ours = pairs[-1]
                kept.add(target=target, seed=n + 1, stock=stock, text=ours)
                print(f"{target} {n + 1}: {stock[0]:,.0f} stock, {ours[0]:,.0f} text")
            figures = [target]
            for i in range(2):
                ratios = sorted(ratio(ours[i], stock[i]) for stock, ours in pairs)
                figures += [
                    f"{median(stock[i] for stock, _ in pairs):,.0f}",
                    f"{median(ours[i] for _, ours in pairs):,.0f}",
                    f"{median(ratios):.3f}",
                    f"{ratios[0]:.2f}-{ratios[-1]:.2f}",
                ]
            rows.append(figures)
    heads = [f"{name}/{unit}" for unit in ("s", "CPU s") for name in ("stock", "text")]
    print(table(["target", *heads[:2], "ratio", "range", *heads[2:], "ratio", "range"], rows))
    print(f"goal: {GOAL} or more")


if __name__ == "__main__":
    main()
