"""Compiler wrappers, which record each call, and compile without AFL++'s passes on request.

A build finds them as ``$CC`` and ``$CXX``, or by AFL++'s names first on its PATH. Each call runs
``sh`` and one ``env``, which takes about 2 ms.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from fuzztui.kernel.base.text import visible
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.process.reaper import own_children

_PAIRS = ("afl-cc", "afl-clang-fast", "afl-clang-lto", "afl-gcc-fast", "afl-clang", "afl-gcc")
_NAMES = (*_PAIRS, "afl-c++", "afl-clang-fast++", "afl-clang-lto++", "afl-g++-fast", "afl-g++")

_TIMEOUT_S = 60

_RECORD = """\
#!/bin/sh
# Written by fuzztui. Records the call, then runs the compiler.
record={records}/$$
while [ -e "$record" ]; do record=$record.; done
printf '%s\\0' "$PWD" "${{0##*/}}" "$#" "$@" > "$record"
"""

_UNINSTRUMENTED = """\
#!/bin/sh
# Written by fuzztui: {plain} COMPILER ARGUMENT...
# For comparing programs: with AFL++'s macros and sanitizers; without its passes, debug
# information and build ids.
compiler=$1; shift
link=yes
inputs=
for word do
    shift
    case $word in
        -fsanitize=fuzzer | -fsanitize=fuzzer-no-link | */libAFLDriver.a) continue ;;
        -c | -E | -S | -M | -MM | -shared | -r | -fsyntax-only) link= ;;
        -*) ;;
        *) inputs=yes ;;
    esac
    set -- "$@" "$word"
done
set -- "$@" -g0 -s -Wl,--build-id=none -Wno-unused-command-line-argument -include {header}
[ -z "${{AFL_USE_ASAN-}}" ] || set -- "$@" -fsanitize=address
[ -z "${{AFL_USE_MSAN-}}" ] || set -- "$@" -fsanitize=memory
[ -z "${{AFL_USE_TSAN-}}" ] || set -- "$@" -fsanitize=thread
[ -z "${{AFL_USE_UBSAN-}}" ] ||
    set -- "$@" -fsanitize=undefined -fsanitize-undefined-trap-on-error -fno-sanitize-recover=all
[ -z "${{AFL_HARDEN-}}" ] || set -- "$@" -D_FORTIFY_SOURCE=2 -fstack-protector-all
[ -z "$link" ] || [ -z "$inputs" ] || set -- "$@" {library}
AFL_NOOPT=1 exec "$compiler" "$@"
"""

AFL_MACROS = """\
#define __AFL_COMPILER 1
#define __AFL_HAVE_MANUAL_CONTROL 1
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION 1
#endif
#define __AFL_COVERAGE()
#define __AFL_COVERAGE_START_OFF()
#define __AFL_COVERAGE_ON()
#define __AFL_COVERAGE_OFF()
#define __AFL_COVERAGE_DISCARD()
#define __AFL_COVERAGE_SKIP()
#define __AFL_LEAK_CHECK()
"""
"""Macros of AFL++'s compilers that have no effect without the fuzzer."""

_HEADER = f"""\
/* Written by fuzztui: the macros of AFL++'s compilers, for a program that never runs. */
#pragma once
{AFL_MACROS}
#define __AFL_FUZZ_INIT() extern unsigned int *__afl_fuzz_len; \\
    extern unsigned char *__afl_fuzz_ptr; unsigned char __afl_fuzz_alt[1048576]; \\
    unsigned char *__afl_fuzz_alt_ptr = __afl_fuzz_alt;
#define __AFL_FUZZ_TESTCASE_BUF (__afl_fuzz_ptr ? __afl_fuzz_ptr : __afl_fuzz_alt_ptr)
#define __AFL_FUZZ_TESTCASE_LEN (__afl_fuzz_ptr ? *__afl_fuzz_len : 0)
#define __AFL_LOOP(n) \\
    ({{ int loop_(unsigned int) __asm__("__afl_persistent_loop"); loop_(n); }})
#define __AFL_INIT() \\
    do {{ void init_(void) __asm__("__afl_manual_init"); init_(); }} while (0)
"""

_RUNTIME = """\
unsigned int *__afl_fuzz_len;
unsigned char *__afl_fuzz_ptr;
int __afl_persistent_loop(unsigned int n) { return n != 0; }
void __afl_manual_init(void) {}
"""

_DRIVER = """\
int LLVMFuzzerTestOneInput(const unsigned char *, unsigned long);
int main(void) { return LLVMFuzzerTestOneInput((const unsigned char *)"", 0); }
"""

_CACHED = """\
if [ -z "${{AFL_LLVM_DICT2FILE-}}${{AFL_LLVM_DOCUMENT_IDS-}}${{AFL_LLVM_ALLOWLIST-}}\
${{AFL_LLVM_DENYLIST-}}${{AFL_LLVM_INSTRUMENT_FILE-}}" ]; then
    # ccache ignores AFL++'s variables, but with AFL_USE_ASAN=1 the object differs.
    export CCACHE_DIR={directory} CCACHE_MAXSIZE=1G
    export CCACHE_COMPILERCHECK="string:{identity} $(env | grep '^AFL_' | LC_ALL=C sort)"
    exec {ccache} {real} "$@"
fi
"""


class Tools:
    """AFL++'s compilers, by name, and the files that their wrappers use."""

    def __init__(self, directory: Path, real: Mapping[str, str], env: Mapping[str, str]) -> None:
        self.directory = directory
        self.real = real
        self.env = env
        """Environment variables of every build, in addition to the supervisor's."""
        self.plain = directory / "plain-cc"
        self.ccache = ""
        self._cache = directory.with_name("ccache")

    def make(self) -> None:
        """Write the files shared by all build trees. Raises OSError, :class:`SupervisorError`."""
        if self.directory.is_dir():
            shutil.rmtree(self.directory)
        self.directory.mkdir(mode=0o700, parents=True)
        header, library = self.directory / "plain.h", self.directory / "libplain.a"
        header.write_text(_HEADER)
        _script(
            self.plain,
            _UNINSTRUMENTED.format(
                plain=shlex.quote(str(self.plain)),
                header=shlex.quote(str(header)),
                library=shlex.quote(str(library)),
            ),
        )
        objects = []
        for name, text in (("runtime", _RUNTIME), ("driver", _DRIVER)):
            source = self.directory / f"{name}.c"
            source.write_text(text)
            objects.append(f"{name}.o")
            self._run(
                [self.real["afl-cc"], "-O1", "-c", source.name, "-o", objects[-1]], "AFL_NOOPT"
            )
        self._run(["ar", "rcD", library.name, *objects])

    def try_ccache(self, command: str) -> str:
        """Use ccache if it works; return why it does not, "" if it does or is not installed."""
        program = shutil.which("ccache", path=self.env["PATH"])
        if program is None or "ccache" in command:
            return ""
        self.ccache = program
        source = self.directory / "probe.c"
        try:
            source.write_text("int f(int *a, int n) { return n > 3 ? a[n] : 0; }\n")
            place = self.directory / "probe"
            self.wrap(place, self.directory / "probe-records", plain=False)
            compiler = str(place / "afl-cc")
            made = []
            for variable in ("AFL_QUIET", "AFL_USE_ASAN", "AFL_QUIET"):
                self._run([compiler, "-O1", "-c", source.name, "-o", "probe.o"], variable)
                made.append((self.directory / "probe.o").read_bytes())
            if any(b"__sancov" not in data and b"__afl" not in data for data in made):
                reason = "its object files are not instrumented"
            elif b"__asan" in made[2] or b"__asan" not in made[1]:
                reason = "it ignores AFL++'s variables"
            else:
                return ""
        except (OSError, SupervisorError) as e:
            reason = str(e)
        self.ccache = ""
        return reason

    def wrap(self, place: Path, records: Path, *, plain: bool) -> None:
        """Write wrappers to the directory ``place``, which record their calls in ``records``."""
        if place.is_dir():
            shutil.rmtree(place)
        place.mkdir(mode=0o700)
        records.mkdir(mode=0o700, exist_ok=True)
        for name, real in self.real.items():
            text = _RECORD.format(records=shlex.quote(str(records)))
            if plain:
                text += f'exec {shlex.quote(str(self.plain))} {shlex.quote(real)} "$@"\n'
            else:
                if self.ccache:
                    text += _CACHED.format(
                        directory=shlex.quote(str(self._cache)),
                        identity=_identity(real),
                        ccache=shlex.quote(self.ccache),
                        real=shlex.quote(real),
                    )
                text += f'exec {shlex.quote(real)} "$@"\n'
            _script(place / name, text)

    def environment(self, place: Path, source: Path) -> dict[str, str]:
        """Return the environment of a build with the wrappers in ``place``.

        CC and CXX are names without a directory, because the directory may contain blanks.
        """
        return {
            **self.env,
            "CC": "afl-cc",
            "CXX": "afl-c++",
            "SOURCE": str(source),
            "PATH": f"{place}{os.pathsep}{self.env['PATH']}",
        }

    def _run(self, argv: list[str], variable: str = "AFL_QUIET") -> None:
        env = {**os.environ, **self.env, variable: "1"}
        try:
            run_tool(argv, self.directory, env, _TIMEOUT_S)
        except (OSError, subprocess.SubprocessError) as e:
            raise SupervisorError(f"cannot run {argv[0]}: {e}") from None


def run_tool(
    argv: list[str],
    place: Path,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> bytes:
    """Run a program in a directory; return its output. Blocks.

    Raises OSError, ``subprocess.SubprocessError``, and :class:`SupervisorError` if it fails.
    """
    with own_children():
        done = subprocess.run(
            argv, cwd=place, env=env, timeout=timeout, stdin=subprocess.DEVNULL,
            capture_output=True, check=False,
        )  # fmt: skip
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise SupervisorError(f"{argv[0]} fails: {visible(said[-1]) if said else done.returncode}")
    return done.stdout


def find_tools(directory: Path, env: Mapping[str, str], afl_path: str) -> Tools:
    """Find AFL++'s compilers as a build would. Raises :class:`SupervisorError`."""
    real = {}
    for name in _NAMES:
        found = shutil.which(name, path=afl_path) if afl_path else None
        if found := found or shutil.which(name, path=env["PATH"]):
            real[name] = str(Path(found).absolute())
    for name in ("afl-cc", "afl-c++"):
        if name not in real:
            raise SupervisorError(
                f"{name}: not found, but mutants are built with it; install AFL++ (Debian: apt "
                "install afl++), or set engine.afl_path to its directory"
            )
    return Tools(directory, real, {**env, "PATH": env.get("PATH", os.defpath)})


def _identity(compiler: str) -> str:
    """Return a hash of the compiler's path, size and time: another one after an update."""
    status = Path(compiler).stat()
    words = f"{compiler} {status.st_size} {status.st_mtime_ns}"
    return hashlib.sha256(words.encode(errors="surrogateescape")).hexdigest()[:20]


def _script(path: Path, text: str) -> None:
    path.write_bytes(os.fsencode(text))
    path.chmod(0o700)
