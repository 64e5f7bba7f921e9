"""Yield per CPU hour: what instances and mutators find for the CPU time that is spent.

CPU time comes from the log only (:class:`~fuzztui.kernel.wire.events.Resources`): the use in cores
times the time since the measurement before. Without it a yield is unknown; wall time is no
substitute.
Instances are also added up by their binary and by their power schedule.
No engine measures the CPU time of a mutator, so its finds are divided by the time of all instances:
the rates of mutators add up to the campaign's, apart from trials that stack several mutators.
Seeds and entries that were imported from other instances are no finds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final, NamedTuple

from fuzztui.kernel.model.finding_tallies import groups, is_examined
from fuzztui.kernel.model.selectors import SEVERAL_TARGETS
from fuzztui.kernel.model.state import Instance, State
from fuzztui.kernel.model.stats import CPU_SERIES
from fuzztui.kernel.wire.mixture import named_by

HOUR_S: Final = 3600.0

MIN_CPU_S: Final = 60.0
"""Seconds of CPU time below which there is no rate: it would be chance, and of the first 3 seconds
after a start the log has no measurement."""

MAX_MUTATORS: Final = 500
"""Different names of mutators, which come from file names; further ones are left out."""
MAX_NAME: Final = 80
"""Characters of a name."""

KINDS: Final = ("edges", "kills", "signatures")

DEFAULT_SCHEDULE: Final = "default"
"""The power schedule of afl-fuzz without ``-p``: which one, depends on its version."""

_SCHEDULE = re.compile(r"(?:^| )-p ?([a-z]{1,20})\b", re.ASCII)

_SEED: Final = "orig"
"""The beginning of the ``op`` of seeds."""


@dataclass(frozen=True, slots=True)
class CpuYield:
    """Finds in a period, and the CPU time of the instances in it."""

    cpu_s: float = -1.0
    """-1: unknown."""
    edges: int = 0
    """Trials that covered something new to their instance."""
    kills: int = -1
    """Killed mutants; -1: the engine does not run mutants."""
    signatures: int = 0
    """Groups of findings whose first finding this is."""

    @property
    def known(self) -> bool:
        """Whether there is enough CPU time for a rate."""
        return self.cpu_s >= MIN_CPU_S

    def per_hour(self, kind: str) -> float:
        """Return the finds of a kind (:data:`KINDS`) per CPU hour; -1: unknown."""
        found: int = getattr(self, kind)
        return HOUR_S * found / self.cpu_s if self.known and found >= 0 else -1.0


@dataclass(frozen=True, slots=True)
class Yields:
    """The yield of the whole campaign, and of the last hour (or half of a shorter campaign)."""

    whole: CpuYield = field(default_factory=CpuYield)
    late: CpuYield = field(default_factory=CpuYield)

    @property
    def order(self) -> tuple[float, float]:
        """Sort key: new edges per CPU hour lately, then over the whole campaign."""
        return self.late.per_hour("edges"), self.whole.per_hour("edges")


@dataclass(frozen=True, slots=True)
class CampaignYields:
    """The yields of the campaign, and of each instance and mutator by name."""

    campaign: Yields = field(default_factory=Yields)
    instances: Mapping[str, Yields] = field(default_factory=dict)
    mutators: Mapping[str, Yields] = field(default_factory=dict)
    """The yields of mutators that have found something, by name."""
    binaries: Mapping[str, Yields] = field(default_factory=dict)
    """The yields of instances by binary (``plain``); empty if all run the plain one."""
    schedules: Mapping[str, Yields] = field(default_factory=dict)
    """Those of instances of afl-fuzz by power schedule; empty if there are not several."""

    @property
    def without_finds(self) -> Yields:
        """The yields of a mutator that has found nothing."""
        whole, late = (
            replace(of, edges=0, kills=min(of.kills, 0), signatures=0)
            for of in (self.campaign.whole, self.campaign.late)
        )
        return Yields(whole, late)


class _Counts:
    """The finds of an instance, of a mutator, or of all, by kind."""

    __slots__ = ("late", "whole")

    def __init__(self) -> None:
        self.whole = dict.fromkeys(KINDS, 0)
        self.late = dict.fromkeys(KINDS, 0)

    @classmethod
    def sum_of(cls, parts: Iterable[_Counts]) -> _Counts:
        """Return the finds of several instances."""
        found = cls()
        for part in parts:
            for kind in KINDS:
                found.whole[kind] += part.whole[kind]
                found.late[kind] += part.late[kind]
        return found

    def add(self, kind: str, *, is_late: bool) -> None:
        self.whole[kind] += 1
        if is_late:
            self.late[kind] += 1


_Find = tuple[float, str, str, str]
"""Campaign time, kind, instance, and the ``op`` of the entry or finding."""


class _Period(NamedTuple):
    """The CPU time that an instance has used since ``begin`` (campaign time)."""

    begin: float
    cpu_s: float


def campaign_yields(state: State) -> CampaignYields:
    """Return all yields. Takes time in proportion to the entries and mutants of the campaign.

    Instances that fuzz a mutant have no yield: their finds are not finds in the target. Instances
    whose CPU time is unknown, such as the one of added seeds, do not count for the campaign and
    the mutators, unless it is unknown for all.
    """
    own = {i.id: i for i in list(state.instances.values()) if not i.mutant}
    late = {id_: _lately(state, i) for id_, i in own.items()}
    counts_from = {id_: _counts_from(i) for id_, i in own.items()}
    measured = {id_ for id_, i in own.items() if i.cpu_s >= 0} or own.keys()
    every = _Counts()
    instances = {id_: _Counts() for id_ in own}
    mutators: dict[str, _Counts] = {}
    for t, kind, instance, op in _finds(state):
        if (of := instances.get(instance)) is None or t < counts_from[instance]:
            continue
        is_late = t >= late[instance].begin
        of.add(kind, is_late=is_late)
        if instance not in measured:
            continue
        every.add(kind, is_late=is_late)
        for name in _mutators(op):
            counts = mutators.get(name)
            if counts is None and len(mutators) < MAX_MUTATORS:
                counts = mutators[name] = _Counts()
            if counts is not None:
                counts.add(kind, is_late=is_late)
    has_mutants = bool(state.mutants) and not state.stage  # in fuzz-first their instances kill
    has_edges = state.engine != SEVERAL_TARGETS  # of those the log has no entries

    def yields(counts: _Counts, ids: Collection[str]) -> Yields:
        whole, lately = [own[id_].cpu_s for id_ in ids], [late[id_].cpu_s for id_ in ids]
        return Yields(
            _yield(whole, counts.whole, has_mutants=has_mutants, has_edges=has_edges),
            _yield(lately, counts.late, has_mutants=has_mutants, has_edges=has_edges),
        )

    def together(name_of: Callable[[Instance], str]) -> dict[str, Yields]:
        by: dict[str, list[str]] = {}
        for id_ in sorted(own):
            if id_ in measured and (name := name_of(own[id_])):
                by.setdefault(name, []).append(id_)
        counts = {name: _Counts.sum_of(instances[id_] for id_ in ids) for name, ids in by.items()}
        found = {name: yields(counts[name], ids) for name, ids in by.items()}
        return found if len(found) > 1 else {}

    return CampaignYields(
        yields(every, measured),
        {id_: yields(counts, [id_]) for id_, counts in instances.items()},
        {name: yields(counts, measured) for name, counts in mutators.items()},
        together(lambda i: i.binary or "plain"),
        together(_schedule),
    )


def _schedule(instance: Instance) -> str:
    """The power schedule of an afl-fuzz; an empty string if unknown."""
    if (given := _SCHEDULE.search(instance.options)) is not None:
        return given[1]
    return DEFAULT_SCHEDULE if instance.command_line else ""


def _yield(
    times: Sequence[float], found: Mapping[str, int], *, has_mutants: bool, has_edges: bool
) -> CpuYield:
    return CpuYield(
        round(sum(times), 3) if times and min(times) >= 0 else -1.0,
        found["edges"] if has_edges else -1,
        found["kills"] if has_mutants else -1,
        found["signatures"],
    )


def _counts_from(i: Instance) -> float:
    """Campaign time from which its finds count: of the time before, the CPU time is not known.

    Of a fleet that was adopted, or is only watched, it may be weeks; else about 3 seconds.
    """
    is_late = i.cpu_from_t - i.began_t > MIN_CPU_S
    return max(i.began_t, i.cpu_from_t) if i.execs_before or is_late else -1.0


def _lately(state: State, i: Instance) -> _Period:
    """The last hour, or half of a shorter campaign, from the CPU measurement before its begin."""
    begin = max(state.t - HOUR_S, state.t / 2)
    series = state.instance_series.get(f"{CPU_SERIES}/{i.id}")
    if series is None or i.cpu_s < 0:
        return _Period(begin, -1.0)
    times, values = series.since(begin)
    if times and times[0] <= begin:
        return _Period(times[0], max(0.0, i.cpu_s - values[0]))
    return _Period(begin, i.cpu_s)  # the instance began later


def _finds(state: State) -> Iterator[_Find]:
    for entry in list(state.entries.values()):
        if entry.saved and entry.is_new and not entry.sync and not entry.is_seed:
            yield entry.t, "edges", entry.instance, entry.op
    for mutant in list(state.mutants.values()):
        if mutant.state != "killed" or mutant.killed_t < 0:
            continue
        killer = state.entries.get(mutant.killer)
        if killer is None:
            yield mutant.killed_t, "kills", mutant.instance, ""
        elif not killer.is_seed:
            op = "" if killer.sync else killer.op
            yield mutant.killed_t, "kills", killer.sync or mutant.instance, op
    for group in groups(state):
        if is_examined(group.first) and not group.first.op.startswith(_SEED):
            yield group.first.t, "signatures", group.first.instance, group.first.op


@lru_cache(10_000)
def _mutators(op: str) -> tuple[str, ...]:
    """The mutators of an entry's ``op``; an empty tuple if they are not known."""
    names = (name[:MAX_NAME] for name in named_by(op.partition(",")[0]))
    return tuple(dict.fromkeys(names))


# ---------------------------------------------------------------------- JSON


def yields_dict(yields: Yields) -> dict[str, Any]:
    """The JSON object of one instance, of one mutator, or of the campaign."""
    return {"whole": _yield_dict(yields.whole), "late": _yield_dict(yields.late)}


def _yield_dict(of: CpuYield) -> dict[str, Any]:
    rates = {f"{kind}_per_cpu_hour": of.per_hour(kind) for kind in KINDS}
    return {
        "cpu_s": of.cpu_s if of.cpu_s >= 0 else None,
        "edges": of.edges if of.edges >= 0 else None,
        "kills": of.kills if of.kills >= 0 else None,
        "signatures": of.signatures,
        **{name: round(rate, 3) if rate >= 0 else None for name, rate in rates.items()},
    }


def rate_words(of: CpuYield) -> str:
    """Return a yield in words: ``12 edges, 3.5 kills, 0 signatures``; ``unknown``."""
    if not of.known:
        return "unknown"
    kinds = [kind for kind in KINDS if of.per_hour(kind) >= 0]
    return ", ".join(f"{rate_number(of.per_hour(kind))} {kind}" for kind in kinds)


def yield_words(of: Yields) -> str:
    """Return the words of the whole campaign, and those of its end if they are known."""
    late = f"; lately {rate_words(of.late)}" if of.late.known else ""
    return rate_words(of.whole) + late


def rate_number(rate: float) -> str:
    """Return a rate with at most one decimal; a dash if it is unknown."""
    if rate < 0:
        return "-"
    return f"{rate:,.0f}" if rate >= 100 or not rate else f"{rate:.1f}"
