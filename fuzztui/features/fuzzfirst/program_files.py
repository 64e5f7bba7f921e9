"""Find the files that a built program needs at run time, and copy both to a separate directory."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
import struct
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

MAX_BYTES = 64 << 20
MAX_FILES = 2000

_LOAD, _DYNAMIC = 1, 2
_STRTAB, _RUN_PATHS = 5, (15, 29)
_MAX_DYNAMIC = 1 << 16
_MAX_RUN_PATH = 1 << 16

_SHARED = re.compile(r".+\.so(\.[0-9.]+)?")
_NOT_AT_RUN_TIME = frozenset(
    {".o", ".a", ".d", ".lo", ".la", ".obj", ".gch", ".pch", ".gcno", ".dwo", ".cmake", ".ninja"}
    | {".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".s", ".S", ".log", ".make"}
)
_NOT_NAMES = frozenset(
    {"CMakeFiles", "CMakeCache.txt", "Makefile", "compile_commands.json", "config.status"}
    | {".ninja_deps", ".ninja_log", ".deps"}
)


def shared_objects(directory: Path) -> list[Path]:
    """Return the shared objects below ``directory``, sorted. Raises OSError."""
    return [path for path, _ in _files(directory) if _SHARED.fullmatch(path.name)]


def digest_of(files: Iterable[Path]) -> str:
    """Return one digest of several files, in this order. Raises OSError."""
    total = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()[:32]


def companions(build: Path, without: Collection[Path]) -> list[Path]:
    """Return files of a build that programs may open at run time: libraries and data.

    Of a large build, only the shared objects. Raises OSError.
    """
    found = [(path, size) for path, size in _files(build) if path not in without]
    if sum(size for _, size in found) > MAX_BYTES or len(found) > MAX_FILES:
        found = [(path, size) for path, size in found if _SHARED.fullmatch(path.name)]
    return [path for path, _ in found]


def settle(program: Path, name: Path, home: Path, beside: list[Path], into: Path) -> None:
    """Copy a program to ``into / name``, and the files ``beside``, which are below ``home``.

    Copies, not links: a mutant may write to its files. Raises OSError.
    """
    for path, inside in [(program, name), *((path, path.relative_to(home)) for path in beside)]:
        target = into / inside
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copy2(path, target, follow_symlinks=False)
        if path is program or _SHARED.fullmatch(path.name):
            _look_here(target, home, len(inside.parent.parts))


def _files(directory: Path) -> Iterator[tuple[Path, int]]:
    for where, directories, names in os.walk(directory):
        directories[:] = sorted(set(directories) - _NOT_NAMES)
        for name in sorted(names):
            path = Path(where) / name
            if name in _NOT_NAMES or path.suffix in _NOT_AT_RUN_TIME:
                continue
            status = path.lstat()
            if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
                yield path, status.st_size


def _look_here(path: Path, home: Path, depth: int) -> None:
    """Let a program load its copied libraries, not those in the tree of the next mutant.

    Replaces ``home`` in its run path by ``$ORIGIN``, padded with slashes to the same length.
    """
    if path.is_symlink():
        return
    with path.open("r+b") as file, contextlib.suppress(struct.error):
        for at in _run_paths(file):
            file.seek(at)
            text = file.read(_MAX_RUN_PATH).partition(b"\0")[0]
            parts = text.split(b":")
            old, new = os.fsencode(home), b"$ORIGIN" + b"/.." * depth
            if len(new) > len(old):
                continue
            new = new.ljust(len(old), b"/")
            moved = [
                new + part[len(old) :] if part == old or part.startswith(old + b"/") else part
                for part in parts
            ]
            file.seek(at)
            file.write(b":".join(moved))


def _run_paths(file: BinaryIO) -> list[int]:
    """Return the offsets of DT_RPATH and DT_RUNPATH in a 64-bit ELF file; [] for other files.

    Raises struct.error for a truncated file.
    """
    end = file.seek(0, os.SEEK_END)

    def at(form: str, offset: int) -> tuple[int, ...]:
        file.seek(min(offset, end))
        return struct.unpack(form, file.read(struct.calcsize(form)))

    file.seek(0)
    if file.read(6) != b"\x7fELF\x02\x01":
        return []
    (table,), (size, count) = at("<Q", 32), at("<HH", 54)
    heads = [at("<IIQQQQ", table + i * size) for i in range(count)]
    found: list[int] = []
    strings = 0
    for kind, _, offset, _, _, length in heads:
        if kind != _DYNAMIC:
            continue
        for place in range(offset, offset + min(length, _MAX_DYNAMIC), 16):
            tag, value = at("<QQ", place)
            if tag == _STRTAB:
                strings = value
            elif tag in _RUN_PATHS:
                found.append(value)
    loads = [(offset, address, length) for kind, _, offset, address, _, length in heads
             if kind == _LOAD]  # fmt: skip
    places = (
        strings - address + offset + value
        for value in found
        for offset, address, length in loads
        if address <= strings < address + length
    )
    return [place for place in places if place < end]
