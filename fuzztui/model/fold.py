"""The fold: what a campaign is, from what happened in it.

:func:`apply` is the only place where a :class:`~fuzztui.model.state.State`
changes. It looks at nothing but the state and the records: the same log gives
the same state however it is cut into batches and wherever it is taken up from a
checkpoint. It never raises: a log may hold anything, in any order.

What the totals over instances mean:

* ``execs``, ``rate``, ``crashes``, ``hangs``, ``corpus``, ``cpu``: the sum;
* ``edges``, ``edges_valid``: the maximum, because instances exchange their finds
  and so cover the same code;
* an instance that is paused or has no process has rate 0, whatever its last
  statistics said.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from fuzztui.model.series import Series
from fuzztui.model.state import (
    RECENT_COMMANDS,
    Changes,
    CommandStatus,
    Entry,
    Finding,
    Instance,
    State,
)
from fuzztui.wire.codec import encode_record
from fuzztui.wire.events import (
    BudgetSet,
    CampaignEnded,
    CampaignStarted,
    CampaignState,
    CommandApplied,
    CommandIssued,
    CommandRejected,
    EntryDescribed,
    EntrySaved,
    Event,
    FindingDescribed,
    FindingSaved,
    InstanceHello,
    InstanceState,
    Message,
    Record,
    Resources,
    Stats,
    SupervisorStarted,
    Unknown,
)

__all__ = ["FOLD_VERSION", "apply"]

FOLD_VERSION = 1
"""Raise it when the fold's meaning changes: checkpoints of another version are not used."""

IDLE_STATES = frozenset({"paused", "restarting", "stopped", "finished", "failed"})
"""Instance states in which nothing is executed, so that the rate is 0."""

GONE_STATES = frozenset({"restarting", "stopped", "finished", "failed"})
"""Instance states without a process, so that it uses no CPU either."""

MOST_UNKNOWN_KINDS = 100
"""How many unknown kinds are counted by name; the rest are counted as "(others)"."""

_LARGE = 2**62
_LONGEST_TIME = 1e12


class _Touched:
    """The mutable makings of a :class:`Changes`."""

    __slots__ = ("campaign", "commands", "entries", "findings", "instances")

    def __init__(self) -> None:
        self.campaign = False
        self.instances: set[str] = set()
        self.entries: set[str] = set()
        self.findings: set[str] = set()
        self.commands: set[str] = set()


def apply(state: State, records: Iterable[Record]) -> Changes:
    """Fold ``records`` into ``state``, in order. Records that it has already are ignored."""
    touched = _Touched()
    count = 0
    fresh = state.seq == 0
    for record in records:
        if record.seq <= state.seq:
            continue
        count += 1
        state.seq = record.seq
        # A time that goes back or is no number cannot come from our writer.
        if state.t < record.t < _LONGEST_TIME:
            state.t = record.t
        event = record.event
        kind = type(event)
        _HANDLERS.get(kind, _foreign)(state, event, touched)
        if kind is not Stats and kind is not Resources:
            state.recent.append(_representable(record, state.t))
    return Changes(
        campaign=touched.campaign or (fresh and count > 0),
        instances=frozenset(touched.instances),
        entries=frozenset(touched.entries),
        findings=frozenset(touched.findings),
        commands=frozenset(touched.commands),
        records=count,
        reset=fresh and count > 0,
    )


# ----------------------------------------------------------- hostile numbers


def _representable(record: Record, t: float) -> Record:
    """The record, or a message at ``t`` in its place if JSON cannot well hold it.

    It cannot hold infinite numbers, and nesting near the interpreter's limit may be
    read here and fail where a checkpoint is written.
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
        text = f"a record of kind {type(record.event).__name__} holds what JSON cannot"
        return Record(record.seq, t, Message("warning", text))
    return record


def _shallow(value: Any, levels: int) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return True
    return levels > 0 and all(_shallow(v, levels - 1) for v in value)


def _finite(value: float, default: float = 0.0) -> float:
    return value if -_LARGE < value < _LARGE else default


def _count(value: int) -> int:
    """A figure of which -1 means unknown; nothing else may be negative or huge."""
    return value if -1 <= value < _LARGE else -1


# -------------------------------------------------------------------- totals


def _series(state: State, name: str) -> Series:
    series = state.series.get(name)
    if series is None:
        series = state.series[name] = Series()
    return series


def _shift(state: State, name: str, old: float, new: float) -> None:
    """One instance's contribution to a sum went from ``old`` to ``new``.

    The running total is the series' last value: exact for integers; rates are
    kept to 3 decimals, so that rounding each step leaves no drift.
    """
    series = _series(state, name)
    total = series.last + new - old
    series.add(state.t, round(total, 3) if isinstance(total, float) else total)


def _maximum(state: State, name: str, old: int, new: int) -> None:
    """One instance's figure, already set, went from ``old`` to ``new``."""
    series = _series(state, name)
    highest = series.last if series.values else -1
    if new >= highest:
        highest = new
    elif old >= highest:
        highest = max(getattr(i, name) for i in state.instances.values())
    if highest >= 0:
        series.add(state.t, highest)


def _set_rate(state: State, instance: Instance, rate: float, cpu: float) -> None:
    _shift(state, "rate", instance.execs_per_sec, rate)
    instance.execs_per_sec = rate
    if cpu != instance.cpu:
        _shift(state, "cpu", instance.cpu, cpu)
        instance.cpu = cpu


# ------------------------------------------------------------------ campaign


def _campaign_started(state: State, e: CampaignStarted, touched: _Touched) -> None:
    state.name, state.engine, state.target = e.name, e.engine, e.target
    state.seed, state.version = e.seed, e.version
    state.budget_s = _finite(e.budget_s)
    state.budget_trials = max(_count(e.budget_trials), 0)
    state.started_wall = state.wall = _finite(e.wall)
    state.wall_t = state.t
    if state.state == "empty":
        state.state = "starting"
    for name in e.instances:
        _instance(state, str(name), touched)
    touched.campaign = True


def _budget_set(state: State, e: BudgetSet, touched: _Touched) -> None:
    state.budget_s = _finite(e.budget_s)
    state.budget_trials = max(_count(e.budget_trials), 0)
    touched.campaign = True


def _supervisor_started(state: State, e: SupervisorStarted, touched: _Touched) -> None:
    state.supervisor_pid, state.host = e.pid, e.host
    state.wall, state.wall_t = _finite(e.wall), state.t
    touched.campaign = True


def _campaign_state(state: State, e: CampaignState, touched: _Touched) -> None:
    state.state, state.reason = e.state, e.reason
    touched.campaign = True


def _campaign_ended(state: State, e: CampaignEnded, touched: _Touched) -> None:
    state.state, state.reason = e.state, e.reason
    state.supervisor_pid = 0
    touched.campaign = True


# ----------------------------------------------------------------- instances


def _instance(state: State, name: str, touched: _Touched) -> Instance:
    instance = state.instances.get(name)
    if instance is None:
        instance = state.instances[name] = Instance(name)
    touched.instances.add(name)
    return instance


def _instance_state(state: State, e: InstanceState, touched: _Touched) -> None:
    instance = _instance(state, e.instance, touched)
    instance.state, instance.reason = e.state, e.reason
    instance.pid, instance.restarts = _count(e.pid), max(_count(e.restarts), 0)
    if e.state in IDLE_STATES:
        gone = e.state in GONE_STATES
        _set_rate(state, instance, 0.0, 0.0 if gone else instance.cpu)
        if gone:
            instance.rss = instance.processes = 0
    touched.campaign = True


def _instance_hello(state: State, e: InstanceHello, touched: _Touched) -> None:
    instance = _instance(state, e.instance, touched)
    instance.engine, instance.version, instance.python = e.engine, e.version, e.python
    instance.capabilities = [str(c) for c in e.capabilities]
    if e.pid:
        instance.pid = e.pid


def _stats(state: State, e: Stats, touched: _Touched) -> None:
    instance = _instance(state, e.instance, touched)
    touched.campaign = True
    t = state.t
    execs = max(_count(e.execs), 0)
    corpus = max(_count(e.corpus), instance.entry_files)
    crashes = max(_count(e.crashes), instance.crash_files)
    hangs = max(_count(e.hangs), instance.hang_files)
    rate = 0.0 if instance.state in IDLE_STATES else round(_finite(e.execs_per_sec), 3)
    _shift(state, "execs", instance.execs, execs)
    _shift(state, "rate", instance.execs_per_sec, rate)
    _shift(state, "corpus", instance.corpus, corpus)
    _shift(state, "crashes", instance.crashes, crashes)
    _shift(state, "hangs", instance.hangs, hangs)
    instance.execs, instance.execs_per_sec = execs, rate
    instance.corpus, instance.crashes, instance.hangs = corpus, crashes, hangs
    edges, instance.edges = instance.edges, _count(e.edges)
    _maximum(state, "edges", edges, instance.edges)
    edges, instance.edges_valid = instance.edges_valid, _count(e.edges_valid)
    _maximum(state, "edges_valid", edges, instance.edges_valid)
    instance.edges_total = _count(e.edges_total)
    instance.favored, instance.pending = _count(e.favored), _count(e.pending)
    instance.valid, instance.invalid = _count(e.valid), _count(e.invalid)
    instance.cycles, instance.cur_item = _count(e.cycles), _count(e.cur_item)
    instance.max_depth = _count(e.max_depth)
    instance.stability = _finite(e.stability, -1.0)
    instance.stats_t = max(0.0, t - _finite(e.age))


def _resources(state: State, e: Resources, touched: _Touched) -> None:
    instance = _instance(state, e.instance, touched)
    cpu = max(0.0, round(_finite(e.cpu), 3))
    _shift(state, "cpu", instance.cpu, cpu)
    instance.cpu = cpu
    instance.rss, instance.processes = max(_count(e.rss), 0), max(_count(e.processes), 0)
    touched.campaign = True


# ----------------------------------------------------------- queue and finds


def _entry(state: State, name: str, number: int) -> Entry:
    key = f"{name}/{number}"
    return state.entries.get(key) or Entry(key, name, number, state.t, state.seq)


def _entry_saved(state: State, e: EntrySaved, touched: _Touched) -> None:
    instance = _instance(state, e.instance, touched)
    entry = _entry(state, e.instance, e.id)
    if not entry.saved:
        instance.entry_files += 1
        if instance.entry_files > instance.corpus:
            _shift(state, "corpus", instance.corpus, instance.entry_files)
            instance.corpus = instance.entry_files
            touched.campaign = True
        if not e.sync:
            instance.last_find_t = state.t
    state.entries[entry.key] = replace(
        entry,
        saved=True,
        file=e.file,
        src=e.src,
        op=e.op,
        sync=e.sync,
        time_ms=e.time_ms,
        execs=e.execs,
        size=e.size,
        cov=e.cov,
    )
    touched.entries.add(entry.key)


def _entry_described(state: State, e: EntryDescribed, touched: _Touched) -> None:
    _instance(state, e.instance, touched)
    entry = _entry(state, e.instance, e.id)
    state.entries[entry.key] = replace(
        entry,
        reasons=e.reasons,
        edges=e.edges,
        favored=e.favored,
        outcome=e.outcome,
        steer=e.steer,
    )
    touched.entries.add(entry.key)


def _finding(state: State, e: FindingSaved | FindingDescribed) -> Finding:
    key = f"{e.instance}/{e.file}"
    found = state.findings.get(key)
    return found or Finding(key, e.instance, e.category, e.file, state.t, state.seq)


def _finding_saved(state: State, e: FindingSaved, touched: _Touched) -> None:
    instance = _instance(state, e.instance, touched)
    finding = _finding(state, e)
    if not finding.saved:
        if e.category == "hang":
            instance.hang_files += 1
            if instance.hang_files > instance.hangs:
                _shift(state, "hangs", instance.hangs, instance.hang_files)
                instance.hangs = instance.hang_files
        else:
            instance.crash_files += 1
            if instance.crash_files > instance.crashes:
                _shift(state, "crashes", instance.crashes, instance.crash_files)
                instance.crashes = instance.crash_files
        touched.campaign = True
    state.findings[finding.key] = replace(
        finding,
        category=e.category,
        saved=True,
        id=e.id,
        src=e.src,
        op=e.op,
        sig=e.sig,
        time_ms=e.time_ms,
        execs=e.execs,
        size=e.size,
    )
    touched.findings.add(finding.key)


def _finding_described(state: State, e: FindingDescribed, touched: _Touched) -> None:
    _instance(state, e.instance, touched)
    finding = _finding(state, e)
    if finding.signature != e.signature:
        _leave_group(state, finding, touched)
    state.findings[finding.key] = replace(
        finding,
        signature=e.signature,
        title=e.title,
        place=e.place,
        detail=e.detail,
        input=e.input,
        count=e.count,
    )
    if e.signature and finding.signature != e.signature:
        _join_group(state, finding.key, e.signature, touched)
    touched.findings.add(finding.key)


def _mark_first(state: State, key: str, first: bool, touched: _Touched) -> None:
    if state.findings[key].first != first:
        state.findings[key] = replace(state.findings[key], first=first)
        touched.findings.add(key)


def _join_group(state: State, key: str, signature: str, touched: _Touched) -> None:
    """Put a finding among those of its signature, which are in the order of the log."""
    group = state.groups.setdefault(signature, [])
    at = bisect_left(group, state.findings[key].seq, key=lambda k: state.findings[k].seq)
    group.insert(at, key)
    _mark_first(state, key, at == 0, touched)
    if at == 0 and len(group) > 1:
        _mark_first(state, group[1], False, touched)


def _leave_group(state: State, finding: Finding, touched: _Touched) -> None:
    group = state.groups.get(finding.signature)
    if not group:
        return
    group.remove(finding.key)
    if group:
        _mark_first(state, group[0], True, touched)
    else:
        del state.groups[finding.signature]


# ------------------------------------------------------------------ steering


def _command_issued(state: State, e: CommandIssued, touched: _Touched) -> None:
    legible = _representable(Record(1, 0.0, e), 0.0).event is e
    state.commands[e.id] = CommandStatus(e.id, state.t, e.command if legible else {}, e.by)
    touched.commands.add(e.id)
    _forget_commands(state)


def _forget_commands(state: State) -> None:
    if len(state.commands) > RECENT_COMMANDS:
        finished = (k for k, c in state.commands.items() if c.state != "pending")
        del state.commands[next(finished, next(iter(state.commands)))]


def _answer(state: State, key: str, touched: _Touched) -> CommandStatus:
    command = state.commands.get(key)
    if command is None:
        # The answer to a command that left the table, or was never logged.
        command = state.commands[key] = CommandStatus(key, state.t, {})
        _forget_commands(state)
    touched.commands.add(key)
    command.done_t = state.t
    return command


def _command_applied(state: State, e: CommandApplied, touched: _Touched) -> None:
    command = _answer(state, e.id, touched)
    command.state, command.text = "applied", e.detail
    command.instance, command.trial = e.instance, e.trial


def _command_rejected(state: State, e: CommandRejected, touched: _Touched) -> None:
    command = _answer(state, e.id, touched)
    command.state, command.text, command.instance = "rejected", e.reason, e.instance


def _message(state: State, e: Message, touched: _Touched) -> None:
    """Messages are in ``recent`` and nowhere else."""


def _unknown(state: State, e: Unknown, touched: _Touched) -> None:
    _count_unknown(state, e.name, touched)


def _foreign(state: State, e: Event, touched: _Touched) -> None:
    """A kind that the wire knows and the fold does not (yet)."""
    _count_unknown(state, e.kind, touched)


def _count_unknown(state: State, name: str, touched: _Touched) -> None:
    if name not in state.unknown and len(state.unknown) >= MOST_UNKNOWN_KINDS:
        name = "(others)"
    state.unknown[name] = state.unknown.get(name, 0) + 1
    touched.campaign = True


_E = TypeVar("_E", bound=Event)

_HANDLERS: dict[type[Event], Callable[[State, Any, _Touched], None]] = {
    CampaignStarted: _campaign_started,
    BudgetSet: _budget_set,
    SupervisorStarted: _supervisor_started,
    CampaignState: _campaign_state,
    CampaignEnded: _campaign_ended,
    InstanceState: _instance_state,
    InstanceHello: _instance_hello,
    Stats: _stats,
    Resources: _resources,
    EntrySaved: _entry_saved,
    EntryDescribed: _entry_described,
    FindingSaved: _finding_saved,
    FindingDescribed: _finding_described,
    CommandIssued: _command_issued,
    CommandApplied: _command_applied,
    CommandRejected: _command_rejected,
    Message: _message,
    Unknown: _unknown,
}

_HARMLESS = frozenset(
    {
        CampaignState,
        CampaignEnded,
        EntrySaved,
        EntryDescribed,
        FindingSaved,
        FindingDescribed,
        CommandApplied,
        CommandRejected,
        InstanceState,
        InstanceHello,
        Message,
    }
)
"""Kinds of strings and integers only."""
