"""What an event is as text, and the function that each kind of event registers its text with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, singledispatch
from typing import Any

from fuzztui.kernel.model.feature import features
from fuzztui.kernel.wire.events import Event

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
    """Return an event as text: by the function registered for its class, else by a feature's.

    An event without either is shown by its kind.
    """
    text = _texts_of_features().get(type(event))
    return text(event) if text else Described(event.kind, "", "muted")


@cache
def _texts_of_features() -> dict[type[Event], Callable[[Any], Described]]:
    """By class of event. A feature is imported later than this module, which it imports."""
    return {
        kind: text
        for feature in features()
        if feature.texts
        for kind, text in feature.load(feature.texts)().items()
    }
