"""What an event is as text, and the function that each kind of event registers its text with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial, singledispatch
from typing import Any

from fuzztui.kernel.base.guarded import guarded
from fuzztui.kernel.model.feature import own_features, package_features
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
    return text(event) if text else by_kind(None, event)


def by_kind(error: Exception | None, event: Event) -> Described:
    """Return an event without a text; ``error``: why its package has none."""
    why = f"({type(error).__name__}: {error})" if error else ""
    return Described(event.kind, why, "muted")


@cache
def _texts_of_features() -> dict[type[Event], Callable[[Any], Described]]:
    """By class of event. A feature is imported later than this module, which it imports."""
    found: dict[type[Event], Callable[[Any], Described]] = {}
    for feature in own_features():
        found |= feature.load(feature.texts)() if feature.texts else {}
    for feature in package_features():
        try:
            texts = feature.load(feature.texts)() if feature.texts else {}
            for kind, text in texts.items():
                found.setdefault(kind, guarded(partial(_made, text), by_kind))
        except Exception as e:
            for fold in feature.folds:
                found.setdefault(fold.kind, partial(by_kind, e))
    return found


def _made(text: Callable[[Any], Described], event: Event) -> Described:
    made = text(event)
    if not isinstance(made, Described):
        raise TypeError(f"{made!r:.100} is no Described")
    group = made.group if made.group in KINDS else MESSAGES
    label, what, style, instance = map(str, (made.label, made.text, made.style, made.instance))
    return Described(label, what, style, instance, group)
