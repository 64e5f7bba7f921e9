"""A private copy of a source tree, in which one file at a time is a mutant's.

The user's files are only read. The copy is used again and again: a mutated file is swapped in by
a rename and swapped back by another, and a note on disk tells whoever comes after a crash.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from fuzztui.base.files import read_json, read_regular, replace_text
from fuzztui.base.text import visible
from fuzztui.campaign.rundir import SupervisorError
from fuzztui.fuzzfirst.source_mutants.text import SourceMutant

__all__ = ["BuildTree", "BuildTreeError", "mutated"]

MAX_BYTES = 2 << 30
MAX_FILES = 200_000
MAX_SOURCE = 64 << 20
"""Bytes of one file that is mutated."""

_LEFT_OUT = (".git", ".hg", ".svn")


class BuildTreeError(Exception):
    """A mutant does not fit to the tree; says why, for users."""


class BuildTree:
    """``home/source``, a copy of ``origin``, and ``home/build``, an empty directory at first.

    ``without``: directories that are not copied, wherever they are.
    """

    def __init__(self, home: Path, origin: Path, without: Iterable[Path] = ()) -> None:
        self.home = home
        self.source = home / "source"
        self.build = home / "build"
        self.origin = origin
        self._without = {os.path.realpath(path) for path in without}
        self._note = home / "swapped.json"
        self._pristine = home / "pristine"
        self._fresh = home / "mutated"
        self._dirty = home / "unfinished"

    def make(self, go_on: Callable[[], bool] = lambda: True) -> None:
        """Make both again. Blocks; ends early, and unusable, where ``go_on`` says no.

        Raises :class:`SupervisorError` for a tree that cannot be copied.
        """
        try:
            if os.path.lexists(self.home):
                shutil.rmtree(self.home)
            self.home.mkdir(mode=0o700, parents=True)
            self.begin()
            found = self._scan()
            for name, status in found:
                if not go_on():
                    return
                self._copy(name, status)
            self.build.mkdir(mode=0o700)
            self.end()
        except OSError as e:
            raise SupervisorError(
                f"target.source: {e.filename or self.origin} cannot be copied to {self.source}, "
                f"where mutants are built: {e.strerror or e}"
            ) from None

    def begin(self) -> None:
        """Note that something is done here that must not be left half done."""
        self._dirty.touch()

    def end(self) -> None:
        """It was done: the tree and what was built in it can be used again."""
        self._dirty.unlink(missing_ok=True)

    def usable(self) -> bool:
        """Whether the tree is whole, with nothing half done; a mutant that was left is taken out.

        Raises OSError.
        """
        if not self.source.is_dir() or not self.build.is_dir() or self._dirty.exists():
            return False
        self.restore()
        return True

    def name_of(self, file: str) -> str:
        """What ``file`` (relative to, or inside of, the origin) is called in the tree.

        Raises :class:`BuildTreeError` if the tree has no such file.
        """
        try:
            inside = os.path.relpath(self.origin / file, self.origin)
            real = Path(os.path.realpath(self.source / inside))
        except ValueError:
            raise BuildTreeError(f"{visible(file)} is no name of a file in target.source") from None
        base = os.path.realpath(self.source)
        if ".." in Path(inside).parts or not real.is_relative_to(base):
            raise BuildTreeError(f"{visible(file)} is outside of target.source")
        if not real.is_file():
            raise BuildTreeError(f"there is no file {visible(file)} in target.source")
        return str(real.relative_to(base))

    def text(self, name: str) -> bytes:
        """A file as it was copied. Raises OSError."""
        return read_regular(self.source / name, MAX_SOURCE)

    @contextlib.contextmanager
    def holding(self, name: str, text: bytes) -> Iterator[None]:
        """The tree with ``text`` in one of its files. Raises OSError.

        Whatever happens inside, the file is as it was afterwards, though newer.
        """
        path = self.source / name
        try:
            # Prepared beside the tree: a build may take all files of a directory.
            shutil.copy2(path, self._pristine)
            self._fresh.write_bytes(text)
            self._fresh.chmod(stat.S_IMODE(path.stat().st_mode))
            replace_text(self._note, json.dumps({"file": name}))
            touch(self._fresh)
            self._fresh.replace(path)
            yield
        finally:
            self.restore()

    def restore(self) -> None:
        """Take a mutant out that is still in. Raises OSError."""
        note = read_json(self._note)
        if note is None:
            return
        if self._pristine.exists():
            path = self.source / str(note["file"])
            touch(self._pristine)
            self._pristine.replace(path)
        self._note.unlink()

    def touch(self, names: Iterable[str]) -> None:
        """Let files look changed to whoever goes by their time."""
        for name in names:
            with contextlib.suppress(OSError):
                touch(self.source / name)

    def _scan(self) -> list[tuple[str, os.stat_result]]:
        """What is to be copied, directories before what is in them."""
        found: list[tuple[str, os.stat_result]] = []
        size = 0
        todo = [""]
        while todo:
            inside = todo.pop()
            with os.scandir(self.origin / inside) as entries:
                for entry in sorted(entries, key=lambda e: e.name):
                    status = entry.stat(follow_symlinks=False)
                    name = os.path.join(inside, entry.name)  # noqa: PTH118 - many, and fast
                    if stat.S_ISDIR(status.st_mode):
                        if self._skipped(Path(entry.path)):
                            continue
                        todo.append(name)
                    elif stat.S_ISREG(status.st_mode):
                        size += status.st_size
                    elif not stat.S_ISLNK(status.st_mode):
                        continue
                    if entry.name in _LEFT_OUT:
                        continue
                    found.append((name, status))
                    if size > MAX_BYTES or len(found) > MAX_FILES:
                        raise SupervisorError(
                            f"target.source: {self.origin} has more than {MAX_BYTES >> 30} GiB or "
                            f"{MAX_FILES:,} files, too much for a private copy to mutate: let "
                            "source be the directory of what is built"
                        )
        return found

    def _skipped(self, directory: Path) -> bool:
        """Version control's, and runs: this one would be copied into itself."""
        return (
            directory.name in _LEFT_OUT
            or os.path.realpath(directory) in self._without
            or all((directory / part).exists() for part in ("campaign.toml", "supervisor", "log"))
        )

    def _copy(self, name: str, status: os.stat_result) -> None:
        source, target = self.origin / name, self.source / name
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if stat.S_ISDIR(status.st_mode):
            target.mkdir(exist_ok=True)
            target.chmod(stat.S_IMODE(status.st_mode) | 0o700)
        elif stat.S_ISLNK(status.st_mode):
            to = source.readlink()
            if to.is_absolute() and to.is_relative_to(self.origin):
                to = self.source / to.relative_to(self.origin)
            target.symlink_to(to)
        else:
            shutil.copy2(source, target, follow_symlinks=False)


def mutated(text: bytes, mutant: SourceMutant) -> bytes:
    """A file's text with the mutant's line in it. Raises ``BuildTreeError`` where it has none."""
    lines = text.split(b"\n")
    at = mutant.line - 1
    line = lines[at] if 0 <= at < len(lines) else None
    end = b"\r" if line is not None and line.endswith(b"\r") else b""
    text_now = None if line is None else line.removesuffix(b"\r").decode(errors="surrogateescape")
    if text_now != mutant.before:
        raise BuildTreeError(
            f"line {mutant.line} of {visible(mutant.file)} is not the one that was mutated: "
            "the file was changed since"
        )
    try:
        lines[at] = mutant.after.encode(errors="surrogateescape") + end
    except UnicodeEncodeError:
        raise BuildTreeError(f"{visible(mutant.file)}: the mutant's line is no text") from None
    return b"\n".join(lines)


def touch(path: Path) -> None:
    """Set a file's time to now: to more than the kernel's clock says, which ticks every 4 ms.

    An object that was written in the same tick would else look as new as its source.
    """
    now = time.time_ns()
    os.utime(path, ns=(now, now))
