"""The corpus of one instance, and the schedulers that decide in which order entries are fuzzed."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from fuzztui.engines.loop.work import TRIAL

WHOLE: Final = "whole"
"""Reason of an entry that shows nothing new, but may still kill mutants."""


@dataclass(slots=True, eq=False)
class CorpusEntry:
    """One input of the corpus. ``id``: its number in ``queue/``."""

    id: int
    name: str
    data: bytes
    edges: int
    """Number of cells that the entry covers."""
    favored: bool = False
    valid: bool = False
    depth: int = 1
    """Generations from a seed; a seed has 1."""
    reasons: tuple[str, ...] = ()
    """Why the entry was kept."""
    visits: int = 0
    """Visits during which no entry was added to the corpus."""
    fuzzed: bool = False
    """Whether the entry was picked at least once."""
    kills: int = 0
    """Number of mutants that this entry was the first to kill."""
    isolated_kills: int = 0
    """Those of them that ran in child processes. They give no energy: the clock decides when."""
    calls: int = -1
    """Calls in an execution of the entry (:meth:`Executor.calls`); -1: not known."""

    @property
    def work(self) -> float:
        """Work of a trial of the entry; 0 if it is not known."""
        return TRIAL + self.calls if self.calls >= 0 else 0.0


class Corpus:
    """All entries, by id and in order of arrival, with counters for the statistics."""

    def __init__(self) -> None:
        self.entries: list[CorpusEntry] = []
        self._log_work = 0.0
        """The sum of the logarithms of the entries' work, as far as that is known."""
        self._known = 0
        """The number of entries whose work is known."""
        self.partners: list[CorpusEntry] = []
        """Entries whose parts are put into others: they show something new, so they are small."""
        self.by_id: dict[int, CorpusEntry] = {}
        self.max_edges = 0
        self.max_depth = 0
        self.pending = 0
        """Entries not yet fuzzed."""
        self.pending_favored = 0
        """Favored entries not yet fuzzed."""
        self.favored = 0

    def __len__(self) -> int:
        return len(self.entries)

    def add(self, entry: CorpusEntry) -> None:
        """Append an entry."""
        self.entries.append(entry)
        if entry.work:
            self._log_work += math.log(entry.work)
            self._known += 1
        if WHOLE not in entry.reasons:
            self.partners.append(entry)
        self.by_id[entry.id] = entry
        self.max_edges = max(self.max_edges, entry.edges)
        self.max_depth = max(self.max_depth, entry.depth)
        self.favored += entry.favored
        self.pending += 1
        self.pending_favored += entry.favored

    @property
    def usual_work(self) -> float:
        """The geometric mean of the entries' work; that of an empty program if none is known."""
        return math.exp(self._log_work / self._known) if self._known else TRIAL

    def picked(self, entry: CorpusEntry) -> None:
        """Mark the entry as fuzzed."""
        if not entry.fuzzed:
            entry.fuzzed = True
            self.pending -= 1
            self.pending_favored -= entry.favored


class ZestScheduler:
    """New entries first, then round robin; first visits are short, later ones grow.

    JQF's ZestGuidance visits an entry for 50 children, and for 1,000 if it covered something new,
    so that new entries wait for thousands of children of others. Here the n-th visit without a new
    entry has ``baseline * 2 ** (n - 1)`` children, up to :data:`LONGEST` times the baseline, like
    the exponential schedule of AFLFast (Boehme et al., CCS 2016, section 4). An entry that has
    killed a mutant gets twice as many. One whose trials cost n times the geometric mean of the
    corpus gets 1/n of the children, at least one, so that a visit of a slow entry takes no longer
    than one of an ordinary entry. (AFL's ``calculate_score`` compares with the arithmetic mean,
    which few slow entries raise, and gives at least a tenth: an entry of a second a trial then
    takes minutes.) The cost is counted work, because time is not repeatable.
    """

    BASELINE: Final = 16
    LONGEST: Final = 32
    KILLER: Final = 2

    def __init__(self, corpus: Corpus, baseline: int = BASELINE) -> None:
        """``baseline``: children of the first visit of an entry."""
        self._corpus, self._baseline = corpus, baseline
        self.position = -1
        """Index of the current entry in the corpus; -1 before the first."""
        self.cycles = 0
        """Number of complete passes over the corpus."""
        self._turn = -1
        """Index of the entry whose turn it was last, new entries apart."""
        self._new = 0
        """Index of the first entry that was never visited."""
        self._left = 0
        self._entries = 0
        """Number of entries when the visit began."""

    def pick(self) -> CorpusEntry | None:
        """The parent of the next child; None while the corpus is empty. Called for every child."""
        entries = self._corpus.entries
        if self._left <= 0 or self.position < 0:
            if not entries:
                return None
            self._move(entries)
        self._left -= 1
        return entries[self.position]

    def _move(self, entries: list[CorpusEntry]) -> None:
        if self.position >= 0 and len(entries) == self._entries:
            entries[self.position].visits += 1
        self._entries = len(entries)
        if self._new < len(entries):
            self.position = self._new
            self._new += 1
        else:
            self._turn += 1
            if self._turn >= len(entries):
                self._turn = 0
                self.cycles += 1
            self.position = self._turn
        self._left = self.energy(entries[self.position])

    def leave(self) -> None:
        """Drop the current entry's remaining energy: the next :meth:`pick` moves on."""
        self._left = 0

    def energy(self, entry: CorpusEntry) -> int:
        """Number of children of the next visit."""
        kills = entry.kills > entry.isolated_kills
        if WHOLE in entry.reasons and not kills:
            return 1
        grown = min(2**entry.visits, self.LONGEST) if entry.visits < self.LONGEST else self.LONGEST
        cheap = min(1.0, self._corpus.usual_work / entry.work) if entry.work else 1.0
        return round(self._baseline * grown * (self.KILLER if kills else 1) * cheap) or 1


class SteerError(Exception):
    """The command cannot be executed; the message says why, for users."""


class Steerable:
    """A scheduler that a user can steer, on top of another one, the base.

    A skipped entry is never picked. Promoted entries are picked next, the last promoted first,
    each once and with many children; then the base continues. A demoted entry gets
    one child in each cycle.
    """

    def __init__(self, base: ZestScheduler, corpus: Corpus, promoted: int = 1000) -> None:
        """``promoted``: least number of children that a promoted entry gets."""
        self._base, self._corpus, self._promoted_energy = base, corpus, promoted
        self.skipped: set[int] = set()
        self.demoted: set[int] = set()
        self.promoted: deque[int] = deque()
        self._promoted_left = 0
        self.on_change: Callable[[int], None] = lambda entry: None
        """Called with an entry's id when its :meth:`steer_of` may have changed."""

    @property
    def position(self) -> int:
        """The base's position."""
        return self._base.position

    @property
    def cycles(self) -> int:
        """The base's cycles."""
        return self._base.cycles

    def pick(self) -> CorpusEntry | None:
        """The last promoted entry, else the base's next entry that is not skipped."""
        if self.promoted:
            return self._pick_promoted()
        entry = self._base.pick()
        if self.skipped:
            while entry is not None and entry.id in self.skipped:
                self._base.leave()
                entry = self._base.pick()
        if entry is not None and entry.id in self.demoted:
            self._base.leave()
        return entry

    def _pick_promoted(self) -> CorpusEntry:
        entry = self._corpus.by_id[self.promoted[0]]
        if self._promoted_left <= 0:
            self._promoted_left = max(self._promoted_energy, self._base.energy(entry))
        self._promoted_left -= 1
        if self._promoted_left == 0:
            self.promoted.popleft()
            self.on_change(entry.id)
        return entry

    def leave(self) -> None:
        """Drop the current entry's remaining energy."""
        if self.promoted:
            self._promoted_left = 0
            self.on_change(self.promoted.popleft())
        else:
            self._base.leave()

    def energy(self, entry: CorpusEntry) -> int:
        """The base's energy; 1 for a demoted entry."""
        return 1 if entry.id in self.demoted else self._base.energy(entry)

    # ---------------------------------------------------------------- steering

    def _known(self, entry: int) -> None:
        if entry not in self._corpus.by_id:
            raise SteerError(f"there is no queue entry {entry}")

    def _forget(self, entry: int) -> None:
        self.skipped.discard(entry)
        self.demoted.discard(entry)
        if entry in self.promoted:
            if self.promoted[0] == entry:
                self._promoted_left = 0
            self.promoted.remove(entry)

    def skip(self, entry: int) -> str:
        """Never pick the entry again. Returns the answer for the user.

        Raises :class:`SteerError` if no other entry would be left.
        """
        self._known(entry)
        if len(self.skipped | {entry}) >= len(self._corpus):
            raise SteerError(f"entry {entry} is the last that is not skipped")
        self._forget(entry)
        self.skipped.add(entry)
        self.on_change(entry)
        return f"entry {entry} is skipped from now on"

    def promote(self, entry: int) -> str:
        """Pick the entry next. Undoes a skip or a demotion. Returns the answer for the user."""
        self._known(entry)
        self._forget(entry)
        self.promoted.appendleft(entry)
        self._promoted_left = 0
        self.on_change(entry)
        return f"entry {entry} is next"

    def demote(self, entry: int) -> str:
        """Give the entry one child in each cycle. Undoes a skip or a promotion."""
        self._known(entry)
        self._forget(entry)
        self.demoted.add(entry)
        self.on_change(entry)
        return f"entry {entry} gets one child in each cycle from now on"

    def reset(self, entry: int) -> str:
        """Undo a skip, a promotion or a demotion. Returns the answer for the user."""
        self._known(entry)
        self._forget(entry)
        self.on_change(entry)
        return f"entry {entry} takes its usual turn"

    def steer_of(self, entry: int) -> str:
        """``skipped``, ``promoted``, ``demoted``, or an empty string."""
        if entry in self.skipped:
            return "skipped"
        return "promoted" if entry in self.promoted else "demoted" * (entry in self.demoted)
