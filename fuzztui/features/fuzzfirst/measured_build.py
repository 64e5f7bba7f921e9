"""A C or C++ target built once more for a tool that measures coverage, and run on inputs.

Functions, lines and branches are those of the tool, gcov or llvm-cov. The build is made in a
private copy of the source. It defines the macros of AFL++'s compilers.
"""

from __future__ import annotations

import asyncio
import filecmp
import os
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from fuzztui.features.fuzzfirst.build_tree import BuildTree
from fuzztui.features.fuzzfirst.coverage_tool import CoverageTool
from fuzztui.features.fuzzfirst.coverage_tools import Gcov, chosen_tool
from fuzztui.features.fuzzfirst.failed_builds import build_target
from fuzztui.features.fuzzfirst.wrappers import AFL_MACROS, run_tool
from fuzztui.run.afl.build import build_environment
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.process.execute import ProcessMark
from fuzztui.run.triage.program import TargetProgram
from fuzztui.run.triage.sandbox import open_sandbox

_COMPILERS = {"gcc": ("cc", "clang", "gcc"), "g++": ("c++", "clang++", "g++")}
"""The compiler that replaces AFL++'s compilers of these names."""

_ENDINGS = (".c", ".cc", ".cpp", ".cxx")

_HEADER = f"""\
#pragma once
{AFL_MACROS}
#ifdef __cplusplus
extern "C" {{
#endif
int fuzztui_once(void);
long fuzztui_read(void);
extern unsigned char fuzztui_input[1048576];
#ifdef __cplusplus
}}
#endif
#define __AFL_FUZZ_INIT() extern int fuzztui_nothing
#define __AFL_FUZZ_TESTCASE_BUF fuzztui_input
#define __AFL_FUZZ_TESTCASE_LEN fuzztui_read()
#define __AFL_LOOP(n) fuzztui_once()
#define __AFL_INIT() do {{}} while (0)
"""

_RUNTIME = """\
#include <signal.h>
#include <unistd.h>
extern int DUMP(void);
unsigned char fuzztui_input[1048576];
int fuzztui_once(void) { static int n; return n++ == 0; }
long fuzztui_read(void) {
    long n = read(0, fuzztui_input, sizeof fuzztui_input);
    return n < 0 ? 0 : n;
}
/* An input that crashes has executed lines anyway. */
static void end(int number) { DUMP(); signal(number, SIG_DFL); raise(number); }
__attribute__((constructor)) static void begin(void) {
    static const int all[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTERM};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) signal(all[i], end);
}
"""

_DRIVER = """\
int LLVMFuzzerTestOneInput(const unsigned char *, unsigned long);
extern unsigned char fuzztui_input[];
long fuzztui_read(void);
int main(void) { return LLVMFuzzerTestOneInput(fuzztui_input, (unsigned long)fuzztui_read()); }
"""

_WRAPPER = """\
#!/bin/sh
# Written by fuzztui.
link=yes
for word do
    shift
    case $word in
        -fsanitize=* | -fno-sanitize* | */libAFLDriver.a) continue ;;
        -c | -E | -S | -M | -MM | -shared | -r | -fsyntax-only) link= ;;
    esac
    set -- "$@" "$word"
done
[ -z "$link" ] || set -- "$@" {library}
exec {compiler} -w -include {header} "$@" {flags}
"""


class MeasuredBuild:
    """One build. All its files are in the home of ``tree``.

    ``needs``: the keys of the campaign file that need the build, for messages. ``tool``: the name
    of the tool, or "auto".
    """

    def __init__(
        self, campaign: Campaign, mark: ProcessMark, tree: BuildTree, needs: str, tool: str
    ) -> None:
        self._campaign, self._mark, self._tree, self._needs = campaign, mark, tree, needs
        program = _program(campaign, tree)
        command = [str(program), *campaign.target["command"][1:]]
        self._file = program
        self._known: _BuiltFiles | None = None
        self._program = TargetProgram.of(
            replace(campaign, target={**campaign.target, "command": command})
        )
        self.tool: CoverageTool = Gcov()
        self._wanted = tool

    @property
    def source(self) -> Path:
        """The private copy of the source."""
        return self._tree.source

    async def make(self, note: Callable[[str], None] = lambda _: None) -> None:
        """Choose the tool, copy the source and build it. Raises OSError, :class:`SupervisorError`.

        ``note`` is called with the tool, and why it is this one, as text for users.
        """
        tree, place = self._tree, self._tree.home
        try:
            self.tool, why = await asyncio.to_thread(chosen_tool, self._wanted, self._campaign)
        except SupervisorError as e:
            raise SupervisorError(f"{self._needs}: {e}") from None
        note(f"{self.tool.name} measures the lines ({why})")
        await asyncio.to_thread(tree.make)
        await asyncio.to_thread(self._forget_others)
        await asyncio.to_thread(_make_tools, place, self.tool)
        path = build_environment(self._campaign).get("PATH", os.environ["PATH"])
        env = {"CC": "afl-cc", "CXX": "afl-c++", "PATH": f"{place / 'bin'}{os.pathsep}{path}"}
        counted = self.tool.environment(place)
        why = await build_target(
            self._campaign, self._mark, tree, self._file,
            what=f"the build with {self.tool.compiler}", env={**env, **counted},
        )  # fmt: skip
        if why:
            raise SupervisorError(f"{self._needs}: {why}")
        self._program = replace(self._program, env={**self._program.env, **counted})

    async def run(self, data: bytes) -> bool:
        """Run one input. Its counts are added to those of earlier ones.

        Returns False if the program was killed, by a signal or at the time limit: then it wrote no
        counts, unless it has no ``main`` of its own, or runs by ``__AFL_LOOP``.
        """
        with open_sandbox(self._program, data, self._mark) as place:
            outcome = await place.run(max(1.0, 5 * self._program.timeout))
        return outcome.status is not None and outcome.status >= 0

    def clear(self) -> None:
        """Set all counts to 0. Raises OSError."""
        for counts in self._tree.home.rglob(self.tool.counts):
            counts.unlink(missing_ok=True)

    def _forget_others(self) -> None:
        """Delete notes and counts of the user's own builds, and the objects that they belong to."""
        for notes in self._tree.home.rglob("*.gcno"):
            for ending in (".gcno", ".gcda", ".o"):
                notes.with_suffix(ending).unlink(missing_ok=True)

    def has_counts(self) -> bool:
        """Whether a run has written counts. Blocks."""
        return next(self._tree.home.rglob(self.tool.counts), None) is not None

    def files(self) -> Iterator[tuple[str, Any]]:
        """Yield the tool's report about each file of the source or the build, with its path.

        A file that is compiled into several objects, such as a header, comes several times. Blocks.
        Raises OSError, LookupError, ValueError, :class:`SupervisorError`.
        """
        tree = self._tree
        known = self._known = self._known or _BuiltFiles(tree)
        for name, where, notes, file in self.tool.reports(tree.home, tree.build, self._file):
            if path := known.path(name, where, notes):
                yield path, file

    def user_path(self, path: str) -> Path:
        """Return the user's file, or the campaign's build, for a file of this build."""
        for mine, other in (
            (self._tree.source, self._tree.origin),
            (self._tree.build, self._campaign.build_directory),
        ):
            if (inside := Path(path)).is_relative_to(real := os.path.realpath(mine)):
                return other / inside.relative_to(real)
        return Path(path)

    def remove(self) -> None:
        """Delete all files of the build. Blocks."""
        shutil.rmtree(self._tree.home, ignore_errors=True)


def _program(campaign: Campaign, tree: BuildTree) -> Path:
    name = Path(campaign.target["command"][0])
    if name.is_relative_to(campaign.build_directory):
        return tree.build / name.relative_to(campaign.build_directory)
    return tree.source / os.path.relpath(name, campaign.target["source"])


def _make_tools(place: Path, tool: CoverageTool) -> None:
    """Raises OSError, :class:`SupervisorError`."""
    directory = place / "bin"
    directory.mkdir(mode=0o700)
    header, library = place / "reach.h", place / "libreach.a"
    header.write_text(_HEADER)
    for name, text in (("runtime", _RUNTIME), ("driver", _DRIVER)):
        (place / f"{name}.c").write_text(text)
        run_tool([tool.compilers["gcc"], f"-DDUMP={tool.dump}", "-O1", "-c", f"{name}.c"], place)
    run_tool(["ar", "rcD", library.name, "runtime.o", "driver.o"], place)
    for compiler, names in _COMPILERS.items():
        text = _WRAPPER.format(
            compiler=shlex.quote(tool.compilers[compiler]),
            header=shlex.quote(str(header)),
            library=shlex.quote(str(library)),
            flags=tool.flags,
        )
        afl = (f"afl-{kind}" for name in names for kind in (name, f"{name}-fast", f"{name}-lto"))
        plus = ("afl-clang-fast++", "afl-clang-lto++", "afl-g++-fast") if "++" in compiler else ()
        for name in {*afl, *plus}:
            (directory / name).write_text(text)
            (directory / name).chmod(0o700)


class _BuiltFiles:
    """The files of a source and its build, by the names that a compiler gave gcov.

    These come from ``#line`` as well: relative to another directory, or those of a file that
    was renamed later (``lex.yy.c``, ``<stdout>``).
    """

    def __init__(self, tree: BuildTree) -> None:
        self._source, self._build = (os.path.realpath(p) for p in (tree.source, tree.build))
        self._by_name: dict[str, list[Path]] = {}
        for base in (self._source, self._build):
            for folder, _, names in os.walk(base):
                for name in names:
                    self._by_name.setdefault(name, []).append(Path(folder, name))
        self._found: dict[tuple[str, Path, Path], str] = {}

    def path(self, name: str, where: Path, notes: Path) -> str:
        """Return the real path of the file that gcov calls ``name``; "" for a file of the system.

        ``where``: the directory in which the compiler ran. ``notes``: the object's notes file.
        """
        key = name, where, notes
        if key not in self._found:
            self._found[key] = self._search(name, where, notes)
        return self._found[key]

    def _search(self, name: str, where: Path, notes: Path) -> str:
        real = Path(os.path.realpath(where / name))
        if not real.is_file():
            parts = [part for part in Path(name).parts if part not in ("..", "/")]
            named = self._only(
                p for p in self._by_name.get(real.name, ()) if [*p.parts][-len(parts) :] == parts
            )
            if not (real := named or self._compiled(notes) or real).is_file():
                return ""
        if real.is_relative_to(self._source):
            return str(real)
        # The build may compile a copy of a source.
        same = [p for p in self._by_name.get(real.name, ()) if p.is_relative_to(self._source)]
        copied = next((str(p) for p in same if filecmp.cmp(p, real, shallow=False)), "")
        return copied or (str(real) if real.is_relative_to(self._build) else "")

    def _compiled(self, notes: Path) -> Path | None:
        """The file of which the object was made."""
        stems = dict.fromkeys(
            (notes.stem, notes.stem.rpartition("-")[2], notes.with_suffix("").stem)
        )
        # CMake's notes are named after the file, with its ending.
        names = (s + end for s in stems for end in ("", *_ENDINGS) if (s + end).endswith(_ENDINGS))
        found = (self._only(self._by_name.get(name, ())) for name in names)
        return next((path for path in found if path is not None), None)

    def _only(self, paths: Iterable[Path]) -> Path | None:
        """The only one of some files; of copies the first; None if they differ."""
        every = [*paths]
        if not every or not all(filecmp.cmp(every[0], p, shallow=False) for p in every[1:]):
            return None
        return every[0]
