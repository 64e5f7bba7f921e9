"""The whole state of a campaign, which contains the rows."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, TypeVar

from fuzztui.kernel.model.series import Series
from fuzztui.kernel.model.state.commands import CommandEffect, CommandStatus
from fuzztui.kernel.model.state.engines import MixtureChange, UncoveredGoal
from fuzztui.kernel.model.state.instances import Host, Instance
from fuzztui.kernel.model.state.mutants import Mutant
from fuzztui.kernel.model.state.part import StatePart
from fuzztui.kernel.model.state.saved import Children, Entry, Finding, FindingVerdict
from fuzztui.kernel.model.state.source import CoverageStep, SourceRow
from fuzztui.kernel.wire.events import MutationStats, MutatorStats, Record, TargetingStats

P = TypeVar("P", bound=StatePart)

RECENT_RECORDS = 500
"""The number of latest records in the event list; statistics and lists are not in it."""

RECENT_COMMANDS = 200
"""The number of commands that are kept; answered ones are removed first."""

MAX_PROPERTIES = 10_000
"""Properties of a suite that are kept."""
MAX_PROPERTY_NAME = 400
"""Characters of a property's name, or of the reason why it is not run, that are kept."""


@dataclass(slots=True)
class State:
    """The state of a campaign. ``State()``: the state before the first record."""

    seq: int = 0
    t: float = 0.0
    cost: int = 0
    """The work of the fold until now, in ordinary records; a list of mutants counts as many."""
    name: str = ""
    engine: str = ""
    target: str = ""
    seed: int = 0
    version: str = ""
    started_wall: float = 0.0
    budget_s: float = 0.0
    budget_trials: int = 0
    exact_s: float = 0.0
    """Seconds after a budget in time that the exact pass may take; 0: none, or not bounded."""
    state: str = "empty"
    """empty, starting, running, paused, stopping, finished, stopped, failed."""
    reason: str = ""
    caught_up: float = 1.0
    """The part of the past that a watcher has recorded; below 1 nothing here is of now."""
    paused_s: float = 0.0
    """Seconds of campaign time spent in finished pauses of the whole campaign."""
    paused_at: float = -1.0
    """Campaign time at which the present pause began; -1: not paused."""
    pauses: list[float] = field(default_factory=list)
    """Begin and end of each finished pause, the latest ones, in campaign time."""
    resumed_t: float = -1.0
    """Campaign time at which the last pause of the whole campaign ended; -1: none has."""
    host: str = ""
    cores: int = 0
    """CPUs that the campaign may use on its host; 0: unknown."""
    machine_load: float = -1.0
    """Busy processes of a watcher's machine, a mean over a minute; -1: unknown."""
    machine_cores: int = 0
    """CPUs that the watcher may use there; 0: unknown."""
    disk_free: int = -1
    """Bytes that are free where the watched instances write; -1: unknown."""
    wall_t: float = 0.0
    """Campaign time at which ``wall`` was read."""
    wall: float = 0.0
    """Unix time of ``wall_t``, from the latest record with both; 0: unknown."""
    hosts: dict[str, Host] = field(default_factory=dict)
    """The hosts of a campaign on several machines, by name."""
    instances: dict[str, Instance] = field(default_factory=dict)
    entries: dict[str, Entry] = field(default_factory=dict)
    findings: dict[str, Finding] = field(default_factory=dict)
    groups: dict[str, list[str]] = field(default_factory=dict)
    """Keys of findings by signature, oldest first, without undescribed findings."""
    parents: dict[str, str] = field(default_factory=dict)
    """The parent's identity by an entry's or finding's identity, for queues that were renumbered
    (:mod:`fuzztui.kernel.model.saved`); an empty string: no parent, or an unknown one."""
    children: Children | None = field(default=None, compare=False, repr=False)
    """Derived from ``entries``, ``findings``, ``parents`` and ``instances``; None: not built."""
    verdicts: dict[str, FindingVerdict] = field(default_factory=dict)
    """By signature: the verdicts about groups; groups without a finding in this run included."""
    skipped_frames: list[str] = field(default_factory=list)
    """The rules about frames that do not count for signatures
    (:mod:`fuzztui.kernel.wire.frames`)."""
    regrouped: dict[str, dict[str, int]] = field(default_factory=dict)
    """By signature without these rules: the signatures that its findings have with the rules, each
    with the number of findings. Derived from ``findings``."""
    plain_signatures: dict[str, dict[str, int]] = field(default_factory=dict)
    """The inverse of ``regrouped``: by signature with the rules, the signatures without them."""
    titled: dict[str, dict[str, int]] = field(default_factory=dict)
    """By title without a distinction: the signatures of its groups, with the number of findings."""
    unnumbered_groups: dict[str, list[str]] = field(default_factory=dict)
    """The signatures of ``groups`` by signature without line number. Derived from ``groups``."""
    unnumbered_verdicts: dict[str, list[str]] = field(default_factory=dict)
    """The signatures of ``verdicts`` by signature without line number. Derived from these."""
    latest: dict[str, float] = field(default_factory=dict)
    """Campaign time of the last finding, by category."""
    mutants: dict[str, Mutant] = field(default_factory=dict)
    shard: int = 0
    """The number (from 1) of the shard in ``mutants``, one of ``shards``; 0: all mutants."""
    shards: int = 0
    shard_numbers: list[int] = field(default_factory=list)
    """The numbers of all shards in ``mutants``: several in a merged run."""
    shard_mutants: int = 0
    """The number of mutants in all ``shards``."""
    shard_program: str = ""
    """The checksum of the mutants of all shards
    (:class:`~fuzztui.kernel.wire.events.MutantsShard`)."""
    excluded_mutants: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Mutants that a pragma in the source excludes, by id: fields of :class:`Mutant` that are
    known, with the reason. They are not in ``mutants``."""
    mutant_counts: dict[str, int] = field(default_factory=dict)
    """The number of mutants in each state."""
    mutant_verdicts: dict[str, int] = field(default_factory=dict)
    """The number of mutants by :func:`~fuzztui.kernel.model.progress.verdict`."""
    accepted_mutants: dict[str, dict[str, str]] = field(default_factory=dict)
    """By id of a survivor that a user has accepted: because, change, author and date. Mutants that
    are not in this run, or are killed, are included."""
    accepted_survivors: int = 0
    """The number of mutants that are accepted and survive."""
    static_mutants: int = 0
    """The number of static mutants, in any state."""
    stage: str = ""
    """The phase of a fuzz-first campaign: mutants or target; empty: not fuzz-first."""
    stage_t: float = -1.0
    """Campaign time at which the phase began; -1: none yet."""
    stage_reason: str = ""
    """Why the phase began; an empty string: as planned."""
    plan: dict[str, float] = field(default_factory=dict)
    """The budget plan (:class:`~fuzztui.kernel.wire.events.PhaseStarted`)."""
    mutation: dict[str, MutationStats] = field(default_factory=dict)
    """The latest statistics of mutation analysis, by instance."""
    mutators: dict[str, MutatorStats] = field(default_factory=dict)
    """The latest statistics of text mutators, by instance; each list as long as ``names``."""
    finished_turns: MutatorStats | None = None
    """The sums of these statistics over all finished turns of mutants, with the mixture of the last
    turn; None: no turn has finished."""
    mixture_changes: dict[str, MixtureChange] = field(default_factory=dict)
    """The last change of each instance's mixture."""
    types: dict[str, TargetingStats] = field(default_factory=dict)
    """The latest statistics of spoton's types, by instance; each list as long as ``names``."""
    uncovered_goals: dict[str, dict[str, UncoveredGoal]] = field(default_factory=dict)
    """Goals that an instance has not covered, by instance and location."""
    checked_trials: dict[str, int] = field(default_factory=dict)
    """By instance: number of trials that were checked for which decisions they reach."""
    learnt: dict[str, str] = field(default_factory=dict)
    """Tokens that comparisons added to the dictionary, each with the place of its comparison."""
    trials_by: dict[str, dict[str, int]] = field(default_factory=dict)
    """By instance: trials by the operation that made their inputs."""
    property_reasons: dict[str, str] = field(default_factory=dict)
    """Of a suite: why each property is not run, by name; an empty string: it is run."""
    other_tests: int = 0
    """Tests of a suite that are no properties."""
    properties: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """By instance and name: the :data:`fuzztui.features.properties.fold.FIGURES`."""
    property_kills: dict[str, int] = field(default_factory=dict)
    """By property: the mutants that it has killed."""
    sources: dict[str, SourceRow] = field(default_factory=dict)
    """The source files of the target, by path."""
    covered: dict[str, CoverageStep] = field(default_factory=dict)
    """Lines and branches that were covered for the first time, in the order of the log."""
    coverage_build: str = ""
    """State of the build that measures the lines of a C target; empty: there is none."""
    coverage_reason: str = ""
    """Why that build failed."""
    coverage_tool: str = ""
    """The tool that measures them, gcov or llvm-cov; empty: unknown."""
    commands: dict[str, CommandStatus] = field(default_factory=dict)
    lasting: dict[str, CommandStatus] = field(default_factory=dict)
    """Commands that hold for instances that start later (:mod:`fuzztui.kernel.model.commands`)."""
    effects: dict[str, CommandEffect] = field(default_factory=dict)
    """By id of a command in ``commands``: its effect, if that can be measured."""
    parts: dict[type[StatePart], Any] = field(default_factory=dict)
    """What features add to the state: see :meth:`part`."""
    recent: deque[Record] = field(default_factory=lambda: deque(maxlen=RECENT_RECORDS))
    lost: int = 0
    """Records that were lost before the log was repaired; if any, counts are lower bounds."""
    starts: int = 0
    """The number of campaigns that started in this log: two if logs were joined."""
    unknown: dict[str, int] = field(default_factory=dict)
    """The number of events by kind, for kinds that this version does not have."""
    series: dict[str, Series] = field(default_factory=dict)
    """Campaign totals over time: execs, rate, corpus, crashes, hangs, edges, edges_valid,
    edges_third_party, cpu, killed."""
    instance_series: dict[str, Series] = field(default_factory=dict)
    """Brief series of instances, by name and instance: ``rate/ID`` and ``edges/ID``."""

    def part(self, kind: type[P]) -> P:
        """Return the part of a feature, by its class; an empty one if nothing has changed it."""
        found: P = self.parts.setdefault(kind, kind())  # at once: a screen reads while it is folded
        return found
