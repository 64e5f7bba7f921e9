"""What an event is as text, and the function that each kind of event registers its text with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

from fuzztui.wire.events import Event

SAVED = "saved"
COMMANDS = "commands"
INSTANCES = "instances"
MUTANTS = "mutants"
MESSAGES = "messages"
STATS = "stats"
KINDS = (SAVED, MUTANTS, COMMANDS, INSTANCES, MESSAGES, STATS)
"""The groups of events to which the log screen can be filtered."""


@dataclass(frozen=True, slots=True)
class Described:
    """An event as text. The text is not safe to draw: see ``tui.base.text.plain``.

    ``label`` is a short word for the kind of event, ``style`` the name of its colour, ``group`` one
    of :data:`KINDS`.
    """

    label: str
    text: str
    style: str = ""
    instance: str = ""
    group: str = MESSAGES


@singledispatch
def describe(event: Event) -> Described:
    """Return an event as text: by the function registered for its class, else by its kind."""
    return Described(event.kind, "", "muted")
