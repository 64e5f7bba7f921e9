"""Parse new entries in a helper process and keep the fragment pool up to date.

``python -P -m fuzztui.features.mutators.fragments RUN LANGUAGE RULES [TEMPLATE...]`` reads the
queues once a second: of the target (``RUN/out/*/queue``) and of the mutants' turns in progress. It
parses each new content once, and writes the pool file (:mod:`fuzztui.engines.text.poolfile`) when
there are new fragments. LANGUAGE is empty if nothing is parsed; RULES is 1 if there are built-in
rules, else 0. The process runs at low
priority, prints JSON lines (``{"figures"}``, ``{"problem"}``) and exits with its parent.

All turns share one pool: a turn starts with entries of earlier turns, which are mostly parsed.

A grammar is third-party code that parses hostile text. An entry that kills the parser, or that it
does not finish, is recorded in the death journal and left out by the next process.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from fuzztui.engines.text import poolfile
from fuzztui.engines.text.fragments import Fragments, key_of
from fuzztui.engines.text.syntax import MAX_INPUT, Syntax, SyntaxUnavailable
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.observe.queues import Queues
from fuzztui.run.process.helper import CANNOT, DeathJournal, begin, say

EVERY_S: Final = 1.0
WRITE_S: Final = 2.0
CATCH_UP_S: Final = 30.0
"""Seconds after the start in which existing entries are parsed before the pool is written."""
WRITE_SHARE: Final = 0.05
"""The part of one core that writing the pool may cost."""

AT_ONCE: Final = 200
"""Most entries of one queue in one pass over all queues."""

PARSE_S: Final = 10.0
"""Seconds of CPU time for one entry (at most 256 KiB)."""
MEMORY: Final = 2 << 30
"""Bytes of address space of the process."""
NICE: Final = 10
MATCHLESS: Final = 200
"""Parsed entries without a match after which a template is reported."""


class FragmentCollector:
    """The pool of one run."""

    def __init__(
        self,
        run_dir: RunDir,
        syntax: Syntax,
        say: Callable[[str, object], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start a new pool, because language and templates may have changed. Raises OSError."""
        self._run_dir, self._syntax, self._say, self._monotonic = run_dir, syntax, say, monotonic
        self._journal = DeathJournal(run_dir.supervisor, "harvest", PARSE_S)
        self._rejected = self._journal.rejected
        self._queues: dict[str, Queues] = {}
        """Queues of the target (key "") and of each turn in progress, by turn id."""
        self.fragments = Fragments()
        self._barren = set[int]()
        """Keys of contents without fragments."""
        self._parsed = 0
        self._written = False
        self._dirty = False
        self._write_at = monotonic() + CATCH_UP_S
        """Until then the old pool is better than the beginning of the new one."""
        if syntax.missing:
            say("problem", f"text.language: {syntax.missing}")
        for problem in syntax.news():
            say("problem", problem)
        if n := len(self._rejected):
            say("problem", f"entries that crashed the parser are skipped: {n}")

    def look(self) -> bool:
        """Parse new entries, write the pool if that is due. Returns whether more entries wait."""
        self._queues = {
            run_dir.slot: self._queues.get(run_dir.slot) or Queues(run_dir.out, MAX_INPUT)
            for run_dir in (self._run_dir, *self._run_dir.turns())
        }
        for slot, queues in self._queues.items():
            for queue in queues.look():
                for found in queue.entries(AT_ONCE):
                    self.take(found.data, passing=bool(slot))
                self._write()
        behind = any(queues.behind for queues in self._queues.values())
        if not behind and not self._written:
            self._write_at = 0.0
            self._write()
        return behind

    def take(self, data: bytes, *, passing: bool = False) -> None:
        """Parse an entry if its content is new. ``passing``: it is of a mutant's turn."""
        key = key_of(data)
        if key in self._barren or key in self._rejected:
            return
        if key in self.fragments:
            self.fragments.keep(key, passing=passing)
            return
        with self._journal.at(key):
            spans = self._syntax.spans(data)
        for problem in self._syntax.news():
            self._say("problem", problem)
        self._parsed += 1
        if spans:
            self.fragments.add(data, spans, passing=passing)
            self._dirty = True
        else:
            self._barren.add(key)
        if self._parsed == MATCHLESS:
            for template, n in self._syntax.matches.items():
                if not n:
                    what = f"matches nothing in {MATCHLESS} entries"
                    self._say("problem", f"text.templates: {template!r} {what}")

    def _write(self) -> None:
        started = self._monotonic()
        lost = self._written and not self._run_dir.pool.exists()
        if not (self._dirty or lost) or started < self._write_at:
            return
        pool = self.fragments.pool
        try:
            size = poolfile.write(self._run_dir.pool, pool)
        except OSError as e:  # a full disk
            self._write_at = started + CATCH_UP_S
            self._say("problem", f"{self._run_dir.pool} cannot be written: {e.strerror or e}")
            return
        self._written = True
        took = self._monotonic() - started
        self._write_at = started + max(WRITE_S, took / WRITE_SHARE)
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
    """Run until the parent process or the run directory is gone. Returns the exit status."""
    parent = os.getppid()
    run_dir = RunDir(Path(arguments[0]))
    begin(NICE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        syntax = Syntax(arguments[1], arguments[3:], rules=arguments[2] == "1")
        collector = FragmentCollector(run_dir, syntax, say)
    except SyntaxUnavailable as e:
        say("problem", f"text.language: {e}")
        return CANNOT
    while os.getppid() == parent and run_dir.out.is_dir():
        if not collector.look():
            time.sleep(EVERY_S)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
