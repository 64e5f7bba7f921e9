"""Keep the instrumented code, lines and mutants of modules in the user's cache directory.

Compiling and instrumenting an application takes most of an engine's start, and the same source
gives the same result: instances, workers that start again, and mutants' children use one file for
each module, as Python does for its ``.pyc``. Without a directory nothing is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from fuzztui.kernel.base.atomic import replace_bytes
from fuzztui.kernel.base.user_dirs import cache_dir

T = TypeVar("T")

MAX_BYTES: Final = 256 << 20
"""Bytes of all files above which the oldest half of the files is removed."""

_MAKERS: Final = (
    "cache.py", "edges.py", "fuel.py", "instrument.py", "importer.py", "markers.py",
    "segments.py", "statements.py", "../inputs/dictionary.py", "../mutants/infection.py",
    "../mutants/mutant.py", "../mutants/operators.py", "../mutants/rows.py", "../mutants/sites.py",
    "../mutants/text.py",
)  # fmt: skip
"""The files whose code determines the cached results: after a change of one, no result is valid."""

_DIGEST: Final = 32


class SourceCache:
    """A directory of cached results, one file each, which :mod:`marshal` can write."""

    def __init__(self, folder: Path | None) -> None:
        """``folder``: the directory, which is created if it is missing; None: nothing is kept."""
        self._folder = folder
        self._salt = b""
        self._swept = False

    def get(self, kind: str, key: tuple[object, ...], source: bytes, make: Callable[[], T]) -> T:
        """Return the cached result for a source, or the result of ``make``, which is then cached.

        ``kind``: distinguishes the uses of the cache. ``key``: everything but source, Python and
        fuzztui on which the result depends; its ``repr()`` must be the same in each process.
        """
        file = self._file(kind, key, source)
        if file is None:
            return make()
        found = _read(file)
        if found is not None:
            return found  # type: ignore[no-any-return]
        made = make()
        self._write(file, made)
        return made

    def _file(self, kind: str, key: tuple[object, ...], source: bytes) -> Path | None:
        if self._folder is None:
            return None
        try:
            self._salt = self._salt or _salt()
        except OSError:  # fuzztui is being upgraded, or is in an archive
            self._folder = None
            return None
        digest = hashlib.sha256(self._salt + repr((kind, key)).encode() + b"\0" + source)
        return self._folder / digest.hexdigest()

    def _write(self, file: Path, made: Any) -> None:
        with contextlib.suppress(OSError, ValueError):  # a full disk; a type that marshal rejects
            data = marshal.dumps(made)
            if not self._swept:
                self._swept = True
                file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                _sweep(file.parent)
            replace_bytes(file, hashlib.sha256(data).digest() + data)


def _read(file: Path) -> Any:
    """Return the result in a file; None if it is missing, damaged, or another user's."""
    try:
        with file.open("rb") as opened:
            if os.fstat(opened.fileno()).st_uid != os.geteuid():
                return None
            text = opened.read()
        if hashlib.sha256(text[_DIGEST:]).digest() != text[:_DIGEST]:
            return None
        return marshal.loads(text[_DIGEST:])
    except (OSError, ValueError, EOFError, TypeError):
        return None


def _salt() -> bytes:
    """What all results depend on: Python, how it compiles, and the code that makes the results."""
    here = Path(__file__).parent
    code = b"".join((here / name).read_bytes() for name in _MAKERS)
    columns = [*compile("a", "", "eval").co_positions()]  # none with PYTHONNODEBUGRANGES
    python = repr((sys.version, sys.flags.optimize, columns))
    return hashlib.sha256(python.encode() + code).digest()


def _sweep(folder: Path) -> None:
    """If the files have more than :data:`MAX_BYTES`, remove the oldest half. Raises OSError."""
    files = [
        (entry.stat().st_mtime, entry.stat().st_size, entry.path) for entry in os.scandir(folder)
    ]
    if sum(size for _, size, _ in files) <= MAX_BYTES:
        return
    for _, _, path in sorted(files)[: (len(files) + 1) // 2]:
        with contextlib.suppress(OSError):
            Path(path).unlink()


def user_cache() -> SourceCache:
    """Return the cache in the user's cache directory; without a home, one that keeps nothing."""
    with contextlib.suppress(OSError):
        return SourceCache(cache_dir() / "modules")
    return SourceCache(None)
