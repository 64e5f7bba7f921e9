"""The state of a campaign after some prefix of its log.

Plain data, changed only by :func:`fuzztui.model.fold.apply`. Tables are dicts keyed by id and grow
at their end. Their rows (:class:`Entry`, :class:`Finding`, :class:`Mutant`) are frozen and replaced
as a whole: states of different times share them, so seeking is cheap (:mod:`fuzztui.model.chain`).
Series are bounded (:mod:`fuzztui.model.series`). A state can be stored as JSON
(:mod:`fuzztui.model.checkpoint`).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from fuzztui.model.progress import phase
from fuzztui.model.series import Series
from fuzztui.wire.events import MutationStats, MutatorStats, Record, Stats, TargetingStats

RECENT_RECORDS = 500
"""The number of latest records in the event list; statistics and lists are not in it."""

RECENT_COMMANDS = 200
"""The number of commands that are kept; answered ones are removed first."""

MAX_PROPERTIES = 10_000
"""Properties of a suite that are kept."""
MAX_PROPERTY_NAME = 400
"""Characters of a property's name, or of the reason why it is not run, that are kept."""

MUTANT_STATES = ("pending", "alive", "killed", "skipped", "equivalent", "invalid")
"""States of a mutant."""


FILE_COUNTS = frozenset({"corpus", "crashes", "hangs"})
"""Statistics that count files: the log may contain more of them than the engine has reported."""

NO_STATS = Stats("")


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
    """Reasons why the engine cannot execute commands, by the name of the command."""
    directory: str = ""
    """The directory of the instance; an empty string: ``out/ID`` of the run."""
    mutant: str = ""
    """The id of the mutant that the instance fuzzes; an empty string: the original."""
    peers: dict[str, int] = field(default_factory=dict)
    """By peer: the next id to import from its queue."""
    stats: Stats = NO_STATS
    """The latest statistics. The numbers of files may be too low: use the properties."""
    execs_per_sec: float = 0.0
    """The rate of the latest statistics; 0 in a state without executions; -1: unknown."""
    stats_t: float = -1.0
    """Campaign time at which the statistics were measured; -1: none yet."""
    slow_t: float = -1.0
    """The same for ``stability`` and ``edges_total`` if they are older; else -1."""
    cpu: float = 0.0
    rss: int = 0
    processes: int = 0
    cpu_s: float = -1.0
    """CPU seconds used since the first measurement; -1: none yet."""
    cpu_t: float = -1.0
    """Campaign time of the last measurement of ``cpu``; -1: none yet."""
    last_find_t: float = -1.0
    """Campaign time of the last entry that was not imported; -1: none yet."""
    entry_files: int = 0
    """Files in ``queue/`` that the log contains, as ``crash_files`` and ``hang_files`` of the other
    directories. The properties are never below these, though the engine's statistics lag."""
    crash_files: int = 0
    hang_files: int = 0
    renumbered_seq: int = 0
    """``seq`` of the first record with the present numbering of the queue."""
    unknown_original_seq: int = 0
    """``seq`` of the last entry whose original id the log does not contain, because the log starts
    after a renumbering. Older records may use ids of that earlier numbering."""
    unknown_original_below: int = 0
    """All such original ids are below this number."""
    began_t: float = -1.0
    """Campaign time at which the instance first ran; -1: not yet."""
    ended_t: float = -1.0
    """Campaign time at which the instance ended; -1: it has not."""
    passive: str = ""
    """Of a directory in which nothing fuzzes: where its entries come from; else empty."""
    received: int = 0
    """The number of its entries then, which no total counts."""
    host: str = ""
    """The name of the host on which it runs; empty: the machine of this log."""
    origins: dict[str, str] = field(default_factory=dict)
    """Of an instance that fuzzes a mutant: the entries that were its seeds, by its own ids."""

    @property
    def corpus(self) -> int:
        """The number of entries."""
        return max(self.stats.corpus, self.entry_files)

    @property
    def crashes(self) -> int:
        """The number of saved crashes."""
        return max(self.stats.crashes, self.crash_files)

    @property
    def hangs(self) -> int:
        """The number of saved hangs."""
        return max(self.stats.hangs, self.hang_files)

    def stat(self, name: str) -> Any:
        """Return a number of the statistics by the name of its field in :class:`Stats`."""
        return getattr(self if name in FILE_COUNTS else self.stats, name)


@dataclass(slots=True)
class Host:
    """A host of the campaign: the connection to it, and the run on it as its log reports it."""

    name: str
    address: str = ""
    """What ssh connects to; an empty string: this machine."""
    state: str = ""
    """One of :data:`~fuzztui.wire.events.HOST_STATES`; an empty string: not connected yet."""
    reason: str = ""
    changed_t: float = 0.0
    """Campaign time since when it is in this state."""
    run: str = ""
    clock_ms: int = 0
    """By how many milliseconds its clock is ahead."""
    seq: int = 0
    """The number of the last record of its log that this log contains."""
    t: float = -1.0
    """The campaign time of that record over there."""
    boot: str = ""
    """The id of the boot of its kernel when it was last connected."""
    machine: str = ""
    """The name that the machine has for itself."""
    pid: int = 0
    cores: int = 0
    campaign: str = ""
    """The state of the campaign over there; an empty string: not reported yet."""
    campaign_reason: str = ""
    stage: str = ""
    """The phase of a fuzz-first campaign over there, as ``State.stage``."""
    plan: dict[str, float] = field(default_factory=dict)

    @property
    def clock_s(self) -> float:
        """By how many seconds its clock is ahead; negative: behind."""
        return self.clock_ms / 1000


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. ``key``: ``"instance/id"``. ``seq``, ``t``: of the first record that names it."""

    key: str
    instance: str
    id: int
    t: float
    seq: int = 0
    saved: bool = False
    """Whether its file was reported; false: the entry was only described yet."""
    file: str = ""
    src: list[int] = field(default_factory=list)
    op: str = ""
    sync: str = ""
    time_ms: int = 0
    execs: int = 0
    size: int = -1
    cov: bool = False
    reported_seq: int = 0
    """``seq`` at which its file was last reported."""
    first: int = -1
    """The id under which the entry was found, before afl-fuzz renumbered its queue; -1: ``id``.
    ``src`` are ids of that numbering."""
    reasons: list[str] = field(default_factory=list)
    edges: int = -1
    favored: bool = False
    outcome: str = ""
    steer: str = ""
    kills: int = 0
    compared_at: str = ""
    """The place of the comparison that the entry was made for, ``module:line``; usually empty."""
    operand: str = ""
    """The operand that was put into the input for that comparison."""
    preview: str = ""
    """The start of what a generator made of the entry; an empty string: not reported."""
    shown_seq: int = 0
    """``seq`` of the record with all of it; 0: none."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. ``key``: ``"instance/file"``. ``seq``, ``t``: as those of :class:`Entry`."""

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
    """The instance in whose queue ``src`` is; an empty string: ``instance``."""
    shown_seq: int = 0
    """``seq`` of the record with what a generator made of the input; 0: none."""
    first: bool = True
    """Whether the finding is the first with its signature (updated by later descriptions)."""
    frames: list[dict[str, Any]] = field(default_factory=list)
    basis: dict[str, Any] = field(default_factory=dict)
    """What the signature is made of, as described (:mod:`fuzztui.wire.frames`); may be empty."""
    plain_signature: str = ""
    """The signature without rules about skipped frames."""
    plain_place: str = ""
    """The place without such rules: of the innermost frame of the application."""
    property: str = ""
    """Of a suite: the property that failed."""
    example: bool = False
    """Whether the input is a failing example of Hypothesis now."""


@dataclass(frozen=True, slots=True)
class FindingVerdict:
    """A user's verdict about a group of findings."""

    signature: str
    verdict: str
    """One of :data:`fuzztui.wire.verdicts.VERDICTS`."""
    note: str = ""
    author: str = ""
    date: str = ""
    """ISO 8601; may be empty."""
    start_seq: int = 0
    """``seq`` of the first start of engines after the verdict; 0: none."""

    def row(self) -> dict[str, str]:
        """Return the verdict as events and the verdicts file contain it."""
        return {
            "signature": self.signature,
            "verdict": self.verdict,
            "note": self.note,
            "author": self.author,
            "date": self.date,
        }


@dataclass(frozen=True, slots=True)
class Mutant:
    """One mutant, over all instances. ``seq``, ``t``: of the first record that names it."""

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
    """The instance that reported the state."""
    killer: str = ""
    oracle: str = ""
    trial: int = -1
    killed_t: float = -1.0
    detail: str = ""
    reason: str = ""
    steer: str = ""
    counts: dict[str, list[int]] = field(default_factory=dict)
    """By instance: how often the mutant was reached, infected and run."""
    place: float = 0.0
    """The position in the worklist of a fuzz-first campaign: the sort key."""
    stage: str = ""
    """The progress of its turn; an empty string: not a fuzz-first campaign."""
    slot: str = ""
    """The instance of its present or latest turn."""
    turn_began_s: float = -1.0
    """Running time of the campaign at which its latest turn began to fuzz; -1: it has not."""
    fuzzed_s: float = 0.0
    """Seconds of running time spent fuzzing the mutant, without a turn that is still fuzzing."""
    costs: dict[str, float] = field(default_factory=dict)
    """Seconds by name: build, prune, start, handover."""
    turn_results: dict[str, int] = field(default_factory=dict)
    """Results of its latest turn, by name (:class:`~fuzztui.wire.events.MutantProgress`)."""
    earlier_results: dict[str, int] = field(default_factory=dict)
    """Results of its turns before it was queued again, by name."""
    near: dict[str, list[str]] = field(default_factory=dict)
    """By instance: the first entry that came as near to killing the mutant as any, and how near:
    reached, infected, ran."""
    accepted: bool = False
    """Whether a user has accepted that it survives (``State.accepted_mutants``)."""
    by_property: str = ""
    """Of a suite: the property that has killed it."""
    column: int = -1
    """Column of its expression on ``line``: from 1, in characters; -1: not known."""
    end_line: int = -1
    end_column: int = -1
    """The column after the expression on ``end_line``."""

    @property
    def survives(self) -> bool:
        """Whether no input has killed it, though one could."""
        return self.state in ("alive", "pending")

    @property
    def listed_stage(self) -> str:
        """The stage as lists and selections name it."""
        where = phase(self)
        return self.stage if where in ("at work", "waiting") else where

    @property
    def reached(self) -> int:
        """The number of inputs, over all instances, that executed the mutated expression."""
        return sum(counts[0] for counts in self.counts.values())

    @property
    def infected(self) -> int:
        """The number of these inputs on which the value of the expression differed."""
        return sum(counts[1] for counts in self.counts.values())

    @property
    def runs(self) -> int:
        """The number of runs, over all instances; at least 1 if the mutant is killed or alive.

        An engine reports counts later than states, and a worker that dies takes counts with it.
        """
        runs = sum(counts[2] for counts in self.counts.values())
        return runs or int(self.state in ("killed", "alive") and not self.stage)


@dataclass(frozen=True, slots=True)
class MixtureChange:
    """The last change of an instance's mixture of mutators: when, by whom, to what."""

    instance: str
    havoc: float
    text: float
    splice: float
    adaptive: bool = False
    t: float = -1.0
    """Campaign time of the change; -1: the mixture of the instance's first report."""
    by: str = ""
    """The user who set the mixture; an empty string: no command did (a file was edited)."""
    trials: int = 0
    """Inputs made until the change."""
    havocs: int = 0
    """Havoc steps taken until the change."""


@dataclass(frozen=True, slots=True)
class UncoveredGoal:
    """A goal that one spoton instance has not covered."""

    frontier: bool = False
    reached: int = 0
    """The number of ``checked_trials`` that reached its decision, as last reported."""
    checked_trials: int = 0
    types: tuple[tuple[str, int], ...] = ()
    """Names and distances of types, nearest first; empty: the goal cannot be targeted."""


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A source file of the target (:class:`~fuzztui.wire.events.SourceFile`), by its path.

    ``seq``: of the record with its present content; coverage in earlier records is void.
    """

    key: str
    seq: int
    module: str = ""
    sha: str = ""
    statements: str = ""
    functions: list[str] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)
    branches: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CoverageStep:
    """Lines and branches that one entry was the first in its instance to cover.

    ``key``: the sequence number of the record. ``entry``: the entry's id; -1: on import.
    """

    key: str
    instance: str
    entry: int
    t: float
    lines: dict[str, str] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class CommandStatus:
    """A command and its answer. ``state``: pending, applied or rejected."""

    id: str
    t: float
    command: dict[str, Any]
    by: str = ""
    state: str = "pending"
    instance: str = ""
    trial: int = -1
    text: str = ""
    """The result or the reason of a rejection; of a pending command: its progress."""
    part: float = -1.0
    """The part that is done, 0 to 1; -1: unknown."""
    done_t: float = -1.0
    seq: int = 0
    """``seq`` of the record with which it was issued; 0: the log does not contain that."""
    undoes: list[str] = field(default_factory=list)
    """The ids of the commands that it undoes."""
    step: str = ""
    """Equal for the commands of one key press; an empty string: the command is alone."""


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
    state: str = "empty"
    """empty, starting, running, paused, stopping, finished, stopped, failed."""
    reason: str = ""
    paused_s: float = 0.0
    """Seconds of campaign time spent in finished pauses of the whole campaign."""
    paused_at: float = -1.0
    """Campaign time at which the present pause began; -1: not paused."""
    pauses: list[float] = field(default_factory=list)
    """Begin and end of each finished pause, the latest ones, in campaign time."""
    resumed_t: float = -1.0
    """Campaign time at which the last pause of the whole campaign ended; -1: none has."""
    supervisor_pid: int = 0
    host: str = ""
    cores: int = 0
    """CPUs that the campaign may use on its host; 0: unknown."""
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
    (:mod:`fuzztui.model.saved`); an empty string: no parent, or an unknown one."""
    verdicts: dict[str, FindingVerdict] = field(default_factory=dict)
    """By signature: the verdicts about groups; groups without a finding in this run included."""
    skipped_frames: list[str] = field(default_factory=list)
    """The rules about frames that do not count for signatures (:mod:`fuzztui.wire.frames`)."""
    regrouped: dict[str, dict[str, int]] = field(default_factory=dict)
    """By signature without these rules: the signatures of its findings, with their numbers;
    derived."""
    plain_signatures: dict[str, dict[str, int]] = field(default_factory=dict)
    """The inverse: signatures without the rules, by signature with the rules."""
    unnumbered_groups: dict[str, list[str]] = field(default_factory=dict)
    """The signatures of ``groups`` by signature without line number; derived."""
    unnumbered_verdicts: dict[str, list[str]] = field(default_factory=dict)
    """The same for ``verdicts``."""
    latest: dict[str, float] = field(default_factory=dict)
    """Campaign time of the last finding, by category."""
    mutants: dict[str, Mutant] = field(default_factory=dict)
    shard: int = 0
    """``mutants`` are this one of ``shards`` parts of the program's mutants; 0: all of them."""
    shards: int = 0
    shard_numbers: list[int] = field(default_factory=list)
    """All parts that ``mutants`` are: more than one in a merged run."""
    shard_mutants: int = 0
    """The number of mutants of all shards."""
    shard_program: str = ""
    """The sum of these mutants (:class:`~fuzztui.wire.events.MutantsShard`)."""
    mutant_counts: dict[str, int] = field(default_factory=dict)
    """The number of mutants in each state."""
    accepted_mutants: dict[str, dict[str, str]] = field(default_factory=dict)
    """By id: because, change, author and date of the survivors that a user has accepted; mutants
    that are not in this run, or are killed, included."""
    accepted_survivors: int = 0
    """The number of mutants that are accepted and survive."""
    static_mutants: int = 0
    """The number of static mutants, in any state."""
    stage: str = ""
    """The phase of a fuzz-first campaign: mutants or target; empty: not fuzz-first."""
    stage_t: float = -1.0
    """Campaign time at which the phase began; -1: none yet."""
    plan: dict[str, float] = field(default_factory=dict)
    """The budget plan (:class:`~fuzztui.wire.events.PhaseStarted`)."""
    mutation: dict[str, MutationStats] = field(default_factory=dict)
    """The latest statistics of mutation analysis, by instance."""
    operators: dict[str, MutatorStats] = field(default_factory=dict)
    """The latest statistics of text mutators, by instance; each list as long as ``names``."""
    finished_turns: MutatorStats | None = None
    """The same for all finished turns of mutants: their sums, with the mixture of the last."""
    mixture_changes: dict[str, MixtureChange] = field(default_factory=dict)
    """The last change of each instance's mixture."""
    types: dict[str, TargetingStats] = field(default_factory=dict)
    """The latest statistics of spoton's types, by instance; each list as long as ``names``."""
    uncovered_goals: dict[str, dict[str, UncoveredGoal]] = field(default_factory=dict)
    """By instance and location."""
    checked_trials: dict[str, int] = field(default_factory=dict)
    """By instance: the number of trials that were checked for the decisions that they reach."""
    learnt: dict[str, str] = field(default_factory=dict)
    """Tokens that comparisons brought, each with the place of its comparison."""
    trials_by: dict[str, dict[str, int]] = field(default_factory=dict)
    """By instance: trials by the operation that made their inputs."""
    property_reasons: dict[str, str] = field(default_factory=dict)
    """Of a suite: why each property is not run, by name; an empty string: it is run."""
    other_tests: int = 0
    """Tests of a suite that are no properties."""
    properties: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """By instance and name: the :data:`fuzztui.model.properties.FIGURES`."""
    property_kills: dict[str, int] = field(default_factory=dict)
    """By property: the mutants that it has killed."""
    sources: dict[str, SourceRow] = field(default_factory=dict)
    """The source files of the target, by path."""
    covered: dict[str, CoverageStep] = field(default_factory=dict)
    """What was covered when, in the order of the log."""
    coverage_build: str = ""
    """State of the build that measures the lines of a C target; empty: there is none."""
    coverage_reason: str = ""
    """Why that build failed."""
    commands: dict[str, CommandStatus] = field(default_factory=dict)
    lasting: dict[str, CommandStatus] = field(default_factory=dict)
    """Commands that hold for instances that start later (:mod:`fuzztui.model.commands`)."""
    notified: dict[str, float] = field(default_factory=dict)
    """Keys of findings that ``notify.command`` has reported, with the campaign time."""
    stall_notified_t: float = -1.0
    """Campaign time at which it last reported that nothing new was found; -1: never."""
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


@dataclass(frozen=True, slots=True)
class Changes:
    """The rows that a batch of records touched, so that a screen repaints only these."""

    campaign: bool = False
    """Name, state, budget, totals."""
    instances: frozenset[str] = frozenset()
    entries: frozenset[str] = frozenset()
    findings: frozenset[str] = frozenset()
    mutants: frozenset[str] = frozenset()
    commands: frozenset[str] = frozenset()
    source: bool = False
    """Files of the target, or their coverage."""
    records: int = 0
    """The number of records in the batch."""
    reset: bool = False
    """Everything may have changed (the first batch, a seek)."""

    def __or__(self, later: Changes) -> Changes:
        """The rows that this batch or a later one touched."""
        return Changes(
            campaign=self.campaign or later.campaign,
            instances=_union(self.instances, later.instances),
            entries=_union(self.entries, later.entries),
            findings=_union(self.findings, later.findings),
            mutants=_union(self.mutants, later.mutants),
            commands=_union(self.commands, later.commands),
            source=self.source or later.source,
            records=self.records + later.records,
            reset=self.reset or later.reset,
        )


def _union(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    # One set is nearly always empty; a union would copy the other one, however large.
    return one | other if one and other else one or other
