"""Yield per CPU hour: what instances and mutators find for the CPU time that is spent.

CPU time comes from the log only (:class:`~fuzztui.wire.events.Resources`): the use in cores times
the time since the measurement before. Without it a yield is unknown; wall time is no substitute.
No engine measures the CPU time of a mutator, so its finds are divided by the time of all instances:
the rates of mutators add up to the campaign's, apart from trials that stack several mutators.
Seeds and entries that were imported from other instances are no finds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from fuzztui.model.mutators import named_by
from fuzztui.model.selectors import groups
from fuzztui.model.state import Entry, Instance, State
from fuzztui.model.stats import CPU_SERIES

HOUR_S: Final = 3600.0

MIN_CPU_S: Final = 60.0
"""Seconds of CPU time below which there is no rate: it would be chance, and of the first 3 seconds
after a start the log has no measurement."""

MAX_MUTATORS: Final = 500
"""Different names of mutators, which come from file names; further ones are left out."""
MAX_NAME: Final = 80
"""Characters of a name."""

KINDS: Final = ("edges", "kills", "signatures")

_SEED: Final = "orig"
"""How the ``op`` of seeds begins."""


@dataclass(frozen=True, slots=True)
class CpuYield:
    """Finds in a period, and the CPU time of the instances in it."""

    cpu_s: float = -1.0
    """-1: unknown."""
    edges: int = 0
    """Trials that covered something new to their instance."""
    kills: int = -1
    """Killed mutants; -1: the campaign has none."""
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
    """Over the whole campaign, and lately: in the last hour, or half of a shorter campaign."""

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
    """Those with a find."""

    @property
    def without_finds(self) -> Yields:
        """The yields of a mutator that has found nothing."""
        whole, late = (
            replace(of, edges=0, kills=min(of.kills, 0), signatures=0)
            for of in (self.campaign.whole, self.campaign.late)
        )
        return Yields(whole, late)


class _Find(NamedTuple):
    t: float
    kind: str
    instance: str
    mutators: tuple[str, ...]


class _Period(NamedTuple):
    """What an instance used from a time on."""

    begin: float
    cpu_s: float


def campaign_yields(state: State) -> CampaignYields:
    """Return all yields. Takes time in proportion to the entries and mutants of the campaign.

    Instances that fuzz a mutant have none: what they find is not of the target. Instances without
    CPU time, such as that of added seeds, do not count for the campaign and the mutators, unless
    no instance has any.
    """
    own = {i.id: i for i in list(state.instances.values()) if not i.mutant}
    by_instance: dict[str, list[_Find]] = {id_: [] for id_ in own}
    for find in _finds(state):
        if find.instance in by_instance:
            by_instance[find.instance].append(find)
    periods = (
        {id_: _Period(0.0, i.cpu_s) for id_, i in own.items()},
        {id_: _lately(state, i) for id_, i in own.items()},
    )
    has_mutants = bool(state.mutants)

    def yields(finds: Iterable[_Find], ids: Collection[str]) -> Yields:
        whole, late = (_sum(finds, ids, period, has_mutants=has_mutants) for period in periods)
        return Yields(whole, late)

    measured = [id_ for id_, i in own.items() if i.cpu_s >= 0] or list(own)
    every = [find for id_ in measured for find in by_instance[id_]]
    by_mutator: dict[str, list[_Find]] = {}
    for find in every:
        for name in find.mutators:
            if name in by_mutator or len(by_mutator) < MAX_MUTATORS:
                by_mutator.setdefault(name, []).append(find)
    return CampaignYields(
        yields(every, measured),
        {id_: yields(finds, [id_]) for id_, finds in by_instance.items()},
        {name: yields(finds, measured) for name, finds in by_mutator.items()},
    )


def _sum(
    finds: Iterable[_Find],
    ids: Collection[str],
    periods: Mapping[str, _Period],
    *,
    has_mutants: bool,
) -> CpuYield:
    """The finds and the CPU time of instances in their periods."""
    found = dict.fromkeys(KINDS, 0)
    for find in finds:
        found[find.kind] += find.t >= periods[find.instance].begin
    times = [periods[id_].cpu_s for id_ in ids]
    return CpuYield(
        round(sum(times), 3) if times and min(times) >= 0 else -1.0,
        found["edges"],
        found["kills"] if has_mutants else -1,
        found["signatures"],
    )


def _lately(state: State, i: Instance) -> _Period:
    """The last hour, or half of a shorter campaign, from the measurement of CPU time before."""
    begin = max(state.t - HOUR_S, state.t / 2)
    series = state.instance_series.get(f"{CPU_SERIES}/{i.id}")
    if series is None or i.cpu_s < 0:
        return _Period(begin, -1.0)
    times, values = series.since(begin)
    if times and times[0] <= begin:
        return _Period(times[0], max(0.0, i.cpu_s - values[0]))
    return _Period(begin, i.cpu_s)  # it began later


def _finds(state: State) -> Iterator[_Find]:
    for entry in list(state.entries.values()):
        is_new = entry.saved and (entry.cov or "edge" in entry.reasons)
        if is_new and not entry.sync and not _is_seed(entry):
            yield _Find(entry.t, "edges", entry.instance, _mutators(entry.op))
    for mutant in list(state.mutants.values()):
        if mutant.state != "killed" or mutant.killed_t < 0:
            continue
        killer = state.entries.get(mutant.killer)
        if killer is None:
            yield _Find(mutant.killed_t, "kills", mutant.instance, ())
        elif not _is_seed(killer):
            mutators = () if killer.sync else _mutators(killer.op)
            yield _Find(mutant.killed_t, "kills", killer.sync or mutant.instance, mutators)
    for group in groups(state):
        first = group.first
        if not first.op.startswith(_SEED):
            yield _Find(first.t, "signatures", first.instance, _mutators(first.op))


def _is_seed(entry: Entry) -> bool:
    return entry.op.startswith(_SEED) or "seed" in entry.reasons


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
        "edges": of.edges,
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


def rate_number(rate: float) -> str:
    """Return a rate with at most one decimal; a dash if it is unknown."""
    if rate < 0:
        return "-"
    return f"{rate:,.0f}" if rate >= 100 or not rate else f"{rate:.1f}"
