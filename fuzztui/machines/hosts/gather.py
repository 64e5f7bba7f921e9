"""Collect the files that a host needs: source trees, single files; with a limit.

No links are shipped: what a link leads to is a file or a directory of its own on the host.
"""

from __future__ import annotations

import functools
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fuzztui.features.jobs.tls import CA, KEY
from fuzztui.kernel.base.text import visible
from fuzztui.machines.hosts.ssh import HostError

SHIPPED: Final = "shipped"
"""The directory in the host's run that has the files."""

MAX_BYTES: Final = 500 << 20
MAX_FILES: Final = 50_000
"""Limits of everything that is shipped to one host."""

_ENOUGH: Final = 4
"""Multiple of the limits at which counting stops: until then, the largest parts become known."""

_HASH_BYTES: Final = 16
_PIECE: Final = 1 << 20
_SHOWN: Final = 5

_MADE: Final = ("node_modules", "venv", "site-packages")
"""Directories that are never shipped, next to hidden ones and __pycache__."""

_BUILT: Final = ("build", "dist", "runs", "target")
"""Directories that are not shipped unless they are packages of Python."""

_RUN: Final = ("supervisor", "log", "out")


@dataclass(frozen=True, slots=True)
class ShippedFile:
    """One file: its path below ``RUN/shipped``; ``source``: where its content is at the hub."""

    path: str
    size: int
    hash: str
    mode: int
    source: Path = Path()


@dataclass(frozen=True, slots=True)
class ShippedPart:
    """One path of the campaign file, with the number and bytes of its shipped files."""

    source: Path
    files: int
    size: int


@dataclass(slots=True)
class Parcel:
    """The files for one host, and where each will be. Raises :class:`HostError` at the limits."""

    files: dict[str, Path] = field(default_factory=dict)
    """What is shipped, by its path below ``shipped``."""
    directories: set[str] = field(default_factory=set)
    """Directories that must exist even if they are empty."""
    parts: list[ShippedPart] = field(default_factory=list)
    _trees: dict[Path, str] = field(default_factory=dict)
    _folders: set[str] = field(default_factory=set)
    """Directories of the trees, by their paths below ``shipped``."""
    _sizes: dict[Path, int] = field(default_factory=dict)
    """Bytes by file or directory directly in a tree, for a message that names the largest."""
    _total: int = 0

    def add_trees(self, roots: Iterable[Path]) -> None:
        """Ship source trees, without built files; a tree in another one is shipped once."""
        for root in sorted(set(roots)):
            if not self.place_of(root):
                self.add_tree(root, f"tree{len(self._trees)}-{_plain(root.name)}", source=True)

    def add_tree(self, root: Path, name: str, *, source: bool = False) -> str:
        """Ship a directory as ``name``, which is returned. ``source``: without built files."""
        self._trees[root] = name
        self.directories.add(name)
        count = size = 0
        for path, relative, length in _walk(root, source=source):
            place = f"{name}/{relative}"
            self.files[place] = path
            folder = place.rpartition("/")[0]
            while folder and folder not in self._folders:
                self._folders.add(folder)
                folder = folder.rpartition("/")[0]
            count, size = count + 1, size + length
            self._count(root / relative.partition("/")[0], length)
        self.parts.append(ShippedPart(root, count, size))
        return name

    def stand_in(self, directory: Path, name: str) -> None:
        """Make an empty directory ``name`` in place of one that is not shipped."""
        self._trees[directory] = name
        self.directories.add(name)

    def add_file(self, path: Path, name: str) -> str:
        """Ship one file as ``name``."""
        size = path.stat().st_size
        self.files[name] = path
        self.parts.append(ShippedPart(path, 1, size))
        self._count(path, size)
        return name

    def place_of(self, path: Path) -> str:
        """Return where a path of this machine is below ``shipped``; "" if it is not shipped."""
        if path in self._trees:
            return self._trees[path]
        for root, name in self._trees.items():
            if path.is_relative_to(root):
                place = f"{name}/{path.relative_to(root).as_posix()}"
                if place in self.files or place in self._folders:
                    return place
        return ""

    def at(self, path: Path) -> str:
        """Return where a path is below ``shipped``; ship it by itself if no tree contains it."""
        if place := self.place_of(path):
            return place
        name = f"file{len(self.parts)}-{_plain(path.name)}"
        return self.add_tree(path, name) if path.is_dir() else self.add_file(path, name)

    def finished(self) -> tuple[ShippedFile, ...]:
        """Return the files with their hashes. Raises :class:`HostError`."""
        self._refuse_too_much(1)
        return tuple(_shipped(path, source) for path, source in sorted(self.files.items()))

    def _count(self, path: Path, size: int) -> None:
        self._sizes[path] = self._sizes.get(path, 0) + size
        self._total += size
        self._refuse_too_much(_ENOUGH)

    def _refuse_too_much(self, times: int) -> None:
        total, count = self._total, len(self.files)
        if total <= times * MAX_BYTES and count <= times * MAX_FILES:
            return
        largest = sorted(self._sizes.items(), key=lambda row: -row[1])[:_SHOWN]
        named = ", ".join(f"{visible(str(path))} ({size >> 20} MB)" for path, size in largest)
        more = "more than " if times > 1 else ""
        raise HostError(
            f"the campaign would ship {more}{count:,} files, {total >> 20} MB; the limit is "
            f"{MAX_FILES:,} files, {MAX_BYTES >> 20} MB. Largest: {named}",
            "let target.path and target.cwd name smaller directories, or move these elsewhere",
        )


def _plain(name: str) -> str:
    """Return a name without characters that a shell or a message could take otherwise."""
    kept = "".join(ch if ch.isascii() and (ch.isalnum() or ch in "._-") else "_" for ch in name)
    return kept[:80].lstrip(".") or "x"


def _walk(root: Path, *, source: bool) -> Iterator[tuple[Path, str, int]]:
    """Yield each regular file with its path in ``root`` and its size.

    Links are followed, but not to a directory above.
    """
    above: dict[str, frozenset[str]] = {str(root): frozenset()}
    for where, directories, names in os.walk(root, followlinks=True):
        real = os.path.realpath(where)
        if real in above[where]:
            directories.clear()
            continue
        directories[:] = sorted(d for d in directories if not _skipped(where, d, source=source))
        for name in directories:
            above[os.path.join(where, name)] = above[where] | {real}  # noqa: PTH118 - as os.walk
        inside = os.path.relpath(where, root)
        for name in sorted(names):
            if source and name.startswith("."):
                continue
            path = Path(where, name)
            try:
                status = path.stat()
            except OSError:
                continue  # a link to nothing
            # What cannot be read here is of no use to the target here either.
            if stat.S_ISREG(status.st_mode) and os.access(path, os.R_OK):
                yield path, name if inside == "." else f"{inside}/{name}", status.st_size


def _skipped(where: str, name: str, *, source: bool) -> bool:
    if name in ("__pycache__", ".git", ".hg", ".svn"):
        return True
    if all(Path(where, name, part).exists() for part in (CA, KEY)):  # of a cluster: a secret
        return True
    if not source:
        return False
    path = Path(where, name)
    if name.startswith(".") or name in _MADE or name.endswith(".egg-info"):
        return True
    if (path / "CACHEDIR.TAG").exists() or (path / "pyvenv.cfg").exists():
        return True
    if all((path / part).is_dir() for part in _RUN):  # a run of fuzztui
        return True
    return name in _BUILT and not (path / "__init__.py").exists()


def _shipped(path: str, source: Path) -> ShippedFile:
    try:
        status = source.stat()
        digest = _hash(source, status.st_size, status.st_mtime_ns)
    except OSError as e:
        raise HostError(
            f"{source} cannot be read: {e.strerror or e}", "make the file readable, or move it away"
        ) from None
    mode = 0o755 if status.st_mode & 0o100 else 0o644
    return ShippedFile(path, status.st_size, digest, mode, source)


@functools.lru_cache(maxsize=2 * MAX_FILES)
def _hash(source: Path, size: int, mtime: int) -> str:
    """The hash of a file's content, once for all hosts."""
    with source.open("rb") as file:
        return digest_of(iter(lambda: file.read(_PIECE), b""))


def digest_of(parts: Iterable[bytes]) -> str:
    """Return the hash by which contents are compared."""
    digest = hashlib.blake2b(digest_size=_HASH_BYTES)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
