"""PROGMUTANTSTORUN (Algorithm 3): which mutants are worth running on an input.

A sequence of filters: killed, skipped, not executed, not infected, order, budget. "Not executed"
and "not infected" are from the PIE model (section IV-B2) and are sound: the input cannot kill the
mutants that they prune. This is checked permanently: about one in a hundred pruned mutants is run
anyway (:meth:`Pipeline.audit`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from fuzztui.engines.mu2.runner import Kill
from fuzztui.engines.mu2.schedule import MutantSchedule
from fuzztui.engines.mu2.table import INFECTED, REACHED, MutantRecord, MutantTable
from fuzztui.engines.mutants.program import Probing, Unit

_AUDIT_ONE_IN: Final = 100


@dataclass(slots=True)
class Tally:
    """Total numbers of (mutant, input) pairs, by the filter that removed them."""

    dead: int = 0
    skipped: int = 0
    unexecuted: int = 0
    uninfected: int = 0
    deferred: int = 0
    audits: int = 0
    audit_kills: int = 0


@dataclass(frozen=True, slots=True)
class Watched:
    """The probes' results of one run of the original: sorted indices of survivors."""

    watched: frozenset[int]
    """The mutants with probes; whether others were reached is unknown."""
    infected: tuple[int, ...]
    reached: int
    blind: int = 0
    """Number of mutants in ``infected`` that had no probe, so may not even be reached."""


class Pipeline:
    """The filters, and the counters of the pairs that they removed."""

    def __init__(
        self, table: MutantTable, rng: random.Random, say: Callable[[str, str], None]
    ) -> None:
        self._table, self._rng, self._say = table, rng, say
        self.tally = Tally()

    def read_probes(
        self, probing: Probing, entered: Iterable[Unit] = (), entry: int = -1
    ) -> Watched:
        """Read the probes after a run. ``entry``: the queue entry that ran; -1: none.

        Survivors without probes in the units ``entered`` count as infected, since they may be.
        """
        table = self._table
        watched = frozenset(table.survivors.intersection(probing.watched))
        rows = table.rows
        reached = [at for at in probing.reached() if at in watched]
        infected = [at for at in probing.infected() if at in watched]
        if entry >= 0:
            table.came_near(reached, REACHED, entry)
            table.came_near(infected, INFECTED, entry)
        blind: list[int] = []
        if entered := set(entered):
            blind = [at for at in table.survivors - watched if rows[at].mutant.unit in entered]
            infected = sorted(infected + blind)
        table.seen(reached, infected)
        return Watched(watched, tuple(infected), len(reached), len(blind))

    def todo(
        self, seen: Watched, schedule: MutantSchedule, *, saved: bool, settled: int = 0
    ) -> list[MutantRecord]:
        """The mutants to run on the input, in order. ``settled``: bits of mutants to leave out."""
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
        """Count the chosen mutants that are not in ``now`` as deferred. Returns ``now``."""
        self.tally.deferred += len(chosen) - len(now)
        return now

    def count_unprobed(self) -> None:
        """Count a trial without probes, in which every survivor is deferred."""
        self.tally.deferred += len(self._table.survivors)

    def audited(self, kills: Iterable[Kill], audits: Iterable[int]) -> None:
        """Report audited mutants that were killed: the pruning is unsound, which is a bug."""
        asked = set(audits)
        wrong = [self._table.rows[at].id for at, _ in kills if at in asked]
        if wrong:
            self.tally.audit_kills += len(wrong)
            self._say(
                "error",
                f"unsound pruning: {', '.join(wrong)} was pruned but is killed; please report this",
            )

    def audit(self, seen: Watched, *, runs: int, everything: bool) -> list[int]:
        """Draw about 1% of the soundly pruned mutants, to be run anyway.

        At most 5% of all ``runs``, unless ``everything`` is analysed.
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
