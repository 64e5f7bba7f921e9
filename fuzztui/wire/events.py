"""Everything that can happen in a campaign, one frozen dataclass a kind.

An event says *what* happened. Where it stands in the campaign (sequence number,
campaign time) is put on it once, by the supervisor, as a :class:`Record`.

Rules for whoever adds a kind:

* fields are JSON scalars, lists of scalars, or one flat ``dict``; every field
  except the identifying ones has a default, so that old logs stay readable;
* a kind is never renamed and a field never changes its meaning: add another;
* the annotation of a number decides its bounds (:mod:`fuzztui.base.bounds`): ``Count`` what is
  counted (-1: unknown), ``int`` what names or numbers something, ``float`` seconds, rates, parts;
* strings may hold anything that a hostile target chose: escape when drawing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from fuzztui.base.bounds import Count

__all__ = [
    "ALL_GONE",
    "DIRECTORY_GONE",
    "EVENT_KINDS",
    "BudgetSet",
    "CampaignEnded",
    "CampaignStarted",
    "CampaignState",
    "CommandApplied",
    "CommandIssued",
    "CommandProgress",
    "CommandRejected",
    "EntriesSeeded",
    "EntryDescribed",
    "EntrySaved",
    "Event",
    "FindingDescribed",
    "FindingSaved",
    "GoalsUncovered",
    "InstanceHello",
    "InstanceState",
    "Message",
    "MutantPositions",
    "MutantProgress",
    "MutatorStats",
    "PhaseStarted",
    "Record",
    "RecordsLost",
    "Resources",
    "Stats",
    "SupervisorStarted",
    "Synced",
    "TargetingStats",
    "Unknown",
]


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events; ``kind`` is the name on the wire."""

    kind: ClassVar[str] = ""


@dataclass(frozen=True, slots=True)
class Record:
    """An event at its place in the campaign.

    ``seq`` counts from 1 without gaps. ``t`` is campaign time: seconds since the
    campaign first started, never going back, standing still while neither the
    supervisor nor an engine lived.
    """

    seq: int
    t: float
    event: Event


@dataclass(frozen=True, slots=True)
class Unknown(Event):
    """An event of a kind that this version does not know: kept whole, counted."""

    kind: ClassVar[str] = "?"
    name: str = ""
    data: dict[str, Any] = field(default_factory=dict)


# ------------------------------------------------------------------ campaign


@dataclass(frozen=True, slots=True)
class CampaignStarted(Event):
    """The first event of every log. ``wall`` is Unix time; a budget of 0 is none.

    Recorded again when a campaign continues whose log lost it.
    """

    kind: ClassVar[str] = "campaign_started"
    name: str
    engine: str
    target: str = ""
    seed: int = 0
    budget_s: float = 0.0
    budget_trials: Count = 0
    instances: list[str] = field(default_factory=list)
    wall: float = 0.0
    version: str = ""


@dataclass(frozen=True, slots=True)
class BudgetSet(Event):
    """The budget was changed for a campaign that already has a log (0 is none)."""

    kind: ClassVar[str] = "budget_set"
    budget_s: float = 0.0
    budget_trials: Count = 0


@dataclass(frozen=True, slots=True)
class SupervisorStarted(Event):
    """A supervisor took the campaign over. Ties campaign time to Unix time (``wall``).

    ``adopted`` lists instances found running, ``resumed`` those started again.
    """

    kind: ClassVar[str] = "supervisor_started"
    pid: Count
    wall: float
    host: str = ""
    adopted: list[str] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CampaignState(Event):
    """``state`` is starting, running, paused or stopping; ``reason`` says why, in words."""

    kind: ClassVar[str] = "campaign_state"
    state: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CampaignEnded(Event):
    """The supervisor is done. ``state`` is finished, stopped or failed."""

    kind: ClassVar[str] = "campaign_ended"
    state: str
    reason: str = ""


# ----------------------------------------------------------------- instances


DIRECTORY_GONE: Final = "its directory is gone: deleted or renamed"
ALL_GONE: Final = "the directories of all instances are gone: deleted or renamed"
"""Reasons for which an instance that is only watched, or all of them, are stopped."""


@dataclass(frozen=True, slots=True)
class InstanceState(Event):
    """``state``: starting, running, paused, stalled, restarting, stopped, finished, failed.

    ``pid`` is 0 when there is no process; ``restarts`` counts unplanned ones.
    """

    kind: ClassVar[str] = "instance_state"
    instance: str
    state: str
    pid: Count = 0
    reason: str = ""
    restarts: Count = 0


@dataclass(frozen=True, slots=True)
class InstanceHello(Event):
    """An engine introduces itself and says which commands it can obey.

    ``capabilities`` are command names (see :mod:`fuzztui.wire.commands`);
    what is not among them is greyed out on the screen, with the reason that ``unable``
    gives for it. ``directory``: where the instance is, if not in ``out/`` of the run (a
    watched campaign of someone else).
    """

    kind: ClassVar[str] = "instance_hello"
    instance: str
    engine: str = ""
    version: str = ""
    python: str = ""
    pid: Count = 0
    capabilities: list[str] = field(default_factory=list)
    unable: dict[str, Any] = field(default_factory=dict)
    """Why a command cannot be obeyed, in words, by its name."""
    directory: str = ""
    mutant: str = ""
    """The id of the mutant that it fuzzes, "" for the target itself."""


@dataclass(frozen=True, slots=True)
class Synced(Event):
    """Whose queues an instance imports from: ``{peer: next id}`` of its ``.synced/``.

    A peer that is no instance of the campaign is a stranger's, and named as such.
    """

    kind: ClassVar[str] = "synced"
    instance: str
    peers: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stats(Event):
    """An instance's figures, cumulative over restarts, at most a few times a second.

    ``age`` is how old the figures were (seconds) when they were read; ``slow_age`` the
    same of ``stability`` and ``edges_total``, where they are told more rarely than the
    others (AFL's StatsD has not got them), else -1. ``execs_per_sec`` is the rate of late,
    -1 until that was measured. ``find_age`` is how long ago its last find was that it did not
    import, where its entries do not tell that when they are saved: they may be old ones.
    ``-1`` means that the engine does not report the figure.
    """

    kind: ClassVar[str] = "stats"
    instance: str
    execs: Count = 0
    execs_per_sec: float = 0.0
    corpus: Count = 0
    favored: Count = -1
    pending: Count = -1
    crashes: Count = 0
    hangs: Count = 0
    edges: Count = -1
    edges_total: Count = -1
    edges_valid: Count = -1
    valid: Count = -1
    invalid: Count = -1
    cycles: Count = -1
    cur_item: Count = -1
    max_depth: Count = -1
    stability: float = -1.0
    age: float = 0.0
    slow_age: float = -1.0
    find_age: float = -1.0
    edges_third_party: Count = -1
    """Lines (or functions) of libraries that were executed; they save no input."""
    findings_not_saved: Count = -1
    """Distinct findings beyond ``engine.max_findings``: at least so many."""


@dataclass(frozen=True, slots=True)
class Resources(Event):
    """What an instance's process tree uses: ``cpu`` in cores, ``rss`` in bytes."""

    kind: ClassVar[str] = "resources"
    instance: str
    cpu: float = 0.0
    rss: Count = 0
    processes: Count = 0


# ----------------------------------------------------------- queue and finds


@dataclass(frozen=True, slots=True)
class EntrySaved(Event):
    """A queue entry appeared. ``id`` is AFL's number in that instance's queue.

    ``src`` are parent ids, ``time_ms`` and ``execs`` AFL's own figures of when.
    ``sync`` is the peer that it was imported from. ``size`` in bytes. ``first``: the id it
    had when it was found, before afl-fuzz numbered its queue again (-1: the same); ``src``
    are ids of that time.
    """

    kind: ClassVar[str] = "entry_saved"
    instance: str
    id: int
    file: str = ""
    src: list[int] = field(default_factory=list)
    op: str = ""
    sync: str = ""
    time_ms: Count = 0
    execs: Count = 0
    size: Count = -1
    cov: bool = False
    first: Count = -1


@dataclass(frozen=True, slots=True)
class EntriesSeeded(Event):
    """What an instance that fuzzes a mutant began with: ``{id: "m7/45"}``, by its own numbers.

    Instead of an :class:`EntrySaved` for each: mutants that are fuzzed one after the other
    pass their whole queues on. ``anew``: the queue is being renumbered, and what it began
    with is told from the beginning.
    """

    kind: ClassVar[str] = "entries_seeded"
    instance: str
    origins: dict[str, Any] = field(default_factory=dict)
    anew: bool = False


@dataclass(frozen=True, slots=True)
class EntryDescribed(Event):
    """What a queue entry's file name cannot say; a later event replaces an earlier one.

    ``reasons``: why it was kept (seed, edge, valid-edge, kill, ...). ``edges``: how
    many it covers. ``outcome``: success, invalid, failure, timeout.
    ``steer``: empty, "skipped", "promoted" or "demoted".
    """

    kind: ClassVar[str] = "entry_described"
    instance: str
    id: int
    reasons: list[str] = field(default_factory=list)
    edges: Count = -1
    favored: bool = False
    outcome: str = ""
    steer: str = ""
    kills: Count = 0
    """How many mutants it was the first to kill (mu2)."""


@dataclass(frozen=True, slots=True)
class FindingSaved(Event):
    """A file appeared in crashes/ or hangs/. ``category`` is crash or hang.

    ``file`` (relative to the instance directory) identifies it: names of any
    shape are findings too, then with ``id`` -1. ``sync``: whose queue ``src`` is of, if not
    its own (the corpus of a mutant that was run on the target).
    """

    kind: ClassVar[str] = "finding_saved"
    instance: str
    category: str
    file: str
    id: int = -1
    src: list[int] = field(default_factory=list)
    op: str = ""
    sig: int = 0
    time_ms: Count = 0
    execs: Count = 0
    size: Count = -1
    sync: str = ""


@dataclass(frozen=True, slots=True)
class FindingDescribed(Event):
    """What re-running or the engine itself found out about a finding.

    ``category`` is crash, hang, or differs (from a second implementation; a file in crashes/).
    ``signature`` groups findings with one cause (or, of a watched campaign, whose target is
    never run, with one signal: :mod:`fuzztui.base.signals`); ``title`` is one line for users
    ("ZeroDivisionError: division by zero"), ``place`` "file.py:12 in func",
    ``detail`` a traceback or sanitizer report, ``input`` a short printable form.
    ``count``: how often that signature was seen so far.
    """

    kind: ClassVar[str] = "finding_described"
    instance: str
    category: str
    file: str
    signature: str = ""
    title: str = ""
    place: str = ""
    detail: str = ""
    input: str = ""
    count: Count = 1


# ------------------------------------------------------------------- mutants


@dataclass(frozen=True, slots=True)
class MutantsFound(Event):
    """Mutants of one module of the program (a part of them: at most some hundreds an event).

    ``file`` is the path as shown (``tomllib/_parser.py``), ``path`` where it lies. Each
    of ``mutants`` is ``{"id", "line", "function", "operator", "before", "after"}``, and
    ``"static": true`` for what cannot be swapped into the running program (module and
    class level code, defaults): those run in a child process that imports it again.
    Every instance tells the same; who says it first counts. Where mutants are fuzzed one by
    one (fuzz-first) ``instance`` is "" and each has its ``"place"`` in the queue.
    """

    kind: ClassVar[str] = "mutants_found"
    instance: str
    module: str = ""
    file: str = ""
    path: str = ""
    mutants: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class MutantState(Event):
    """What one instance holds of a mutant now.

    ``state``: pending (not yet run on any input of the corpus), alive, killed, skipped,
    equivalent, invalid (cannot be made or run). Killed: ``killer`` is the queue entry
    (``"main/12"``) that did it, at ``trial``, ``oracle`` how it showed (value,
    exception, timeout, died), ``detail`` in words. ``reason``: why skipped, equivalent
    or invalid. ``steer``: empty, "promoted", "first" or "last".
    """

    kind: ClassVar[str] = "mutant_state"
    instance: str
    id: str
    state: str
    killer: str = ""
    oracle: str = ""
    trial: Count = -1
    detail: str = ""
    reason: str = ""
    steer: str = ""


@dataclass(frozen=True, slots=True)
class MutantRuns(Event):
    """How often mutants were seen: ``{id: [reached, infected, runs]}``, cumulative, changed ones.

    Told when a figure has about doubled, so a mutant costs a few dozen events at most.
    """

    kind: ClassVar[str] = "mutant_runs"
    instance: str
    runs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MutationStats(Event):
    """Where mutation analysis spends an instance's time, and what it was spared.

    Seconds, cumulative: running the program (``original_s``), its mutants, compiling
    them, and all the rest of the loop. Counts of (mutant, input) pairs, cumulative: run,
    and pruned because dead, skipped, not executed, not infected, or put off by the
    schedule. ``audits``: pruned pairs that were run anyway; ``audit_kills`` of
    them killed, which must stay 0. ``share``: the part of trials, 0 to 1, that the
    schedule gives to mutants now. ``backlog``: pairs of saved inputs still to be run.
    """

    kind: ClassVar[str] = "mutation_stats"
    instance: str
    original_s: float = 0.0
    mutants_s: float = 0.0
    compile_s: float = 0.0
    rest_s: float = 0.0
    runs: Count = 0
    dead: Count = 0
    skipped: Count = 0
    unexecuted: Count = 0
    uninfected: Count = 0
    put_off: Count = 0
    audits: Count = 0
    audit_kills: Count = 0
    flaky: Count = 0
    """Inputs that were not trusted because they do not always end alike."""
    share: float = -1.0
    backlog: Count = 0
    phase: str = ""
    """What the analysis does now: "" (the loop), "exact" (the exact pass)."""


@dataclass(frozen=True, slots=True)
class PhaseStarted(Event):
    """A stage of a fuzz-first campaign began: ``mutants``, then ``target``.

    ``plan``: what the budget allows for mutants: ``mutants_s`` or ``mutants_trials`` for all,
    ``each_s`` or ``each_trials`` for one, ``count`` of them; ``made`` mutants there are,
    ``blank`` more were left out as they differ in blanks only.
    """

    kind: ClassVar[str] = "stage_started"
    stage: str
    plan: dict[str, Any] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class MutantProgress(Event):
    """How far the fuzzing of one mutant has come.

    ``stage``: queued, building, built, pruning, fuzzing, collecting, done; or for good: failed (it
    does not build), dropped (the same program as another, which ``reason`` names), refused
    (it cannot be fuzzed: it fails on all inputs). ``slot``: the instance that fuzzes it.
    ``costs`` in seconds: build, prune, start, handover. ``brought``: kept and aside (inputs
    left by the pruning), and what its corpus brought to the target: entries, edges, crashes,
    hangs; and kills. Both replace what was told of the same name.
    """

    kind: ClassVar[str] = "mutant_stage"
    id: str
    stage: str
    slot: str = ""
    reason: str = ""
    costs: dict[str, Any] = field(default_factory=dict)
    brought: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MutantPositions(Event):
    """Mutants got other places in the queue, which is in the order of these numbers."""

    kind: ClassVar[str] = "mutant_places"
    places: dict[str, Any] = field(default_factory=dict)


# ----------------------------------------------------------------- operators


@dataclass(frozen=True, slots=True)
class MutatorStats(Event):
    """What a text engine's operators have done: cumulative, over all starts of the instance.

    ``havoc``, ``text``, ``splice``: how probable steps of that class are now, together 1;
    ``adaptive``: whether what pays becomes more probable by itself. ``trials``: inputs made.
    ``names`` are the arms (:mod:`fuzztui.wire.mixture`), the lists after it have a figure
    for each: ``tried``: drawn; ``applied``: changed the input; ``found``, ``crashes``: trials
    with it among their steps that became a queue entry, or a crash or hang; ``weights``: how
    probable it is within its class, of 1,000,000.
    """

    kind: ClassVar[str] = "operator_figures"
    instance: str
    havoc: float = 0.0
    text: float = 0.0
    splice: float = 0.0
    adaptive: bool = False
    trials: Count = 0
    names: list[str] = field(default_factory=list)
    tried: list[Count] = field(default_factory=list)
    applied: list[Count] = field(default_factory=list)
    found: list[Count] = field(default_factory=list)
    crashes: list[Count] = field(default_factory=list)
    weights: list[Count] = field(default_factory=list)


# --------------------------------------------------------------------- types


@dataclass(frozen=True, slots=True)
class TargetingStats(Event):
    """How a spoton engine's types fare: cumulative, over all starts of the instance.

    ``targeted``: the part of mutations, 0 to 1, that aim. ``pinned``: the location of the one
    goal that is aimed at, or "". Counts of goals: ``targets`` in all modules that
    are loaded, ``uncovered`` of them, on the ``frontier`` of those. ``names`` are types, those
    most likely to be picked first; the lists after it have a figure for each: ``distances``
    (steps; -1: nothing that is left to cover now depends on it), ``weights`` (a user's, 0:
    banned), ``factors`` (1 to 8, what misses divide its chance by), ``probabilities`` (of being
    picked next, in millionths), ``picks``, ``matches``, ``misses``, ``new_arms`` (cells first
    covered by a child that aimed at it). ``ignored``: the locations of goals that nothing
    aims at, as a user wants it. ``changed``: files that are not what they were when their types
    were analysed, so that nothing is known of their targets. ``analysis``: which one locations
    are of (``wire/analysed.py``), "" if that was not told.
    """

    kind: ClassVar[str] = "type_figures"
    instance: str
    targeted: float = 0.0
    pinned: str = ""
    targets: Count = 0
    uncovered: Count = 0
    frontier: Count = 0
    names: list[str] = field(default_factory=list)
    distances: list[Count] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    factors: list[float] = field(default_factory=list)
    probabilities: list[Count] = field(default_factory=list)
    picks: list[Count] = field(default_factory=list)
    matches: list[Count] = field(default_factory=list)
    misses: list[Count] = field(default_factory=list)
    new_arms: list[Count] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    analysis: str = ""


@dataclass(frozen=True, slots=True)
class GoalsUncovered(Event):
    """Code targets that are not covered, the frontier first, some hundreds at most; changes only.

    ``left``: ``{location: {"frontier": bool, "reached": n, "types": [[name, distance], ...]}}``,
    new ones and such as have changed, types nearest first (none: it cannot be aimed at).
    ``reached`` of ``asked`` trials came to its decision; told again when it has about doubled.
    ``gone``: locations that are covered now, or that others have come before. ``anew``: what was
    told before is void.
    """

    kind: ClassVar[str] = "targets_left"
    instance: str
    asked: Count = 0
    left: dict[str, Any] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    anew: bool = False


# ------------------------------------------------------------------ steering


@dataclass(frozen=True, slots=True)
class CommandIssued(Event):
    """A person (``by``) asked for something; logged before it is sent anywhere.

    ``command`` is the encoded command (see :mod:`fuzztui.wire.commands`).
    """

    kind: ClassVar[str] = "command_issued"
    id: str
    command: dict[str, Any] = field(default_factory=dict)
    by: str = ""


@dataclass(frozen=True, slots=True)
class CommandProgress(Event):
    """How far a command that takes long has come: ``part`` 0 to 1, -1 where nobody knows."""

    kind: ClassVar[str] = "command_progress"
    id: str
    text: str = ""
    part: float = -1.0


@dataclass(frozen=True, slots=True)
class CommandApplied(Event):
    """The owner of the thing did it, at ``trial`` (-1 where no trial is meant)."""

    kind: ClassVar[str] = "command_applied"
    id: str
    instance: str = ""
    trial: Count = -1
    detail: str = ""


@dataclass(frozen=True, slots=True)
class CommandRejected(Event):
    """It was not done; ``reason`` is for users."""

    kind: ClassVar[str] = "command_rejected"
    id: str
    instance: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Message(Event):
    """Words for the event list. ``level`` is info, warning or error."""

    kind: ClassVar[str] = "message"
    level: str
    text: str
    instance: str = ""


@dataclass(frozen=True, slots=True)
class RecordsLost(Event):
    """Stands in a repaired log for the records from number ``first`` to its own, which are lost.

    Figures of the campaign are lower bounds from here on. ``reason``: what happened to them.
    """

    kind: ClassVar[str] = "records_lost"
    first: int
    reason: str = ""


def _all_kinds() -> dict[str, type[Event]]:
    # By kind, not by class: slots=True makes a second class of each, the first lingers.
    return {c.kind: c for c in Event.__subclasses__() if c.kind != Unknown.kind}


EVENT_KINDS: dict[str, type[Event]] = _all_kinds()
"""Every known kind, by its name on the wire."""
