"""Events about mutants: of mu2, and of a fuzz-first campaign."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fuzztui.kernel.base.bounds import Count
from fuzztui.kernel.wire.events.base import Event


@dataclass(frozen=True, slots=True)
class MutantsFound(Event, kind="mutants_found", by_engines=True):
    """Mutants of one module of the target; at most some hundreds per event.

    ``file``: the path as shown (``tomllib/_parser.py``); ``path``: the path on disk. Each of
    ``mutants`` is ``{"id", "line", "function", "operator", "before", "after"}``, also ``"column"``,
    ``"end_line"`` and ``"end_column"`` if the engine knows them (from 1, in characters; the last is
    the column after the expression), with
    ``"static": true`` if the mutant cannot be swapped into the running target (module and class
    level code, defaults); such mutants run in a child process that re-imports the target.
    Every instance reports the same mutants. In a fuzz-first campaign ``instance`` is empty, and
    each mutant has its ``"place"`` in the worklist; one that changes a roadblock has this
    condition's line, ``"roadblock"``, and how many lines it ``"hides"``
    (earlier: ``"opens"``). One that a pragma excludes has the reason, ``"excluded"``.
    """

    instance: str
    module: str = ""
    file: str = ""
    path: str = ""
    mutants: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class MutantsShard(Event, kind="mutants_shard", by_engines=True):
    """Only a part of the program's mutants belongs to this campaign
    (:mod:`fuzztui.kernel.base.shards`).

    The part is shard ``number`` (from 1) of ``of``. ``mutants``: their number in all shards.
    ``program``: a checksum of the ids and code of these; equal in campaigns on the same program.
    Replaces earlier events of this kind.
    """

    instance: str
    number: Count = 0
    of: Count = 0
    mutants: Count = 0
    program: str = ""
    numbers: list[int] = field(default_factory=list)
    """The numbers of the shards in a merged run that lacks some; empty: only ``number``."""


@dataclass(frozen=True, slots=True)
class MutantState(Event, kind="mutant_state", by_engines=True):
    """The state of a mutant in one instance.

    ``state``: pending (not yet run on any input of the corpus), alive, killed, skipped,
    equivalent, invalid (cannot be made or run). For a killed mutant, ``killer`` is the entry
    (``"main/12"``) that killed it, ``trial`` the trial, ``oracle`` what differed (value, exception,
    timeout, died) and ``detail`` a text. ``reason``: why the mutant is skipped, equivalent
    or invalid. ``steer``: empty, "promoted", "first" or "last". ``property``: the property of a
    suite whose outcome differed.
    """

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
class MutantRuns(Event, kind="mutant_runs", by_engines=True):
    """Counts that have changed, by mutant: ``{id: [reached, infected, runs]}``, cumulative.

    Reported when a count has about doubled, so a mutant needs a few dozen events at most.
    """

    instance: str
    runs: dict[str, Any] = field(default_factory=dict)
    near: dict[str, Any] = field(default_factory=dict)
    """``[entry, how]`` by id of a survivor: the first of the entries (``"main/12"``) that came
    nearest to a kill. ``how``: the entry "reached" or "infected" the mutant, or the mutant "ran" on
    it without a difference. Reported again for an entry that came nearer."""


@dataclass(frozen=True, slots=True)
class MutationStats(Event, kind="mutation_stats", by_engines=True):
    """How an instance spends its time in mutation analysis, and which runs are pruned.

    Cumulative seconds: running the original (``original_s``), running mutants, compiling
    mutants, and the rest of the loop. Cumulative counts of (mutant, input) pairs: run, and pruned
    because the mutant is killed (``dead``), skipped, not executed, not infected, or deferred by
    the schedule. ``audits``: pruned pairs that were run anyway; ``audit_kills``: kills among them,
    which must stay 0. ``share``: the part of trials, 0 to 1, in which the schedule runs mutants
    now. ``backlog``: kept inputs that wait for their mutants.
    """

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
    uncompared: Count = 0
    """Kept inputs, among the first hundred that were analysed, whose value cannot be compared as a
    whole."""


@dataclass(frozen=True, slots=True)
class PhaseStarted(Event, kind="stage_started"):
    """A phase of a fuzz-first campaign started. ``stage``: mutants, then target; or, if mutants
    have turns when the target is stuck, target, then both by turns.

    ``plan``: the mutants' part of the budget: ``mutants_s`` or ``mutants_trials`` for all mutants,
    ``each_s`` or ``each_trials`` for one, and ``count``, the mutants for which it suffices.
    ``made``: the number of mutants; ``blank`` more were left out: only white space differs.
    ``round``: the number of phases of mutants so far, if the target comes first; then the parts are
    those until the end of this round, which began when ``round_began`` was used; the target is
    stuck after ``stuck_s`` or ``stuck_trials`` without a new edge (0: no round follows), counted
    from ``stuck_from`` trials. ``parallel``: 1 if each instance fuzzes a mutant of its own;
    ``switched``: 1 if a command has set that. ``reason``: why the phase started.
    """

    stage: str
    plan: dict[str, Any] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class MutantProgress(Event, kind="mutant_stage"):
    """The progress of one mutant in a fuzz-first campaign.

    ``stage``: queued, building, built, pruning, fuzzing, collecting, done; or, permanently: failed
    (does not build), dropped (duplicate of the mutant that ``reason`` names), refused (cannot be
    fuzzed because it fails on all inputs). ``slot``: the instance that fuzzes the mutant.
    ``costs`` in seconds: build, prune, start, handover. ``brought``: kept and aside (inputs that
    the pruning kept and removed), what was transferred from its corpus to the original (entries,
    edges, crashes, hangs), and kills. Values of ``costs`` and ``brought`` replace earlier ones of
    the same name.
    """

    id: str
    stage: str
    slot: str = ""
    reason: str = ""
    costs: dict[str, Any] = field(default_factory=dict)
    brought: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MutantPositions(Event, kind="mutant_places"):
    """New positions of mutants in the worklist, which is sorted by these numbers."""

    places: dict[str, Any] = field(default_factory=dict)
