"""A state as JSON and back, exactly; whole, or what changed since another state.

A checkpoint has three parts, because they are needed at different times:

``head``
    what does not grow with the campaign (figures, instances, series, commands):
    read for the one checkpoint that is restored;
``entries``, ``findings``, ``parents``, ``mutants``, ``sources``, ``covered``
    rows of the tables that grow: only those that are new or different ``since``
    an earlier checkpoint, so that all checkpoints of a log together hold each
    row about once. Mutants change again and again, mostly in their counts: of a row
    that was there only what is different;
``recent``
    the encoded records of the event list since then.

:mod:`fuzztui.model.chain` puts a sequence of them together again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar
from zlib import crc32

from fuzztui.base.bounds import all_fit
from fuzztui.model.fold import FOLD_VERSION
from fuzztui.model.groups import add_to_group
from fuzztui.model.mutants import changed
from fuzztui.model.series import Series
from fuzztui.model.state import (
    CommandStatus,
    CoverageStep,
    Entry,
    Finding,
    FindingVerdict,
    Host,
    Instance,
    MixtureChange,
    Mutant,
    SourceRow,
    State,
    UncoveredGoal,
)
from fuzztui.model.verdicts import index_verdicts
from fuzztui.wire.codec import decode_record, encode_record
from fuzztui.wire.events import MutationStats, MutatorStats, Record, Stats, TargetingStats


class CheckpointError(ValueError):
    """The data is not a checkpoint of this version: a cache that cannot be used."""


def _names(cls: type[Any]) -> tuple[str, ...]:
    return tuple(f.name for f in fields(cls))


@dataclass(frozen=True, slots=True)
class Tables:
    """Rows of the tables that grow, by key; rows are frozen and shared."""

    entries: dict[str, Entry] = field(default_factory=dict)
    findings: dict[str, Finding] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    mutants: dict[str, Mutant] = field(default_factory=dict)
    sources: dict[str, SourceRow] = field(default_factory=dict)
    covered: dict[str, CoverageStep] = field(default_factory=dict)

    def lay_over(self, later: Tables) -> None:
        """Put the rows of a later checkpoint in the place of these."""
        for name in _names(Tables):
            if rows := getattr(later, name):
                getattr(self, name).update(rows)


@dataclass(frozen=True, slots=True)
class CheckpointMark:
    """What a state's growing parts were at a checkpoint: against it the next one is made."""

    seq: int = 0
    cost: int = 0
    tables: Tables = field(default_factory=Tables)

    @classmethod
    def of(cls, state: State) -> CheckpointMark:
        """The mark of ``state`` as it is now."""
        rows = (dict(getattr(state, name)) for name in _names(Tables))
        return cls(state.seq, state.cost, Tables(*rows))


_SERIES = ("series", "instance_series")

_OBJECTS = (
    "hosts", "instances", "groups", "commands", "mutation", "mutators", "finished_turns",
    "mixture_changes", "lasting",
    "types", "uncovered_goals", "recent", "verdicts", *_SERIES,
    "unnumbered_groups", "unnumbered_verdicts", "regrouped", "plain_signatures",
    *_names(Tables),
)  # fmt: skip
_SCALARS = tuple(n for n in _names(State) if n not in _OBJECTS)

SCHEMA = crc32(
    repr(
        (
            FOLD_VERSION,
            [
                [(f.name, str(f.type)) for f in fields(c)]
                for c in (
                    State,
                    Host,
                    Instance,
                    Stats,
                    Entry,
                    Finding,
                    FindingVerdict,
                    Mutant,
                    SourceRow,
                    CoverageStep,
                    CommandStatus,
                    MutationStats,
                    MutatorStats,
                    MixtureChange,
                    TargetingStats,
                    UncoveredGoal,
                )
            ],
        )
    ).encode()
)
"""Changes whenever the state's dataclasses or the fold's meaning do."""

_INSTANCE = tuple(n for n in _names(Instance) if n != "stats")
_host_row = attrgetter(*_names(Host))
_instance_row = attrgetter(*_INSTANCE)
_stats_row = attrgetter(*_names(Stats))
_entry_row = attrgetter(*_names(Entry))
_finding_row = attrgetter(*_names(Finding))
_verdict_row = attrgetter(*_names(FindingVerdict))
_mutant_row = attrgetter(*_names(Mutant))
_source_row = attrgetter(*_names(SourceRow))
_step_row = attrgetter(*_names(CoverageStep))
_command_row = attrgetter(*_names(CommandStatus))
_mutation_row = attrgetter(*_names(MutationStats))
_mutators_row = attrgetter(*_names(MutatorStats))
_mixture_row = attrgetter(*_names(MixtureChange))
_types_row = attrgetter(*_names(TargetingStats))
_goal_row = attrgetter(*_names(UncoveredGoal))

T = TypeVar("T")
Row = TypeVar("Row", Entry, Finding, Mutant, SourceRow, CoverageStep)


def to_json(state: State, since: CheckpointMark | None = None) -> dict[str, Any]:
    """The whole state, or with ``since`` what changed; only fresh containers, JSON data."""
    since = since or CheckpointMark()
    before = since.tables
    head: dict[str, Any] = {name: getattr(state, name) for name in _SCALARS}
    head["unknown"] = dict(state.unknown)
    head["latest"] = dict(state.latest)
    head["mutant_counts"] = dict(state.mutant_counts)
    head["hosts"] = {name: _host_row(h) for name, h in state.hosts.items()}
    head["instances"] = [_instance_row(i) for i in state.instances.values()]
    head["stats"] = {i.id: _stats_row(i.stats) for i in state.instances.values()}
    head["commands"] = [_command_row(c) for c in state.commands.values()]
    head["lasting"] = {key: _command_row(c) for key, c in state.lasting.items()}
    head["mutation"] = {name: _mutation_row(f) for name, f in state.mutation.items()}
    head["mutators"] = {name: _mutators_row(f) for name, f in state.mutators.items()}
    head["mixture_changes"] = {name: _mixture_row(m) for name, m in state.mixture_changes.items()}
    head["finished_turns"] = state.finished_turns and _mutators_row(state.finished_turns)
    head["types"] = {name: _types_row(f) for name, f in state.types.items()}
    head["uncovered_goals"] = {
        name: {location: _goal_row(row) for location, row in goals.items()}
        for name, goals in state.uncovered_goals.items()
    }
    head["checked_trials"] = dict(state.checked_trials)
    head["learnt"] = dict(state.learnt)
    head["notified"] = dict(state.notified)
    head["accepted_mutants"] = {id: dict(row) for id, row in state.accepted_mutants.items()}
    head["skipped_frames"] = list(state.skipped_frames)
    head["trials_by"] = {name: dict(by) for name, by in state.trials_by.items()}
    head["property_reasons"] = dict(state.property_reasons)
    head["property_kills"] = dict(state.property_kills)
    head["properties"] = {
        name: {one: list(row) for one, row in rows.items()}
        for name, rows in state.properties.items()
    }
    head["verdicts"] = {signature: _verdict_row(v) for signature, v in state.verdicts.items()}
    for kind in _SERIES:
        head[kind] = {name: s.to_json() for name, s in getattr(state, kind).items()}
    return {
        "schema": SCHEMA,
        "seq": state.seq,
        "cost": state.cost,
        "t": state.t,
        "head": head,
        "entries": [_entry_row(e) for e in _changed(state.entries, before.entries)],
        "findings": [_finding_row(f) for f in _changed(state.findings, before.findings)],
        "parents": {k: v for k, v in state.parents.items() if before.parents.get(k) != v},
        "mutants": [
            _difference(m, before.mutants.get(m.id))
            for m in _changed(state.mutants, before.mutants)
        ],
        "sources": [_source_row(s) for s in _changed(state.sources, before.sources)],
        "covered": [_step_row(c) for c in _changed(state.covered, before.covered)],
        "recent": [encode_record(r) for r in state.recent if r.seq > since.seq],
    }


def _changed(table: dict[str, Row], before: dict[str, Row]) -> Iterable[Row]:
    for key, row in table.items():
        old = before.get(key)
        if old is not row and old != row:
            yield row


def _difference(row: Mutant, before: Mutant | None) -> list[Any]:
    """The whole row, or its id and what is different from the row before."""
    values = _mutant_row(row)
    if before is None:
        return list(values)
    pairs = zip(_names(Mutant), values, _mutant_row(before), strict=True)
    return [row.id, {name: new for name, new, old in pairs if new != old}]


def from_json(data: Any) -> State:
    """The inverse of :func:`to_json` of a whole state; raises :class:`CheckpointError`."""
    rows = tables(data, {})
    try:
        recent = [decode_record(line) for line in data["recent"]]
        return head_to_state(data["head"], rows, recent)
    except (LookupError, TypeError, ValueError, AttributeError) as e:
        raise CheckpointError(f"not a checkpoint: {e}") from e


def _checked(cls: type[Any], rows: Iterable[Sequence[Any]]) -> list[Sequence[Any]]:
    """Rows with a value for each field of ``cls``. Raises ValueError for what cannot be one.

    A run's checkpoints may be a stranger's: a screen must not die of a number or a type.
    """
    checked = list(rows)
    columns = list(zip(*checked, strict=True))
    types = _TYPES[cls]
    if checked and len(columns) != len(types):
        raise ValueError(f"{len(columns)} values are no {cls.__name__}")
    for (name, annotation), column in zip(types.items(), columns, strict=False):
        _check(cls, name, annotation, column)
    return checked


_TYPES: dict[type[Any], dict[str, str]] = {
    cls: {f.name: str(f.type) for f in fields(cls) if f.name != "stats"}
    for cls in (
        State, Host, Instance, Stats, Entry, Finding, FindingVerdict, Mutant, SourceRow,
        CoverageStep, CommandStatus,
        MutationStats, MutatorStats, MixtureChange, TargetingStats,
    )
}  # fmt: skip


def _check(cls: type[Any], name: str, annotation: str, values: Collection[Any]) -> None:
    if not all_fit(annotation, values):
        raise ValueError(f"{cls.__name__}.{name} cannot be that")


def _checked_mutants(rows: Iterable[list[Any]]) -> list[list[Any]]:
    """As :func:`_checked`; rows may be differences."""
    whole = [*rows]
    _checked(Mutant, (row for row in whole if len(row) != 2))
    columns: dict[str, list[Any]] = {"id": [row[0] for row in whole]}
    for row in whole:
        for name, value in row[1].items() if len(row) == 2 else ():
            columns.setdefault(name, []).append(value)
    for name, values in columns.items():
        _check(Mutant, name, _TYPES[Mutant][name], values)
    return whole


def tables(data: Any, before: Mapping[str, Mutant]) -> Tables:
    """The rows of a checkpoint; ``before`` are all mutants as of the one that it was made against.

    Raises :class:`CheckpointError`.
    """
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise CheckpointError("a checkpoint of another version of fuzztui")
    try:
        _check(State, "cost", "int", [data["seq"], data["cost"]])
        _check(State, "t", "float", [data["t"]])
        _check(State, "parents", "dict[str, str]", [data["parents"]])
        return Tables(
            {row[0]: Entry(*row) for row in _checked(Entry, data["entries"])},
            {row[0]: Finding(*row) for row in _checked(Finding, data["findings"])},
            dict(data["parents"]),
            {row[0]: _mutant(row, before) for row in _checked_mutants(data["mutants"])},
            {row[0]: SourceRow(*row) for row in _checked(SourceRow, data["sources"])},
            {row[0]: CoverageStep(*row) for row in _checked(CoverageStep, data["covered"])},
        )
    except (LookupError, TypeError, ValueError, AttributeError) as e:
        raise CheckpointError(f"not a checkpoint: {e}") from e


def _mutant(row: list[Any], before: Mapping[str, Mutant]) -> Mutant:
    return Mutant(*row) if len(row) != 2 else changed(before[row[0]], row[1])


def _goal(row: list[Any]) -> UncoveredGoal:
    frontier, reached, checked, types = row
    _check(UncoveredGoal, "frontier", "bool", [frontier])
    _check(UncoveredGoal, "reached", "int", [reached, checked, *(far for _, far in types)])
    _check(UncoveredGoal, "types", "str", [name for name, _ in types])
    return UncoveredGoal(frontier, reached, checked, tuple((name, far) for name, far in types))


def _one(cls: type[T], row: Sequence[Any]) -> T:
    return cls(*_checked(cls, [row])[0])


def _by_name(cls: type[T], rows: dict[str, Sequence[Any]]) -> dict[str, T]:
    """Dataclasses of rows, by whatever their keys are."""
    return {name: cls(*row) for name, row in zip(rows, _checked(cls, rows.values()), strict=True)}


def _series(data: dict[str, Any]) -> Series:
    recent = [[width, limit, times, values] for width, limit, times, values in data["r"]]
    columns = [[data["w"], data["n"], data["t"], data["v"]], *recent]
    for width, limit, times, values in columns:
        _check(Series, "times", "list[float]", [times, values, [width]])
        _check(Series, "limit", "int", [limit])
        if width <= 0 or not len(times) == len(values) <= limit:
            raise ValueError("no such series can be")
    return Series.from_json(data)


def head_to_state(head: dict[str, Any], rows: Tables, recent: Iterable[Record]) -> State:
    """A state from a head and the tables as of it, which it takes over.

    Raises LookupError, TypeError, ValueError or AttributeError for what is no head.
    """
    for name in _SCALARS:
        _check(State, name, _TYPES[State][name], [head[name]])
    state = State(**{name: head[name] for name in _SCALARS})
    state.hosts = _by_name(Host, head["hosts"])
    stats = _by_name(Stats, head["stats"])
    state.instances = {
        row[0]: Instance(**dict(zip(_INSTANCE, row, strict=True)), stats=stats[row[0]])
        for row in _checked(Instance, head["instances"])
    }
    state.commands = {
        row[0]: CommandStatus(*row) for row in _checked(CommandStatus, head["commands"])
    }
    state.lasting = _by_name(CommandStatus, head["lasting"])
    state.verdicts = _by_name(FindingVerdict, head["verdicts"])
    state.mutation = _by_name(MutationStats, head["mutation"])
    state.mutators = _by_name(MutatorStats, head["mutators"])
    state.mixture_changes = _by_name(MixtureChange, head["mixture_changes"])
    state.finished_turns = (
        _one(MutatorStats, head["finished_turns"]) if head["finished_turns"] else None
    )
    state.types = _by_name(TargetingStats, head["types"])
    state.uncovered_goals = {
        name: {location: _goal(row) for location, row in goals.items()}
        for name, goals in head["uncovered_goals"].items()
    }
    for kind in _SERIES:
        setattr(state, kind, {name: _series(s) for name, s in head[kind].items()})
    for name in _names(Tables):
        setattr(state, name, getattr(rows, name))
    # Findings are in the order of the log, and so are those of one signature.
    for key, finding in state.findings.items():
        if finding.signature:
            add_to_group(state, finding).append(key)
    index_verdicts(state)
    state.recent.extend(recent)
    return state
