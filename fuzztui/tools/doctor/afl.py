"""AFL++ on this machine: its tools, whether its compilers work, what the kernel allows."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.files import temporary_directory
from fuzztui.run.afl.build import missing_runtime
from fuzztui.run.afl.launcher import afl_version
from fuzztui.run.process.library import steering_library, text_library
from fuzztui.tools.doctor.facts import line_of, run_program
from fuzztui.tools.doctor.findings import (
    ABSENT,
    FAILED,
    OK,
    WARNING,
    MachineFinding,
    judged,
    kernel_findings,
)

_OLDEST: Final = (4, 4)
"""The oldest version that fuzztui was developed against."""

_TOOLS: Final = {
    "afl-showmap": "signatures of crashes without a sanitizer, and init, need it",
    "afl-tmin": "minimising findings needs it",
    "afl-cmin": "engine.minimise_seeds needs it",
}
_PROGRAM: Final = "int main(void) { return 0; }\n"
_INSTALL: Final = "install AFL++: apt install afl++ (Debian, Ubuntu)"


def afl_findings(pattern: str, governor: str) -> Iterator[MachineFinding]:
    """Yield all findings about AFL++; without afl-fuzz only one, that it is absent."""
    fuzzer = shutil.which("afl-fuzz")
    if fuzzer is None:
        text = "afl-fuzz is not on PATH; only campaigns of programs need it"
        yield MachineFinding("afl++", ABSENT, text, _INSTALL)
        return
    version = afl_version(fuzzer)
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    yield judged(
        "afl++",
        f"{version or 'unknown version'}, {fuzzer}",
        "install 4.04c or newer: older ones were not tried",
        bad=bool(numbers) and numbers < _OLDEST,
    )
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    found = "not on PATH: " + ", ".join(missing) if missing else ", ".join(_TOOLS)
    uses = [f"{tool}: {_TOOLS[tool]}" for tool in missing]
    yield judged("afl tools", found, "; ".join([*uses, _INSTALL]), bad=bool(missing))
    yield from _compilers()
    yield from _libraries()
    yield from kernel_findings(pattern, governor)
    yield from _gdb()


def _compilers() -> Iterator[MachineFinding]:
    """Compile a program with afl-cc, plain and with AddressSanitizer."""
    compiler = shutil.which("afl-cc") or shutil.which("afl-clang-fast")
    if compiler is None:
        text = "neither afl-cc nor afl-clang-fast is on PATH: targets cannot be built"
        yield MachineFinding("afl-cc", WARNING, text, f"{_INSTALL}, with its compilers")
        return
    for what, environment in (("afl-cc", {}), ("afl-cc, ASan", {"AFL_USE_ASAN": "1"})):
        status, printed = _compiled(compiler, environment)
        if status == 0:
            yield MachineFinding(what, OK, f"{compiler} makes programs")
            continue
        lines = printed.splitlines()
        runtime = " ".join(missing_runtime(lines).split())
        error = next((line for line in lines if "error" in line.lower()), "no message")
        yield MachineFinding(
            what,
            WARNING if environment else FAILED,
            f"{compiler} cannot make a program: {error.strip()}",
            runtime or "install the compiler that AFL++ was built with: apt install clang llvm",
        )


def _compiled(compiler: str, environment: dict[str, str]) -> tuple[int, str]:
    with temporary_directory() as folder:
        source = Path(folder) / "a.c"
        source.write_text(_PROGRAM)
        argv = [compiler, "-o", str(source.with_suffix("")), str(source)]
        return run_program(argv, {**os.environ, "AFL_QUIET": "1", **environment})


def _libraries() -> Iterator[MachineFinding]:
    """Whether the custom mutators can be compiled; compiles them as a campaign would."""
    problems = []
    for make, use in ((steering_library, "skipping and promoting"), (text_library, "[text]")):
        library, reason = make()
        if library is None:
            problems.append(f"{use}: {reason}")
    text = "; ".join(problems) or "fuzztui's custom mutators can be compiled"
    mend = "campaigns run without them; install a C compiler: apt install gcc libc6-dev"
    yield judged("mutators", text, mend, bad=bool(problems))


def _gdb() -> Iterator[MachineFinding]:
    """Whether gdb can trace a program, to get the stack of a crash without a sanitizer."""
    gdb = shutil.which("gdb")
    if gdb is None:
        text = "gdb is not on PATH; it shows the stack of crashes without a sanitizer"
        yield MachineFinding("ptrace", ABSENT, text, "apt install gdb")
        return
    program = shutil.which("true") or "/bin/true"
    argv = [gdb, "-nx", "-batch", "-ex", "run", "-ex", "quit", "--args", program]
    _, printed = run_program(argv, {**os.environ, "DEBUGINFOD_URLS": ""})
    if "exited normally" in printed:
        yield MachineFinding("ptrace", OK, f"{gdb} can trace programs")
        return
    scope = line_of(Path("/proc/sys/kernel/yama/ptrace_scope"))
    forbidden = scope in ("2", "3")
    yield MachineFinding(
        "ptrace",
        WARNING,
        "gdb cannot trace a program" + f", ptrace_scope is {scope}" * forbidden,
        "allow it: sudo sysctl kernel.yama.ptrace_scope=1"
        if forbidden
        else "allow ptrace (in a container: --cap-add=SYS_PTRACE), or build with a sanitizer",
    )
