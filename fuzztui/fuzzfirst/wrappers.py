"""Compilers in front of the real ones: they note each call, and compile without AFL's passes.

A build finds them as ``$CC`` and ``$CXX``, or by AFL++'s own names first on its PATH.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from fuzztui.campaign.rundir import SupervisorError
from fuzztui.process.reaper import own_children

__all__ = ["Tools", "find_tools"]

_PAIRS = ("afl-cc", "afl-clang-fast", "afl-clang-lto", "afl-gcc-fast", "afl-clang", "afl-gcc")
_NAMES = (*_PAIRS, "afl-c++", "afl-clang-fast++", "afl-clang-lto++", "afl-g++-fast", "afl-g++")

_TIMEOUT_S = 60

_RECORD = """\
#!/bin/sh
# Written by fuzztui. Notes the call, then does it.
record={records}/$$
while [ -e "$record" ]; do record=$record.; done
printf '%s\\0' "$PWD" "$#" "$@" > "$record"
"""

_UNINSTRUMENTED = """\
#!/bin/sh
# Written by fuzztui: {plain} COMPILER ARGUMENT...
# What the instrumented program does, to be compared: AFL++'s macros and sanitizers are in,
# its passes are not, nor is what differs without a difference.
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
"""What AFL++'s compilers define that means nothing outside of the fuzzer."""

_HEADER = f"""\
/* Written by fuzztui: what AFL++'s compilers define, for a program that never runs. */
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
    # ccache knows nothing of AFL++'s variables: AFL_USE_ASAN=1 made another object.
    export CCACHE_DIR={directory} CCACHE_MAXSIZE=1G
    export CCACHE_COMPILERCHECK="string:{identity} $(env | grep '^AFL_' | LC_ALL=C sort)"
    exec {ccache} {real} "$@"
fi
"""


class Tools:
    """AFL++'s compilers, by name, and what is put in front of them."""

    def __init__(self, directory: Path, real: Mapping[str, str], env: Mapping[str, str]) -> None:
        self.directory = directory
        self.real = real
        self.env = env
        """What every build finds in its environment, beside ours."""
        self.plain = directory / "plain-cc"
        self.ccache = ""
        self._cache = directory.with_name("ccache")

    def make(self) -> None:
        """Write what does not depend on a tree. Raises OSError or :class:`SupervisorError`."""
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
        """Find out whether ccache can be used; returns why not, "" if it is or is not there."""
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
                reason = "what comes out of it is not instrumented"
            elif b"__asan" in made[2] or b"__asan" not in made[1]:
                reason = "it does not tell AFL++'s variables apart"
            else:
                return ""
        except (OSError, SupervisorError) as e:
            reason = str(e)
        self.ccache = ""
        return reason

    def wrap(self, place: Path, records: Path, *, plain: bool) -> None:
        """Make ``place``, a directory for PATH, whose compilers note calls in ``records``."""
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
        """For a build with the compilers in ``place``. They have no path: it may have blanks."""
        return {
            **self.env,
            "CC": "afl-cc",
            "CXX": "afl-c++",
            "SOURCE": str(source),
            "PATH": f"{place}{os.pathsep}{self.env['PATH']}",
        }

    def _run(self, argv: list[str], variable: str = "AFL_QUIET") -> None:
        try:
            with own_children():
                done = subprocess.run(
                    argv,
                    cwd=self.directory,
                    env={**os.environ, **self.env, variable: "1"},
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=_TIMEOUT_S,
                    check=False,
                )
        except (OSError, subprocess.SubprocessError) as e:
            raise SupervisorError(f"{argv[0]} cannot be run: {e}") from None
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise SupervisorError(f"{argv[0]} fails: {said[-1] if said else done.returncode}")


def find_tools(directory: Path, env: Mapping[str, str], afl_path: str) -> Tools:
    """AFL++'s compilers as a build would find them. Raises :class:`SupervisorError`."""
    real = {}
    for name in _NAMES:
        found = shutil.which(name, path=afl_path) if afl_path else None
        if found := found or shutil.which(name, path=env["PATH"]):
            real[name] = str(Path(found).absolute())
    for name in ("afl-cc", "afl-c++"):
        if name not in real:
            raise SupervisorError(
                f"{name} is not there, which builds mutants: install AFL++ (Debian: apt install "
                "afl++), or name its directory in engine.afl_path"
            )
    return Tools(directory, real, {**env, "PATH": env.get("PATH", os.defpath)})


def _identity(compiler: str) -> str:
    """Changes when AFL++ is installed again."""
    status = Path(compiler).stat()
    words = f"{compiler} {status.st_size} {status.st_mtime_ns}"
    return hashlib.sha256(words.encode(errors="surrogateescape")).hexdigest()[:20]


def _script(path: Path, text: str) -> None:
    path.write_bytes(os.fsencode(text))
    path.chmod(0o700)
