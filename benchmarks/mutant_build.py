"""What building a mutant costs on each of the ways that there are.

    python benchmarks/mutant_build.py [--mutants N] [--level -O0] [--subjects NAME...]

Ways, interleaved mutant by mutant, each in a run of its own:

* ``kept``: the build command in a kept tree, as a campaign does it where there is no ccache.
* ``ccache``: the same with ccache. ``ccache warm`` is the same mutant built once more.
* ``commands``: the file's own command of ``compile_commands.json`` (written here from the compiler
  wrappers' record, as bear would write it), then the build command, which only links. Not for
  builds that link from sources in one call.

A mutant is built as in a campaign: without AFL++'s passes, compared with the original and with
earlier mutants, then with them. Figures of mutants that are fuzzed in the end: medians of CPU
seconds (user and system, all processes of a build) and of wall time, and of the ratio to ``kept``
for the same mutant, with quartiles. (Until 009dc99 it measured a recorder of compiler calls, which
did one object's call and the link's again: not 2x faster than these, and taken out.)

Lua, MuJS and tcc are Debian's sources, which are downloaded once; stb_image is its libstb-dev.
Needs AFL++, make and ccache.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from lab.options import parse
from lab.rows import Rows

from fuzztui.features.fuzzfirst.backend import AflBackend
from fuzztui.features.fuzzfirst.build import Build, duplicate_of
from fuzztui.features.fuzzfirst.build_environment import BuildEnvironment
from fuzztui.features.fuzzfirst.build_tree import BuildTreeError
from fuzztui.features.fuzzfirst.source_mutants.generate import generate
from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.process.execute import ProcessResult, execute

SAMPLES = Path(__file__).resolve().parent.parent / "sample_campaigns"

MAKE = 'make -s -f "$SOURCE/Makefile"'
MAKEFILE = """\
OBJECTS = {objects}
prog: $(OBJECTS)
\t$(CC) -o $@ $(OBJECTS) -lm
"""
ARCHIVE = """\
OBJECTS = {objects}
prog: harness.o lib.a
\t$(CC) -o $@ harness.o lib.a -lm
lib.a: $(filter-out harness.o,$(OBJECTS))
\trm -f $@
\tar rcD $@ $^
"""
RULE = """\
%.o: $(SOURCE)/%.c
\t$(CC) {flags} -MMD -c -o $@ $<
-include *.d
"""

LUA = ("lapi lauxlib lcode lctype ldebug ldo ldump lfunc lgc llex lmem lobject lopcodes lparser"
       " lstate lstring ltable ltm lundump lvm lzio")  # fmt: skip

MUJS = ("jsarray jsboolean jsbuiltin jscompile jsdate jsdtoa jsdump jserror jsfunction jsgc"
        " jsintern jslex jsmath jsnumber jsobject json jsparse jsproperty jsregexp jsrepr jsrun"
        " jsstate jsstring jsvalue regexp utf")  # fmt: skip

STB = """\
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


@dataclass(frozen=True)
class Subject:
    """A program: where it is from, what it is compiled of (``parts``), what is mutated."""

    take: Callable[[Path], None]
    parts: str
    files: tuple[str, ...]
    flags: str
    makefile: str = MAKEFILE
    """Of objects and the link; "": one call that compiles and links all parts."""

    def make(self, source: Path, level: str) -> str:
        """Put the sources into ``source``; returns the build command."""
        self.take(source)
        flags = re.sub(r"-O\d", level, self.flags) if level else self.flags
        if not self.makefile:
            parts = " ".join(f'"$SOURCE/{part}.c"' for part in self.parts.split())
            return f"$CC {flags} -o prog {parts} -lm"
        objects = " ".join(f"{part}.o" for part in self.parts.split())
        text = self.makefile.format(objects=objects) + RULE.format(flags=flags)
        (source / "Makefile").write_text(text)
        return MAKE


def debian(sample: str, inside: str = "") -> Callable[[Path], None]:
    """The sources of a sample campaign that downloads them, with its harness."""

    def take(source: Path) -> None:
        text = (SAMPLES / sample / "build.sh").read_text().replace("\\\n", " ")
        line = next(line for line in text.splitlines() if "fetch.py" in line).split()
        with tempfile.TemporaryDirectory(dir=source.parent) as directory:
            fetch = [sys.executable, "-I", str(SAMPLES / "debian/fetch.py"), *line[3:5]]
            subprocess.run([*fetch, directory], check=True)
            shutil.copytree(Path(directory, inside), source)
        (source / "Makefile").unlink(missing_ok=True)
        shutil.copy(SAMPLES / "debian/parser.h", source)
        shutil.copy(SAMPLES / sample / "harness.c", source)

    return take


def tcc(source: Path) -> None:
    debian("tcc")(source)
    (source / "config.h").write_text(
        '#define TCC_VERSION "0.9.27"\n#define TCC_TARGET_X86_64 1\n'
        '#define CONFIG_TCCDIR "/nonexistent"\n#define CONFIG_SYSROOT "/nonexistent"\n'
    )


def stb(source: Path) -> None:
    source.mkdir()
    shutil.copy("/usr/include/stb/stb_image.h", source)
    (source / "harness.c").write_text(STB)


def sample(name: str) -> Callable[[Path], None]:
    def take(source: Path) -> None:
        shutil.copytree(SAMPLES / name, source)

    return take


LUA_FLAGS = "-O2 -g -DLUAI_ASSERT '-Dluai_makeseed(L)=0x5eed' -I\"$(SOURCE)\""
LUA_FILES = ("llex.c", "lparser.c", "lcode.c")
# tcc is one file: AFL++ takes 25 s for it at -O2, which hides what the ways differ in.
TCC_FLAGS = "-O0 -g -w -fno-strict-aliasing '-DINCLUDE=\"/nonexistent\"'"
lua = debian("lua", "src")

SUBJECTS = {
    "json": Subject(sample("json"), "harness json", ("json.c",), "-g -O1"),
    "stb_image": Subject(stb, "harness", ("stb_image.h",), "-g -O2"),
    "mujs": Subject(debian("mujs"), f"harness {MUJS}", ("jslex.c", "jsparse.c"), "-O2 -g"),
    "tcc": Subject(tcc, "harness", ("tccpp.c", "tccgen.c"), TCC_FLAGS),
    "lua": Subject(lua, f"harness {LUA}", LUA_FILES, LUA_FLAGS),
    "lua in an archive": Subject(lua, f"harness {LUA}", LUA_FILES, LUA_FLAGS, ARCHIVE),
    "json in one call": Subject(sample("json"), "harness json", ("json.c",), "-g -O1", ""),
    "lua in one call": Subject(
        lua, f"harness {LUA}", LUA_FILES, LUA_FLAGS.replace("$(SOURCE)", "$SOURCE"), ""
    ),
    "nested": Subject(sample("nested"), "harness nested", ("nested.c",), "-O2"),
}
"""The first five are the programs of sample campaigns, as a Makefile would build them."""

REAL = [name for name in SUBJECTS if name != "nested"]


class Commands(AflBackend):
    """Compiles by ``compile_commands.json``, links by the build command."""

    async def prepare(self, progress: Callable[[str], None]) -> None:
        await super().prepare(progress)
        self._commands = {}
        for room in self.baseline.environments():
            assert room
            await asyncio.to_thread(room.tree.touch, room._sources)
            outcome = await room.build(self.baseline.limit)
            assert outcome.status == 0, outcome.output.decode()
            entries = [
                {"directory": call.cwd, "output": output, "arguments": ["afl-cc", *call.args]}
                for call in room.calls
                if "-c" in call.args and "-o" in call.args
                for output in [str(Path(call.cwd, call.args[call.args.index("-o") + 1]))]
            ]
            file = room.tree.home / "compile_commands.json"
            file.write_text(json.dumps(entries))
            self._commands[room] = json.loads(file.read_text())

    def compiling(self, room: BuildEnvironment, name: str) -> Iterator[tuple[list[str], str, Path]]:
        """Command, directory and object of all that compile a file, or include it."""
        file = os.path.realpath(room.tree.source / name)
        for entry in self._commands[room]:
            made = Path(entry["output"])
            used = made.with_suffix(".d").read_text().replace("\\\n", " ").split()[1:]
            if file in (os.path.realpath(Path(entry["directory"], word)) for word in used):
                yield entry["arguments"], entry["directory"], made

    async def _build(self, mutant: SourceMutant, into: Path) -> str:
        baseline, digest = self.baseline, ""
        name, text = self._text(mutant)
        for room in baseline.environments():
            assert room
            outcome = await self._run(room, name, text)
            if outcome.status or not room.program.is_file():
                raise BuildTreeError(outcome.output.decode(errors="replace"))
            if not digest:
                digest = await asyncio.to_thread(baseline.product.digest, room.tree)
                if twin := duplicate_of(mutant.id, digest, self.digests, baseline.original):
                    self.digests[mutant.id] = digest
                    return twin
            last = room
        baseline.product.settle(last.program, last.tree, into)
        self.digests[mutant.id] = digest
        return ""

    async def _run(self, room: BuildEnvironment, name: str, text: bytes) -> ProcessResult:
        found = list(self.compiling(room, name))
        assert found, name
        for _, _, made in found:
            shutil.copy2(made, f"{made}.kept")
        try:
            with room.tree.holding(name, text):
                env = room._tools.environment(room._bin, room.tree.source)
                for argv, directory, _ in found:
                    outcome = await execute(
                        argv, room._mark, cwd=Path(directory), limit=600, env=env, stdout=True
                    )
                    if outcome.status:
                        room.program.unlink(missing_ok=True)
                        return outcome
                return await room.build(self.baseline.limit)
        finally:
            for _, _, made in found:
                Path(f"{made}.kept").replace(made)
                made.touch()


def kind(build: Build) -> str:
    if build.command:
        return "built"
    if build.duplicate_of:
        return "equivalent" if build.duplicate_of == "original" else "duplicate"
    return "invalid"


def cpu() -> float:
    """Seconds of all processes so far that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


WAYS: dict[str, tuple[type[AflBackend], str]] = {
    "kept": (AflBackend, ": no ccache\n"),
    "ccache": (AflBackend, ""),
    "commands": (Commands, ": no ccache\n"),
}
"""Who builds, and what is before the command: one that names ccache is not given it."""


class Measured:
    """One subject in all its ways."""

    def __init__(self, name: str, home: Path, level: str, rows: Rows) -> None:
        self.name, self._rows = name, rows
        self._home = home / name.replace(" ", "-")
        self._home.mkdir()
        self.subject = SUBJECTS[name]
        self._command = self.subject.make(self._home / "src", level)
        self._builders: dict[str, AflBackend] = {}
        self.cpu: dict[str, list[float]] = defaultdict(list)
        self.wall: dict[str, list[float]] = defaultdict(list)

    async def prepare(self) -> None:
        for way, (maker, head) in WAYS.items():
            if maker is Commands and not self.subject.makefile:
                continue
            run = self._home / way
            run.mkdir()
            file = self._home / f"{way}.toml"
            file.write_text(
                f"[campaign]\noutput = '{run}'\n[target]\ncommand = 'prog'\n"
                f"source = '{self._home / 'src'}'\nbuild = '''{head}{self._command}'''\n"
                "[engine]\nkind = 'afl'\n"
            )
            builder = self._builders[way] = maker(load(file).campaign, RunDir(run))
            used = cpu()
            await builder.prepare(lambda words: None)
            used = cpu() - used
            baseline = builder.baseline
            assert not baseline.no_duplicates_because, baseline.no_duplicates_because
            print(f"  {way:12} prepared in {used:.1f} s of CPU", flush=True)
            self._rows.add(subject=self.name, way=way, prepare_cpu_s=used)

    def mutants(self, count: int) -> list[SourceMutant]:
        """Evenly chosen ones of each file, the files in turn."""
        files = []
        for name in self.subject.files:
            found = generate(self._home / "src" / name, name=name).mutants
            files.append(found[7 :: max(1, len(found) // count)][:count])
        return [m for some in zip_longest(*files) for m in some if m]

    async def measure(self, wanted: int) -> None:
        """Build mutants until ``wanted`` of them are to be fuzzed."""
        await self.prepare()
        kinds: dict[str, int] = defaultdict(int)
        for i, mutant in enumerate(self.mutants(6 * wanted)):
            ways = list(self._builders)
            ways = ways[i % len(ways) :] + ways[: i % len(ways)]
            how = await self._one(ways[0], ways[0], mutant, i)
            kinds[how] += 1
            if how == "built":
                for way, label in [*((way, way) for way in ways[1:]), ("ccache", "ccache warm")]:
                    assert await self._one(way, label, mutant, i) == how, (way, mutant)
                if kinds[how] == wanted:
                    break
        told = ", ".join(f"{n} {how}" for how, n in kinds.items())
        print(f"{self.name}: {told}", flush=True)
        for way in self.cpu:
            self._print(way)

    async def _one(self, way: str, label: str, mutant: SourceMutant, i: int) -> str:
        used, began = cpu(), time.monotonic()
        build = await self._builders[way].build(mutant, self._home / way / "mutants/built/x")
        used, took = cpu() - used, time.monotonic() - began
        what = kind(build)
        self._rows.add(
            subject=self.name, way=label, mutant=mutant.id, number=i, kind=what,
            cpu_s=used, wall_s=took,
        )  # fmt: skip
        if what == "built":
            self.cpu[label].append(used)
            self.wall[label].append(took)
        return what

    def _print(self, way: str) -> None:
        ratios = [ratio(figures[way], figures["kept"]) for figures in (self.cpu, self.wall)]
        print(
            f"  {way:12} CPU {spread(self.cpu[way])} s, {spread(ratios[0])} x;  "
            f"wall {spread(self.wall[way])} s, {spread(ratios[1])} x",
            flush=True,
        )


def ratio(some: Sequence[float], others: Sequence[float]) -> list[float]:
    return [a / b for a, b in zip(some, others, strict=True)]


def spread(values: Sequence[float]) -> str:
    """Median and quartiles."""
    if len(values) < 2:
        return f"{values[0]:.2f}"
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:.2f} ({low:.2f}-{high:.2f})"


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mutants", type=int, default=15, help="that are fuzzed in the end")
    parser.add_argument("--level", default="", help="of optimisation: less work for the compiler")
    parser.add_argument("--subjects", nargs="+", default=REAL, choices=SUBJECTS)
    given = parse(parser, "mutant_build", mutants=1, subjects=["nested"])
    rows = Rows("mutant_build", given.results)
    done = []
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as directory:
        for name in given.subjects:
            print(name, flush=True)
            measured = Measured(name, Path(directory), given.level, rows)
            await measured.measure(given.mutants)
            done.append(measured)
    for label, figures in (("CPU", "cpu"), ("wall", "wall")):
        for way in (*list(WAYS)[1:], "ccache warm"):
            medians = [
                statistics.median(ratio(seen[way], seen["kept"]))
                for seen in (getattr(m, figures) for m in done)
                if way in seen
            ]
            if medians:
                print(f"{label}: {way:12} {spread(medians)} x over {len(medians)} subjects")


if __name__ == "__main__":
    asyncio.run(main())
