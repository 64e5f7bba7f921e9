"""What a splice costs beside a text operator, and what it costs to parse an entry once.

    python benchmarks/text_splice.py [--rounds N] [--lines N] [FILE]

Entries are stretches of 112 lines (or as many as ``--lines`` says) of
sample_campaigns/json/json.c or a file that is named; the pool is made of all of them. A mutation
is what a fuzzer asks for: the input is copied, then one step changes it; an operator that
does not apply is replaced by another draw. In each round every way is measured, one after the
other, and ratios are taken within a round; their median, least and most are printed.

* text: ``ft_apply``, each operator as likely as the others;
* fragment, template, balanced: ``ft_pool_splice``, ``ft_pool_template``, ``ft_balanced``;
* stack of 4 text, of 4 fragments: four steps, each followed (``ft_host_follow``);
* find: ``ft_pool_find``, once an entry;
* parse and match in Python, as it would be without cached spans: ast-grep parses the input and
  replaces one match of a pattern.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lab.options import parse
from lab.rows import Rows

from fuzztui.engines.text import poolfile
from fuzztui.engines.text.fragments import Fragments, balanced
from fuzztui.engines.text.reference import Rng
from fuzztui.engines.text.syntax import Syntax

SOURCES = Path(poolfile.__file__).parent
SAMPLE = SOURCES.parents[1] / "sample_campaigns/json/json.c"
TEMPLATE = "if ($A) $B ==> while ($A) $B"
WAYS = ("copy", "text", "fragment", "template", "balanced", "4 text", "4 fragments", "find")

LOOP = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "pool.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int text(ft_buffer *b, ft_rng *r) {
  for (int i = 0; i < 16; i++)
    if (ft_apply(b, 1 << 20, r, (int)ft_below(r, FT_MUTATORS))) return 1;
  return 0;
}

/* POOL ENTRIES...: for each line "WAY SEED TIMES" the nanoseconds of one, and how many in a
   thousand have changed the input. */
int main(int argc, char **argv) {
  ft_pool *p = ft_pool_open(argv[1]);
  int n = argc - 2, way;
  uint8_t **data = malloc((size_t)n * sizeof *data);
  size_t *size = malloc((size_t)n * sizeof *size);
  ft_host *host = malloc((size_t)n * sizeof *host);
  for (int i = 0; i < n; i++) {
    FILE *file = fopen(argv[i + 2], "rb");
    data[i] = malloc(1 << 20);
    size[i] = fread(data[i], 1, 1 << 20, file);
    fclose(file);
    if (!ft_pool_find(p, data[i], size[i], host + i)) return 1;
  }
  ft_buffer b = {0};
  long times;
  unsigned long long seed;
  while (scanf("%d %llu %ld", &way, &seed, &times) == 3) {
    ft_rng r = {seed};
    long changed = 0;
    double begun = now();
    for (long i = 0; i < times; i++) {
      int e = (int)(i % n), other = (e + 1) % n, steps = way == 5 || way == 6 ? 4 : 1;
      ft_host *h = host + e;
      if (way == 7) {
        ft_pool_find(p, data[e], size[e], h);
        continue;
      }
      ft_set(&b, data[e], size[e]);
      ft_host_reset(h);
      for (int step = 0; step < steps; step++) switch (way) {
          case 1: changed += text(&b, &r); break;
          case 2: changed += ft_pool_splice(p, h, &b, 1 << 20, &r); break;
          case 3: changed += ft_pool_template(p, h, &b, 1 << 20, &r); break;
          case 4: changed += ft_balanced(&b, 1 << 20, &r, data[other], size[other]); break;
          case 5: changed += text(&b, &r), ft_host_follow(h, &b); break;
          case 6: changed += ft_pool_splice(p, h, &b, 1 << 20, &r), ft_host_follow(h, &b); break;
        }
    }
    printf("%.1f %ld\n", (now() - begun) / (double)times, changed * 1000 / times);
    fflush(stdout);
  }
  return 0;
}
"""


def stretches(file: Path, lines: int) -> list[bytes]:
    """The file in pieces of so many lines, overlapping by half."""
    rows = file.read_bytes().splitlines(keepends=True)
    starts = range(0, max(1, len(rows) - lines + 1), max(1, lines // 2))
    return [b"".join(rows[at : at + lines]) for at in starts]


def compiled(directory: Path) -> Path:
    cc = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if cc is None:
        sys.exit("a C compiler is needed")
    (directory / "loop.c").write_text(LOOP)
    sources = [str(directory / "loop.c"), str(SOURCES / "mutate.c"), str(SOURCES / "pool.c")]
    program = directory / "loop"
    subprocess.run([cc, "-O2", f"-I{SOURCES}", "-o", str(program), *sources], check=True)
    return program


def in_python(fragments: Fragments, entries: list[bytes], times: int) -> dict[str, float]:
    """Microseconds of the twins."""
    rng, took = Rng(1), {}
    hosts = [host for host in map(fragments.pool.find, entries) if host]
    for name in ("fragment", "template", "balanced"):
        begun = time.process_time()
        for i in range(times):
            host, other = hosts[i % len(hosts)], entries[(i + 1) % len(entries)]
            host.reset()
            match name:
                case "fragment":
                    fragments.pool.splice(host, host.data, 1 << 20, rng)
                case "template":
                    fragments.pool.template(host, host.data, 1 << 20, rng)
                case _:
                    balanced(host.data, 1 << 20, rng, other)
        took[name] = (time.process_time() - begun) / times * 1e6
    return took


def without_cache(entries: list[bytes]) -> float:
    """Microseconds of a structural mutation that parses: ast-grep's own replacement."""
    from ast_grep_py import SgRoot

    begun = time.process_time()
    for data in entries:
        root = SgRoot(data.decode("latin-1"), "c").root()
        if match := root.find(pattern="if ($A) $B"):
            root.commit_edits([match.replace("while (1) ;")])
    return (time.process_time() - begun) / len(entries) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, default=SAMPLE, metavar="FILE")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--lines", type=int, default=112)
    parser.add_argument("--times", type=int, default=50_000)
    options = parse(parser, "text_splice", rounds=1, times=500)
    results = Rows("text_splice", options.results)
    entries = stretches(options.file, options.lines)
    syntax, fragments = Syntax("c", [TEMPLATE]), Fragments()
    syntax.spans(entries[0])  # which loads the grammar
    spans, parsing, add = [], [], []
    for data in entries:
        begun = time.process_time()
        spans.append(syntax.spans(data))
        parsing.append(time.process_time() - begun)
    for data, known in zip(entries, spans, strict=True):
        begun = time.process_time()
        fragments.add(data, known)
        add.append(time.process_time() - begun)
    sizes = [len(data) for data in entries]
    print(
        f"{len(entries)} entries of {options.lines} lines, {statistics.mean(sizes):.0f} B, with "
        f"{statistics.mean(sum(map(len, s.kinds.values())) for s in spans):.0f} spans each; "
        f"{len(fragments)} fragments of {len(fragments.pool.fragments)} kinds"
    )
    print(
        f"parsed once: {statistics.median(parsing) * 1e3:.2f} ms an entry "
        f"(most {max(parsing) * 1e3:.2f}), into the pool {statistics.median(add) * 1e3:.2f} ms"
    )
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        begun = time.process_time()
        size = poolfile.write(directory / "pool", fragments.pool)
        print(
            f"pool file: {size / 1e3:.0f} kB, "
            f"written in {(time.process_time() - begun) * 1e3:.1f} ms"
        )
        kept = [
            data for data in entries if (host := fragments.pool.find(data)) and host.entry.edits
        ]
        files = []
        for number, data in enumerate(kept):
            files.append(directory / f"entry{number}")
            files[-1].write_bytes(data)
        loop = subprocess.Popen(
            [compiled(directory), directory / "pool", *files],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert loop.stdin
        assert loop.stdout
        rounds: list[list[float]] = []
        changed: dict[str, int] = {}
        for seed in range(options.rounds + 1):
            row = []
            for way, label in enumerate(WAYS):
                print(way, seed, options.times, file=loop.stdin, flush=True)
                took, share = loop.stdout.readline().split()
                row.append(float(took) / 1e3)
                changed[label] = int(share)
            rounds.append(row)
        loop.stdin.close()
        loop.wait()
    rounds = rounds[1:]
    print(f"\n{'C':12} {'µs':>7}  {'of text':>8}  {'least to most':>14}  changed")
    for way, label in enumerate(WAYS):
        base = WAYS.index("4 text") if label == "4 fragments" else WAYS.index("text")
        ratios = [row[way] / row[base] for row in rounds]
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        us = statistics.median(row[way] for row in rounds)
        results.add(way=label, us=us, of_text=statistics.median(ratios))
        steps = 4 if label.startswith("4") else 1
        print(
            f"{label:12} {us:7.3f}  {statistics.median(ratios):8.2f}  {spread:>14}  "
            f"{changed[label] / 10 / steps:.1f}%"
        )
    print("\nin Python, µs: ", end="")
    print(", ".join(f"{k} {v:.1f}" for k, v in in_python(fragments, kept, 5000).items()))
    print(f"parsing for each mutation (ast-grep, C): {without_cache(kept):.0f} µs")


if __name__ == "__main__":
    main()
