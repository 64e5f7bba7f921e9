"""What is known about a campaign after some prefix of its log.

Plain data, changed only by :func:`fuzztui.model.fold.apply`. Tables are dicts
keyed by id and grow at their end; their rows (:class:`Entry`, :class:`Finding`,
:class:`Mutant`) are frozen and replaced as a whole, so that states of different times share
them: that is what makes a seek cheap (:mod:`fuzztui.model.chain`). Series are
bounded (:mod:`fuzztui.model.series`). Everything round-trips through JSON
(:mod:`fuzztui.model.checkpoint`), which is what makes seeking possible.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from fuzztui.model.progress import phase
from fuzztui.model.series import Series
from fuzztui.wire.events import MutationStats, MutatorStats, Record, TargetingStats

RECENT_RECORDS = 500
"""How many of the latest records are kept for the event list: figures and lists left out."""

RECENT_COMMANDS = 200
"""How many commands are kept; finished ones leave first."""

MUTANT_STATES = ("pending", "alive", "killed", "skipped", "equivalent", "invalid")
"""What a mutant can be."""


@dataclass(slots=True)
class Instance:
    """One engine process and its directory ``out/ID``."""

    id: str
    state: str = "waiting"
    reason: str = ""
    pid: int = 0
    restarts: int = 0
    engine: str = ""
    version: str = ""
    python: str = ""
    capabilities: list[str] = field(default_factory=list)
    unable: dict[str, str] = field(default_factory=dict)
    """Why it cannot obey a command, by the command's name."""
    directory: str = ""
    """Where it is, "" for ``out/ID`` of the run."""
    mutant: str = ""
    """The mutant that it fuzzes, "" for the target itself."""
    peers: dict[str, int] = field(default_factory=dict)
    """The next id that it will import from each sibling or stranger."""
    execs: int = 0
    execs_per_sec: float = 0.0
    """-1 while nobody knows."""
    corpus: int = 0
    favored: int = -1
    pending: int = -1
    crashes: int = 0
    hangs: int = 0
    edges: int = -1
    edges_total: int = -1
    edges_valid: int = -1
    edges_third_party: int = -1
    findings_not_saved: int = -1
    valid: int = -1
    invalid: int = -1
    cycles: int = -1
    cur_item: int = -1
    max_depth: int = -1
    stability: float = -1.0
    stats_t: float = -1.0
    """Campaign time that the figures are of (arrival less their age), -1 before the first."""
    slow_t: float = -1.0
    """The same of ``stability`` and ``edges_total`` where those are older, else -1."""
    cpu: float = 0.0
    rss: int = 0
    processes: int = 0
    last_find_t: float = -1.0
    """Campaign time of the last entry that was not imported."""
    entry_files: int = 0
    """Queue files, crashes and hangs that the log itself has seen: the figures
    above are never below these, though the engine's statistics lag behind."""
    crash_files: int = 0
    hang_files: int = 0
    numbered: int = 0
    """``seq`` at which its queue began to be told under the numbers of now."""
    strange: int = 0
    """``seq`` of the last entry that was resumed with a first number of which the log knows
    nothing (it begins later): what is older may speak of numbers of that time."""
    unclear: int = 0
    """Such first numbers are all below this."""
    began_t: float = -1.0
    """Campaign time at which it first ran, -1 before."""
    ended_t: float = -1.0
    """Campaign time at which it stopped running, -1 while it runs."""
    origins: dict[str, str] = field(default_factory=dict)
    """Of one that fuzzes a mutant: the entries of others that it began with, by its numbers."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One queue entry; ``key`` is ``"instance/id"``, ``seq`` and ``t`` where it was first named."""

    key: str
    instance: str
    id: int
    t: float
    seq: int = 0
    saved: bool = False
    """False while it was only described: its file was not seen yet."""
    file: str = ""
    src: list[int] = field(default_factory=list)
    op: str = ""
    sync: str = ""
    time_ms: int = 0
    execs: int = 0
    size: int = -1
    cov: bool = False
    told: int = 0
    """``seq`` at which its file was last reported."""
    first: int = -1
    """The id it had when it was found, before afl-fuzz numbered its queue again; -1: ``id``.
    ``src`` are ids of that time."""
    reasons: list[str] = field(default_factory=list)
    edges: int = -1
    favored: bool = False
    outcome: str = ""
    steer: str = ""
    kills: int = 0


@dataclass(frozen=True, slots=True)
class Finding:
    """One crash or hang file; ``key`` is ``"instance/file"``, ``seq`` and ``t`` as of an entry."""

    key: str
    instance: str
    category: str
    file: str
    t: float
    seq: int = 0
    saved: bool = False
    id: int = -1
    src: list[int] = field(default_factory=list)
    op: str = ""
    sig: int = 0
    time_ms: int = 0
    execs: int = 0
    size: int = -1
    signature: str = ""
    title: str = ""
    place: str = ""
    detail: str = ""
    input: str = ""
    count: int = 1
    sync: str = ""
    """Whose queue ``src`` is of, "" for its own instance's."""
    first: bool = True
    """The first finding of its signature (kept up to date when the description comes later)."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One mutant of the program, over all instances; ``seq`` and ``t`` where it was first named."""

    id: str
    module: str
    file: str
    path: str
    line: int
    function: str
    operator: str
    before: str
    after: str
    t: float
    seq: int = 0
    static: bool = False
    state: str = "pending"
    """One of :data:`MUTANT_STATES`."""
    instance: str = ""
    """Whose word the state is."""
    killer: str = ""
    oracle: str = ""
    trial: int = -1
    killed_t: float = -1.0
    detail: str = ""
    reason: str = ""
    steer: str = ""
    counts: dict[str, list[int]] = field(default_factory=dict)
    """By instance: how often it was reached, infected, run."""
    place: float = 0.0
    """The queue of a fuzz-first campaign is in this order."""
    stage: str = ""
    """How far its fuzzing has come, "" where mutants are not fuzzed one by one."""
    slot: str = ""
    """The instance that fuzzes it, or did last."""
    begun: float = -1.0
    """Running time of the campaign at which that began, -1 before."""
    fuzzed_s: float = 0.0
    """Running time for which it was fuzzed, all slots together, the present one left out."""
    costs: dict[str, float] = field(default_factory=dict)
    """Seconds, by what they were spent on."""
    brought: dict[str, int] = field(default_factory=dict)
    """What its fuzzing came to, by name (:class:`~fuzztui.wire.events.MutantProgress`)."""
    earlier: dict[str, int] = field(default_factory=dict)
    """The same of its turns before it was queued again."""

    @property
    def listed_stage(self) -> str:
        """Its stage as lists print it, and as selections name it."""
        where = phase(self)
        return self.stage if where in ("at work", "waiting") else where

    @property
    def reached(self) -> int:
        """How many inputs of all instances executed the place."""
        return sum(figures[0] for figures in self.counts.values())

    @property
    def infected(self) -> int:
        """How many of them made the expression's value another one."""
        return sum(figures[1] for figures in self.counts.values())

    @property
    def runs(self) -> int:
        """How many times it was run."""
        return sum(figures[2] for figures in self.counts.values())


@dataclass(frozen=True, slots=True)
class MixtureChange:
    """Since when an instance's mixture of operators is what it is, and who wanted that."""

    instance: str
    havoc: float
    text: float
    splice: float
    adaptive: bool = False
    t: float = -1.0
    """-1: it was so when the instance was first heard of."""
    by: str = ""
    """"": nobody asked for it (the campaign file, or a file that somebody edited)."""
    trials: int = 0
    havocs: int = 0
    """Inputs made, and havoc steps taken, until then."""


@dataclass(frozen=True, slots=True)
class UncoveredGoal:
    """A goal that one spoton instance has not covered."""

    frontier: bool = False
    reached: int = 0
    """Of ``asked`` trials so many came to its decision, as it was last told."""
    asked: int = 0
    types: tuple[tuple[str, int], ...] = ()
    """Names and distances, nearest first; none: it cannot be aimed at."""


@dataclass(slots=True)
class CommandStatus:
    """A command on its way: ``state`` is pending, applied or rejected."""

    id: str
    t: float
    command: dict[str, Any]
    by: str = ""
    state: str = "pending"
    instance: str = ""
    trial: int = -1
    text: str = ""
    """What was done, or why not; while it is pending: how far it has come."""
    part: float = -1.0
    """How much of it is done, 0 to 1, -1 where nobody knows."""
    done_t: float = -1.0


@dataclass(slots=True)
class State:
    """The whole campaign. A fresh one is the state before the first record."""

    seq: int = 0
    t: float = 0.0
    cost: int = 0
    """How much work the fold was so far, in records: one that lists mutants is many."""
    name: str = ""
    engine: str = ""
    target: str = ""
    seed: int = 0
    version: str = ""
    started_wall: float = 0.0
    budget_s: float = 0.0
    budget_trials: int = 0
    state: str = "empty"
    """empty, starting, running, paused, stopping, finished, stopped, failed."""
    reason: str = ""
    paused_s: float = 0.0
    """Seconds of campaign time spent in pauses of the whole campaign that are over."""
    paused_at: float = -1.0
    """Campaign time at which the present pause began, -1 when there is none."""
    supervisor_pid: int = 0
    host: str = ""
    wall_t: float = 0.0
    """Campaign time at which ``wall`` was read: the latest tie to Unix time."""
    wall: float = 0.0
    instances: dict[str, Instance] = field(default_factory=dict)
    entries: dict[str, Entry] = field(default_factory=dict)
    findings: dict[str, Finding] = field(default_factory=dict)
    groups: dict[str, list[str]] = field(default_factory=dict)
    """Finding keys by signature, oldest first; undescribed findings are not in it."""
    parents: dict[str, str] = field(default_factory=dict)
    """Who was made of whom, of queues that were renumbered (:mod:`fuzztui.model.lineage`);
    "": of nobody, or of nobody knows whom."""
    latest: dict[str, float] = field(default_factory=dict)
    """Campaign time of the last finding, by category."""
    mutants: dict[str, Mutant] = field(default_factory=dict)
    mutant_counts: dict[str, int] = field(default_factory=dict)
    """How many mutants are in each state."""
    static_mutants: int = 0
    """How many of all mutants are static."""
    stage: str = ""
    """What a fuzz-first campaign fuzzes now: mutants, target."""
    stage_t: float = -1.0
    """Campaign time at which that began."""
    plan: dict[str, float] = field(default_factory=dict)
    """What the budget allows (:class:`~fuzztui.wire.events.PhaseStarted`)."""
    mutation: dict[str, MutationStats] = field(default_factory=dict)
    """The latest figures of mutation analysis, by instance."""
    operators: dict[str, MutatorStats] = field(default_factory=dict)
    """The latest figures of text mutators, by instance; each list as long as ``names``."""
    turned: MutatorStats | None = None
    """The same of mutants' turns that are over, as one: their sums, and the last one's mixture."""
    mixed: dict[str, MixtureChange] = field(default_factory=dict)
    """The last change of each instance's mixture."""
    mixture: MixtureChange | None = None
    """What was asked for last of all instances: it holds for those that begin later, too."""
    types: dict[str, TargetingStats] = field(default_factory=dict)
    """The latest figures of spoton's types, by instance; each list as long as ``names``."""
    left: dict[str, dict[str, UncoveredGoal]] = field(default_factory=dict)
    """Code targets that are not covered, by instance and location."""
    asked: dict[str, int] = field(default_factory=dict)
    """How many trials of an instance were asked which of them they reach."""
    commands: dict[str, CommandStatus] = field(default_factory=dict)
    recent: deque[Record] = field(default_factory=lambda: deque(maxlen=RECENT_RECORDS))
    lost: int = 0
    """Records that were lost before the log was repaired: with any, counters are lower bounds."""
    starts: int = 0
    """How many campaigns began in this log: two where logs were joined."""
    unknown: dict[str, int] = field(default_factory=dict)
    """How many events of each kind that this version does not know."""
    series: dict[str, Series] = field(default_factory=dict)
    """Campaign totals over time: execs, rate, corpus, crashes, hangs, edges, edges_valid,
    edges_third_party, cpu, killed."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What one batch of records touched, so that a screen repaints no more than that."""

    campaign: bool = False
    """Name, state, budget, totals."""
    instances: frozenset[str] = frozenset()
    entries: frozenset[str] = frozenset()
    findings: frozenset[str] = frozenset()
    mutants: frozenset[str] = frozenset()
    commands: frozenset[str] = frozenset()
    records: int = 0
    """How many records the batch had."""
    reset: bool = False
    """Everything may have changed (the first batch, a seek)."""

    def __or__(self, later: Changes) -> Changes:
        """What this batch and a later one touched together."""
        return Changes(
            campaign=self.campaign or later.campaign,
            instances=_union(self.instances, later.instances),
            entries=_union(self.entries, later.entries),
            findings=_union(self.findings, later.findings),
            mutants=_union(self.mutants, later.mutants),
            commands=_union(self.commands, later.commands),
            records=self.records + later.records,
            reset=self.reset or later.reset,
        )


def _union(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    # Nearly always one of them is empty: a union would copy the other, however large.
    return one | other if one and other else one or other
