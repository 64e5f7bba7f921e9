"""Stages: the sources of candidates.

The loop calls its stages in order and takes the first candidate. So an earlier stage has
priority, and a stage without further candidates costs one call.
"""

from __future__ import annotations

import os
import random
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.directory.rescue import Rescue
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.loop.corpus import Corpus, Steerable
from fuzztui.engines.loop.mutate import Geometric, Mutator
from fuzztui.kernel.base.files import keeps_an_id
from fuzztui.kernel.base.text import several


class Stage(Protocol):
    """One source of candidates."""

    def propose(self) -> Candidate | None:
        """The next candidate; None if this stage has none now."""


class Mutate:
    """Mutates the scheduled entry: lines 4 and 5 of Algorithm 1 in the Mu2 paper."""

    def __init__(self, corpus: Corpus, scheduler: Steerable, mutator: Mutator) -> None:
        self._corpus, self._scheduler, self._mutator = corpus, scheduler, mutator

    def propose(self) -> Candidate | None:
        """A child of the scheduled entry; None while the corpus is empty."""
        entry = self._scheduler.pick()
        if entry is None:
            return None
        if not entry.fuzzed:
            self._corpus.picked(entry)
        return self._mutator.mutate(entry)


class Fresh:
    """Makes random inputs, for use while the corpus is empty.

    The input of a generator is the empty sequence: all its choices are then drawn at random.
    """

    def __init__(self, rng: random.Random, *, choices: bool) -> None:
        self._choices = choices
        self._bytes = rng.randbytes
        self._size = Geometric(8.0, rng)

    def propose(self) -> Candidate:
        """A random candidate; never None."""
        data = b"" if self._choices else self._bytes(self._size())
        return Candidate(data, "fresh")


class Recover:
    """Proposes once the input that the last worker was running or judging when it died."""

    def __init__(self, rescue: Rescue) -> None:
        self._rescue: Rescue | None = rescue
        self._candidate = rescue.load()

    def propose(self) -> Candidate | None:
        """The input; from the second call on None, and the rescue file is removed."""
        candidate, self._candidate = self._candidate, None
        if candidate is None and self._rescue is not None:
            self._rescue.clear()
            self._rescue = None
        return candidate


@dataclass(frozen=True, slots=True)
class Seed:
    """A seed: a file of the user, or an input itself."""

    name: str
    source: Path | bytes

    def read(self, limit: int) -> bytes:
        """Read at most ``limit`` bytes. Raises OSError."""
        if isinstance(self.source, bytes):
            return self.source[:limit]
        # Non-blocking: a FIFO may have replaced the file since it was listed.
        fd = os.open(self.source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            return file.read(limit)


BUILTIN: Final = [Seed("builtin", data) for data in (b"", b"0", b"a", b" ", b"\n", b"[]")]
"""Seeds for campaigns without seeds."""


def list_seeds(paths: Iterable[str], limit: int, say: Callable[[str, str], None]) -> list[Seed]:
    """List the regular files at and below the paths, in a fixed order.

    Other files are skipped with a message to ``say(level, text)``. Files above ``limit`` bytes are
    cut when they are read. Raises :class:`CannotStart` if a path does not exist.
    """
    files: list[Seed] = []
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
            files.append(Seed(file.name, file))
    if odd:
        count = "1 seed that is not a regular file"
        if len(odd) > 1:
            count = f"{len(odd)} seeds that are not regular files"
        say("warning", f"engine.seeds: skipped {count}: {', '.join(odd[:3])}")
    if cut:
        seeds = several(cut, "seed larger", "seeds larger")
        say("warning", f"cut {seeds} than engine.max_size to {several(limit, 'byte')}")
    return files


def _walk(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders.sort()
        yield from (Path(folder, name) for name in sorted(names) if not keeps_an_id(name))


class Seeds:
    """Proposes the seeds, each once in the life of the instance."""

    def __init__(
        self,
        files: Sequence[Seed],
        done: int,
        limit: int,
        on_begun: Callable[[int], None],
        say: Callable[[str, str], None],
    ) -> None:
        """``done``: seeds tried before. ``on_begun(n)`` is called when the n-th seed starts."""
        self._files, self._next, self._limit = files, done, limit
        self._on_begun, self._say = on_begun, say

    def propose(self) -> Candidate | None:
        """The next seed, or None; a seed that cannot be read is skipped with a message."""
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
