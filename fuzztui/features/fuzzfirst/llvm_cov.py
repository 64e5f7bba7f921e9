"""llvm-cov: clang's own measurement of lines, functions and branches."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from fuzztui.features.fuzzfirst.coverage_tool import CoverageTool, Report, json_of, report, text_of
from fuzztui.features.fuzzfirst.wrappers import run_tool
from fuzztui.kernel.base.files import temporary_directory
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.triage.program import holds

_EXPANSION: Final = 1
"""llvm-cov's number for a region that is a macro's use."""
_SOURCE_FILE: Final = re.compile(r"SF:(.*?)\n(?=FN[:F])", re.S)
_HAS_MAPPING: Final = (b"__llvm_covmap",)
_AT_ONCE: Final = 500
"""Names that are demangled by one process."""


class LlvmCov(CoverageTool):
    """clang, llvm-profdata and llvm-cov, all of one version."""

    name = "llvm-cov"
    compiler = "clang -fcoverage-mapping"
    flags = "-fprofile-instr-generate -fcoverage-mapping -O0"
    dump = "__llvm_profile_write_file"
    counts = "*.profraw"

    def __init__(self, clang: str) -> None:
        """``clang``: the compiler whose version all tools must have."""
        self.version, self._directory = clang_version(clang)
        self._cov, self._profdata = self._tool("llvm-cov"), self._tool("llvm-profdata")
        self.compilers = {"gcc": self._tool("clang"), "g++": self._tool("clang++") or "clang++"}
        self._functions: dict[tuple[str, str], tuple[int, int, str]] = {}
        """First line, last line and name for users, by file and llvm-cov's name."""
        self._conditions: dict[tuple[str, int], list[tuple[int, ...]]] = {}
        """By file and line: the places of its conditions, once for each object."""
        self._programs: list[str] = []

    def _tool(self, name: str) -> str:
        """The path of a tool of the compiler's version; an empty string if there is none."""
        places = (str(self._directory / name), f"{name}-{self.version}")
        return next(filter(None, map(shutil.which, places)), "")

    def missing(self) -> str:
        """The packages are those of Debian."""
        n = self.version
        if not n or not self.compilers["gcc"]:
            return "clang is not installed (Debian: apt install clang llvm)"
        if lost := next((t for t in ("llvm-cov", "llvm-profdata") if not self._tool(t)), ""):
            return f"there is no {lost} of version {n}, as clang's (Debian: apt install llvm-{n})"
        with temporary_directory() as place:
            command = [self.compilers["gcc"], *self.flags.split(), "-shared", "-o", "x"]
            try:
                run_tool([*command, "-x", "c", os.devnull], Path(place))
            except SupervisorError as e:
                return f"clang {n} has no runtime (Debian: apt install libclang-rt-{n}-dev): {e}"
        return ""

    def environment(self, home: Path) -> dict[str, str]:
        """All processes of one program add to the same file."""
        return {"LLVM_PROFILE_FILE": str(home / "%m.profraw")}

    def reports(self, home: Path, build: Path, program: Path) -> Iterator[Report]:
        """Join the counts, and run llvm-cov on the program and its shared libraries."""
        if not self._programs:
            # A program of libtool is a script; the real one has the same name elsewhere.
            files = (
                f for f in sorted(home.rglob("*")) if program.name == f.name or ".so" in f.name
            )
            every = dict.fromkeys(map(str, (program, *files)))
            self._programs = [f for f in every if Path(f).is_file() and holds(f, _HAS_MAPPING)]
        if not self._programs:
            return
        # Without counts there is nothing to join but an empty text.
        (empty := home / "none.proftext").touch()
        merged = home / "all.profdata"
        raw = map(str, home.glob(self.counts))
        run_tool(
            [self._profdata, "merge", "-failure-mode=all", "-o", str(merged), str(empty), *raw],
            home,
        )
        objects = [word for file in self._programs for word in ("-object", file)][1:]
        command = [self._cov, "export", f"-instr-profile={merged}", *objects]
        if not self._functions:
            whole = report([*command, "-skip-expansions"], home)
            self._take_functions(json_of(whole)["data"][0]["functions"])
        text = report([*command, "-format=lcov"], home)
        for record in text_of(text).split("end_of_record\n"):
            if match := _SOURCE_FILE.match(record):
                yield match[1], build, Path(), self._file(match[1], record[match.end() :])

    def _take_functions(self, rows: list[Any]) -> None:
        """Note where the functions are, which the counts do not contain."""
        for row in rows:
            regions = row["regions"]
            expanded = {region[6] for region in regions if region[7] == _EXPANSION}
            main = min({region[5] for region in regions} - expanded, default=0)
            own = [region for region in regions if region[5] == main]
            ends = min(region[0] for region in own), max(region[2] for region in own)
            self._functions[row["filenames"][main], row["name"]] = *ends, _short(row["name"])
            for branch in row.get("branches", ()):
                if branch[6] == main:
                    at = row["filenames"][main], branch[0]
                    self._conditions.setdefault(at, []).append(tuple(branch[:4]))
        mangled = sorted({name for *_, name in self._functions.values() if name.startswith("_Z")})
        if mangled and (filter_ := self._tool("llvm-cxxfilt") or shutil.which("c++filt")):
            plain = dict(zip(mangled, _demangled(filter_, mangled), strict=True))
            for key, (first, last, name) in self._functions.items():
                self._functions[key] = first, last, plain.get(name, name)

    def _file(self, name: str, record: str) -> dict[str, Any]:
        calls: dict[str, int] = {}
        lines: dict[int, dict[str, Any]] = {}
        for line in record.split("\n"):
            kind, _, value = line.partition(":")
            first, _, rest = value.partition(",")
            if kind == "FNDA":
                calls[rest] = int(first)
            elif kind == "DA":
                count = int(rest.partition(",")[0])
                lines[int(first)] = {"line_number": int(first), "count": count, "branches": []}
            elif kind == "BRDA" and (row := lines.get(int(first))) is not None:
                taken = rest.rpartition(",")[2]
                row["branches"].append({"count": int(taken) if taken.isdecimal() else 0})
        for number, row in lines.items():
            row["branches"] = _joined(row["branches"], self._conditions.get((name, number), []))
        functions: list[dict[str, Any]] = [
            {
                "start_line": begin,
                "end_line": end,
                "demangled_name": shown,
                "execution_count": calls.get(function, 0),
            }
            for (file, function), (begin, end, shown) in self._functions.items()
            if file == name
        ]
        for function in sorted(functions, key=lambda f: (f["start_line"], -f["end_line"])):
            for number in range(function["start_line"], function["end_line"] + 1):
                if number in lines:
                    lines[number]["function_name"] = function["demangled_name"]
        return {"functions": functions, "lines": [*lines.values()]}


def _joined(branches: list[dict[str, int]], places: list[tuple[int, ...]]) -> list[dict[str, int]]:
    """Add up the branches of a condition, which each object and instantiation has once more.

    ``places``: of the conditions of the line, as often as they are there. As gcov does.
    """
    if len(branches) != 2 * len(places):  # macros, folded conditions
        return branches
    where = sorted(places)
    sums: dict[tuple[tuple[int, ...], int], int] = {}
    for n, branch in enumerate(branches):
        key = where[n // 2], n % 2
        sums[key] = sums.get(key, 0) + branch["count"]
    return [{"count": count} for count in sums.values()]


def clang_version(compiler: str) -> tuple[str, Path]:
    """Return the major version and the directory of a compiler; empty if it is not clang."""
    try:
        said = run_tool([compiler, "--version"], Path("/"), timeout=20.0).decode(errors="replace")
    except (OSError, SupervisorError, subprocess.SubprocessError):
        said = ""
    found = re.search(r"clang version (\d+)", said)
    directory = re.search(r"^InstalledDir: (.+)$", said, re.M)
    return found[1] if found else "", Path(directory[1] if directory else "/nonexistent")


def _short(name: str) -> str:
    """A function's name without the file of a static one: ``a.c:f``, since LLVM 18 ``a.c;f``."""
    return re.split("[:;]", name)[-1]


def _demangled(program: str, names: list[str]) -> Iterator[str]:
    for at in range(0, len(names), _AT_ONCE):
        yield from text_of(run_tool([program, *names[at : at + _AT_ONCE]], Path("/"))).splitlines()
