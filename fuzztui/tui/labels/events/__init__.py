"""One line of text for each kind of event: for the event list and the log screen.

Each file describes the events of a subject. Importing it registers its functions.
"""

from __future__ import annotations

from dataclasses import replace

from fuzztui.kernel.wire.events import Record
from fuzztui.tui.labels.events import saved  # for what it registers
from fuzztui.tui.labels.events.base import (
    INSTANCES,
    KINDS,
    MUTANTS,
    SAVED,
    STATS,
    Described,
    describe,
)
from fuzztui.tui.labels.events.campaign import clock_text, command_text, engine_text


def at_host(described: Described, record: Record) -> Described:
    """Return the text of a record's event; of one about a host as a whole with the host's name.

    The name is in place of the instance's.
    """
    if described.instance or not record.host:
        return described
    return replace(described, instance=record.host)


def describe_record(record: Record) -> Described:
    """Return the event of a record as text."""
    return at_host(describe(record.event), record)
