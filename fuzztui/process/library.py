"""Our libraries for afl-fuzz, compiled on first use: one steers it, one mutates text.

They are shipped as source: afl-fuzz is compiled for this machine, our wheel for all of them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import fuzztui
from fuzztui.base.temporary import temporary_place

__all__ = ["STEER", "TEXT", "Library", "steering_library", "text_library"]

FLAGS = ("-std=gnu11", "-O2", "-fno-semantic-interposition", "-Wall", "-Wextra", "-shared", "-fPIC")

_FOR = (*FLAGS, os.uname().machine)
"""What a library is made with, and the kind of machine it is made for."""

_PACKAGE = Path(fuzztui.__file__).parent
_AFL, _TEXT = _PACKAGE / "afl", _PACKAGE / "engines/text"


@dataclass(frozen=True, slots=True)
class Library:
    """What one is made of."""

    name: str
    purpose: str
    sources: tuple[Path, ...]
    include: tuple[Path, ...] = ()
    """Where its headers are; beside those of the first source."""

    @property
    def files(self) -> list[Path]:
        """All that goes into it, or may."""
        directories = {source.parent for source in self.sources} | set(self.include)
        headers = (path for d in sorted(directories) for path in sorted(d.glob("*.h")))
        return [*self.sources, *headers]

    @property
    def options(self) -> list[str]:
        """What the compiler is told, but for the result's name."""
        return [*FLAGS, *(f"-I{path}" for path in self.include), *map(str, self.sources)]


STEER = Library("steer", "steers afl-fuzz", (_AFL / "steer.c",))
TEXT = Library(
    "text",
    "mutates text",
    (_AFL / "text.c", _TEXT / "mutate.c", _TEXT / "pool.c"),
    (_TEXT,),
)

_TIMEOUT_S = 60
_SEPARATORS = ";:,"
"""Of paths in AFL_CUSTOM_MUTATOR_LIBRARY: a path cannot have them."""


Progress = Callable[[str], None]


def _silent(words: str) -> None:
    pass


def steering_library(progress: Progress = _silent) -> tuple[Path | None, str]:
    """The library that skips and promotes entries of the queue (``steer.c``).

    Or None, and the reason why there is none, for the user. ``progress`` is told when it has
    to be compiled, which takes a tenth of a second.
    """
    return _library(STEER, progress)


def text_library(progress: Progress = _silent) -> tuple[Path | None, str]:
    """The custom mutator for text (``text.c``), as :func:`steering_library` gives its own.

    The text operators and the splicing are in it, for ctypes.
    """
    return _library(TEXT, progress)


def _library(library: Library, progress: Progress) -> tuple[Path | None, str]:
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    try:
        sources = _key(*(path.read_bytes() for path in library.files), *map(os.fsencode, _FOR))
        # What another compiler has made of the same is as good where there is none (any more).
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
    except (OSError, subprocess.SubprocessError) as e:
        reason = str(e)
    if compiler is None:
        return None, "no C compiler: install gcc or clang"
    return None, f"cannot be compiled: {reason}"


def _key(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _caches() -> Iterator[Path]:
    """Directories to keep it in, best first, each made and private to the user.

    Whoever can write there runs code of theirs in our fuzzers.
    """
    home = os.environ.get("XDG_CACHE_HOME", "")
    cache = Path(home) if home.startswith("/") else Path("~/.cache").expanduser()
    ours = f"fuzztui-{os.geteuid()}"
    for temporary in (False, True):
        try:
            directory = temporary_place() / ours if temporary else cache / "fuzztui"
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


def _compile(compiler: str, library: Library, path: Path) -> str:
    """Make the library, whole or not at all; returns why not. Raises SubprocessError."""
    try:
        return _compile_into(compiler, library, path)
    except OSError as e:
        return f"{e.filename or path}: {e.strerror or e}"


def _compile_into(compiler: str, library: Library, path: Path) -> str:
    with tempfile.TemporaryDirectory(dir=path.parent) as directory:
        fresh = Path(directory) / path.name
        done = _run([compiler, "-o", str(fresh), *library.options])
        if done.returncode or not fresh.is_file():
            said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
            error = next((line for line in said if "error" in line), (said or ["no word"])[0])
            return f"{compiler} says: {error}"
        fresh.chmod(0o700)
        fresh.replace(path)
    return ""


def _run(argv: list[str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        argv, capture_output=True, stdin=subprocess.DEVNULL, timeout=_TIMEOUT_S, check=False
    )
