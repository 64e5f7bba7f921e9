"""How long ranking mutants by furthest point first takes, beside universalmutator's own.

    python benchmarks/mutant_rank.py [--whole] [--large]

Mutants of /usr/include/stb/stb_image.h (Debian: libstb-dev) or a file that is named, N of
them, evenly chosen. The order is compared too: ours in compatible mode is the tool's. The
tool's time grows with the cube of N: 200 whole and the first 40 of 1,000 by default, with
``--whole`` (about ten minutes) all of 1,000. ``--large``: 50,000 too, the first 2,000.
CPU seconds, and the memory that ranking added (peak; a separate process for each row).
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.options import parse
from lab.rows import Rows

if TYPE_CHECKING:
    from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant

SOURCE = Path("/usr/include/stb/stb_image.h")
SMALL = Path(__file__).resolve().parent.parent / "sample_campaigns" / "nested" / "nested.c"


def ours(file: Path, n: int, limit: int, order: str) -> dict[str, object]:
    """In this process: seconds, megabytes, indexes."""
    from fuzztui.features.fuzzfirst.source_mutants.rank import COMPATIBLE, rank

    mutants = some(file, n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.process_time()
    metric = COMPATIBLE if order == "compatible" else None
    first, picks = 0.0, []
    for pick in islice(rank(mutants, metric=metric), limit):
        first = first or time.process_time() - begun
        picks.append(pick.index)
    took = time.process_time() - begun
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10
    return {"s": took, "first": first, "mb": grown, "picks": picks}


def theirs(file: Path, n: int, limit: int) -> dict[str, object]:
    """The same of universalmutator's function."""
    from universalmutator import utils

    listed = [(m.id, m.file, m.line - 1, m.before + "\n", m.after + "\n") for m in some(file, n)]
    place = {m: i for i, m in enumerate(listed)}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.process_time()
    picks = [place[m] for m, _ in utils.FPF(listed, limit, verbose=False)]
    took = time.process_time() - begun
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10
    return {"s": took, "first": 0.0, "mb": grown, "picks": picks}


def some(file: Path, n: int) -> list[SourceMutant]:
    """``n`` mutants from all over the file."""
    from fuzztui.features.fuzzfirst.source_mutants.generate import generate

    mutants = generate(file).mutants
    if len(mutants) < n:
        sys.exit(f"{file} has {len(mutants)} mutants only")
    return [mutants[i * len(mutants) // n] for i in range(n)]


def in_a_process(file: Path, *words: object) -> dict[str, Any]:
    """A row, measured by this very file in a separate process."""
    argv = [sys.executable, __file__, str(file), "--row", *map(str, words)]
    out = subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout
    row: dict[str, Any] = json.loads(out)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=SOURCE)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--row", nargs=3, help=argparse.SUPPRESS)
    options = parse(parser, "mutant_rank", file=SMALL)
    rows = Rows("mutant_rank", options.results)
    if options.row:
        who, n, limit = options.row[0], int(options.row[1]), int(options.row[2])
        one = theirs(options.file, n, limit) if who == "tool" else ours(options.file, n, limit, who)
        print(json.dumps(one))
        return
    print(f"{'N':>7}{'ranked':>8}{'ours':>9}{'first':>9}{'memory':>9}{'the tool':>11}{'ratio':>9}")
    sizes = [(200, 200, True), (1000, 1000 if options.whole else 40, True), (5000, 5000, False)]
    sizes += [(50_000, 2000, False)] if options.large else []
    sizes = [(30, 30, True), (60, 10, False)] if options.smoke else sizes
    for n, limit, beside in sizes:
        we = in_a_process(options.file, "compatible", n, limit)
        figures = {"mutants": n, "ranked": limit, "s": we["s"], "first_s": we["first"]}
        row = f"{n:>7,}{limit:>8,}{we['s']:>8.2f}s{we['first']:>8.2f}s{we['mb']:>6} MB"
        if beside:
            tool = in_a_process(options.file, "tool", n, limit)
            figures |= {"tool_s": tool["s"], "same": tool["picks"] == we["picks"]}
            same = "same order" if tool["picks"] == we["picks"] else "ANOTHER ORDER"
            row += f"{tool['s']:>10.1f}s{tool['s'] / we['s']:>9.0f}  {same}"
        rows.add(**figures)
        print(row, flush=True)


if __name__ == "__main__":
    main()
