"""Runs at the same campaign time: their figures, who found what first, statistics of groups."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Final

from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.finding_tallies import groups
from fuzztui.kernel.model.selectors import running_time, totals
from fuzztui.kernel.model.state import Mutant, State
from fuzztui.tools.report.run import short_target
from fuzztui.tools.report.two_samples import a12, quartiles, rank_p

FIGURES: Final = {
    "execs": "executions",
    "corpus": "corpus",
    "edges": "edges",
    "edges_valid": "edges, valid inputs",
    "findings": "groups of findings",
    "killed": "mutants killed",
    "score": "score",
}
"""Names of the compared figures, in the order in which they are shown."""

OF_COVERAGE: Final = ("edges", "edges_valid")
OF_MUTANTS: Final = ("killed", "score")


class CannotCompare(Exception):
    """The runs have nothing in common; the message says why."""


@dataclass(frozen=True)
class ComparedRun:
    """One run, as it was at the time of the comparison."""

    name: str
    path: str
    state: State
    group: int = 0
    """The number of its group, from 0; if runs are not grouped, the number of the run."""
    end_s: float = 0.0
    """Campaign time of the end of its log."""
    damage: str = ""

    @cached_property
    def mutants(self) -> frozenset[tuple[str, str, str]]:
        """The mutants that can be run, each as id, code before and code after."""
        rows = self.state.mutants.values()
        return frozenset((m.id, m.before, m.after) for m in rows if m.state != "invalid")

    @cached_property
    def first_found(self) -> dict[str, float]:
        """Campaign time of the first finding of each group, by signature."""
        own = {i.id for i in self.state.instances.values() if not i.mutant}
        return {
            g.signature: g.first.t
            for g in groups(self.state)
            if g.signature and g.first.instance in own
        }

    @cached_property
    def killed_at(self) -> dict[str, float]:
        """Campaign time of the kill of each killed mutant, by its id."""
        return {m.id: m.killed_t for m in self.state.mutants.values() if m.state == "killed"}


@dataclass(frozen=True)
class RunComparison:
    """Runs, or groups of runs, at one campaign time, or each at its end."""

    at_s: float
    """The campaign time; if each run is at its end, the latest end."""
    runs: Sequence[ComparedRun]
    groups: Sequence[str] = ()
    """The names of groups; empty: runs are compared one by one."""
    at_ends: bool = False
    """Whether each run is at its own end, and not all at ``at_s``."""

    def of_group(self, number: int) -> list[ComparedRun]:
        """The runs of one group."""
        return [run for run in self.runs if run.group == number]

    @property
    def sides(self) -> Sequence[str]:
        """The names of the columns: groups, or runs."""
        return self.groups or [run.name for run in self.runs]

    @cached_property
    def common_mutants(self) -> frozenset[str]:
        """The ids of the mutants that all runs with mutants have, with the same change."""
        sets = [run.mutants for run in self.runs if run.mutants]
        return frozenset(m[0] for m in frozenset.intersection(*sets)) if sets else frozenset()

    @cached_property
    def not_compared(self) -> dict[str, str]:
        """Figures that cannot be compared, each with the reason."""
        found: dict[str, str] = {}
        states = [run.state for run in self.runs]
        if len({state.engine == "afl" for state in states}) > 1:
            why = "afl-fuzz and the in-process engines count other edges"
            found |= dict.fromkeys(OF_COVERAGE, why)
        without = [run.name for run in self.runs if not run.mutants]
        if without and len(without) < len(self.runs):
            why = f"{without[0]} runs no mutants; 'fuzztui score RUN' finds what its corpus kills"
            found |= dict.fromkeys(OF_MUTANTS, why)
        elif not without and not self.common_mutants:
            found |= dict.fromkeys(OF_MUTANTS, "the runs have no mutant in common")
        elif any(state.stage for state in states):
            found["score"] = "in a fuzz-first campaign only some of the mutants have had a turn"
        return found

    def figure(self, run: ComparedRun, name: str) -> float | None:
        """The value of a figure; None if the run does not have it, or it cannot be compared."""
        if name in self.not_compared:
            return None
        stats = totals(run.state).stats
        match name:
            case "execs" | "corpus":
                value = getattr(stats, name)
                return float(value) if value > 0 or _has_stats(run.state) else None
            case "edges" | "edges_valid":
                value = getattr(stats, name)
                return float(value) if value >= 0 else None
            case "findings":
                return float(len(run.first_found))
        if not run.mutants:
            return None
        killed = len(self.common_mutants & run.killed_at.keys())
        return float(killed) if name == "killed" else killed / len(self.common_mutants)

    def values(self, name: str, number: int) -> list[float]:
        """The values of a figure in the runs of one group that have it."""
        found = (self.figure(run, name) for run in self.of_group(number))
        return [value for value in found if value is not None]

    def figures(self) -> list[str]:
        """The figures that any of the runs has."""
        return [
            name for name in FIGURES if any(self.figure(run, name) is not None for run in self.runs)
        ]


@dataclass(frozen=True, slots=True)
class Spread:
    """One figure in one group."""

    n: int
    median: float
    least: float
    most: float
    low: float
    """The lower quartile; ``high``: the upper one."""
    high: float


def spread(values: Sequence[float]) -> Spread | None:
    """The spread of values; None without any."""
    if not values:
        return None
    low, middle, high = quartiles(values)
    return Spread(len(values), middle, min(values), max(values), low, high)


@dataclass(frozen=True, slots=True)
class RankTest:
    """Whether a figure of group ``b`` differs from that of ``a``."""

    figure: str
    a: str
    b: str
    n: int
    m: int
    p: float
    """Two-sided, by the Mann-Whitney U test."""
    a12: float
    """Share of pairs (0 to 1) in which a run of ``b`` is above one of ``a``; equal: half a pair."""


def rank_tests(of: RunComparison) -> Iterator[RankTest]:
    """Yield a test of each figure for each group against the first one."""
    for name in of.figures():
        base = of.values(name, 0)
        for number, group in list(enumerate(of.groups))[1:]:
            values = of.values(name, number)
            if base and values:
                p, size = rank_p(base, values), a12(values, base)
                yield RankTest(name, of.groups[0], group, len(base), len(values), p, size)


@dataclass(frozen=True, slots=True)
class FoundBy:
    """A cause of findings, or a killed mutant: which sides (runs or groups) have it, and when."""

    key: str
    title: str
    times: tuple[float, ...]
    """By side: campaign time when it was first found or killed, of a group the median of its runs
    that have it; NaN: no run has it."""
    runs: tuple[int, ...]
    """By side: how many of its runs have it."""

    @property
    def is_common(self) -> bool:
        """Whether every side has it."""
        return all(self.runs)

    @property
    def sides(self) -> frozenset[int]:
        """The sides that have it."""
        return frozenset(n for n, runs in enumerate(self.runs) if runs)

    @property
    def first(self) -> int:
        """The side that had it first."""
        known = [(t, n) for n, t in enumerate(self.times) if not math.isnan(t)]
        return min(known)[1]


def who_found(of: RunComparison) -> list[FoundBy]:
    """The groups of findings, those that fewest sides have first."""
    titles = {
        g.signature: g.first.title or g.signature
        for run in of.runs
        for g in groups(run.state)
        if g.signature
    }
    return _by_side(of, {run.path: run.first_found for run in of.runs}, titles)


def who_killed(of: RunComparison) -> list[FoundBy]:
    """The mutants that any side has killed, those that fewest sides have first."""
    if "killed" in of.not_compared:
        return []
    known = of.common_mutants
    mutants: dict[str, Mutant] = {}
    for run in of.runs:
        mutants.update({id_: run.state.mutants[id_] for id_ in known & run.killed_at.keys()})
    titles = {id_: f"{m.before.strip()} -> {m.after.strip()}" for id_, m in mutants.items()}
    kills = {
        run.path: {id_: t for id_, t in run.killed_at.items() if id_ in known} for run in of.runs
    }
    return _by_side(of, kills, titles)


def _by_side(
    of: RunComparison, times: Mapping[str, Mapping[str, float]], titles: Mapping[str, str]
) -> list[FoundBy]:
    sides = [of.of_group(n) for n in range(len(of.sides))]
    found = []
    for key in dict.fromkeys(key for run in of.runs for key in times[run.path]):
        had = [[times[run.path][key] for run in side if key in times[run.path]] for side in sides]
        when = tuple(median(some) if some else math.nan for some in had)
        found.append(FoundBy(key, titles.get(key, key), when, tuple(map(len, had))))
    return sorted(found, key=lambda f: (len(f.sides), sorted(f.sides), f.key))


def used_budget(state: State) -> tuple[float, int] | None:
    """The budget, in seconds and in trials, that has ended a run; None if it ended otherwise.

    Runs that have used the same budget can be compared at their ends, although their logs end at
    different times: mu2 runs its exact pass after the budget, and engines need a moment to stop.
    """
    if state.state != "finished":
        return None
    execs = sum(i.stats.execs for i in state.instances.values())
    in_time = 0 < state.budget_s <= running_time(state)
    in_trials = 0 < state.budget_trials <= execs
    return (state.budget_s, state.budget_trials) if in_time or in_trials else None


def _has_stats(state: State) -> bool:
    """Whether an engine has reported statistics, so that a 0 is a number and not a gap."""
    return any(i.stats_t >= 0 for i in state.instances.values())


def check(runs: Sequence[ComparedRun]) -> None:
    """Raise :class:`CannotCompare` if the runs are of different targets."""
    targets: dict[str, list[str]] = {}
    for run in runs:
        targets.setdefault(short_target(run.state.target), []).append(run.name)
    if len(targets) > 1:
        each = "; ".join(
            f"{target or 'unknown'!r} in {', '.join(of)}" for target, of in targets.items()
        )
        raise CannotCompare(f"the runs have different targets: {each}")


def notes(of: RunComparison) -> Iterator[tuple[str, bool]]:
    """Yield remarks about the comparison, each with whether it is a warning."""
    for why, names in _by_reason(of.not_compared).items():
        yield f"Not compared: {' and '.join(FIGURES[name] for name in names)}: {why}.", True
    paths = sorted({run.state.target for run in of.runs})
    if len(paths) > 1:
        yield f"The target is in different directories: {', '.join(paths[:4])}.", False
    sizes = {t for run in of.runs if (t := totals(run.state).stats.edges_total) > 0}
    if len(sizes) > 1 and "edges" not in of.not_compared:
        yield (
            f"The programs have different numbers of edges ({min(sizes):,} to {max(sizes):,}): the "
            "runs may be of different versions, or have imported different modules.",
            True,
        )
    with_mutants = [run for run in of.runs if run.mutants]
    every = {m[0] for run in with_mutants for m in run.mutants}
    if 0 < len(of.common_mutants) < len(every) and "killed" not in of.not_compared:
        yield (
            f"The mutants differ: kills and score are of the {len(of.common_mutants):,} that all "
            f"runs have, of {len(every):,}.",
            True,
        )
    for run in of.runs:
        unnamed = sum(not f.signature for f in run.state.findings.values())
        if unnamed:
            what = several(unnamed, "finding")
            yield f"{run.name}: {what} without a signature: not compared.", False
        if run.damage:
            yield f"{run.name}: {run.damage}; its numbers are at least so large.", True
        paused = run.state.paused_s
        if paused >= 1:
            yield f"{run.name} was paused for {paused:,.0f} s of the time that is compared.", False
    versions = sorted({run.state.version for run in of.runs if run.state.version})
    if len(versions) > 1:
        yield f"The runs are of different versions of fuzztui: {', '.join(versions)}.", True


def _by_reason(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, why in reasons.items():
        found.setdefault(why, []).append(name)
    return found
