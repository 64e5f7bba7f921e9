"""Determine where mutants may be: the functions of a program, and the lines that seeds execute.

Functions of Python targets are read from the source, and the interpreter reports lines. A C target
is built once more, by gcc with ``--coverage`` (which AFL++'s package installs), and run on the
seeds; functions and lines are gcov's. The build defines the macros of AFL++'s compilers.
"""

from __future__ import annotations

import ast
import asyncio
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from fuzztui.afl.build import build_environment, telling_lines
from fuzztui.base.text import visible
from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import RunDir, SupervisorError
from fuzztui.fuzzfirst.build_tree import BuildTree
from fuzztui.fuzzfirst.scratch import read_input
from fuzztui.fuzzfirst.wrappers import AFL_MACROS
from fuzztui.process.execute import ProcessMark, execute
from fuzztui.process.reaper import own_children
from fuzztui.triage.program import TargetProgram
from fuzztui.triage.sandbox import open_sandbox

LIMIT_S = 6 * 3600.0
MAX_SEEDS = 2000

_COMPILERS = {"gcc": ("cc", "clang", "gcc"), "g++": ("c++", "clang++", "g++")}
"""The compiler that replaces AFL++'s compilers of these names."""

_HEADER = f"""\
#pragma once
{AFL_MACROS}
#include <unistd.h>
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
extern void __gcov_dump(void);
unsigned char fuzztui_input[1048576];
int fuzztui_once(void) { static int n; return n++ == 0; }
long fuzztui_read(void) {
    long n = read(0, fuzztui_input, sizeof fuzztui_input);
    return n < 0 ? 0 : n;
}
/* A seed that crashes has executed lines anyway. */
static void end(int number) { __gcov_dump(); signal(number, SIG_DFL); raise(number); }
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
exec {compiler} -w -include {header} "$@" --coverage -O0
"""


@dataclass(slots=True)
class BuildReach:
    """By file: the functions (name, first and last line), and the lines that were executed."""

    functions: dict[str, list[tuple[str, int, int]]] = field(default_factory=dict)
    lines: dict[str, set[int]] = field(default_factory=dict)

    def function_of(self, file: str, line: int) -> str:
        """Return the innermost function that contains a line, "" if none does."""
        around = (f for f in self.functions.get(file, ()) if f[1] <= line <= f[2])
        return max(around, key=lambda f: f[1], default=("", 0, 0))[0]

    def wants(self, file: str, line: int, functions: Sequence[str], *, covered: bool) -> bool:
        """Whether a line is in one of ``functions`` ([]: any), and executed if ``covered``."""
        if covered and line not in self.lines.get(file, ()):
            return False
        if not functions:
            return True
        if not (whole := self.function_of(file, line)):  # in C++ with its arguments
            return False
        short = whole.partition("(")[0]
        names = (whole, short, short.rpartition("::")[2].rpartition(".")[2])
        return any(fnmatchcase(name, pattern) for pattern in functions for name in names)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        lines = {file: sorted(numbers) for file, numbers in self.lines.items()}
        return {"functions": self.functions, "lines": lines}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> BuildReach:
        """The inverse of :meth:`to_json`."""
        functions = {f: [(n, a, b) for n, a, b in rows] for f, rows in data["functions"].items()}
        return cls(functions, {file: set(numbers) for file, numbers in data["lines"].items()})


def python_functions(source: bytes) -> list[tuple[str, int, int]]:
    """Return a Python source's functions, as in :class:`BuildReach`. Raises SyntaxError."""
    found: list[tuple[str, int, int]] = []

    def visit(node: ast.AST, inside: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = inside
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{inside}.{child.name}" if inside else child.name
                if not isinstance(child, ast.ClassDef):
                    first = min([child.lineno, *(d.lineno for d in child.decorator_list)])
                    found.append((name, first, child.end_lineno or child.lineno))
            visit(child, name)

    visit(ast.parse(source), "")
    return found


async def reach_by_gcov(
    campaign: Campaign, run_dir: RunDir, source: Path, seeds: Iterable[Path]
) -> BuildReach:
    """Build the target in ``source`` for gcov, run the seeds. Raises :class:`SupervisorError`."""
    place = run_dir.mutants.absolute() / "work" / "reach"
    mark = ProcessMark(run_dir.path, "mutant-reach")
    tree = BuildTree(place, source)
    try:
        await asyncio.to_thread(tree.make)
        await asyncio.to_thread(_make_tools, place)
        env = {
            **build_environment(campaign),
            "CC": "afl-cc",
            "CXX": "afl-c++",
            "SOURCE": str(tree.source),
        }
        env["PATH"] = f"{place / 'bin'}{os.pathsep}{env.get('PATH', os.environ['PATH'])}"
        outcome = await execute(
            ["sh", "-eu", "-c", campaign.target["build"]],
            mark,
            cwd=tree.build,
            limit=LIMIT_S,
            env=env,
            stdout=True,
        )
        program = _program(campaign, tree)
        if outcome.status != 0 or not program.is_file():
            lines = outcome.output.decode(errors="replace").splitlines()
            said = "".join(f"\n  {visible(line)}" for line in telling_lines(filter(None, lines)))
            raise SupervisorError(
                "mutants.functions, mutants.covered: the build with gcc --coverage, which they "
                f"need, failed:{said}"
            )
        await _run_seeds(campaign, mark, program, seeds)
        return await asyncio.to_thread(_read, place, tree.source)
    except OSError as e:
        raise SupervisorError(f"{e.filename or place}: {e.strerror or e}") from None
    finally:
        await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)


async def _run_seeds(
    campaign: Campaign, mark: ProcessMark, program: Path, seeds: Iterable[Path]
) -> None:
    command = [str(program), *campaign.target["command"][1:]]
    subject = TargetProgram.of(replace(campaign, target={**campaign.target, "command": command}))
    for seed in list(seeds)[:MAX_SEEDS]:
        if (data := await asyncio.to_thread(read_input, seed)) is not None:
            with open_sandbox(subject, data, mark) as place:
                await place.run(max(1.0, 5 * subject.timeout))


def _program(campaign: Campaign, tree: BuildTree) -> Path:
    name = Path(campaign.target["command"][0])
    if name.is_relative_to(campaign.build_directory):
        return tree.build / name.relative_to(campaign.build_directory)
    return tree.source / os.path.relpath(name, campaign.target["source"])


def _make_tools(place: Path) -> None:
    """Raises OSError, :class:`SupervisorError`."""
    for tool in ("gcc", "g++", "gcov", "ar"):
        if shutil.which(tool) is None:
            raise SupervisorError(
                f"mutants.functions, mutants.covered: {tool} is not installed; install it "
                "(Debian: apt install build-essential), or leave out both keys"
            )
    directory = place / "bin"
    directory.mkdir(mode=0o700)
    header, library = place / "reach.h", place / "libreach.a"
    header.write_text(_HEADER)
    for name, text in (("runtime", _RUNTIME), ("driver", _DRIVER)):
        (place / f"{name}.c").write_text(text)
        _do(["gcc", "-O1", "-c", f"{name}.c"], place)
    _do(["ar", "rcD", library.name, "runtime.o", "driver.o"], place)
    for compiler, names in _COMPILERS.items():
        real = shutil.which(compiler) or compiler
        text = _WRAPPER.format(
            compiler=shlex.quote(real),
            header=shlex.quote(str(header)),
            library=shlex.quote(str(library)),
        )
        afl = (f"afl-{kind}" for name in names for kind in (name, f"{name}-fast", f"{name}-lto"))
        plus = ("afl-clang-fast++", "afl-clang-lto++", "afl-g++-fast") if "++" in compiler else ()
        for name in {*afl, *plus}:
            (directory / name).write_text(text)
            (directory / name).chmod(0o700)


def _do(argv: list[str], place: Path) -> bytes:
    with own_children():
        done = subprocess.run(
            argv, cwd=place, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise SupervisorError(f"{argv[0]} fails: {visible(said[-1]) if said else done.returncode}")
    return done.stdout


def _read(place: Path, source: Path) -> BuildReach:
    """Run gcov on the notes and counts. Raises OSError, :class:`SupervisorError`."""
    reach = BuildReach()
    base = os.path.realpath(source)
    for notes in sorted(place.rglob("*.gcno")):
        told = _do(["gcov", "--json-format", "--stdout", notes.name], notes.parent)
        for line in told.splitlines():
            for name, file in _files(json.loads(line), base, notes.parent):
                reach.functions.setdefault(name, []).extend(
                    (f["demangled_name"], f["start_line"], f["end_line"]) for f in file["functions"]
                )
                ran = (row["line_number"] for row in file["lines"] if row["count"])
                reach.lines.setdefault(name, set()).update(ran)
    return reach


def _files(told: Any, base: str, place: Path) -> Iterator[tuple[str, Any]]:
    """Yield gcov's files below ``base``, with their names relative to ``base``."""
    where = told.get("current_working_directory", str(place))
    for file in told["files"]:
        real = os.path.realpath(Path(where) / file["file"])
        if not real.startswith(base + os.sep):
            real = _copied_from(Path(real), Path(base))
        if real:
            yield os.path.relpath(real, base), file


def _copied_from(file: Path, base: Path) -> str:
    """Return the file below ``base`` of which ``file`` is a copy made by the build; "" if none."""
    try:
        text = file.read_bytes()
        return next((str(p) for p in base.rglob(file.name) if p.read_bytes() == text), "")
    except OSError:
        return ""
