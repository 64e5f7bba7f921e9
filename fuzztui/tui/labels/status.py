"""The campaign at a glance, ready to be drawn: one frozen value a tick. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields

from fuzztui.model.mutation_score import Summary, mutants_summary
from fuzztui.model.mutators import MixtureSummary, blend
from fuzztui.model.selectors import (
    ENDED,
    FindingTally,
    pending_commands,
    running_time,
    tallies,
    throughput,
    totals,
    tree_of,
)
from fuzztui.model.state import Instance, State
from fuzztui.model.targeting import Aim, aim
from fuzztui.tui.base import format
from fuzztui.tui.labels.worklist import FuzzfirstSummary
from fuzztui.wire.events import MutationStats

STALE_S = 10.0
"""Figures older than this are called old in a warning colour."""

AFL_STALE_S = 120.0
"""The same of AFL, which may write its figures once a minute: two were missed."""

NOTHING = FindingTally()

SPOTON = "spoton"
"""The engine that aims at types."""

AFL = "afl"
"""The engine of a campaign of AFL or AFL++, supervised or watched."""

FRESH_S = 3.0
"""Up to this age figures are simply current: engines report about once a second."""

WATCHED_FRESH_S = 10.0
"""The same of someone else's afl-fuzz: it writes plot_data every five seconds."""


@dataclass(frozen=True, slots=True)
class Status:
    """Totals over all instances. ``-1`` is "nobody reports it"; times are campaign time."""

    name: str = ""
    engine: str = ""
    target: str = ""
    mode: str = "live"
    state: str = "empty"
    reason: str = ""
    now: float = 0.0
    running_s: float = 0.0
    """Campaign time less the pauses: what the time budget is spent by."""
    lost: int = 0
    """Records that were lost before the log was repaired."""
    budget_s: float = 0.0
    budget_trials: int = 0
    figures_age: float = -1.0
    """Age of the oldest figures that should be renewed, -1 when there are none."""
    execs: int = 0
    execs_per_sec: float = 0.0
    corpus: int = 0
    edges: int = -1
    edges_total: int = -1
    edges_valid: int = -1
    edges_third_party: int = -1
    """Lines (or functions) of libraries that were executed."""
    valid: int = -1
    invalid: int = -1
    cycles: tuple[int, int] = (-1, -1)
    """The fewest and the most of any instance."""
    stability: float = -1.0
    """The lowest of any instance, in per cent."""
    found: Mapping[str, FindingTally] = field(default_factory=dict)
    """Findings by their category."""
    findings_not_saved: int = -1
    """Distinct findings beyond ``engine.max_findings``: at least so many."""
    last_entry_t: float = -1.0
    mutants: Summary | None = None
    """None when the campaign has no mutants (yet)."""
    analysis: MutationStats | None = None
    """The figures of mutation analysis, summed over the instances."""
    last_kill_t: float = -1.0
    first: FuzzfirstSummary | None = None
    """The queue of mutants, None for campaigns that do not fuzz mutants first."""
    blend: MixtureSummary | None = None
    """The mixture of text mutators, None for campaigns without."""
    aim: Aim | None = None
    """What spoton engines aim at, None while none has told, and for campaigns of others."""
    pending: int = 0
    """Commands that nobody has answered yet."""
    alive: bool | None = None
    watched: bool = False
    """Whether it is someone else's campaign."""
    campaigns: int = 1
    """How many campaigns are watched at once: times and totals are of all of them together."""
    ended: str = ""
    """In a replay, the state that the campaign came to; "" while that is not known."""

    @property
    def aims(self) -> bool:
        """Whether there are types to be looked at, or will be."""
        return self.aim is not None or self.engine == SPOTON

    @property
    def over(self) -> bool:
        """Nothing more will happen."""
        return self.state in ENDED

    @property
    def still(self) -> bool:
        """Nothing moves any more, not even the clock: ages would stand still."""
        return self.over or self.orphaned

    def when(self, t: float) -> str:
        """When campaign time ``t`` was: ``4m ago``, or ``at 0:58`` once nothing moves."""
        if t < 0:
            return format.NONE
        return f"at {format.clock(t)}" if self.still else format.ago(t, self.now)

    def tally(self, category: str) -> FindingTally:
        """Findings of a category."""
        return self.found.get(category, NOTHING)

    @property
    def groups(self) -> int:
        """Groups of findings, of whatever category: the rows of the Findings screen."""
        return sum(tally.groups for tally in self.found.values())

    @property
    def fresh_s(self) -> float:
        """Up to this age figures are as new as they can be."""
        return WATCHED_FRESH_S if self.watched else FRESH_S

    @property
    def stale_s(self) -> float:
        """From which age on figures are worrying."""
        return AFL_STALE_S if self.engine == AFL else STALE_S

    @property
    def orphaned(self) -> bool:
        """The log says that it runs, but no supervisor (or watcher) does, and nobody writes it.

        Never before the log was read.
        """
        known = self.state != "empty"
        return known and self.mode == "live" and self.alive is False and not self.over

    @property
    def progress(self) -> float:
        """Share of the budget that is used up; the nearer limit counts; -1 without one."""
        shares = []
        if self.budget_s > 0:
            shares.append(self.running_s / self.budget_s)
        if self.budget_trials > 0:
            shares.append(self.execs / self.budget_trials)
        return min(1.0, max(shares)) if shares else -1.0

    @property
    def by_time(self) -> bool:
        """Whether it is the time budget that is nearer to its end."""
        if self.budget_s <= 0 or self.budget_trials <= 0:
            return self.budget_s > 0
        return self.running_s / self.budget_s >= self.execs / self.budget_trials

    @property
    def paused_s(self) -> float:
        """Campaign time in which the whole campaign was paused; 0 up to a second."""
        paused = self.now - self.running_s
        return paused if paused >= 1 else 0.0

    @property
    def valid_share(self) -> float:
        """Share of inputs that the target accepted, -1 when unknown."""
        seen = self.valid + self.invalid
        return self.valid / seen if self.valid >= 0 and self.invalid >= 0 and seen > 0 else -1.0


def status_of(
    state: State,
    now: float,
    mode: str = "live",
    alive: bool | None = None,
    last_kill_t: float = -1.0,
    *,
    watched: bool = False,
    first: FuzzfirstSummary | None = None,
    ended: str = "",
    found: Mapping[str, FindingTally] | None = None,
) -> Status:
    """``state`` summed up at campaign time ``now``.

    ``last_kill_t``, ``first`` and ``found`` are the caller's to know: looking through 100,000
    mutants or findings for them four times a second would be dear.
    """
    sums = totals(state)
    instances = list(state.instances.values())
    own = [i for i in instances if not i.mutant]
    cycles = [i.cycles for i in own if i.cycles >= 0]
    return Status(
        name=state.name,
        engine=state.engine,
        target=state.target,
        mode=mode,
        state=state.state,
        reason=state.reason,
        now=now,
        running_s=running_time(state, now),
        budget_s=state.budget_s,
        budget_trials=state.budget_trials,
        figures_age=_age(instances, now),
        execs=sums.execs,
        execs_per_sec=throughput(state),
        corpus=sums.corpus,
        edges=sums.edges,
        edges_total=sums.edges_total,
        edges_valid=sums.edges_valid,
        edges_third_party=sums.edges_third_party,
        valid=sums.valid,
        invalid=sums.invalid,
        cycles=(min(cycles), max(cycles)) if cycles else (-1, -1),
        stability=min((i.stability for i in own if i.stability >= 0), default=-1.0),
        found=tallies(state) if found is None else found,
        findings_not_saved=sums.findings_not_saved,
        last_entry_t=sums.last_find_t,
        mutants=mutants_summary(state) if state.mutants else None,
        analysis=analysis_of(state),
        last_kill_t=last_kill_t,
        first=first,
        blend=blend(state),
        aim=aim(state),
        pending=len(pending_commands(state)),
        alive=alive,
        watched=watched,
        campaigns=max(1, len({tree_of(i) for i in instances})),
        lost=state.lost,
        ended=ended,
    )


_SUMS = tuple(f.name for f in fields(MutationStats) if f.name not in ("instance", "share", "phase"))


def analysis_of(state: State) -> MutationStats | None:
    """The instances' figures of mutation analysis as one; ``share`` is their mean."""
    told = list(state.mutation.values())
    if not told:
        return None
    shares = [f.share for f in told if f.share >= 0]
    return MutationStats(
        "",
        share=sum(shares) / len(shares) if shares else -1.0,
        phase=next((f.phase for f in told if f.phase), ""),
        **{name: sum(getattr(f, name) for f in told) for name in _SUMS},
    )


def _age(instances: Iterable[Instance], now: float) -> float:
    """Age of the oldest figures among the instances that should be reporting."""
    times = [i.stats_t for i in instances if i.state in ("running", "stalled") and i.stats_t >= 0]
    return max(0.0, now - min(times)) if times else -1.0
