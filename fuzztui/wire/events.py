"""Everything that can happen in a campaign, one frozen dataclass per kind of event.

An event contains *what* happened. The supervisor adds its sequence number and campaign time
once, as a :class:`Record`.

Rules for a new kind:

* fields are JSON scalars, lists of scalars, or one flat ``dict``; every field
  except the identifying ones has a default, so that old logs stay readable;
* a kind is never renamed and a field never changes its meaning: add another one;
* the annotation of a number decides its bounds (:mod:`fuzztui.base.bounds`): ``Count`` for
  counts (-1: unknown), ``int`` for ids and other numbers, ``float`` for seconds, rates and parts;
* strings may contain anything that a hostile target chose: escape them before drawing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from fuzztui.base.bounds import Count


@dataclass(frozen=True, slots=True)
class Event:
    """Base class of all events; ``kind`` is the name on the wire."""

    kind: ClassVar[str] = ""


@dataclass(frozen=True, slots=True)
class Record:
    """An event with its sequence number and campaign time.

    ``seq`` counts from 1 without gaps. ``t``: seconds since the campaign first started, without
    the time in which neither the supervisor nor an engine ran; it never decreases. For an event of
    a host ``t`` is the time at which it arrived here, because clocks of hosts differ.
    """

    seq: int
    t: float
    event: Event
    host: str = ""
    """The name of the host in whose log the event was first; empty: this log's own event."""
    host_seq: int = 0
    """Its sequence number in the log of the host. The last one of a host is where relaying
    continues."""
    host_t: float = -1.0
    """Its campaign time in the log of the host; -1: this log's own event."""


@dataclass(frozen=True, slots=True)
class Unknown(Event):
    """An event of a kind that this version does not have; its data is kept as it is."""

    kind: ClassVar[str] = "?"
    name: str = ""
    data: dict[str, Any] = field(default_factory=dict)


# ------------------------------------------------------------------ campaign


@dataclass(frozen=True, slots=True)
class CampaignStarted(Event):
    """The first event of every log. ``wall``: Unix time. A budget of 0: no limit.

    Recorded again if the campaign is resumed and the log has lost this event.
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
    """The budget of a campaign that already has a log was changed; 0: no limit."""

    kind: ClassVar[str] = "budget_set"
    budget_s: float = 0.0
    budget_trials: Count = 0


@dataclass(frozen=True, slots=True)
class SupervisorStarted(Event):
    """A supervisor took over the campaign. ``wall``: the Unix time of this campaign time.

    ``adopted``: instances that were still running; ``resumed``: instances that are started again.
    """

    kind: ClassVar[str] = "supervisor_started"
    pid: Count
    wall: float
    host: str = ""
    adopted: list[str] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)
    cores: Count = 0
    """CPUs that the campaign may use; 0: unknown."""


@dataclass(frozen=True, slots=True)
class CampaignState(Event):
    """The campaign's state changed: starting, running, paused or stopping. ``reason``: a text."""

    kind: ClassVar[str] = "campaign_state"
    state: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CampaignEnded(Event):
    """The campaign ended. ``state``: finished, stopped or failed."""

    kind: ClassVar[str] = "campaign_ended"
    state: str
    reason: str = ""


# --------------------------------------------------------------------- hosts


HOST_STATES: Final = ("connecting", "preparing", "connected", "lost", "failed", "ended")
"""States of the connection to a host; ``preparing``: fuzztui and the campaign are sent to it."""


@dataclass(frozen=True, slots=True)
class HostState(Event):
    """The connection to a host changed. ``state``: one of :data:`HOST_STATES`; ``reason``: a text.

    ``address``: what ssh connects to; empty: this machine. ``run``: the run directory over there.
    ``clock_ms``: by how many milliseconds the clock of the host is ahead of this machine's.
    ``boot``: the id of the boot of its kernel. ``rewound``: the record of its log after which
    relaying continues, because later ones that were relayed are not in it any more (a power cut);
    -1: it was not.
    """

    kind: ClassVar[str] = "host_state"
    host: str
    state: str
    reason: str = ""
    address: str = ""
    run: str = ""
    clock_ms: int = 0
    boot: str = ""
    rewound: Count = -1


# ----------------------------------------------------------------- instances


DIRECTORY_GONE: Final = "its directory is gone: deleted or renamed"
ALL_GONE: Final = "the directories of all instances are gone: deleted or renamed"
"""Reasons for which one instance, or every instance, of a watched campaign is stopped."""


@dataclass(frozen=True, slots=True)
class InstanceState(Event):
    """The state of an instance changed.

    ``state``: starting, running, paused, stalled, restarting, stopped, finished, failed.
    ``pid``: 0 if no process runs. ``restarts``: the number of unplanned restarts.
    """

    kind: ClassVar[str] = "instance_state"
    instance: str
    state: str
    pid: Count = 0
    reason: str = ""
    restarts: Count = 0


@dataclass(frozen=True, slots=True)
class InstanceHello(Event):
    """An engine reports its version and the commands that it can execute.

    ``capabilities``: names of commands (:mod:`fuzztui.wire.commands`). Screens grey out all
    others, with the reason in ``unable``. ``directory``: the directory of the instance if it is
    not in ``out/`` of the run (a watched campaign); else an empty string.
    """

    kind: ClassVar[str] = "instance_hello"
    instance: str
    engine: str = ""
    version: str = ""
    python: str = ""
    pid: Count = 0
    capabilities: list[str] = field(default_factory=list)
    unable: dict[str, Any] = field(default_factory=dict)
    """Reasons why commands cannot be executed, by the name of the command."""
    directory: str = ""
    mutant: str = ""
    """The id of the mutant that the instance fuzzes; an empty string: the original."""


@dataclass(frozen=True, slots=True)
class PassiveInstance(Event):
    """A directory in ``out/`` in which nothing fuzzes and from which the engines import.

    ``source``: where its entries come from, a text. ``entries``: their number. They are entries of
    another run: there is no :class:`EntrySaved` of them here, and no total counts them.
    """

    kind: ClassVar[str] = "passive_instance"
    instance: str
    source: str = ""
    entries: Count = 0


@dataclass(frozen=True, slots=True)
class Synced(Event):
    """The queues from which an instance imports: ``{peer: next id}``, from its ``.synced/``.

    A peer can be an instance of the campaign or another fuzzer.
    """

    kind: ClassVar[str] = "synced"
    instance: str
    peers: dict[str, Any] = field(default_factory=dict)


def stat(default: float, key: str, total: str = "", *, series: bool = False) -> Any:
    """Declare a number of :class:`Stats`.

    ``default``: the value of an unknown number. ``key``: its name in ``fuzzer_stats``. ``total``:
    how the campaign's number follows from those of the instances: "sum", "max" or "min"; an empty
    string: there is none. ``series``: whether the state keeps the total over time.
    """
    return field(default=default, metadata={"key": key, "total": total, "series": series})


@dataclass(frozen=True, slots=True)
class Stats(Event):
    """Statistics of an instance, cumulative over restarts, at most a few times per second.

    -1: the engine does not report this number. ``age``: seconds between the measurement and the
    reading of these statistics. ``slow_age``: the same for ``stability`` and ``edges_total`` if
    they are reported more rarely than the rest (AFL's StatsD lacks both); else -1.
    ``execs_per_sec``: the recent rate; -1: not measured yet. ``find_age``: seconds since the last
    new entry that was not imported, if :class:`EntrySaved` does not show that time because the
    entries may be old; else -1.
    """

    kind: ClassVar[str] = "stats"
    instance: str
    execs: Count = stat(0, "execs_done", "sum", series=True)
    execs_per_sec: float = 0.0
    corpus: Count = stat(0, "corpus_count", "sum", series=True)
    favored: Count = stat(-1, "corpus_favored")
    pending: Count = stat(-1, "pending_total")
    crashes: Count = stat(0, "saved_crashes", "sum", series=True)
    hangs: Count = stat(0, "saved_hangs", "sum", series=True)
    edges: Count = stat(-1, "edges_found", "max", series=True)
    """The total is the maximum, because instances exchange their entries and cover the same."""
    edges_total: Count = stat(-1, "total_edges", "max")
    edges_valid: Count = stat(-1, "edges_valid", "max", series=True)
    valid: Count = stat(-1, "valid_inputs", "sum")
    invalid: Count = stat(-1, "invalid_inputs", "sum")
    cycles: Count = stat(-1, "cycles_done")
    cur_item: Count = stat(-1, "cur_item")
    max_depth: Count = stat(-1, "max_depth")
    stability: float = stat(-1.0, "stability", "min")
    age: float = 0.0
    slow_age: float = -1.0
    find_age: float = -1.0
    edges_third_party: Count = stat(-1, "edges_third_party", "max", series=True)
    """Executed lines (or functions) of libraries; no input is kept because of them."""
    findings_not_saved: Count = stat(-1, "findings_not_saved", "max")
    """Distinct findings beyond ``engine.max_findings``: a lower bound."""
    probes_left: Count = stat(-1, "probes_left", "max")
    """Cells of the coverage map that have a probe in trials; the others are covered, and trials run
    code without their probes."""
    other: dict[str, Any] = field(default_factory=dict)
    """Numbers that have no field, by their key in ``fuzzer_stats``: shown as they are."""


@dataclass(frozen=True, slots=True)
class Resources(Event):
    """Resources of an instance's process tree: ``cpu`` in cores, ``rss`` in bytes."""

    kind: ClassVar[str] = "resources"
    instance: str
    cpu: float = 0.0
    rss: Count = 0
    processes: Count = 0


# ------------------------------------------------------- entries and findings


@dataclass(frozen=True, slots=True)
class EntrySaved(Event):
    """A file appeared in ``queue/``. ``id``: its number in the queue of this instance.

    ``src``: ids of the parents. ``time_ms`` and ``execs``: when the entry was found, from its file
    name. ``sync``: the peer from which the entry was imported. ``size`` in bytes. ``first``: the
    id under which the entry was found, before afl-fuzz renumbered its queue (-1: ``id``); ``src``
    are ids of that numbering.
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
    """The seeds of an instance that fuzzes a mutant: ``{id: "m7/45"}``, its ids to their origins.

    Replaces one :class:`EntrySaved` per seed: each mutant's turn starts with the whole corpus of
    earlier turns. ``anew``: the queue was renumbered; earlier events of this kind are void.
    """

    kind: ClassVar[str] = "entries_seeded"
    instance: str
    origins: dict[str, Any] = field(default_factory=dict)
    anew: bool = False


@dataclass(frozen=True, slots=True)
class EntryDescribed(Event):
    """Facts about an entry that its file name lacks; a later event replaces an earlier one.

    ``reasons``: why the entry was kept (seed, edge, valid-edge, kill, ...). ``edges``: the number
    of edges that it covers. ``outcome``: success, invalid, failure, timeout.
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
    """The number of mutants that this entry was the first to kill (mu2)."""


@dataclass(frozen=True, slots=True)
class InputShown(Event):
    """What a generator made of the choices of an entry or finding, as a text for users.

    ``row``: the entry's id, or the finding's file. ``form``: text (a string itself), value (a
    ``repr()``) or image. ``text``: the first 20,000 characters; ``length``: how many there are.
    ``picture``: the thumbnail of an image, ``"32x20:"`` (width and height in pixels) and the pixels
    from the top, six hexadecimal digits (RGB) each.
    """

    kind: ClassVar[str] = "input_shown"
    instance: str
    row: str
    form: str = "value"
    text: str = ""
    length: Count = 0
    picture: str = ""


@dataclass(frozen=True, slots=True)
class ComparisonsReported(Event):
    """What the comparisons of the target have brought since the last event of this kind.

    ``tokens``: texts that the dictionary got, each with the place of the comparison that had it as
    an operand, ``module:line``. ``entries``: by id of a queue entry that was made for a
    comparison, ``[place, operand]``, the operand that was put into the input. After a restart, an
    engine may report the same again. ``trials``: by operation ("compare", a mutator, "other"), the
    trials whose inputs it has made, cumulative; reported when their sum has grown by a tenth.
    """

    kind: ClassVar[str] = "comparisons_reported"
    instance: str
    tokens: dict[str, Any] = field(default_factory=dict)
    entries: dict[str, Any] = field(default_factory=dict)
    trials: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PropertiesFound(Event):
    """The properties of a suite, reported once by each worker that has loaded them.

    ``reasons``: why a property is not run, by its name; an empty string: it is run. ``others``:
    tests that were collected and are no properties.
    """

    kind: ClassVar[str] = "properties_found"
    instance: str
    reasons: dict[str, Any] = field(default_factory=dict)
    others: int = 0


@dataclass(frozen=True, slots=True)
class PropertyFigures(Event):
    """The figures of some properties of a suite, cumulative for the instance, by name.

    Each is ``{"trials", "invalid", "entries", "edges", "findings", "cpu_ms", "work", "share",
    "weight"}``. ``entries``: those in the queue. ``edges``: cells that the property's entries
    cover. ``work``: as it is counted for turns. ``share``: of the work until the next report, in
    millionths. ``weight``: a user's.
    """

    kind: ClassVar[str] = "property_figures"
    instance: str
    figures: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FindingSaved(Event):
    """A file appeared in ``crashes/`` or ``hangs/``. ``category``: the folder's default.

    ``file`` (relative to the instance directory) identifies the finding. A file whose name does
    not have AFL's form is a finding too, with ``id`` -1. ``sync``: the instance in whose queue
    ``src`` is, if it is another one (a mutant's corpus was run on the original).
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
    """The description of a finding, by the engine or after running the input again.

    ``category``: see :mod:`fuzztui.wire.finding_kinds`. ``signature``: equal for findings with the
    same presumed cause (in a watched campaign, whose target is never run, with the same signal:
    :mod:`fuzztui.base.signals`).
    ``title``: one line for users ("ZeroDivisionError: division by zero"). ``place``: "file.py:12
    in func". ``detail``: a traceback or sanitizer report. ``input``: a short printable form.
    ``count``: how often this signature was seen until now. ``frames``: of its stack, innermost
    first; each is ``{"function", "file", "line", "kind"}``, at most
    :data:`fuzztui.wire.frames.MAX_FRAMES`. ``basis``: what else the signature is made of
    (:class:`fuzztui.wire.frames.Basis`). Empty: the signature is not made of frames.
    ``property``: of a suite, the one that failed.
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
    frames: list[dict[str, Any]] = field(default_factory=list)
    basis: dict[str, Any] = field(default_factory=dict)
    property: str = ""


@dataclass(frozen=True, slots=True)
class SkippedFrames(Event):
    """All rules of the verdicts file about frames that do not count for signatures.

    Each of ``rules`` is ``FUNCTION`` or ``FILE in FUNCTION``, with ``*`` and ``?``
    (:func:`fuzztui.wire.frames.skipping_rule`). They hold for all findings, also earlier ones.
    """

    kind: ClassVar[str] = "skipped_frames"
    rules: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class VerdictsChanged(Event):
    """Verdicts that a user has given, changed or taken back, from the campaign's verdicts file.

    Each of ``findings`` is ``{"signature", "verdict", "note", "author", "date"}``, where
    ``verdict`` is one of :data:`fuzztui.wire.verdicts.CHOICES`, and ``date`` an ISO 8601 text.
    A group that was marked as fixed before a start of the campaign and is found after that start
    is a regression.

    Each of ``mutants`` is ``{"id", "verdict", "because", "change", "author", "date"}``, where
    ``verdict`` is "accepted", or anything else: the mutant is not accepted any more.
    """

    kind: ClassVar[str] = "verdicts_changed"
    findings: list[dict[str, Any]] = field(default_factory=list)
    mutants: list[dict[str, Any]] = field(default_factory=list)


# ------------------------------------------------------------------- mutants


@dataclass(frozen=True, slots=True)
class MutantsFound(Event):
    """Mutants of one module of the target; at most some hundreds per event.

    ``file``: the path as shown (``tomllib/_parser.py``); ``path``: the path on disk. Each of
    ``mutants`` is ``{"id", "line", "function", "operator", "before", "after"}``, also ``"column"``,
    ``"end_line"`` and ``"end_column"`` if the engine knows them (from 1, in characters; the last is
    the column after the expression), with
    ``"static": true`` if the mutant cannot be swapped into the running target (module and class
    level code, defaults); such mutants run in a child process that re-imports the target.
    Every instance reports the same mutants. In a fuzz-first campaign ``instance`` is empty, and
    each mutant has its ``"place"`` in the worklist.
    """

    kind: ClassVar[str] = "mutants_found"
    instance: str
    module: str = ""
    file: str = ""
    path: str = ""
    mutants: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class MutantsShard(Event):
    """Only a part of the program's mutants belongs to this campaign (:mod:`fuzztui.base.shards`).

    Shard ``number`` of ``of``, from 1. ``mutants``: of all shards. ``program``: the sum of their
    ids and code; two campaigns are of one program if they have the same. Replaces earlier ones.
    """

    kind: ClassVar[str] = "mutants_shard"
    instance: str
    number: Count = 0
    of: Count = 0
    mutants: Count = 0
    program: str = ""
    numbers: list[int] = field(default_factory=list)
    """Of a merged run: all its shards, if some are missing; else only ``number`` is there."""


@dataclass(frozen=True, slots=True)
class MutantState(Event):
    """The state of a mutant in one instance.

    ``state``: pending (not yet run on any input of the corpus), alive, killed, skipped,
    equivalent, invalid (cannot be made or run). For a killed mutant, ``killer`` is the entry
    (``"main/12"``) that killed it, ``trial`` the trial, ``oracle`` what differed (value, exception,
    timeout, died) and ``detail`` a text. ``reason``: why the mutant is skipped, equivalent
    or invalid. ``steer``: empty, "promoted", "first" or "last". ``property``: of a suite, the one
    whose outcome differed.
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
    property: str = ""


@dataclass(frozen=True, slots=True)
class MutantRuns(Event):
    """Counts of mutants whose counts changed: ``{id: [reached, infected, runs]}``, cumulative.

    Reported when a count has about doubled, so a mutant needs a few dozen events at most.
    """

    kind: ClassVar[str] = "mutant_runs"
    instance: str
    runs: dict[str, Any] = field(default_factory=dict)
    near: dict[str, Any] = field(default_factory=dict)
    """By survivor: ``[entry, how]``, the first entry (``"main/12"``) that came as near to a kill
    as any: it "reached" the mutant, "infected" it, or the mutant "ran" on it without a difference.
    Reported again for an entry that came nearer."""


@dataclass(frozen=True, slots=True)
class MutationStats(Event):
    """How an instance spends its time in mutation analysis, and which runs are pruned.

    Cumulative seconds: running the original (``original_s``), running mutants, compiling
    mutants, and the rest of the loop. Cumulative counts of (mutant, input) pairs: run, and pruned
    because the mutant is killed (``dead``), skipped, not executed, not infected, or deferred by
    the schedule. ``audits``: pruned pairs that were run anyway; ``audit_kills``: kills among them,
    which must stay 0. ``share``: the part of trials, 0 to 1, in which the schedule runs mutants
    now. ``backlog``: kept inputs that wait for their mutants.
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
    """Inputs that are not used because their outcome varies between executions."""
    share: float = -1.0
    backlog: Count = 0
    phase: str = ""
    """What runs now: an empty string (the loop) or "exact" (the exact pass)."""
    unsettled: Count = -1
    """Pairs of survivors and kept inputs that an exact pass has still to examine; 0: the score is
    exact; -1: not known."""
    left_s: float = -1.0
    """Estimated seconds until the exact pass ends; -1: not known, or none runs."""
    pass_share: float = -1.0
    """The used share of the budget of the running or last exact pass, 0 to 1; 0 if that has
    none; -1: there was no pass."""


@dataclass(frozen=True, slots=True)
class PhaseStarted(Event):
    """A phase of a fuzz-first campaign started. ``stage``: mutants, then target.

    ``plan``: the mutants' part of the budget: ``mutants_s`` or ``mutants_trials`` for all mutants,
    ``each_s`` or ``each_trials`` for one, and ``count``, the mutants for which it suffices.
    ``made``: the number of mutants; ``blank`` more were left out: only white space differs.
    """

    kind: ClassVar[str] = "stage_started"
    stage: str
    plan: dict[str, Any] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class MutantProgress(Event):
    """The progress of one mutant in a fuzz-first campaign.

    ``stage``: queued, building, built, pruning, fuzzing, collecting, done; or, permanently: failed
    (does not build), dropped (duplicate of the mutant that ``reason`` names), refused (cannot be
    fuzzed because it fails on all inputs). ``slot``: the instance that fuzzes the mutant.
    ``costs`` in seconds: build, prune, start, handover. ``brought``: kept and aside (inputs that
    the pruning kept and removed), what was transferred from its corpus to the original (entries,
    edges, crashes, hangs), and kills. Both replace earlier values of the same name.
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
    """New positions of mutants in the worklist, which is sorted by these numbers."""

    kind: ClassVar[str] = "mutant_places"
    places: dict[str, Any] = field(default_factory=dict)


# ------------------------------------------------------------------ mutators


@dataclass(frozen=True, slots=True)
class MutatorStats(Event):
    """Statistics of a text engine's mutators, cumulative over all starts of the instance.

    ``havoc``, ``text``, ``splice``: present probabilities of a step of that class; their sum is 1.
    ``adaptive``: whether the engine raises the probabilities of mutators with more new entries.
    ``trials``: inputs made. ``names``: the mutators (:mod:`fuzztui.wire.mixture`). The lists after
    it have one number per name. ``tried``: draws. ``applied``: uses that changed the input.
    ``found``, ``crashes``: trials that used the mutator and became an entry, or a crash or hang.
    ``weights``: the probability within its class, in millionths.
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
    """Statistics of a spoton engine's types, cumulative over all starts of the instance.

    ``targeted``: the part of mutations, 0 to 1, that are targeted. ``pinned``: the location of the
    pinned goal, or an empty string. Counts of goals: ``targets`` in all loaded modules,
    ``uncovered`` among them, and uncovered ones on the ``frontier``. ``names``: the types, the most
    probable first. The lists after it have one number per type: ``distances`` (steps; -1: no
    uncovered goal depends on the type), ``weights`` (set by the user; 0: banned), ``factors`` (1 to
    8; misses divide the probability by this), ``probabilities`` (of the next pick, in millionths),
    ``picks``, ``matches``, ``misses``, ``new_arms`` (edges first covered by a mutation targeted
    at the type). ``ignored``: locations of the goals that the user ignores. ``changed``: files that
    were edited after the analysis; their goals are unknown. ``analysis``: the analysis that the
    locations belong to (:mod:`fuzztui.wire.targeting`); empty: not reported.
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
    """Changes in the list of uncovered goals: at most some hundreds, the frontier first.

    ``left``: ``{location: {"frontier": bool, "reached": n, "types": [[name, distance], ...]}}``
    of new and changed goals, types nearest first (no types: the goal cannot be targeted).
    ``reached`` of ``asked`` trials reached the goal's decision; reported again when the count has
    about doubled. ``gone``: locations that are covered now, or that other goals have displaced
    from the list. ``anew``: earlier events of this kind are void.
    """

    kind: ClassVar[str] = "targets_left"
    instance: str
    asked: Count = 0
    left: dict[str, Any] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    anew: bool = False


# -------------------------------------------------------------------- source


@dataclass(frozen=True, slots=True)
class SourceFile(Event):
    """A source file of the target, as an engine has loaded or built it.

    ``path``: absolute. ``sha``: the first 16 digits of the content's SHA-256; another one for the
    same path makes earlier events about the path void. ``statements``: the first lines of all
    statements (:mod:`fuzztui.base.ranges`). ``functions``: ``"first-last name"``, outer ones first.
    ``blocks``: pairs of numbers, the line of a decision and the line at which one of its blocks
    begins. ``branches``: the line of each branch whose coverage is reported.
    """

    kind: ClassVar[str] = "source_file"
    instance: str
    path: str
    module: str = ""
    sha: str = ""
    statements: str = ""
    functions: list[str] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)
    branches: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LinesCovered(Event):
    """Statements and branches that an instance has covered for the first time.

    ``entry``: id of the queue entry that has covered them; -1: they were executed when the target
    was imported. ``lines``: by path, first lines of statements. ``branches``: by path, indexes of
    :attr:`SourceFile.branches`. Both as :mod:`fuzztui.base.ranges`.
    """

    kind: ClassVar[str] = "lines_covered"
    instance: str
    entry: int = -1
    lines: dict[str, Any] = field(default_factory=dict)
    branches: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CoverageBuild(Event):
    """How the build that measures the lines of a C target is getting on.

    ``state``: building, measuring, ready (all entries up to now are measured) or failed;
    ``reason``: why there is none, as text for users.
    """

    kind: ClassVar[str] = "coverage_build"
    state: str
    reason: str = ""


# ------------------------------------------------------------------ steering


@dataclass(frozen=True, slots=True)
class CommandIssued(Event):
    """The user ``by`` gave a command; recorded before it is sent to an engine.

    ``command``: the encoded command (:mod:`fuzztui.wire.commands`). ``undoes``: the ids of the
    commands that this one undoes, first the one whose change it takes back, then later ones that
    have changed nothing. ``step``: equal for the commands that one key press gave, which are undone
    together; an empty string: the command is alone.
    """

    kind: ClassVar[str] = "command_issued"
    id: str
    command: dict[str, Any] = field(default_factory=dict)
    by: str = ""
    undoes: list[str] = field(default_factory=list)
    step: str = ""


@dataclass(frozen=True, slots=True)
class CommandProgress(Event):
    """Progress of a command that takes long. ``part``: 0 to 1; -1: unknown."""

    kind: ClassVar[str] = "command_progress"
    id: str
    text: str = ""
    part: float = -1.0


@dataclass(frozen=True, slots=True)
class CommandApplied(Event):
    """The instance or the supervisor executed the command, at ``trial`` (-1: no trial)."""

    kind: ClassVar[str] = "command_applied"
    id: str
    instance: str = ""
    trial: Count = -1
    detail: str = ""


@dataclass(frozen=True, slots=True)
class CommandRejected(Event):
    """The command was not executed; ``reason``: a text for users."""

    kind: ClassVar[str] = "command_rejected"
    id: str
    instance: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Message(Event):
    """A text for the event list. ``level``: info, warning or error."""

    kind: ClassVar[str] = "message"
    level: str
    text: str
    instance: str = ""


NEW_FINDINGS: Final = "findings"
STALL: Final = "stall"
END: Final = "end"
NEWS: Final = (NEW_FINDINGS, STALL, END)
"""What ``notify.command`` can report."""


@dataclass(frozen=True, slots=True)
class Notified(Event):
    """The command ``notify.command`` was run. ``news``: one of :data:`NEWS`; ``text``: its line.

    ``findings``: ``"instance/file"`` of the first finding of each new group: these groups are not
    reported again. ``problem``: why the command failed, a text; an empty string: it succeeded.
    After a failure ``findings`` is empty, because they are reported again.
    """

    kind: ClassVar[str] = "notified"
    news: str
    text: str = ""
    findings: list[str] = field(default_factory=list)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class RecordsLost(Event):
    """Replaces, in a repaired log, the lost records from number ``first`` to its own number.

    All counts of the campaign are lower bounds from here on. ``reason``: how they were lost.
    """

    kind: ClassVar[str] = "records_lost"
    first: int
    reason: str = ""


def _all_kinds() -> dict[str, type[Event]]:
    # By kind, not by class: slots=True makes a second class of each; the first still exists.
    return {c.kind: c for c in Event.__subclasses__() if c.kind != Unknown.kind}


EVENT_KINDS: dict[str, type[Event]] = _all_kinds()
"""Every known kind, by its name on the wire."""
