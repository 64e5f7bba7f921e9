"""Libraries in C, compiled on first use: for afl-fuzz, for text, for extension modules.

The libraries are shipped as source, because the wheel is the same for all machines.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import fuzztui
from fuzztui.kernel.base.files import temporary_directory, temporary_place
from fuzztui.kernel.base.user_dirs import cache_dir

FLAGS = ("-std=gnu11", "-O2", "-fno-semantic-interposition", "-Wall", "-Wextra", "-shared", "-fPIC")

_FOR = (*FLAGS, os.uname().machine)
"""Compiler options and machine: a library's file name depends on them."""

_PACKAGE = Path(fuzztui.__file__).parent
_AFL, _TEXT = _PACKAGE / "run/afl", _PACKAGE / "engines/text"
_INSTRUMENT = _PACKAGE / "engines/instrument"


@dataclass(frozen=True, slots=True)
class Library:
    """The sources of one library."""

    name: str
    purpose: str
    sources: tuple[Path, ...]
    include: tuple[Path, ...] = ()
    """Directories with headers, in addition to those of the sources."""

    @property
    def files(self) -> list[Path]:
        """All sources and headers."""
        directories = {source.parent for source in self.sources} | set(self.include)
        headers = (path for d in sorted(directories) for path in sorted(d.glob("*.h")))
        return [*self.sources, *headers]

    @property
    def options(self) -> list[str]:
        """The compiler's arguments, without the output file."""
        return [*FLAGS, *(f"-I{path}" for path in self.include), *map(str, self.sources)]


STEER = Library("steer", "steers afl-fuzz", (_AFL / "steer.c",))
PACE = Library("pace", "limits executions per second", (_AFL / "pace.c",))
TEXT = Library(
    "text",
    "mutates text",
    (_AFL / "text.c", _TEXT / "mutate.c", _TEXT / "pool.c"),
    (_TEXT,),
)
COUNTERS = Library("sancov", "has the counters of extensions", (_INSTRUMENT / "sancov.c",))

_TIMEOUT_S = 600
"""A busy machine takes minutes for what takes a second alone."""
_SEPARATORS = ";:,"
"""Separators in AFL_CUSTOM_MUTATOR_LIBRARY, which a path cannot contain."""


Progress = Callable[[str], None]


def _silent(text: str) -> None:
    pass


def steering_library(progress: Progress = _silent) -> tuple[Path | None, str]:
    """Return the library that skips and promotes entries of the queue (``steer.c``).

    Returns None and the reason if it cannot be compiled. ``progress`` is called with a message if
    it must be compiled, which takes a tenth of a second.
    """
    return _library(STEER, progress)


def text_library(progress: Progress = _silent) -> tuple[Path | None, str]:
    """Return the custom mutator for text (``text.c``), or None and the reason.

    The library also contains the text mutators and splicing for use with ctypes.
    """
    return _library(TEXT, progress)


def pace_library(progress: Progress = _silent) -> tuple[Path | None, str]:
    """Return the custom mutator that limits executions per second, or None and the reason."""
    return _library(PACE, progress)


def counter_library(progress: Progress = _silent) -> tuple[Path | None, str]:
    """Return the library that extension modules with counters call, or None and the reason."""
    return _library(COUNTERS, progress)


def _library(library: Library, progress: Progress) -> tuple[Path | None, str]:
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    try:
        sources = _key(*(path.read_bytes() for path in library.files), *map(os.fsencode, _FOR))
        # Without a compiler, a library that any compiler made of the same sources will do.
        by = _key(_run([compiler, "--version"]).stdout) if compiler else "*"
        reason = "there is no directory to keep it in: set XDG_CACHE_HOME"
        for cache in _caches():
            name = f"{library.name}-{sources}-{by}.so"
            if made := [path for path in sorted(cache.glob(name)) if _safe(path, stat.S_ISREG)]:
                return made[0], ""
            if compiler:
                progress(f"compiling the library that {library.purpose}")
                reason = _compile(compiler, library, cache / name)
                if not reason:
                    return cache / name, ""
    except subprocess.TimeoutExpired:
        wait = f"{_TIMEOUT_S // 60} minutes"
        reason = f"{compiler} did not end within {wait}; start again when the machine is less busy"
    except (OSError, subprocess.SubprocessError) as e:
        reason = str(e)
    if compiler is None:
        return None, "no C compiler: install gcc or clang"
    return None, f"cannot be compiled: {reason}"


def _key(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _caches() -> Iterator[Path]:
    """Yield directories for the libraries, best first, created and private to the user.

    Private, because another user who can write there could run code in the fuzzers.
    """
    ours = f"fuzztui-{os.geteuid()}"
    for temporary in (False, True):
        try:
            directory = temporary_place() / ours if temporary else cache_dir()
            directory.parent.mkdir(parents=True, exist_ok=True)
            directory.mkdir(mode=0o700, exist_ok=True)
            mounted = os.statvfs(directory).f_flag
        except OSError:
            continue
        usable = os.access(directory, os.W_OK) and not mounted & os.ST_NOEXEC
        if usable and _safe(directory, stat.S_ISDIR) and not set(_SEPARATORS) & set(str(directory)):
            yield directory


def _safe(path: Path, kind: Callable[[int], bool]) -> bool:
    """Whether the path exists, is no symlink, belongs to the user, and only they can write it."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return kind(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _compile(compiler: str, library: Library, path: Path) -> str:
    """Compile the library, completely or not at all. Returns why not. Raises SubprocessError."""
    try:
        with temporary_directory(place=path.parent) as directory:
            fresh = Path(directory) / path.name
            done = _run([compiler, "-o", str(fresh), *library.options])
            if done.returncode or not fresh.is_file():
                lines = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
                errors = [line for line in lines if "error" in line] or lines or ["no message"]
                return f"{compiler} reports: {errors[0]}"
            fresh.chmod(0o700)
            fresh.replace(path)
    except OSError as e:
        return f"{e.filename or path}: {e.strerror or e}"
    return ""


def _run(argv: list[str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        argv, capture_output=True, stdin=subprocess.DEVNULL, timeout=_TIMEOUT_S, check=False
    )
