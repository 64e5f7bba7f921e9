"""What engines report of a suite, as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuzztui.kernel.base.text import several
from fuzztui.kernel.wire.events import Event, PropertiesFound, PropertyFigures
from fuzztui.tui.labels.events import INSTANCES, STATS, Described


def _properties(event: PropertiesFound) -> Described:
    out = sum(bool(reason) for reason in event.reasons.values())
    text = several(len(event.reasons) - out, "property", "properties")
    text += f"  {out:,} not run" if out else ""
    return Described("suite", text, "muted", event.instance, INSTANCES)


def _shares(event: PropertyFigures) -> Described:
    text = f"figures of {several(len(event.figures), 'property', 'properties')}"
    return Described("suite", text, "muted", event.instance, STATS)


def texts() -> dict[type[Event], Callable[[Any], Described]]:
    """Return the functions that describe events as text, by class of event."""
    return {PropertiesFound: _properties, PropertyFigures: _shares}
