"""An extension module, compiled with clang and with coverage, once for all processes that test."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
from shared import shared
from waiting import DEADLINE_S

from fuzztui.run.process.library import counter_library

SOURCE = Path(__file__).with_name("extension.c")
COUNTERS = "-fsanitize-coverage=inline-8bit-counters,pc-table"


def clang() -> str:
    """The compiler; skips the test where there is none."""
    of_afl = map(str, sorted(Path("/usr/lib").glob("llvm-*/bin/clang")))
    return (
        shutil.which("clang") or next(of_afl, "") or pytest.skip("no clang (it comes with afl++)")
    )


def extension(directory: Path, name: str, *flags: str) -> Path:
    """Put the module ``name``, compiled with these flags, into a directory."""
    include = Path(sysconfig.get_paths()["include"])
    if not (include / "Python.h").is_file():
        pytest.skip(f"no {include}/Python.h: install Python's headers")
    argv = [clang(), "-O1", "-g", "-shared", "-fPIC", f"-I{include}", f"-DNAME={name}", *flags]

    def make(out: Path) -> None:
        subprocess.run([*argv, str(SOURCE), "-o", str(out)], check=True, timeout=DEADLINE_S)

    made = shared(f"{name}{''.join(flags).replace('/', '')}.so", make)
    return Path(shutil.copy(made, directory / f"{name}.so"))


def counters() -> dict[str, str]:
    """The key ``counters`` of a target: the library that extensions with counters call."""
    library, why = counter_library()
    return {"library": str(library or ""), "why": why}
