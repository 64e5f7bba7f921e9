"""Reading the directories of others: their files and names may be anything, also half-written."""

from __future__ import annotations

import os
import stat
import time
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from fuzztui.engines.directory.rescue import Unsafe
from fuzztui.kernel.base.bounds import load_object
from fuzztui.kernel.base.files import open_regular, read_if_regular
from fuzztui.machines.sync.names import SharedName, digest, is_peer, parse_shared

ABOUT: Final = ".fuzztui.json"
"""The file about the campaign in a run's directory. Other fuzzers have no such file."""

MAX_BYTES: Final = 1 << 20
"""The largest entry that AFL++ imports."""

MAX_PEERS: Final = 1000
MAX_FILES: Final = 500_000
"""Files of one peer that are looked at."""

SETTLED_S: Final = 2.0
"""Age from which a file without a hash in its name counts as written: AFL++ writes in place."""

_MAX_ABOUT: Final = 4096

MALFORMED, LARGE, UNREADABLE, DAMAGED = "malformed name", "too large", "no regular file", "damaged"
UNFINISHED: Final = "not complete yet"
UNSAFE_ENTRIES: Final = "killed a worker there"
"""Why a file is left where it is."""


@dataclass(frozen=True, slots=True)
class About:
    """What a run's entries belong to: only runs that agree can use each other's entries."""

    engine: str = ""
    target: str = ""
    constants: str = ""
    """The hash of the constants that choices select; empty if there are none."""
    host: str = ""
    run: str = ""
    """The run's tag (:func:`fuzztui.machines.sync.names.tag_of`)."""

    @property
    def _form(self) -> str:
        """The form of the engine's entries: engines of one form can run each other's entries."""
        return self.engine if self.engine in ("afl", "spoton") else ""

    def differs(self, other: About) -> str:
        """What makes the entries of ``other`` useless here; an empty string: nothing."""
        if self._form != other._form:
            return f"its engine is {other.engine}"
        if self.target != other.target:
            return f"its target is {other.target}"
        if self.constants != other.constants:
            return "its choices select other constants"
        return ""


def read_about(directory: Path) -> About | None:
    """Return the content of :data:`ABOUT`; None if missing (another fuzzer) or damaged."""
    found = load_object(read_if_regular(directory / ABOUT, _MAX_ABOUT) or b"")
    if found is None:
        return None
    fields = {name: found.get(name) for name in About.__slots__}
    return About(**{k: v[:300] for k, v in fields.items() if isinstance(v, str)})


def peers_in(directory: Path) -> list[str]:
    """Return the names of the directories that may be of runs or fuzzers. Raises OSError."""
    with os.scandir(directory) as found:
        names = sorted(e.name for e in found if is_peer(e.name) and e.is_dir(follow_symlinks=False))
    return names[:MAX_PEERS]


@dataclass(slots=True)
class PeerReader:
    """One peer: each of its files is read once, unless it could not be taken."""

    directory: Path
    skipped: Counter[str] = field(default_factory=Counter)
    """Number of files that the last call of :meth:`entries` did not take, by reason."""
    _seen: set[tuple[str, int, int]] = field(default_factory=set)
    _listed: tuple[int, list[SharedName], int] = (0, [], 0)
    """Of the last listing: the directory's modification time, the parsed names, and the number of
    files with other names."""

    def entries(self, known: Collection[str], tag: str = "") -> Iterator[tuple[bytes, str]]:
        """Yield whole entries, with their hashes, that are not ``known``, by increasing id.

        ``tag``: of a run whose entries are left out, because they are the reader's own.
        """
        self.skipped.clear()
        dangerous = Unsafe(self.directory).load()
        for name in self._names():
            if tag and name.of.startswith(f"{tag}-"):
                continue
            if name.id in dangerous:
                self.skipped[UNSAFE_ENTRIES] += 1
            elif name.sum not in known:
                entry = self._read(name)
                if entry is not None and entry[1] not in known:
                    yield entry

    def unsafe(self) -> list[SharedName]:
        """The entries that killed a worker there."""
        dangerous = Unsafe(self.directory).load()
        return [name for name in self._names() if name.id in dangerous] if dangerous else []

    def sums(self) -> set[str]:
        """The hashes in the names of all files, also of those whose content was dropped."""
        return {name.sum for name in self._names() if name.sum}

    def _names(self) -> list[SharedName]:
        queue = self.directory / "queue"
        names: list[SharedName] = []
        odd = 0
        try:
            changed = queue.stat().st_mtime_ns
            if changed == self._listed[0]:
                _, names, odd = self._listed
            else:
                with os.scandir(queue) as found:
                    for entry in islice(found, MAX_FILES):
                        if (name := parse_shared(entry.name)) is not None:
                            names.append(name)
                        elif not entry.name.startswith("."):
                            odd += 1
                names.sort(key=lambda name: (name.id, name.name))
                # A file that comes within the same tick of the clock would not change the time.
                settled = abs(time.time() - changed / 1e9) > SETTLED_S
                self._listed = (changed if settled else 0, names, odd)
        except OSError:  # no queue, or it is gone
            return []
        if odd:
            self.skipped[MALFORMED] = odd
        return names

    def _read(self, name: SharedName) -> tuple[bytes, str] | None:
        path = self.directory / "queue" / name.name
        try:
            before = path.lstat()
        except OSError:
            return None
        key = (name.name, before.st_size, before.st_mtime_ns)
        if key in self._seen:
            return None
        regular = stat.S_ISREG(before.st_mode)
        if not regular or before.st_size > MAX_BYTES:
            self._seen.add(key)
            self.skipped[LARGE if regular else UNREADABLE] += 1
            return None
        if before.st_size == 0:
            return None  # a placeholder, so that ids have no gaps
        data = _whole(path, before)
        if data is None:
            self.skipped[UNFINISHED] += 1
            return None
        content = digest(data)
        if name.sum and name.sum != content:
            self.skipped[DAMAGED] += 1  # looked at again: it may still be written
            return None
        # An mtime may be in the future: the server's clock is another one.
        if not name.sum and abs(time.time() - before.st_mtime) < SETTLED_S:
            self.skipped[UNFINISHED] += 1
            return None
        self._seen.add(key)
        return data, content


def _whole(path: Path, before: os.stat_result) -> bytes | None:
    """The content; None if the file changes, or cannot be read."""
    try:
        fd = open_regular(path)
    except OSError:
        return None
    with os.fdopen(fd, "rb") as file:
        try:
            data = file.read(MAX_BYTES + 1)
            after = os.fstat(fd)
        except OSError:
            return None
    same = (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    return data if same and len(data) == after.st_size else None
