"""Which targets have the next turn: most time for those that still cover new code. Pure.

As for the properties of a suite (:mod:`fuzztui.engines.loop.shares`), a target's share is
proportional to its yield, the new edges that it lately brought for the time of its cores, and to
the user's weight; a fifth of the time is shared out by weight alone, so that no target starves.
Time is measured, because targets are processes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

FLOOR: Final = 0.2
"""Part of the time that all targets get alike."""

WINDOW_S: Final = 600.0
"""Core seconds of a target after which its earlier results count half."""

PRIOR_S: Final = 30.0
"""Core seconds, with one new edge, that are added to each target's own results."""


@dataclass(slots=True)
class Account:
    """The time and the new edges of one target."""

    cores: int = 1
    """The cores that the target uses while it has a turn: one for each of its instances, as far as
    there are so many."""
    weight: float = 1.0
    core_s: float = 0.0
    edges: int = 0
    lately_s: float = 0.0
    lately_edges: float = 0.0
    credit_s: float = 0.0
    """Core seconds by which the target is behind its share; negative: ahead."""

    def spend(self, core_s: float) -> None:
        """Count time of the target's turn."""
        self.core_s += core_s
        self.lately_s += core_s
        self.credit_s -= core_s
        if self.lately_s > WINDOW_S:
            self.lately_s /= 2
            self.lately_edges /= 2

    def found(self, edges: int) -> None:
        """Note the target's edges now. The first ones are those of the seeds, no finds."""
        if not self.edges:
            self.edges = edges
        self.lately_edges += max(0, edges - self.edges)
        self.edges = max(self.edges, edges)

    @property
    def rate(self) -> float:
        """New edges for a core second, lately."""
        return (self.lately_edges + 1) / (self.lately_s + PRIOR_S)

    @classmethod
    def of(cls, cores: int, weight: float, logged: Mapping[str, Any]) -> Account:
        """Return the account of a target, continued from what the log has of it."""
        made = cls(cores, logged.get("weight", weight))
        made.core_s, made.edges = logged.get("core_s", 0.0), int(logged.get("edges", 0))
        made.lately_s = logged.get("lately_s", 0.0)
        made.lately_edges = logged.get("lately_edges", 0.0)
        return made


def shares(accounts: Mapping[str, Account]) -> dict[str, float]:
    """Return each target's share of the time, which add up to 1; 0 for weight 0."""
    wanted = {n: a for n, a in accounts.items() if a.weight}
    rates = {n: a.weight * a.rate for n, a in wanted.items()}
    rate, weight = sum(rates.values()), sum(a.weight for a in wanted.values())
    return {
        n: FLOOR * a.weight / weight + (1 - FLOOR) * rates[n] / rate if n in rates else 0.0
        for n, a in accounts.items()
    }


def fits(accounts: Iterable[Account], cores: int) -> bool:
    """Whether all targets with a weight can run at the same time."""
    return sum(a.cores for a in accounts if a.weight) <= cores


def give_turns(accounts: Mapping[str, Account], cores: int, core_s: float) -> list[str]:
    """Return the targets that run next, those that are most behind their shares first.

    ``core_s``: the time of all cores since the last call, which is shared out. One that needs more
    cores than are left waits; one that needs more than there are runs alone.
    """
    for name, share in shares(accounts).items():
        accounts[name].credit_s += share * core_s
    _limit(accounts.values(), cores)
    chosen: list[str] = []
    left = cores
    for name in sorted(accounts, key=lambda n: -accounts[n].credit_s):
        account = accounts[name]
        if account.weight and (account.cores <= left or not chosen):
            chosen.append(name)
            left -= account.cores
    return chosen


def _limit(accounts: Collection[Account], cores: int) -> None:
    """Forget debts and credits of more than some minutes: targets may come and go."""
    most = WINDOW_S * cores
    for account in accounts:
        account.credit_s = min(max(account.credit_s, -most), most)
