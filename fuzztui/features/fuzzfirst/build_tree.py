"""A private copy of a source tree, in which one file at a time is replaced by a mutant's.

The user's files are only read. All mutants share the copy: a rename puts the mutated file in, and
another rename takes it out. A note on disk names the file, for the next start after a crash.
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

from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant
from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.files import read_json, read_regular
from fuzztui.kernel.base.text import visible
from fuzztui.run.campaign.rundir import SupervisorError

MAX_BYTES = 2 << 30
MAX_FILES = 200_000
MAX_SOURCE = 64 << 20
"""Maximum size of a file that is mutated, in bytes."""

_LEFT_OUT = (".git", ".hg", ".svn")


class BuildTreeError(Exception):
    """A mutant does not fit the tree, or cannot be built; the message is for users."""


class BuildTree:
    """``home/source``, a copy of ``origin``, and ``home/build``, initially empty.

    ``without``: directories that are not copied.
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
        """Remove and make both directories. Blocks.

        Stops early, with an unusable tree, once ``go_on`` returns False. Raises
        :class:`SupervisorError` if the source cannot be copied.
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
                f"target.source: cannot copy {e.filename or self.origin} to {self.source}, where "
                f"mutants are built: {e.strerror or e}"
            ) from None

    def begin(self) -> None:
        """Mark the tree as unusable until :meth:`end` is called."""
        self._dirty.touch()

    def end(self) -> None:
        """Mark the tree, and what was built in it, as usable."""
        self._dirty.unlink(missing_ok=True)

    def usable(self) -> bool:
        """Whether the tree is complete. Takes out a mutant that was left in. Raises OSError."""
        if not self.source.is_dir() or not self.build.is_dir() or self._dirty.exists():
            return False
        self.restore()
        return True

    def name_of(self, file: str) -> str:
        """Return the name in the tree of ``file``, which is relative to or below the origin.

        Raises :class:`BuildTreeError` if the tree has no such file.
        """
        try:
            inside = os.path.relpath(self.origin / file, self.origin)
            real = Path(os.path.realpath(self.source / inside))
        except ValueError:
            raise BuildTreeError(f"{visible(file)} is not a file name in target.source") from None
        base = os.path.realpath(self.source)
        if ".." in Path(inside).parts or not real.is_relative_to(base):
            raise BuildTreeError(f"{visible(file)} is outside target.source")
        if not real.is_file():
            raise BuildTreeError(f"no file {visible(file)} in target.source")
        return str(real.relative_to(base))

    def text(self, name: str) -> bytes:
        """Return the content of a file of the tree. Raises OSError."""
        return read_regular(self.source / name, MAX_SOURCE)

    @contextlib.contextmanager
    def holding(self, name: str, text: bytes) -> Iterator[None]:
        """Context manager: replace a file's content by ``text``; restore it on exit.

        The restored file has a new modification time. Raises OSError, and :class:`BuildTreeError`
        for a name that leads out of the tree.
        """
        path = self.source / name
        if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.source)):
            raise BuildTreeError(f"{visible(name)} is outside {self.source}")
        try:
            # Outside the source directory: a build may compile all files of a directory.
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
        """Restore the original file if a mutant is still in its place. Raises OSError."""
        note = read_json(self._note)
        if note is None:
            return
        if self._pristine.exists():
            path = self.source / str(note["file"])
            touch(self._pristine)
            self._pristine.replace(path)
        self._note.unlink()

    def touch(self, names: Iterable[str]) -> None:
        """Set the modification time of files to now, so that build tools take them for changed."""
        for name in names:
            with contextlib.suppress(OSError):
                touch(self.source / name)

    def _scan(self) -> list[tuple[str, os.stat_result]]:
        """Return everything to copy, each directory before its content."""
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
                            f"{MAX_FILES:,} files, too much for a private copy; set source to the "
                            "directory that is built"
                        )
        return found

    def _skipped(self, directory: Path) -> bool:
        """Whether a directory is not copied: version control, and runs (a copy into itself)."""
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
    """Return a file's text with the mutant's line; ``BuildTreeError`` if the line has changed."""
    lines = text.split(b"\n")
    at = mutant.line - 1
    line = lines[at] if 0 <= at < len(lines) else None
    end = b"\r" if line is not None and line.endswith(b"\r") else b""
    text_now = None if line is None else line.removesuffix(b"\r").decode(errors="surrogateescape")
    if text_now != mutant.before:
        raise BuildTreeError(
            f"line {mutant.line} of {visible(mutant.file)} has changed since the mutant was made"
        )
    try:
        lines[at] = mutant.after.encode(errors="surrogateescape") + end
    except UnicodeEncodeError:
        raise BuildTreeError(f"{visible(mutant.file)}: the mutant's line is not text") from None
    return b"\n".join(lines)


def touch(path: Path) -> None:
    """Set a file's time to now, more exactly than the kernel, whose clock ticks every 4 ms.

    Otherwise an object file written in the same tick would look as new as its source.
    """
    now = time.time_ns()
    os.utime(path, ns=(now, now))
