"""Stages: where the next input comes from.

The loop asks its stages in order; the first that has something to propose wins.
So a stage that comes earlier has priority, and one that is used up costs a call.
"""

from __future__ import annotations

import os
import random
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.directory.rescue import Rescue
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.loop.corpus import Corpus, Scheduler
from fuzztui.engines.loop.mutate import Geometric, Mutator

__all__ = ["Fresh", "Mutate", "Recover", "SeedFile", "Seeds", "Stage", "list_seeds"]


class Stage(Protocol):
    """One source of inputs."""

    def propose(self) -> Candidate | None:
        """The next input to try; None: nothing now."""


class Mutate:
    """The scheduler's pick, mutated: Algorithm 1's lines 4 and 5 in the Mu2 paper."""

    def __init__(self, corpus: Corpus, scheduler: Scheduler, mutator: Mutator) -> None:
        self._corpus, self._scheduler, self._mutator = corpus, scheduler, mutator

    def propose(self) -> Candidate | None:
        """None while the corpus is empty."""
        entry = self._scheduler.pick()
        if entry is None:
            return None
        if not entry.fuzzed:
            self._corpus.picked(entry)
        return self._mutator.mutate(entry)


class Fresh:
    """Random inputs from nothing, for as long as nothing is in the corpus.

    For a generator that is the empty sequence: every choice is then drawn again.
    """

    def __init__(self, rng: random.Random, *, choices: bool) -> None:
        self._choices = choices
        self._bytes = rng.randbytes
        self._size = Geometric(8.0, rng)

    def propose(self) -> Candidate:
        """Always something."""
        data = b"" if self._choices else self._bytes(self._size())
        return Candidate(data, "fresh")


class Recover:
    """The input that was running or being judged when the last worker died: once more."""

    def __init__(self, rescue: Rescue) -> None:
        self._rescue: Rescue | None = rescue
        self._candidate = rescue.load()

    def propose(self) -> Candidate | None:
        """That input; when its trial is over, nothing, and the rescue file goes."""
        candidate, self._candidate = self._candidate, None
        if candidate is None and self._rescue is not None:
            self._rescue.clear()
            self._rescue = None
        return candidate


class SeedFile(Protocol):
    """Something to start from: a file of the user's, or a built-in short input."""

    name: str

    def read(self, limit: int) -> bytes:
        """At most ``limit`` bytes. Raises OSError."""


class _File:
    __slots__ = ("_path", "name", "size")

    def __init__(self, path: Path, size: int) -> None:
        self._path, self.size = path, size
        self.name = path.name

    def read(self, limit: int) -> bytes:
        # Not blocking, in case that a FIFO took the file's place since it was listed.
        fd = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            return file.read(limit)


class _Builtin:
    __slots__ = ("_data", "name")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.name = "builtin"

    def read(self, limit: int) -> bytes:
        return self._data[:limit]


BUILTIN: Final[Sequence[SeedFile]] = [_Builtin(d) for d in (b"", b"0", b"a", b" ", b"\n", b"[]")]
"""What is tried first where there are no seeds."""


def list_seeds(paths: Iterable[str], limit: int, say: Callable[[str, str], None]) -> list[SeedFile]:
    """The regular files among the paths and in folders below them, in a fixed order.

    What is no file is passed over with a message; a path that does not exist raises
    :class:`CannotStart`. Files above ``limit`` bytes are cut when they are read.
    """
    files: list[SeedFile] = []
    odd: list[str] = []
    cut = 0
    for path in paths:
        if not Path(path).exists():
            raise CannotStart(f"engine.seeds: there is no file or folder {path}")
        for file in _walk(Path(path)):
            try:
                status = file.stat()
            except OSError:
                odd.append(str(file))
                continue
            if not stat.S_ISREG(status.st_mode):
                odd.append(str(file))
                continue
            cut += status.st_size > limit
            files.append(_File(file, status.st_size))
    if odd:
        words = "1 seed is no regular file"
        if len(odd) > 1:
            words = f"{len(odd)} seeds are no regular files"
        say("warning", f"{words} and left out: {', '.join(odd[:3])}")
    if cut:
        words = f"{cut} seeds are" if cut > 1 else "1 seed is"
        say(
            "warning",
            f"{words} larger than engine.max_size and cut to {limit} byte{'s' * (limit != 1)}",
        )
    return files


def _walk(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            yield Path(folder, name)


class Seeds:
    """The seeds, each once in the life of the instance."""

    def __init__(
        self,
        files: Sequence[SeedFile],
        done: int,
        limit: int,
        on_begun: Callable[[int], None],
        say: Callable[[str, str], None],
    ) -> None:
        """``done`` were tried before; ``on_begun(n)`` is told when the n-th runs."""
        self._files, self._next, self._limit = files, done, limit
        self._on_begun, self._say = on_begun, say

    def propose(self) -> Candidate | None:
        """The next seed; one that cannot be read is passed over with a message."""
        while self._next < len(self._files):
            seed = self._files[self._next]
            self._next += 1
            done = partial(self._on_begun, self._next)
            try:
                data = seed.read(self._limit)
                return Candidate(data, "seed", origin=seed.name, begun=done)
            except OSError as e:
                self._say("warning", f"seed {seed.name} cannot be read: {e.strerror or e}")
        return None
