"""Parsing what the queues get, in a separate process: it keeps the pool of fragments fresh.

``python -P -m fuzztui.mutators.fragments RUN LANGUAGE [TEMPLATE...]`` looks into the queues
once a second, those of the target (``RUN/out/*/queue``) and of the mutants' turns that are under
way. It parses each new content once, and writes the pool file
(:mod:`fuzztui.engines.text.poolfile`) when there is something new. LANGUAGE is "" where there are
templates of comby's only. It has the lowest claim to the
processor, prints JSON lines (``{"figures"}``, ``{"problem"}``) and ends with its parent.

A mutant's turn begins with what others have found: the one pool knows most of it already.

A grammar is foreign code that meets hostile text: an entry that kills it, or that it does not
come to an end with, is written down before and left out by the next process.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from fuzztui.campaign.rundir import RunDir
from fuzztui.engines.text import poolfile
from fuzztui.engines.text.fragments import Fragments, key_of
from fuzztui.engines.text.syntax import MAX_INPUT, Syntax, SyntaxUnavailable
from fuzztui.observe.queues import Queues
from fuzztui.process.death_journal import DeathJournal
from fuzztui.process.helper import CANNOT

__all__ = ["FragmentCollector"]

EVERY_S: Final = 1.0
WRITE_S: Final = 2.0
CATCH_UP_S: Final = 30.0
"""After the start, entries that are there may be parsed for so long before it is written."""
WRITE_SHARE: Final = 0.05
"""The part of one core that writing the pool may cost."""

AT_ONCE: Final = 200
"""Entries of one queue between two looks at all of them."""

PARSE_S: Final = 10.0
"""Of the processor's time, for one entry of at most 256 KiB."""
MEMORY: Final = 2 << 30
NICE: Final = 10
MATCHLESS: Final = 200
"""Entries without a match, after which a template is told of."""


class FragmentCollector:
    """The pool of one run."""

    def __init__(
        self,
        run_dir: RunDir,
        syntax: Syntax,
        say: Callable[[str, object], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Makes the pool again, as language and templates may be others now. Raises OSError."""
        self._run_dir, self._syntax, self._say, self._monotonic = run_dir, syntax, say, monotonic
        self._journal = DeathJournal(run_dir.supervisor, "harvest", PARSE_S)
        self._refused = self._journal.refused
        self._queues: dict[str, Queues] = {}
        """Of the target, and of each turn by its slot: what those find is wanted for a while."""
        self.fragments = Fragments()
        self._barren = set[int]()
        """Contents in which there is nothing to splice."""
        self._parsed = 0
        self._written = False
        self._dirty = False
        self._write_at = monotonic() + CATCH_UP_S
        """The pool of before is better than the beginning of this one."""
        self._problems = 0
        self._tell()
        if n := len(self._refused):
            say("problem", f"entries that the parser did not survive are left out: {n}")

    def look(self) -> bool:
        """Parse what is new, and write the pool if it is time to. True: there is more to do now."""
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
        """An entry, parsed if its content is new. ``passing``: of a turn, not of the target."""
        key = key_of(data)
        if key in self._barren or key in self._refused:
            return
        if key in self.fragments:
            self.fragments.keep(key, passing=passing)
            return
        with self._journal.at(key):
            spans = self._syntax.spans(data)
        self._parsed += 1
        if spans:
            self.fragments.add(data, spans, passing=passing)
            self._dirty = True
        else:
            self._barren.add(key)
        self._tell()
        if self._parsed == MATCHLESS:
            for template, n in self._syntax.matches.items():
                if not n:
                    words = f"matches nothing in {MATCHLESS} entries"
                    self._say("problem", f"text.templates: {template!r} {words}")

    def _tell(self) -> None:
        """Which templates are left out since it was asked last."""
        for template, why in [*self._syntax.problems.items()][self._problems :]:
            self._say("problem", f"text.templates: {template!r} is left out: {why}")
        self._problems = len(self._syntax.problems)

    def _write(self) -> None:
        begun = self._monotonic()
        lost = self._written and not self._run_dir.pool.exists()
        if not (self._dirty or lost) or begun < self._write_at:
            return
        pool = self.fragments.pool
        try:
            size = poolfile.write(self._run_dir.pool, pool)
        except OSError as e:  # a full disk
            self._write_at = begun + CATCH_UP_S
            self._say("problem", f"{self._run_dir.pool} cannot be written: {e.strerror or e}")
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
    run_dir = RunDir(Path(arguments[0]))
    with contextlib.suppress(OSError, ValueError):
        os.nice(NICE)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)

    def say(word: str, value: object) -> None:
        print(json.dumps({word: value}), flush=True)

    try:
        harvest = FragmentCollector(run_dir, Syntax(arguments[1], arguments[2:]), say)
    except SyntaxUnavailable as e:
        say("problem", f"text.language: {e}")
        return CANNOT
    while os.getppid() == parent and run_dir.out.is_dir():
        if not harvest.look():
            time.sleep(EVERY_S)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
