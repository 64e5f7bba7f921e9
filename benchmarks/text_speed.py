"""How many text mutations a second, beside memcpy (the limit) and beside universalmutator.

    python benchmarks/text_speed.py [--rounds N] [--without-tool] [FILE...]

Inputs of 100 B, 10 kB and 1 MB are pieces of C (/usr/include/stb/*.h, Debian: libstb-dev, or
files that are named), 16 of each size from all over the text. A mutation is what a fuzzer
asks for: the input is copied and one operator, each as likely as the others, applied to a
random occurrence; where it does not apply another one is drawn, and that counts as part of
the mutation. In each round every way is measured, one after the other; ratios are taken
within a round, and their median, least and most are printed.

* memcpy: a copy of the same bytes, which is the least that a mutation can be;
* C: the library, called by a loop in C, as by afl-fuzz;
* ctypes, plain: called from Python, by native.py and plain.py;
* universalmutator: ``mutator.mutants_regexp`` with the rules that our operators come from
  (universal, c_like). It makes all mutants of an input at once, each a changed line: the time
  for each of them, and for putting it into the text; and the time until there is one, of an
  input that was not mutated before.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from lab.options import parse
from lab.rows import Rows

from fuzztui.engines.text import native, reference
from fuzztui.engines.text.table import NAMES

SIZES = {"100 B": 100, "10 kB": 10_000, "1 MB": 1_000_000}
PIECES = 16
SOURCES = Path(native.__file__).parent
RULES = ["universal.rules", "c_like.rules"]

LOOP = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "mutate.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Reads: pieces of `size` bytes. For each line "SEED TIMES" says the nanoseconds that a copy
   takes, a mutation, and how many operators were drawn for one. */
int main(int argc, char **argv) {
  size_t size = strtoul(argv[1], NULL, 10), pieces = strtoul(argv[2], NULL, 10);
  uint8_t *text = malloc(size * pieces), *copy = malloc(size);
  FILE *file = fopen(argv[3], "rb");
  if (argc != 4 || !file || fread(text, size, pieces, file) != pieces) return 1;
  ft_buffer b = {0};
  ft_rng r;
  size_t times, tried = 0;
  while (scanf("%zu %zu", (size_t *)&r.state, &times) == 2) {
    double begun = now();
    for (size_t i = 0; i < times; i++) {
      memcpy(copy, text + i % pieces * size, size);
      __asm__ volatile("" : : "r"(copy) : "memory");
    }
    double copied = now();
    tried = 0;
    for (size_t i = 0; i < times; i++) {
      ft_set(&b, text + i % pieces * size, size);
      do tried++;
      while (!ft_apply(&b, 1 << 21, &r, (int)ft_below(&r, FT_MUTATORS)));
    }
    double done = now();
    printf("%.3f %.3f %.4f\n", (copied - begun) * 1e9 / (double)times,
           (done - copied) * 1e9 / (double)times, (double)tried / (double)times);
    fflush(stdout);
  }
  return 0;
}
"""


def pieces(text: bytes, size: int) -> list[bytes]:
    """From all over the text, each from the beginning of a line."""
    step = (len(text) - size) // PIECES
    starts = [text.find(b"\n", i * step) + 1 for i in range(PIECES)]
    return [text[start : start + size] for start in (min(s, len(text) - size) for s in starts)]


def compiled(directory: Path) -> tuple[Path, str]:
    """The loop in C, and the library."""
    cc = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if cc is None:
        sys.exit("a C compiler is needed")
    (directory / "loop.c").write_text(LOOP)
    core = SOURCES / "mutate.c"
    common = [cc, "-std=gnu11", "-O2", f"-I{SOURCES}"]
    program, library = directory / "loop", directory / "mutate.so"
    subprocess.run([*common, "-o", program, directory / "loop.c", core], check=True)
    subprocess.run([*common, "-shared", "-fPIC", "-o", library, core], check=True)
    return program, str(library)


def python_ns(
    operators: native.MutatorLibrary, inputs: Sequence[bytes], times: int, seed: int
) -> float:
    """A mutation, called from Python."""
    rng = reference.Rng(seed)
    count = len(NAMES)
    begun = time.process_time()
    for i in range(times):
        data = inputs[i % PIECES]
        while operators.apply(data, 1 << 21, rng, rng.below(count)) is None:
            pass
    return (time.process_time() - begun) * 1e9 / times


def tool_ns(text: bytes) -> tuple[float, float]:
    """For each mutant that universalmutator makes of it, and for all of them."""
    from universalmutator import mutator

    lines = text.decode("latin-1").splitlines(keepends=True)
    with contextlib.redirect_stdout(io.StringIO()):
        begun = time.process_time()
        made = mutator.mutants_regexp(lines, RULES, ignorePatterns=[])
        took = (time.process_time() - begun) * 1e9
    begun = time.process_time()
    some = made[:: max(1, len(made) // 50)]
    for number, line, *_ in some:
        "".join([*lines[: number - 1], line, *lines[number:]])
    put = (time.process_time() - begun) * 1e9 / max(1, len(some))
    return took / max(1, len(made)) + put, took + put


def measured(label: str, text: bytes, directory: Path, rounds: int, tool: bool) -> dict[str, float]:
    """One size: prints a line for each way; returns the medians, in nanoseconds."""
    size = SIZES[label]
    inputs = pieces(text, size)
    (directory / "pieces").write_bytes(b"".join(inputs))
    program, library = compiled(directory)
    ways: dict[str, Callable[[int], float]] = {}
    operators = native.load(library), native.load("")
    for way, some in zip(("ctypes", "plain"), operators, strict=True):
        ways[way] = partial(python_ns, some, inputs, max(64, 10**7 // size))
    rows: dict[str, list[float]] = {}
    drawn = 0.0
    argv = [str(program), str(size), str(PIECES), str(directory / "pieces")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as loop:
        assert loop.stdin and loop.stdout
        for seed in range(rounds):
            print(seed, max(256, min(10**6, 10**9 // size)), file=loop.stdin, flush=True)
            copy, ours, drawn = map(float, loop.stdout.readline().split())
            took = {"memcpy": copy, "C": ours, **{way: ns(seed) for way, ns in ways.items()}}
            if tool:
                each, whole = tool_ns(inputs[seed % PIECES])
                took |= {"universalmutator, each": each, "universalmutator, one": whole}
            for way, ns in took.items():
                rows.setdefault(way, []).append(ns)
        loop.stdin.close()
    print(f"{label}: {drawn:.2f} operators drawn for a mutation, {rounds} rounds")
    for way, values in rows.items():
        ns = statistics.median(values)
        to_copy = [v / c for v, c in zip(values, rows["memcpy"], strict=True)]
        to_c = [v / c for v, c in zip(values, rows["C"], strict=True)]
        print(
            f"  {way:<24}{ns:>16,.0f} ns {1e9 / ns:>14,.1f}/s   memcpy x {_spread(to_copy)}"
            f"   C x {_spread(to_c)}",
            flush=True,
        )
    return {way: statistics.median(values) for way, values in rows.items()}


def _spread(ratios: list[float]) -> str:
    return f"{statistics.median(ratios):,.3g} ({min(ratios):,.3g} to {max(ratios):,.3g})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, default=[])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--sizes", nargs="*", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--without-tool", action="store_true", help="not universalmutator")
    options = parse(parser, "text_speed", rounds=1, sizes=["100 B", "10 kB"])
    kept = Rows("text_speed", options.results)
    files = options.files or sorted(Path("/usr/include/stb").glob("*.h"))
    text = b"".join(file.read_bytes() for file in files)
    if len(text) < 1_100_000:
        sys.exit("1.1 MB of C is needed: apt-get install libstb-dev, or name files")
    with tempfile.TemporaryDirectory() as directory:
        for label in options.sizes:
            ns = measured(label, text, Path(directory), options.rounds, not options.without_tool)
            kept.add(size=label, rounds=options.rounds, ns=ns)


if __name__ == "__main__":
    main()
