"""The base class of events, the registry of their kinds, and the record that contains one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

T = TypeVar("T")


EVENT_KINDS: dict[str, type[Event]] = {}
"""Every known kind, by its name on the wire: those of the classes that are defined until now."""

_UNKNOWN = "?"


@dataclass(frozen=True, slots=True)
class Event:
    """Base class of all events; ``kind`` is the name on the wire."""

    kind: ClassVar[str] = ""
    by_engines: ClassVar[bool] = False
    """Whether engines write such events, with a field ``instance``, into ``events.jsonl``."""

    def __init_subclass__(cls, *, kind: str = "", by_engines: bool = False) -> None:
        """Add the kind to those that are known. Raises TypeError if another class has it."""
        cls.kind = kind or cls.kind
        cls.by_engines = by_engines or cls.by_engines
        if cls.kind not in ("", _UNKNOWN):
            register(EVENT_KINDS, cls.kind, cls)


def register(known: dict[str, type[T]], name: str, cls: type[T]) -> None:
    """Add a class to a registry. Raises TypeError for a name that another class has there."""
    # dataclass(slots=True) makes a second class of each class, which replaces the first.
    other = known.get(name, cls)
    if (other.__module__, other.__name__) != (cls.__module__, cls.__name__):
        raise TypeError(f"{name!r} of {cls.__module__} is {other.__module__}'s name already")
    known[name] = cls


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
    """The event's sequence number in the log of the host. Relaying continues after the last one."""
    host_t: float = -1.0
    """The event's campaign time in the log of the host; -1: this log's own event."""


@dataclass(frozen=True, slots=True)
class Unknown(Event):
    """An event of a kind that this version does not have; its data is kept as it is."""

    kind: ClassVar[str] = _UNKNOWN
    name: str = ""
    data: dict[str, Any] = field(default_factory=dict)
