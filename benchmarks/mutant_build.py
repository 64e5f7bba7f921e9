"""What building a mutant costs, on each of the ways, and how many are worth building.

    python benchmarks/mutant_build.py [--mutants N] [--few N] [DIRECTORY FILE COMMAND]

Default: stb_image (Debian's libstb-dev) in a harness of two lines, ``$CC -O2 -o prog``. N mutants,
evenly chosen, are built on the fast path; ``few`` of the same by the whole command, which
compiles all of it (and copies the program at its end, so that no fast path is seen): without
ccache, with it for the first time, and with it again, each file by a call of its own. Seconds a
mutant of CPU, and of wall by what became of it. Needs AFL++.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import shutil
import statistics
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from options import parse
from rows import Rows

from fuzztui.campaign import load
from fuzztui.campaign.rundir import RunDir
from fuzztui.fuzzfirst.build import Build, MutantBuilder
from fuzztui.fuzzfirst.source_mutants.generate import generate
from fuzztui.fuzzfirst.source_mutants.text import SourceMutant

NESTED = Path(__file__).resolve().parent.parent / "sample_campaigns" / "nested"
SMALL = [str(NESTED), "nested.c", '$CC -O2 -o prog "$SOURCE/harness.c" "$SOURCE/nested.c"']
"""A project of two short files, for the smoke mode."""

HARNESS = """\
#define STB_IMAGE_IMPLEMENTATION
#include "stb_image.h"
#include <unistd.h>
int main(void) {
    static unsigned char d[65536];
    int w, h, c, n = (int)read(0, d, sizeof d);
    stbi_image_free(stbi_load_from_memory(d, n, &w, &h, &c, 4));
    return 0;
}
"""


def kind(build: Build) -> str:
    if build.command:
        return "built"
    if build.twin:
        return "equivalent" if build.twin == "original" else "duplicate"
    return "invalid"


async def measure(
    home: Path, source: Path, command: str, mutants: list[SourceMutant], name: str
) -> dict[str, Any]:
    """Build the mutants and print a line; returns the row."""
    run = home / name.replace(" ", "-")
    run.mkdir(exist_ok=True)
    file = home / "c.toml"
    file.write_text(
        f"[campaign]\noutput = '{run}'\n[target]\ncommand = 'prog'\nsource = '{source}'\n"
        f"build = '''{command}'''\n[engine]\nkind = 'afl'\n"
    )
    builder = MutantBuilder(load(file).campaign, RunDir(run))
    loop = asyncio.get_running_loop()
    began = loop.time()
    await builder.prepare(lambda words: None)
    prepared = loop.time() - began
    took = defaultdict(list)
    used = cpu()
    for mutant in mutants:
        build = await builder.build(mutant, run / "mutants/built/x")
        took[kind(build)].append(build.seconds)
    used = cpu() - used
    told = ", ".join(
        f"{len(times)} {what} {statistics.fmean(times):.2f} s" for what, times in took.items()
    )
    print(
        f"{name:8} prepare {prepared:6.1f} s (baseline {builder.baseline.seconds:.1f} s)  "
        f"CPU {used / len(mutants):5.2f} s a mutant: {told}",
        flush=True,
    )
    wall = {what: statistics.fmean(times) for what, times in took.items()}
    return {"way": name, "prepare_s": prepared, "cpu_s": used / len(mutants), "wall_s": wall}


def cpu() -> float:
    """Seconds of all compilers so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mutants", type=int, default=200)
    parser.add_argument("--few", type=int, default=20)
    parser.add_argument("project", nargs="*", help="DIRECTORY FILE COMMAND")
    given = parse(parser, "mutant_build", mutants=4, few=1, project=SMALL)
    rows = Rows("mutant_build", given.results)
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as directory:
        home = Path(directory)
        source = home / "src"
        if given.project:
            where, name, command = given.project
            shutil.copytree(where, source)
        else:
            source.mkdir()
            shutil.copy("/usr/include/stb/stb_image.h", source)
            (source / "harness.c").write_text(HARNESS)
            name, command = "stb_image.h", '$CC -O2 -o prog "$SOURCE/harness.c" -lm'
        found = generate(source / name, name=name).mutants
        some = found[:: max(1, len(found) // given.mutants)][: given.mutants]
        print(f"{name}: {len(some)} of {len(found)} mutants", flush=True)
        rows.add(**await measure(home, source, command, some, "fast"))
        few = some[:: max(1, len(some) // given.few)]
        rows.add(**await measure(home, source, command, few, "fast few"))
        copied = command.replace("-o prog", "-o it", 1) + "\ncp it prog"
        rows.add(**await measure(home, source, f": no ccache\n{copied}", few, "whole"))
        objects = 'for f in "$SOURCE"/*.c; do $CC -O2 -c "$f"; done\n$CC -o it *.o -lm\ncp it prog'
        rows.add(**await measure(home, source, objects, few, "ccache"))
        (home / "ccache/mutants/work/state.json").unlink()
        rows.add(**await measure(home, source, objects, few, "ccache"))


if __name__ == "__main__":
    asyncio.run(main())
