"""The library that steers afl-fuzz (``steer.c``), compiled on first use.

It is shipped as source: afl-fuzz is compiled for this machine, our wheel for all of them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["steering_library"]

SOURCE = Path(__file__).with_name("steer.c")
HEADER = Path(__file__).with_name("jsonl.h")
FLAGS = ("-O2", "-Wall", "-Wextra", "-shared", "-fPIC")

_TIMEOUT_S = 60
_SEPARATORS = ";:,"
"""Of paths in AFL_CUSTOM_MUTATOR_LIBRARY: a path cannot have them."""


def steering_library(
    progress: Callable[[str], None] = lambda words: None,
) -> tuple[Path | None, str]:
    """The compiled library, or None and the reason why there is none, for the user.

    ``progress`` is told when it has to be compiled, which takes a tenth of a second.
    """
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        return None, "no C compiler: install gcc or clang"
    try:
        version = _run([compiler, "--version"]).stdout
        parts = [SOURCE.read_bytes(), HEADER.read_bytes(), version, *map(os.fsencode, FLAGS)]
        key = hashlib.sha256(b"\0".join(parts)).hexdigest()
        reason = "there is no directory to keep it in: set XDG_CACHE_HOME"
        for cache in _caches():
            library = cache / f"steer-{key[:16]}.so"
            if _safe(library, stat.S_ISREG):
                return library, ""
            progress("compiling the library that steers afl-fuzz")
            reason = _compile(compiler, library)
            if not reason:
                return library, ""
    except (OSError, subprocess.SubprocessError) as e:
        reason = str(e)
    return None, f"cannot be compiled: {reason}"


def _caches() -> Iterator[Path]:
    """Directories to keep it in, best first, each made and private to the user.

    Whoever can write there runs code of theirs in our fuzzers.
    """
    home = os.environ.get("XDG_CACHE_HOME", "")
    cache = Path(home) if home.startswith("/") else Path("~/.cache").expanduser()
    for directory in (cache / "fuzztui", Path(tempfile.gettempdir()) / f"fuzztui-{os.geteuid()}"):
        try:
            directory.parent.mkdir(parents=True, exist_ok=True)
            directory.mkdir(mode=0o700, exist_ok=True)
            mounted = os.statvfs(directory).f_flag
        except OSError:
            continue
        usable = os.access(directory, os.W_OK) and not mounted & os.ST_NOEXEC
        if usable and _safe(directory, stat.S_ISDIR) and not set(_SEPARATORS) & set(str(directory)):
            yield directory


def _safe(path: Path, kind: Callable[[int], bool]) -> bool:
    """Whether it is there, no symlink, ours, and nobody else can write to it."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return kind(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _compile(compiler: str, library: Path) -> str:
    """Make the library, whole or not at all; returns why not. Raises SubprocessError."""
    try:
        return _compile_into(compiler, library)
    except OSError as e:
        return f"{e.filename or library}: {e.strerror or e}"


def _compile_into(compiler: str, library: Path) -> str:
    with tempfile.TemporaryDirectory(dir=library.parent) as directory:
        fresh = Path(directory) / library.name
        done = _run([compiler, *FLAGS, "-o", str(fresh), str(SOURCE)])
        if done.returncode or not fresh.is_file():
            said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
            error = next((line for line in said if "error" in line), (said or ["no word"])[0])
            return f"{compiler} says: {error}"
        fresh.chmod(0o700)
        fresh.replace(library)
    return ""


def _run(argv: list[str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        argv, capture_output=True, stdin=subprocess.DEVNULL, timeout=_TIMEOUT_S, check=False
    )
