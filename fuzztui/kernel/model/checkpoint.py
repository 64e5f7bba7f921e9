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

:mod:`fuzztui.kernel.model.chain` puts a sequence of them together again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar
from zlib import crc32

from fuzztui.kernel.base.bounds import all_fit
from fuzztui.kernel.model.feature import features
from fuzztui.kernel.model.fold import FOLD_VERSION
from fuzztui.kernel.model.groups import add_to_group
from fuzztui.kernel.model.mutants import changed
from fuzztui.kernel.model.series import Series
from fuzztui.kernel.model.state import (
    CommandEffect,
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
from fuzztui.kernel.model.verdicts import index_verdicts
from fuzztui.kernel.wire.codec import annotation_of, encode_record
from fuzztui.kernel.wire.events import MutationStats, MutatorStats, Record, Stats, TargetingStats


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
        """Add the rows of a later checkpoint; they replace rows with the same key."""
        for name in _names(Tables):
            if rows := getattr(later, name):
                getattr(self, name).update(rows)


@dataclass(frozen=True, slots=True)
class CheckpointMark:
    """A state's growing tables at a checkpoint; the next checkpoint has what differs from them."""

    seq: int = 0
    cost: int = 0
    tables: Tables = field(default_factory=Tables)

    @classmethod
    def of(cls, state: State) -> CheckpointMark:
        """The mark of ``state`` as it is now."""
        rows = (dict(getattr(state, name)) for name in _names(Tables))
        return cls(state.seq, state.cost, Tables(*rows))


_SERIES = ("series", "instance_series")
_BY_NAME: dict[str, type[Any]] = {
    "hosts": Host,
    "commands": CommandStatus,
    "lasting": CommandStatus,
    "effects": CommandEffect,
    "verdicts": FindingVerdict,
    "mutation": MutationStats,
    "mutators": MutatorStats,
    "mixture_changes": MixtureChange,
    "types": TargetingStats,
}
"""Parts of the head that are rows by name."""
_GROWING: dict[str, type[Any]] = {
    "entries": Entry,
    "findings": Finding,
    "sources": SourceRow,
    "covered": CoverageStep,
}
"""Tables whose rows are stored whole."""
_PARTS: dict[str, type[Any]] = {f.name: f.part for f in features() if f.part is not None}
"""The parts of features, by the feature's name."""
_TYPES: dict[type[Any], dict[str, str]] = {
    cls: {f.name: annotation_of(f) for f in fields(cls) if f.name != "stats"}
    for cls in (
        State, Instance, Stats, Mutant, UncoveredGoal, *_BY_NAME.values(), *_GROWING.values(),
        *_PARTS.values(),
    )
}  # fmt: skip
"""The fields of each class that a row contains, with their annotations. ``Instance.stats`` is left
out: it is a row of its own."""
_VALUES = {cls: attrgetter(*types) for cls, types in _TYPES.items()}

_OBJECTS = (
    "instances", "groups", "finished_turns", "uncovered_goals", "recent", *_SERIES, *_BY_NAME,
    "unnumbered_groups", "unnumbered_verdicts", "regrouped", "plain_signatures", "titled",
    "parts", "children", *_names(Tables),
)  # fmt: skip
_SCALARS = tuple(n for n in _names(State) if n not in _OBJECTS)

_VERSIONS = [(feature.name, feature.version) for feature in features() if feature.folds]
SCHEMA = crc32(
    repr((FOLD_VERSION, _VERSIONS, [[*types.items()] for types in _TYPES.values()])).encode()
)
"""Changes whenever the state's dataclasses, the fold's meaning or the features do."""

T = TypeVar("T")


def unstorable(state: State) -> str:
    """Return which features' parts hold what JSON does not have, as text for users."""
    wrong = []
    for name, cls in _PARTS.items():
        if (part := state.parts.get(cls)) is None:
            continue
        try:
            json.dumps([getattr(part, one) for one in _TYPES[cls]], allow_nan=False)
        except (TypeError, ValueError) as e:
            wrong.append(f"feature {name} keeps what no checkpoint can contain ({e})")
    return "; ".join(wrong)


def to_json(state: State, since: CheckpointMark | None = None) -> dict[str, Any]:
    """Return the state as JSON data; with ``since`` only table rows that are new or have changed.

    The tables and lists of the state are copied, the values of rows are not.
    """
    since = since or CheckpointMark()
    before = since.tables
    head: dict[str, Any] = {name: _copied(getattr(state, name)) for name in _SCALARS}
    for name in _BY_NAME:
        head[name] = {key: _row(one) for key, one in getattr(state, name).items()}
    head["parts"] = {
        name: [_copied(getattr(state.part(cls), one)) for one in _TYPES[cls]]
        for name, cls in _PARTS.items()
        if cls in state.parts
    }
    head["instances"] = [_row(i) for i in state.instances.values()]
    head["stats"] = {i.id: _row(i.stats) for i in state.instances.values()}
    head["finished_turns"] = state.finished_turns and _row(state.finished_turns)
    head["uncovered_goals"] = {
        name: {location: _row(row) for location, row in goals.items()}
        for name, goals in state.uncovered_goals.items()
    }
    for kind in _SERIES:
        head[kind] = {name: s.to_json() for name, s in getattr(state, kind).items()}
    return {
        "schema": SCHEMA,
        "seq": state.seq,
        "cost": state.cost,
        "t": state.t,
        "head": head,
        **{
            name: [_row(one) for one in _changed(getattr(state, name), getattr(before, name))]
            for name in _GROWING
        },
        "parents": {k: v for k, v in state.parents.items() if before.parents.get(k) != v},
        "mutants": [
            _difference(m, before.mutants.get(m.id))
            for m in _changed(state.mutants, before.mutants)
        ],
        "recent": [encode_record(r) for r in state.recent if r.seq > since.seq],
    }


def _row(one: object) -> tuple[Any, ...]:
    values: tuple[Any, ...] = _VALUES[type(one)](one)
    return values


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items()}
    return [*value] if isinstance(value, list) else value


def _changed(table: dict[str, T], before: dict[str, T]) -> Iterable[T]:
    for key, row in table.items():
        old = before.get(key)
        if old is not row and old != row:
            yield row


def _difference(row: Mutant, before: Mutant | None) -> list[Any]:
    """All values of ``row``; if there is a row ``before``, the id and the values that differ."""
    values = _row(row)
    if before is None:
        return list(values)
    pairs = zip(_names(Mutant), values, _row(before), strict=True)
    return [row.id, {name: new for name, new, old in pairs if new != old}]


def _checked(cls: type[Any], rows: Iterable[Sequence[Any]]) -> list[Sequence[Any]]:
    """Return ``rows``; raise ValueError if they cannot be rows of ``cls`` (number, types, bounds).

    Checkpoints may come from a stranger's run, and must not make a screen fail.
    """
    checked = list(rows)
    columns = list(zip(*checked, strict=True))
    types = _TYPES[cls]
    if checked and len(columns) != len(types):
        raise ValueError(f"{len(columns)} values are no {cls.__name__}")
    for (name, annotation), column in zip(types.items(), columns, strict=False):
        _check(cls, name, annotation, column)
    return checked


def _check(cls: type[Any], name: str, annotation: str, values: Collection[Any]) -> None:
    if not all_fit(annotation, values):
        raise ValueError(f"{cls.__name__}.{name} cannot be that")


def _checked_mutants(rows: Iterable[list[Any]]) -> list[list[Any]]:
    """Do the same for mutants, whose rows may be differences: ``[id, values by name]``."""
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
    """Return the rows of a checkpoint. ``before``: all mutants as of the previous checkpoint.

    Raises :class:`CheckpointError`.
    """
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise CheckpointError("a checkpoint of another version of fuzztui")
    try:
        _check(State, "cost", "int", [data["seq"], data["cost"]])
        _check(State, "t", "float", [data["t"]])
        _check(State, "parents", "dict[str, str]", [data["parents"]])
        return Tables(
            parents=dict(data["parents"]),
            mutants={row[0]: _mutant(row, before) for row in _checked_mutants(data["mutants"])},
            **{
                name: {row[0]: cls(*row) for row in _checked(cls, data[name])}
                for name, cls in _GROWING.items()
            },
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
    """Return an object of ``cls`` for each row, under the same key."""
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
    """Return the state with this head, the tables ``rows`` and the event list ``recent``.

    The state uses the dicts of ``rows`` without a copy. Raises LookupError, TypeError, ValueError
    or AttributeError if ``head`` is not the head of a checkpoint.
    """
    for name in _SCALARS:
        _check(State, name, _TYPES[State][name], [head[name]])
    state = State(**{name: head[name] for name in _SCALARS})
    for name, cls in _BY_NAME.items():
        setattr(state, name, _by_name(cls, head[name]))
    state.parts = {_PARTS[name]: _one(_PARTS[name], row) for name, row in head["parts"].items()}
    stats = _by_name(Stats, head["stats"])
    state.instances = {
        row[0]: Instance(**dict(zip(_TYPES[Instance], row, strict=True)), stats=stats[row[0]])
        for row in _checked(Instance, head["instances"])
    }
    state.finished_turns = (
        _one(MutatorStats, head["finished_turns"]) if head["finished_turns"] else None
    )
    state.uncovered_goals = {
        name: {location: _goal(row) for location, row in goals.items()}
        for name, goals in head["uncovered_goals"].items()
    }
    for kind in _SERIES:
        setattr(state, kind, {name: _series(s) for name, s in head[kind].items()})
    for name in _names(Tables):
        setattr(state, name, getattr(rows, name))
    for key in state.excluded_mutants:  # since an earlier checkpoint, which has the row
        state.mutants.pop(key, None)
    # The table is in the order of the log, so each group gets its findings in that order.
    for key, finding in state.findings.items():
        if finding.signature:
            add_to_group(state, finding).append(key)
    index_verdicts(state)
    state.recent.extend(recent)
    return state
