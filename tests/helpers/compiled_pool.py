"""pool.c, compiled once for all processes that test; it looks for a newer file at each call."""

from __future__ import annotations

import ctypes
import functools
import subprocess
from pathlib import Path

from compiled_text import SOURCES, compiler
from shared import shared
from waiting import DEADLINE_S

HARNESS = Path(__file__).with_name("pool_harness.c")
FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-DLOOK_NS=0")


@functools.cache
def pool_library() -> ctypes.PyDLL:
    """mutate.c and pool.c as a shared library, loaded."""
    sources = [str(SOURCES / "mutate.c"), str(SOURCES / "pool.c")]
    argv = [compiler(), *FLAGS, "-O2", "-shared", "-fPIC", *sources, "-o"]
    library = shared(
        "pool.so", lambda out: subprocess.run([*argv, out], check=True, timeout=DEADLINE_S)
    )
    return ctypes.PyDLL(str(library))


def pool_harness(program: Path, *flags: str) -> Path:
    """The program that spoils pool files and uses them anyway: see there."""
    sources = [str(HARNESS), str(SOURCES / "mutate.c"), str(SOURCES / "pool.c")]
    argv = [compiler(), *FLAGS, "-g", "-O1", *flags, f"-I{SOURCES}", "-o", str(program), *sources]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 0, done.stderr
    return program
