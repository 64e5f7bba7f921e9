"""The campaign at a glance, ready to be drawn: one frozen value per tick. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields

from fuzztui.kernel.model.finding_tallies import FindingTally, tallies
from fuzztui.kernel.model.host_summary import HostSummary, host_summaries, is_reached
from fuzztui.kernel.model.measured import unmeasured
from fuzztui.kernel.model.mutants import Summary, mutants_summary
from fuzztui.kernel.model.selectors import (
    ENDED,
    overtime,
    pending_commands,
    running_time,
    throughput,
    totals,
    tree_of,
)
from fuzztui.kernel.model.stall import advice, quiet_s, stall_after
from fuzztui.kernel.model.state import NO_STATS, Instance, State
from fuzztui.kernel.model.watched_targets import WatchedTarget, machine_text, watched_targets
from fuzztui.kernel.model.yields import CampaignYields, campaign_yields
from fuzztui.kernel.wire.events import MutationStats, Stats
from fuzztui.tui.base import format

STALE_S = 10.0
"""Age in seconds from which statistics get a warning colour."""

AFL_STALE_S = 120.0
"""The same for AFL, which may write its statistics once a minute: two writes are missing."""

NO_TROUBLE = 3
"""The rank of an instance without trouble."""

NOTHING = FindingTally()

AFL = "afl"
"""The engine of AFL and AFL++ campaigns, supervised or watched."""

FRESH_S = 3.0
"""Age in seconds up to which statistics count as current: engines report about once a second."""

WATCHED_FRESH_S = 10.0
"""The same for a watched afl-fuzz, which writes plot_data every five seconds."""


@dataclass(frozen=True, slots=True)
class Status:
    """Totals over all instances. -1: not reported. Times are campaign times in seconds."""

    name: str = ""
    engine: str = ""
    target: str = ""
    mode: str = "live"
    state: str = "empty"
    reason: str = ""
    now: float = 0.0
    running_s: float = 0.0
    """Campaign time without pauses, in seconds; the time budget counts it."""
    lost: int = 0
    """Records that were lost before the log was repaired."""
    budget_s: float = 0.0
    budget_trials: int = 0
    exact_s: float = 0.0
    """Seconds after a budget in time that the exact pass may take; 0: none, or not bounded."""
    overtime_s: float = 0.0
    """Seconds of running time after the budget, in the exact pass, which has its own budget."""
    stats_age: float = -1.0
    """Age of the oldest statistics that should be renewed; -1: there are none."""
    stats: Stats = NO_STATS
    """Totals over all instances."""
    execs_per_sec: float = 0.0
    cycles: tuple[int, int] = (-1, -1)
    """The fewest and the most cycles of any instance."""
    found: Mapping[str, FindingTally] = field(default_factory=dict)
    """Findings by category."""
    yields: CampaignYields = field(default_factory=CampaignYields)
    """Finds per CPU hour."""
    troubled: int = 0
    """Number of instances that do not fuzz and need the user's attention."""
    unseen: int = 0
    """Number of groups of findings since the user last looked at them."""
    unmeasured: str = ""
    """Why the campaign measures nothing; an empty string: it measures, or has just begun."""
    quiet_s: float = 0.0
    """Seconds of a stall: nothing new was found; 0: no stall."""
    advice: str = ""
    """What may help in a stall."""
    last_entry_t: float = -1.0
    mutants: Summary | None = None
    """None if the campaign has no mutants (yet)."""
    analysis: MutationStats | None = None
    """Statistics of mutation analysis, summed over the instances."""
    last_kill_t: float = -1.0
    absent: Mapping[str, str] = field(default_factory=dict)
    """Screens that the campaign has not, each with the reason."""
    pending: int = 0
    """Number of commands without an answer."""
    alive: bool | None = None
    watched: bool = False
    """Whether this is a watched campaign of someone else."""
    hosts: Mapping[str, HostSummary] = field(default_factory=dict)
    """The hosts of a campaign on several machines, by name."""
    targets: Sequence[WatchedTarget] = ()
    """The targets of watched instances, if they have several: totals would mix them."""
    machine: str = ""
    """Load and free disk of a watcher's machine, as text."""
    campaigns: int = 1
    """Number of campaigns that are watched together; times and totals cover all of them."""
    ended: str = ""
    """In a replay: the state in which the campaign ended; an empty string until known."""
    end_t: float = 0.0
    """In a replay: when that was."""
    caught_up: float = 1.0
    """The part of the log that has been read; below 1 everything else is of the past."""

    @property
    def over(self) -> bool:
        """Whether the campaign has ended."""
        return self.state in ENDED

    @property
    def still(self) -> bool:
        """Whether nothing changes any more, not even the clock: times are shown, not ages."""
        return self.over or self.orphaned

    def when(self, t: float) -> str:
        """Return when ``t`` was: ``4m ago``, or ``at 0:58`` once nothing changes any more."""
        if t < 0:
            return format.NONE
        return f"at {format.clock(t)}" if self.still else format.ago(t, self.now)

    def tally(self, category: str) -> FindingTally:
        """Return the findings of a category."""
        return self.found.get(category, NOTHING)

    @property
    def groups(self) -> int:
        """Number of groups of findings of all categories, by known causes."""
        return sum(tally.groups for tally in self.found.values())

    @property
    def fresh_s(self) -> float:
        """Age in seconds up to which statistics count as current."""
        return WATCHED_FRESH_S if self.watched else FRESH_S

    @property
    def stale_s(self) -> float:
        """Age in seconds from which statistics get a warning colour."""
        return AFL_STALE_S if self.engine == AFL else STALE_S

    @property
    def orphaned(self) -> bool:
        """Whether the log shows a running campaign, but no supervisor (or watcher) writes the log.

        Never true before the log was read: an earlier state says nothing about now.
        """
        known = self.state != "empty" and self.caught_up >= 1
        return known and self.mode == "live" and self.alive is False and not self.over

    def is_out_of_reach(self, instance: Instance) -> bool:
        """Whether only the last known state of an instance can be shown, not the present one.

        True if no supervisor runs, or if the connection to the instance's host is lost.
        """
        there = self.hosts.get(instance.host)
        return self.orphaned or (there is not None and there.in_trouble)

    @property
    def progress(self) -> float:
        """Used share of the budget; of two budgets the larger share; -1 without a budget."""
        shares = []
        if self.budget_s > 0:
            shares.append(self.running_s / self.budget_s)
        if self.budget_trials > 0:
            shares.append(self.stats.execs / self.budget_trials)
        return min(1.0, max(shares)) if shares else -1.0

    @property
    def by_time(self) -> bool:
        """Whether the time budget will be used up first."""
        if self.budget_s <= 0 or self.budget_trials <= 0:
            return self.budget_s > 0
        return self.running_s / self.budget_s >= self.stats.execs / self.budget_trials

    @property
    def paused_s(self) -> float:
        """Campaign time in which the whole campaign was paused, in seconds; 0 if below a second."""
        paused = self.now - self.running_s
        return paused if paused >= 1 else 0.0

    @property
    def valid_share(self) -> float:
        """Share of inputs that the target accepted; -1: unknown."""
        valid, invalid = self.stats.valid, self.stats.invalid
        return valid / (valid + invalid) if valid >= 0 and invalid >= 0 < valid + invalid else -1.0


def has_died(instance: Instance, *, over: bool) -> bool:
    """Whether a watched instance is stopped, while the campaign is not ``over``.

    What stopped it is unknown. An instance of a supervisor stops by a command only.
    """
    is_watched = bool(instance.directory) and not instance.mutant
    return is_watched and instance.state == "stopped" and not over


def trouble_rank(instance: Instance, *, over: bool) -> int:
    """Return the place of an instance among those that need the user's attention, or the last."""
    if has_died(instance, over=over):
        return 1
    return {"failed": 0, "stalled": 2}.get(instance.state, NO_TROUBLE)


def status_of(
    state: State,
    now: float,
    mode: str = "live",
    alive: bool | None = None,
    last_kill_t: float = -1.0,
    *,
    watched: bool = False,
    ended: str = "",
    end_t: float = 0.0,
    found: Mapping[str, FindingTally] | None = None,
    yields: CampaignYields | None = None,
    mutants: Summary | None = None,
    unseen: int = 0,
    absent: Mapping[str, str] | None = None,
    caught_up: float = 1.0,
) -> Status:
    """Return the totals of ``state`` at campaign time ``now``.

    The caller passes ``last_kill_t``, ``found``, ``yields`` and ``mutants``, because
    computing them from 100,000 mutants, entries or findings four times a second would be slow;
    ``absent`` comes from the screens of the features.
    """
    sums = totals(state)
    instances = list(state.instances.values())
    own = [i for i in instances if not i.mutant]
    cycles = [i.stats.cycles for i in own if i.stats.cycles >= 0]
    quiet = quiet_s(state, now)
    quiet = quiet if quiet >= stall_after(state) else 0.0
    found = tallies(state) if found is None else found
    targets = watched_targets(state)
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
        exact_s=state.exact_s,
        budget_trials=state.budget_trials,
        overtime_s=overtime(state),
        stats_age=_age((i for i in instances if is_reached(state, i)), now),
        stats=sums.stats,
        execs_per_sec=throughput(state),
        cycles=(min(cycles), max(cycles)) if cycles else (-1, -1),
        found=found,
        yields=campaign_yields(state) if yields is None else yields,
        troubled=sum(
            trouble_rank(i, over=state.state in ENDED) < NO_TROUBLE
            for i in instances
            if not (i.mutant and i.state in ENDED)
        ),
        unseen=unseen,
        unmeasured=unmeasured(state),
        quiet_s=quiet,
        advice=advice(state) if quiet else "",
        last_entry_t=sums.last_find_t,
        mutants=(mutants or mutants_summary(state)) if state.mutants else None,
        analysis=analysis_of(state),
        last_kill_t=last_kill_t,
        absent=absent or {},
        pending=len(pending_commands(state)),
        alive=alive,
        watched=watched,
        hosts=host_summaries(state, found) if state.hosts else {},
        targets=targets if len(targets) > 1 else (),
        machine=machine_text(state.machine_load, state.machine_cores, state.disk_free),
        campaigns=max(1, len({tree_of(i) for i in instances})),
        lost=state.lost,
        ended=ended,
        end_t=end_t,
        caught_up=caught_up,
    )


_SUMS = tuple(
    f.name
    for f in fields(MutationStats)
    if f.name not in ("instance", "share", "phase", "unsettled", "left_s", "pass_share")
)


def analysis_of(state: State) -> MutationStats | None:
    """Return the sum of all instances' statistics of mutation analysis; ``share`` is the mean."""
    reported = list(state.mutation.values())
    if not reported:
        return None
    shares = [f.share for f in reported if f.share >= 0]
    return MutationStats(
        "",
        share=sum(shares) / len(shares) if shares else -1.0,
        phase=next((f.phase for f in reported if f.phase), ""),
        **{name: sum(getattr(f, name) for f in reported) for name in _SUMS},
    )


def _age(instances: Iterable[Instance], now: float) -> float:
    """Age of the oldest statistics of the instances that should be reporting."""
    times = [i.stats_t for i in instances if i.state in ("running", "stalled") and i.stats_t >= 0]
    return max(0.0, now - min(times)) if times else -1.0
