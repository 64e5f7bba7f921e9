"""The C core of the text engine, compiled once for all processes that test."""

from __future__ import annotations

import functools
import shutil
import subprocess
from pathlib import Path

import pytest
from shared import shared
from waiting import DEADLINE_S

SOURCES = Path(__file__).parents[2] / "engines/text"
HARNESS = Path(__file__).with_name("text_harness.c")


def compiler() -> str:
    """A C compiler; skips the test where there is none."""
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None) or pytest.skip(
        "no C compiler"
    )


@functools.cache
def text_library() -> str:
    """The path of mutate.c as a shared library."""
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
    argv = [compiler(), *flags, str(SOURCES / "mutate.c"), "-o"]
    return str(
        shared(
            "mutate.so", lambda out: subprocess.run([*argv, out], check=True, timeout=DEADLINE_S)
        )
    )


def harness(cc: str, program: Path, *flags: str, **env: str) -> Path:
    """The program that checks mutate.c on what it reads, or on random inputs: see there."""
    sources = [str(HARNESS), str(SOURCES / "mutate.c")]
    argv = [cc, "-std=c11", "-g", "-O2", *flags, f"-I{SOURCES}", "-o", str(program), *sources]
    done = subprocess.run(
        argv, capture_output=True, text=True, timeout=DEADLINE_S, check=False, env=env or None
    )
    assert done.returncode == 0, done.stderr
    return program
