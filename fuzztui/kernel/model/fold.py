"""The fold: computes the state of a campaign from the records of its log.

Only :func:`apply` changes a :class:`~fuzztui.kernel.model.state.State`. It uses the state and the
records, nothing else: the same log gives the same state, with any batches and from any checkpoint.
It never raises: a log may contain anything, in any order.

How events of each kind change the state is in ``FOLDS`` of the modules in :data:`MODULES`, and in
the features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fuzztui.kernel.base.guarded import guarded
from fuzztui.kernel.model import (
    campaign,
    commands,
    groups,
    hosts,
    lineage,
    mutants,
    receipts,
    saved,
    stats,
    verdicts,
)
from fuzztui.kernel.model.changes import ChangesBuilder
from fuzztui.kernel.model.feature import Feature, own_features, package_features
from fuzztui.kernel.model.folding import EventFold
from fuzztui.kernel.model.representable import representable
from fuzztui.kernel.model.state import Changes, State
from fuzztui.kernel.wire.events import Event, Record, Unknown

MODULES = (campaign, commands, receipts, hosts, stats, saved, lineage, groups, verdicts, mutants)

FOLD_VERSION = 31
"""Increase when the meaning of the fold changes: checkpoints of other versions are not used."""

MAX_UNKNOWN_KINDS = 100
"""Number of unknown kinds that are counted by name; the rest are counted as "(others)"."""

_LONGEST_TIME = 1e12

_ROWS_A_RECORD = 3
"""Rows of a long list whose fold costs about as much as an ordinary record."""


def _unknown(state: State, e: Event, touched: ChangesBuilder) -> None:
    """Count an event of a kind that this version does not have, or does not fold."""
    _count_unknown(state, e.name if isinstance(e, Unknown) else e.kind, touched)


def _not_folded(error: Exception, state: State, e: Event, touched: ChangesBuilder) -> None:
    """Count an event as unknown, because a package's fold of it has raised ``error``."""
    _count_unknown(state, f"{e.kind} ({type(error).__name__} in its fold)", touched)


def _count_unknown(state: State, name: str, touched: ChangesBuilder) -> None:
    if name not in state.unknown and len(state.unknown) >= MAX_UNKNOWN_KINDS:
        name = "(others)"
    state.unknown[name] = state.unknown.get(name, 0) + 1
    touched.campaign = True


def _folds(feature: Feature) -> Iterator[EventFold]:
    """The folds of a package's feature, guarded: if one raises, the event counts as unknown."""
    for fold in feature.folds:
        rows = fold.rows and guarded(fold.rows, lambda *_: ())
        is_news = guarded(fold.is_news, lambda *_: True)
        yield EventFold(fold.kind, guarded(fold.apply, _not_folded), is_news, rows)


_FOLDS = [
    *(fold for module in MODULES for fold in module.FOLDS),
    *(fold for feature in own_features() for fold in feature.folds),
    *(fold for feature in package_features() for fold in _folds(feature)),
]
_APPLY: dict[type[Event], tuple[Callable[[State, Any, ChangesBuilder], None], ...]] = {
    kind: tuple(fold.apply for fold in _FOLDS if fold.kind is kind)
    for kind in dict.fromkeys(fold.kind for fold in _FOLDS)
}
_FIRST: dict[type[Event], EventFold] = {fold.kind: fold for fold in reversed(_FOLDS)}
"""The first fold of each kind, which decides whether events of the kind are news."""
_UNKNOWN = EventFold(Unknown, _unknown)


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
        first = _FIRST.get(type(record.event), _UNKNOWN)
        is_news = first.is_news(state, record.event)
        if record.host:
            event = hosts.arrived(state, record)
        if event is not None:
            for change in _APPLY.get(type(event), (_unknown,)):
                change(state, event, touched)
        if record.host:
            hosts.note_instance(state, record)
            touched.campaign |= event is None
        state.cost += 1
        if first.rows is not None:
            state.cost += len(first.rows(record.event)) // _ROWS_A_RECORD
        elif is_news:
            state.recent.append(representable(record, state.t))
    return touched.changes(applied, reset=fresh and applied > 0)
