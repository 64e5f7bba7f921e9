"""Parsing what the queues get, in a process of its own: it keeps the pool of fragments fresh.

``python -P -m fuzztui.supervise.text.harvest RUN LANGUAGE [TEMPLATE...]`` looks into
``RUN/out/*/queue`` once a second, parses each new entry once, and writes the pool file
(:mod:`fuzztui.engines.text.poolfile`) when there is something new. It has the lowest claim to the
processor, prints JSON lines (``{"figures"}``, ``{"problem"}``) and ends with its parent.

A grammar is foreign code that meets hostile text: an entry that kills it, or that it does not
come to an end with, is written down before and left out by the next process.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import re
import resource
import signal
import stat
import struct
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from fuzztui.engines.core.regular import read_regular
from fuzztui.engines.text import poolfile
from fuzztui.engines.text.fragments import Fragments, key_of
from fuzztui.engines.text.syntax import MOST_INPUT, Syntax, SyntaxUnavailable
from fuzztui.supervise.files import replace_text
from fuzztui.supervise.rundir import RunDir
from fuzztui.supervise.scan import Listing

__all__ = ["CANNOT", "Harvest", "Journal"]

CANNOT: Final = 3
"""Exit status where another try would not help."""

EVERY_S: Final = 1.0
WRITE_S: Final = 2.0
CATCH_UP_S: Final = 30.0
"""After the start, entries that are there may be parsed for so long before it is written."""
WRITE_SHARE: Final = 0.05
"""The part of one core that writing the pool may cost."""

AT_ONCE: Final = 200
"""Entries of one queue between two looks at all of them."""
AGAIN: Final = 1000
"""Known files of a queue that are looked at again each time: AFL++ trims entries in place."""

PARSE_S: Final = 10.0
"""Of the processor's time, for one entry of at most 256 KiB."""
MEMORY: Final = 2 << 30
NICE: Final = 10
MATCHLESS: Final = 200
"""Entries without a match, after which a template is told of."""

_MOST_DEATHS: Final = 10_000
_KEY: Final = struct.Struct("<Q")
_DEATHS: Final = re.compile(rb"^([0-9a-f]{16}) ([1-9])$", re.MULTILINE)


class Journal:
    """Which entry is being parsed, and which ones this has not survived, by their keys.

    One that was under way twice when the process died is refused; once may be chance, as when the
    campaign is ended.
    """

    def __init__(self, directory: Path) -> None:
        """Raises OSError."""
        self._file = directory / "harvest.died"
        text = read_regular(self._file, 19 * _MOST_DEATHS) or b""
        self._deaths = {int(key, 16): int(n) for key, n in _DEATHS.findall(text)}
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(directory / "harvest.parsing", flags, 0o600)
        try:
            os.ftruncate(fd, _KEY.size)
            self._now = mmap.mmap(fd, _KEY.size)
        finally:
            os.close(fd)
        if killer := _KEY.unpack_from(self._now)[0]:
            self._deaths[killer] = min(9, self._deaths.get(killer, 0) + 1)
            lines = [f"{key:016x} {n}\n" for key, n in self._deaths.items()]
            with contextlib.suppress(OSError):
                replace_text(self._file, "".join(lines[-_MOST_DEATHS:]))
            _KEY.pack_into(self._now, 0, 0)

    @property
    def refused(self) -> set[int]:
        """Not to be parsed any more."""
        return {key for key, n in self._deaths.items() if n > 1}

    @contextlib.contextmanager
    def parsing(self, key: int) -> Iterator[None]:
        """It is done in here, and SIGPROF kills us if that takes too long."""
        _KEY.pack_into(self._now, 0, key)
        signal.setitimer(signal.ITIMER_PROF, PARSE_S)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            _KEY.pack_into(self._now, 0, 0)


class _Queue:
    """One queue directory: its entries, each told once and again when its file is another one."""

    def __init__(self, path: Path) -> None:
        self._files: dict[str, tuple[int, int]] = {}
        self._known = set[str]()
        self._listing = Listing(path, self._known)
        self._path = path
        self._names: list[str] = []

    @property
    def behind(self) -> bool:
        return self._listing.behind

    def entries(self) -> Iterator[bytes]:
        self._listing.check()
        for find in self._listing.look(AT_ONCE):
            yield from self._entry(find.name)
        if not self._names:
            self._names = list(self._files)
        for name in self._names[-AGAIN:]:
            yield from self._entry(name)
        del self._names[-AGAIN:]

    def _entry(self, name: str) -> Iterator[bytes]:
        path = self._path / name
        try:
            status = path.lstat()
        except OSError:
            return  # trimming unlinks and makes it again
        seen = status.st_mtime_ns, status.st_size
        if self._files.get(name) == seen:
            return
        self._files[name] = seen
        if not stat.S_ISREG(status.st_mode):
            return
        if status.st_size <= MOST_INPUT and (data := read_regular(path, MOST_INPUT + 1)):
            yield data


class Harvest:
    """The pool of one run."""

    def __init__(
        self,
        home: RunDir,
        syntax: Syntax,
        say: Callable[[str, object], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Makes the pool anew, as language and templates may be others now. Raises OSError."""
        self._home, self._syntax, self._say, self._monotonic = home, syntax, say, monotonic
        self._journal = Journal(home.supervisor)
        self._refused = self._journal.refused
        self._queues: dict[str, _Queue] = {}
        self.fragments = Fragments()
        self._done = set[int]()
        self._parsed = 0
        self._written = False
        self._dirty = False
        self._write_at = monotonic() + CATCH_UP_S
        """The pool of before is better than the beginning of this one."""
        for template, why in syntax.problems.items():
            say("problem", f"text.templates: {template!r} is left out: {why}")
        if n := len(self._refused):
            say("problem", f"entries that the parser did not survive are left out: {n}")

    def look(self) -> bool:
        """Parse what is new, and write the pool if it is time to. True: there is more to do now."""
        with contextlib.suppress(OSError):
            names = os.listdir(self._home.out)  # noqa: PTH208 - names only
            for name in names:
                path = self._home.out / name / "queue"
                if not name.startswith(".") and name not in self._queues and path.is_dir():
                    self._queues[name] = _Queue(path)
        for queue in self._queues.values():
            for data in queue.entries():
                self.take(data)
            self._write()
        behind = any(queue.behind for queue in self._queues.values())
        if not behind and not self._written:
            self._write_at = 0.0
            self._write()
        return behind

    def take(self, data: bytes) -> None:
        """An entry, parsed if its content is new."""
        key = key_of(data)
        if key in self._done or key in self._refused:
            return
        self._done.add(key)
        with self._journal.parsing(key):
            spans = self._syntax.spans(data)
        self._parsed += 1
        if spans:
            self.fragments.add(data, spans)
            self._dirty = True
        if self._parsed == MATCHLESS:
            for template, n in self._syntax.matches.items():
                if not n:
                    words = f"matches nothing in {MATCHLESS} entries"
                    self._say("problem", f"text.templates: {template!r} {words}")

    def _write(self) -> None:
        begun = self._monotonic()
        lost = self._written and not self._home.pool.exists()
        if not (self._dirty or lost) or begun < self._write_at:
            return
        pool = self.fragments.pool
        try:
            size = poolfile.write(self._home.pool, pool)
        except OSError as e:  # a full disk
            self._write_at = begun + CATCH_UP_S
            self._say("problem", f"{self._home.pool} cannot be written: {e.strerror or e}")
            return
        self._written = True
        took = self._monotonic() - begun
        self._write_at = begun + max(WRITE_S, took / WRITE_SHARE)
        self._dirty = False
        self._say(
            "figures",
            {
                "entries": len(pool.entries),
                "kinds": sum(map(bool, pool.fragments.values())),
                "fragments": len(self.fragments),
                "bytes": size,
            },
        )


def main(arguments: Sequence[str]) -> int:
    """Runs until its parent is gone, or the run is."""
    parent = os.getppid()
    home = RunDir(Path(arguments[0]))
    with contextlib.suppress(OSError, ValueError):
        os.nice(NICE)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)

    def say(word: str, value: object) -> None:
        print(json.dumps({word: value}), flush=True)

    try:
        harvest = Harvest(home, Syntax(arguments[1], arguments[2:]), say)
    except SyntaxUnavailable as e:
        say("problem", f"text.language: {e}")
        return CANNOT
    while os.getppid() == parent and home.out.is_dir():
        if not harvest.look():
            time.sleep(EVERY_S)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
