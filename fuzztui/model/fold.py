"""The fold: computes the state of a campaign from the records of its log.

Only :func:`apply` changes a :class:`~fuzztui.model.state.State`. It uses the state and the records,
nothing else: the same log gives the same state, with any batches and from any checkpoint. It never
raises: a log may contain anything, in any order.

This module folds the campaign and its commands; :mod:`fuzztui.model.stats` folds instances and
totals, :mod:`fuzztui.model.saved` entries and findings, :mod:`fuzztui.model.groups` groups of
findings, :mod:`fuzztui.model.verdicts` verdicts, :mod:`fuzztui.model.mutants` mutants,
:mod:`fuzztui.model.fuzzfirst` the worklist of fuzz-first, :mod:`fuzztui.model.mutators` text
mutators, :mod:`fuzztui.model.targeting` types and goals, :mod:`fuzztui.model.source_lines` covered
lines, and :mod:`fuzztui.model.hosts` what other machines' logs say about the campaign as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from operator import attrgetter
from typing import Any

from fuzztui.base.signals import is_by_signal
from fuzztui.model import (
    commands,
    comparisons,
    fuzzfirst,
    groups,
    hosts,
    mutants,
    mutators,
    properties,
    saved,
    source_lines,
    stats,
    targeting,
    verdicts,
)
from fuzztui.model.changes import ChangesBuilder, instance
from fuzztui.model.state import RECENT_COMMANDS, Changes, CommandStatus, State
from fuzztui.model.stats import count, finite, series
from fuzztui.wire.codec import encode_record
from fuzztui.wire.commands import SetMixture, TypeCommand, command_class
from fuzztui.wire.events import (
    STALL,
    UNGUIDED,
    BudgetSet,
    CampaignEnded,
    CampaignStarted,
    CampaignState,
    CommandApplied,
    CommandIssued,
    CommandProgress,
    CommandRejected,
    ComparisonsReported,
    CoverageBuild,
    EntriesSeeded,
    EntryDescribed,
    EntrySaved,
    Event,
    ExampleSaved,
    FindingDescribed,
    FindingSaved,
    GoalsUncovered,
    HostState,
    InputShown,
    InstanceHello,
    InstanceState,
    LinesCovered,
    Message,
    MutantPositions,
    MutantProgress,
    MutantRuns,
    MutantsFound,
    MutantsShard,
    MutantState,
    MutationStats,
    MutatorStats,
    Notified,
    PassiveInstance,
    PhaseStarted,
    PropertiesFound,
    PropertyFigures,
    Record,
    RecordsLost,
    Resources,
    SkippedFrames,
    SourceFile,
    Stats,
    SupervisorStarted,
    Synced,
    TargetingStats,
    Unknown,
    VerdictsChanged,
)

FOLD_VERSION = 26
"""Increase when the meaning of the fold changes: checkpoints of other versions are not used."""

MAX_UNKNOWN_KINDS = 100
"""Number of unknown kinds that are counted by name; the rest are counted as "(others)"."""

MAX_NOTIFIED = 100_000
"""Findings that are remembered as reported by ``notify.command``: far more than are saved."""

MAX_PAUSES = 100
"""Pauses of the campaign that are remembered: the latest ones."""

_LONGEST_TIME = 1e12

_ROWS_A_RECORD = 3
"""Rows of a list of mutants whose fold costs about as much as an ordinary record."""


def apply(state: State, records: Iterable[Record]) -> Changes:
    """Fold ``records`` into ``state``, in order; records up to ``state.seq`` are ignored."""
    touched = ChangesBuilder()
    applied = 0
    fresh = state.seq == 0
    for record in records:
        if record.seq <= state.seq:
            continue
        applied += 1
        state.seq = record.seq
        # The supervisor never writes a time that decreases or is not a number.
        if state.t < record.t < _LONGEST_TIME:
            state.t = record.t
        event: Event | None = record.event
        kind = type(record.event)
        news = _is_news(state, record.event)
        if record.host:
            event = hosts.arrived(state, record)
        if event is not None:
            _HANDLERS.get(type(event), _unhandled)(state, event, touched)
        if record.host:
            hosts.note_instance(state, record)
            touched.campaign |= event is None
        state.cost += 1
        if kind in _LISTS:
            state.cost += len(_LISTS[kind](record.event)) // _ROWS_A_RECORD
        elif kind not in _FIGURES and news:
            state.recent.append(_representable(record, state.t))
    return touched.changes(applied, reset=fresh and applied > 0)


def _is_news(state: State, event: Event) -> bool:
    """Whether the event list shows the event: of mutants only kills, or these would fill the list.

    Left out, too: entries that are reported again after afl-fuzz renumbered its queue, and
    descriptions that contain only the signal in the finding's name.
    """
    if isinstance(event, FindingDescribed):
        return not is_by_signal(event.signature)
    if isinstance(event, EntrySaved):
        before = state.entries.get(f"{event.instance}/{event.id}")
        return event.first < 0 and (before is None or not before.saved)
    return not isinstance(event, MutantState) or event.state == "killed"


def _representable(record: Record, t: float) -> Record:
    """The record, or a warning at ``t`` in its place if a checkpoint cannot contain the record.

    JSON has no infinite numbers, and data nested near the interpreter's limit can be read here
    and fail when a checkpoint is written.
    """
    event = record.event
    if type(event) in _HARMLESS and record.t == t:
        return record
    nested: dict[str, Any] = {}
    if isinstance(event, Unknown):
        nested = event.data
    elif isinstance(event, CommandIssued):
        nested = event.command
    try:
        if not _shallow(nested, 30):
            raise ValueError
        encode_record(record)
    except (ValueError, RecursionError, OverflowError):
        text = f"a record of kind {type(record.event).__name__} contains values that JSON lacks"
        return replace(record, t=t, event=Message("warning", text))
    return record


def _shallow(value: Any, levels: int) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return True
    return levels > 0 and all(_shallow(v, levels - 1) for v in value)


# ------------------------------------------------------------------ campaign


def _campaign_started(state: State, e: CampaignStarted, touched: ChangesBuilder) -> None:
    # Each watcher of a watched campaign records a start; another campaign has another name.
    same = (e.name, e.engine) == (state.name, state.engine)
    if not (same and (e.wall == state.started_wall or not state.host)):
        state.starts += 1
    state.name, state.engine, state.target = e.name, e.engine, e.target
    state.seed, state.version = e.seed, e.version
    state.budget_s = finite(e.budget_s)
    state.budget_trials = max(count(e.budget_trials), 0)
    state.exact_s = max(finite(e.exact_s), 0.0)
    state.started_wall = state.wall = finite(e.wall)
    state.wall_t = state.t
    if state.state == "empty":
        state.state = "starting"
    for name in e.instances:
        instance(state, str(name), touched)
    touched.campaign = True


def _budget_set(state: State, e: BudgetSet, touched: ChangesBuilder) -> None:
    state.budget_s = finite(e.budget_s)
    state.budget_trials = max(count(e.budget_trials), 0)
    state.exact_s = max(finite(e.exact_s), 0.0)
    touched.campaign = True


def _supervisor_started(state: State, e: SupervisorStarted, touched: ChangesBuilder) -> None:
    state.host = e.host
    state.cores = max(count(e.cores), 0)
    state.wall, state.wall_t = finite(e.wall), state.t
    if not e.adopted:
        verdicts.engines_started(state)
    touched.campaign = True


def _campaign_state(state: State, e: CampaignState, touched: ChangesBuilder) -> None:
    _set_state(state, e.state, e.reason)
    touched.campaign = True


def _campaign_ended(state: State, e: CampaignEnded, touched: ChangesBuilder) -> None:
    _set_state(state, e.state, e.reason)
    touched.campaign = True


def _set_state(state: State, name: str, reason: str) -> None:
    state.state, state.reason = name, reason
    if name == "paused":
        state.paused_at = state.t if state.paused_at < 0 else state.paused_at
    elif state.paused_at >= 0:
        # A new list: a checkpoint may contain the old one.
        state.pauses = [*state.pauses, state.paused_at, state.t][-2 * MAX_PAUSES :]
        state.paused_s += state.t - state.paused_at
        state.paused_at = -1.0
        state.resumed_t = state.t


# ------------------------------------------------------------------ steering


def _command_issued(state: State, e: CommandIssued, touched: ChangesBuilder) -> None:
    given = series(state, "commands")  # of the commands themselves only the newest are kept
    given.add(state.t, given.last + 1)
    legible = _representable(Record(1, 0.0, e), 0.0).event is e
    state.commands[e.id] = CommandStatus(
        e.id, state.t, e.command if legible else {}, e.by,
        seq=state.seq, undoes=e.undoes, step=e.step,
    )  # fmt: skip
    touched.commands.add(e.id)
    _forget_commands(state)


def _forget_commands(state: State) -> None:
    if len(state.commands) > RECENT_COMMANDS:
        finished = (k for k, c in state.commands.items() if c.state != "pending")
        del state.commands[next(finished, next(iter(state.commands)))]


def _answer(state: State, key: str, touched: ChangesBuilder) -> CommandStatus:
    command = state.commands.get(key)
    if command is None:
        # The answer to a command that was removed from the table, or never logged.
        command = state.commands[key] = CommandStatus(key, state.t, {})
        _forget_commands(state)
    touched.commands.add(key)
    command.done_t = state.t
    return command


def _command_applied(state: State, e: CommandApplied, touched: ChangesBuilder) -> None:
    command = _answer(state, e.id, touched)
    command.state, command.text = "applied", e.detail
    command.instance, command.trial = e.instance, e.trial
    match commands.applied(state, command):
        case SetMixture() as mixture:
            mutators.mixture_set(state, mixture, command.by, e.instance, touched)
        case TypeCommand() as about_types:
            targeting.fold_command(state, about_types, e.instance, touched)
        case _:
            pass


def _command_progress(state: State, e: CommandProgress, touched: ChangesBuilder) -> None:
    command = state.commands.get(e.id)
    if command is not None and command.state == "pending":
        command.text, command.part = e.text, finite(e.part, -1.0)
        touched.commands.add(e.id)


def _command_rejected(state: State, e: CommandRejected, touched: ChangesBuilder) -> None:
    command = _answer(state, e.id, touched)
    if command.state == "applied" and command_class(command.command).any_applies:
        return  # another instance executed the command
    command.state, command.text, command.instance = "rejected", e.reason, e.instance


def _message(state: State, e: Message, touched: ChangesBuilder) -> None:
    """Set why an instance is unguided. Other messages are in ``recent`` only."""
    if e.about == UNGUIDED and e.instance:
        instance(state, e.instance, touched).unguided = e.text


def _notified(state: State, e: Notified, touched: ChangesBuilder) -> None:
    if e.news == STALL and not e.problem:
        state.stall_notified_t = state.t
    for key in e.findings:
        if len(state.notified) < MAX_NOTIFIED:
            state.notified[str(key)] = state.t


def _records_lost(state: State, e: RecordsLost, touched: ChangesBuilder) -> None:
    state.lost += max(1, state.seq - max(e.first, 1) + 1)
    touched.campaign = True


def _unknown(state: State, e: Unknown, touched: ChangesBuilder) -> None:
    _count_unknown(state, e.name, touched)


def _unhandled(state: State, e: Event, touched: ChangesBuilder) -> None:
    """Count an event whose kind is in ``wire`` and has no handler here."""
    _count_unknown(state, e.kind, touched)


def _count_unknown(state: State, name: str, touched: ChangesBuilder) -> None:
    if name not in state.unknown and len(state.unknown) >= MAX_UNKNOWN_KINDS:
        name = "(others)"
    state.unknown[name] = state.unknown.get(name, 0) + 1
    touched.campaign = True


_HANDLERS: dict[type[Event], Callable[[State, Any, ChangesBuilder], None]] = {
    CampaignStarted: _campaign_started,
    BudgetSet: _budget_set,
    SupervisorStarted: _supervisor_started,
    CampaignState: _campaign_state,
    CampaignEnded: _campaign_ended,
    HostState: hosts.host_state,
    InstanceState: stats.instance_state,
    InstanceHello: stats.instance_hello,
    PassiveInstance: stats.passive_instance,
    Stats: stats.stats,
    Synced: stats.synced,
    Resources: stats.resources,
    EntrySaved: saved.entry_saved,
    EntriesSeeded: saved.entries_seeded,
    EntryDescribed: saved.entry_described,
    InputShown: saved.input_shown,
    ComparisonsReported: comparisons.comparisons_reported,
    PropertiesFound: properties.properties_found,
    PropertyFigures: properties.property_figures,
    FindingSaved: saved.finding_saved,
    FindingDescribed: saved.finding_described,
    ExampleSaved: saved.example_saved,
    SkippedFrames: groups.skipped_frames,
    VerdictsChanged: verdicts.verdicts_changed,
    MutantsFound: mutants.mutants_found,
    MutantsShard: mutants.mutants_shard,
    MutantState: mutants.mutant_state,
    MutantRuns: mutants.mutant_runs,
    MutationStats: mutants.mutation_stats,
    MutatorStats: mutators.operator_figures,
    TargetingStats: targeting.fold_stats,
    GoalsUncovered: targeting.fold_goals,
    SourceFile: source_lines.source_file,
    LinesCovered: source_lines.lines_covered,
    CoverageBuild: source_lines.coverage_build,
    PhaseStarted: fuzzfirst.stage_started,
    MutantProgress: fuzzfirst.mutant_stage,
    MutantPositions: fuzzfirst.mutant_places,
    CommandIssued: _command_issued,
    CommandApplied: _command_applied,
    CommandRejected: _command_rejected,
    CommandProgress: _command_progress,
    Message: _message,
    Notified: _notified,
    RecordsLost: _records_lost,
    Unknown: _unknown,
}

_FIGURES = frozenset(
    {
        CommandProgress,
        InputShown,
        LinesCovered,
        MutationStats,
        PassiveInstance,
        Resources,
        SourceFile,
        Stats,
        Synced,
    }
)
_LISTS: dict[type[Event], Callable[[Any], Collection[Any]]] = {
    MutantsFound: attrgetter("mutants"),
    SkippedFrames: attrgetter("rules"),
    VerdictsChanged: lambda e: [*e.findings, *e.mutants],
    MutantRuns: attrgetter("runs"),
    MutantPositions: attrgetter("places"),
    EntriesSeeded: attrgetter("origins"),
    ComparisonsReported: lambda e: [*e.tokens, *e.entries],
    MutatorStats: attrgetter("names"),
    PropertiesFound: attrgetter("reasons"),
    PropertyFigures: attrgetter("figures"),
    TargetingStats: attrgetter("names"),
    GoalsUncovered: attrgetter("left"),
}
"""Kinds that the event list leaves out: too many events, or too large."""

_HARMLESS = frozenset(
    {
        CampaignState,
        CampaignEnded,
        EntrySaved,
        EntryDescribed,
        FindingSaved,
        MutantState,
        CommandApplied,
        CommandRejected,
        InstanceState,
        Message,
        RecordsLost,
    }
)
"""Kinds whose fields are strings and integers only."""
