"""PROGMUTANTSTORUN (Algorithm 3): which mutants are worth running on an input.

A filter: dead -> skipped -> not executed -> not infected -> order -> budget. The
middle two are the PIE model's execution and infection (section IV-B2) and are sound:
what they leave out cannot be killed by the input. That is checked for ever: about one
in a hundred of what they leave out is run anyway (:meth:`Pipeline.audit`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from fuzztui.engines.mu2.runner import Kill
from fuzztui.engines.mu2.schedule import MutantSchedule
from fuzztui.engines.mu2.table import MutantRecord, MutantTable
from fuzztui.engines.mutants.program import Probing, Unit

__all__ = ["Pipeline", "Tally", "Watched"]

_AUDIT_ONE_IN: Final = 100


@dataclass(slots=True)
class Tally:
    """(mutant, input) pairs by where the pipeline left them, cumulative."""

    dead: int = 0
    skipped: int = 0
    unexecuted: int = 0
    uninfected: int = 0
    deferred: int = 0
    audits: int = 0
    audit_kills: int = 0


@dataclass(frozen=True, slots=True)
class Watched:
    """What the probes saw of one run of the program: sorted indices of survivors."""

    watched: frozenset[int]
    """Who was looked out for; all others are not known to be reached or not."""
    infected: tuple[int, ...]
    reached: int
    blind: int = 0
    """How many of the infected were not watched, and so not seen to be reached."""


class Pipeline:
    """Filters and counts."""

    def __init__(
        self, table: MutantTable, rng: random.Random, say: Callable[[str, str], None]
    ) -> None:
        self._table, self._rng, self._say = table, rng, say
        self.tally = Tally()

    def read_probes(self, probing: Probing, entered: Iterable[Unit] = ()) -> Watched:
        """Read the probes after a run.

        Survivors in units that were ``entered``, and not watched, may have been infected.
        """
        table = self._table
        watched = frozenset(table.survivors.intersection(probing.watched))
        rows = table.rows
        reached = [at for at in probing.reached() if at in watched]
        infected = [at for at in probing.infected() if at in watched]
        blind: list[int] = []
        if entered := set(entered):
            blind = [at for at in table.survivors - watched if rows[at].mutant.unit in entered]
            infected = sorted(infected + blind)
        for at in reached:
            rows[at].reached += 1
        for at in infected:
            rows[at].infected += 1
        return Watched(watched, tuple(infected), len(reached), len(blind))

    def todo(
        self, seen: Watched, schedule: MutantSchedule, *, saved: bool, settled: int = 0
    ) -> list[MutantRecord]:
        """The mutants to run on that input, in order; those in ``settled`` (bits) need no run."""
        tally, table = self.tally, self._table
        infected = [at for at in seen.infected if not settled >> at & 1]
        chosen = schedule.choose((table.rows[at] for at in infected), saved=saved)
        dead = table.dead
        tally.dead += dead
        tally.skipped += len(table.rows) - dead - len(table.survivors) - len(table.isolated)
        tally.unexecuted += len(seen.watched) - seen.reached
        tally.uninfected += seen.reached + seen.blind - len(seen.infected)
        unknown = len(table.survivors) - len(seen.watched) - seen.blind
        tally.deferred += unknown + len(infected) - len(chosen)
        return chosen

    def defer(self, chosen: list[MutantRecord], now: list[MutantRecord]) -> list[MutantRecord]:
        """Of the chosen only these are to run now, the others in time."""
        self.tally.deferred += len(chosen) - len(now)
        return now

    def count_unprobed(self) -> None:
        """A trial ran without probes: every survivor was put off."""
        self.tally.deferred += len(self._table.survivors)

    def audited(self, kills: Iterable[Kill], audits: Iterable[int]) -> None:
        """Those of the audits that killed: the pruning is unsound, which must never be."""
        asked = set(audits)
        wrong = [self._table.rows[at].id for at, _ in kills if at in asked]
        if wrong:
            self.tally.audit_kills += len(wrong)
            self._say(
                "error",
                f"unsound pruning: {', '.join(wrong)} was pruned and kills; please report this",
            )

    def audit(self, seen: Watched, *, runs: int, everything: bool) -> list[int]:
        """About 1% of the soundly pruned, drawn at random: to be run anyway.

        Unless ``everything`` is analysed anyway, no more than 5% of all ``runs`` so far.
        """
        most = len(self._table.rows) if everything else runs // 20 + 1 - self.tally.audits
        if most <= 0:
            return []
        pruned = len(seen.watched) - len(seen.infected)
        share, rest = divmod(pruned, _AUDIT_ONE_IN)
        wanted = min(most, share + (self._rng.randrange(_AUDIT_ONE_IN) < rest))
        if not wanted:
            return []
        infected = set(seen.infected)
        candidates = sorted(at for at in seen.watched if at not in infected)
        drawn = sorted(self._rng.sample(candidates, wanted))
        self.tally.audits += len(drawn)
        return drawn
