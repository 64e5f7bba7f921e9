"""What every event is: the base class, and the record in which the log has it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar


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
