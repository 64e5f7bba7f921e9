"""A state as JSON and back, exactly; whole, or what changed since another state.

A checkpoint has three parts, because they are needed at different times:

``head``
    what does not grow with the campaign (figures, instances, series, commands):
    read for the one checkpoint that is restored;
``entries``, ``findings``
    rows of the tables that grow: only those that are new or different ``since``
    an earlier checkpoint, so that all checkpoints of a log together hold each
    row about once;
``recent``
    the encoded records of the event list since then.

:mod:`fuzztui.model.chain` puts a sequence of them together again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar
from zlib import crc32

from fuzztui.model.fold import FOLD_VERSION
from fuzztui.model.series import Series
from fuzztui.model.state import CommandStatus, Entry, Finding, Instance, State
from fuzztui.wire.codec import decode_record, encode_record
from fuzztui.wire.events import Record

__all__ = ["SCHEMA", "CheckpointError", "Mark", "from_json", "head_to_state", "rows", "to_json"]


class CheckpointError(ValueError):
    """The data is not a checkpoint of this version: a cache that cannot be used."""


def _names(cls: type[Any]) -> tuple[str, ...]:
    return tuple(f.name for f in fields(cls))


_TABLES = ("instances", "entries", "findings", "groups", "commands", "recent", "series")
_SCALARS = tuple(n for n in _names(State) if n not in _TABLES)

SCHEMA = crc32(
    repr(
        (
            FOLD_VERSION,
            [
                [(f.name, str(f.type)) for f in fields(c)]
                for c in (State, Instance, Entry, Finding, CommandStatus)
            ],
        )
    ).encode()
)
"""Changes whenever the state's dataclasses or the fold's meaning do."""

_instance_row = attrgetter(*_names(Instance))
_entry_row = attrgetter(*_names(Entry))
_finding_row = attrgetter(*_names(Finding))
_command_row = attrgetter(*_names(CommandStatus))

Row = TypeVar("Row", Entry, Finding)


@dataclass(frozen=True, slots=True)
class Mark:
    """What a state's growing parts were at a checkpoint: against it the next one is made."""

    seq: int = 0
    entries: dict[str, Entry] = field(default_factory=dict)
    findings: dict[str, Finding] = field(default_factory=dict)

    @classmethod
    def of(cls, state: State) -> Mark:
        """The mark of ``state`` as it is now (rows are shared: they are frozen)."""
        return cls(state.seq, dict(state.entries), dict(state.findings))


def to_json(state: State, since: Mark | None = None) -> dict[str, Any]:
    """The whole state, or with ``since`` what changed; only fresh containers, JSON data."""
    since = since or Mark()
    head: dict[str, Any] = {name: getattr(state, name) for name in _SCALARS}
    head["unknown"] = dict(state.unknown)
    head["instances"] = [_instance_row(i) for i in state.instances.values()]
    head["commands"] = [_command_row(c) for c in state.commands.values()]
    head["series"] = {name: s.to_json() for name, s in state.series.items()}
    return {
        "schema": SCHEMA,
        "seq": state.seq,
        "t": state.t,
        "head": head,
        "entries": [_entry_row(e) for e in _changed(state.entries, since.entries)],
        "findings": [_finding_row(f) for f in _changed(state.findings, since.findings)],
        "recent": [encode_record(r) for r in state.recent if r.seq > since.seq],
    }


def _changed(table: dict[str, Row], before: dict[str, Row]) -> Iterable[Row]:
    for key, row in table.items():
        old = before.get(key)
        if old is not row and old != row:
            yield row


def from_json(data: Any) -> State:
    """The inverse of :func:`to_json` of a whole state; raises :class:`CheckpointError`."""
    entries, findings = rows(data)
    try:
        recent = [decode_record(line) for line in data["recent"]]
        return head_to_state(data["head"], entries, findings, recent)
    except (LookupError, TypeError, ValueError) as e:
        raise CheckpointError(f"not a checkpoint: {e}") from e


def rows(data: Any) -> tuple[dict[str, Entry], dict[str, Finding]]:
    """The table rows of a checkpoint, by key; raises :class:`CheckpointError`."""
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise CheckpointError("a checkpoint of another version of fuzztui")
    try:
        entries = {row[0]: Entry(*row) for row in data["entries"]}
        findings = {row[0]: Finding(*row) for row in data["findings"]}
    except (LookupError, TypeError) as e:
        raise CheckpointError(f"not a checkpoint: {e}") from e
    return entries, findings


def head_to_state(
    head: dict[str, Any],
    entries: dict[str, Entry],
    findings: dict[str, Finding],
    recent: Iterable[Record],
) -> State:
    """A state from a head and the tables as of it, which it takes over."""
    state = State(**{name: head[name] for name in _SCALARS})
    state.instances = {row[0]: Instance(*row) for row in head["instances"]}
    state.commands = {row[0]: CommandStatus(*row) for row in head["commands"]}
    state.series = {name: Series.from_json(s) for name, s in head["series"].items()}
    state.entries, state.findings = entries, findings
    # Findings are in the order of the log, and so are those of one signature.
    for key, finding in findings.items():
        if finding.signature:
            state.groups.setdefault(finding.signature, []).append(key)
    state.recent.extend(recent)
    return state
