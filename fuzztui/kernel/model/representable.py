"""Which records a checkpoint can contain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.codec import encode_record
from fuzztui.kernel.wire.events import Record


def representable(record: Record, t: float) -> Record:
    """The record, or a warning at ``t`` in its place if a checkpoint cannot contain the record.

    JSON has no infinite numbers, and data nested near the interpreter's limit can be read here
    and fail when a checkpoint is written.
    """
    event = record.event
    if type(event) in _HARMLESS and record.t == t:
        return record
    nested: dict[str, Any] = {}
    if isinstance(event, ev.Unknown):
        nested = event.data
    elif isinstance(event, ev.CommandIssued):
        nested = event.command
    try:
        if not _shallow(nested, 30):
            raise ValueError
        encode_record(record)
    except (ValueError, RecursionError, OverflowError):
        text = f"a record of kind {type(record.event).__name__} contains values that JSON lacks"
        return replace(record, t=t, event=ev.Message("warning", text))
    return record


def _shallow(value: Any, levels: int) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return True
    return levels > 0 and all(_shallow(v, levels - 1) for v in value)


_HARMLESS = frozenset(
    {
        ev.CampaignState,
        ev.CampaignEnded,
        ev.EntrySaved,
        ev.EntryDescribed,
        ev.FindingSaved,
        ev.MutantState,
        ev.CommandApplied,
        ev.CommandRejected,
        ev.InstanceState,
        ev.Message,
        ev.RecordsLost,
    }
)
"""Kinds whose fields are strings and integers only."""
