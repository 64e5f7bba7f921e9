"""Events about the properties of a suite."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fuzztui.kernel.wire.events.base import Event


@dataclass(frozen=True, slots=True)
class PropertiesFound(Event, kind="properties_found", by_engines=True):
    """The properties of a suite, reported once by each worker that has loaded them.

    ``reasons``: why a property is not run, by its name; an empty string: it is run. ``others``:
    tests that were collected and are no properties.
    """

    instance: str
    reasons: dict[str, Any] = field(default_factory=dict)
    others: int = 0


@dataclass(frozen=True, slots=True)
class PropertyFigures(Event, kind="property_figures", by_engines=True):
    """Cumulative figures of some properties of a suite in one instance, by the property's name.

    Each is ``{"trials", "invalid", "entries", "edges", "findings", "cpu_ms", "work", "share",
    "weight"}``. ``entries``: its entries in the queue. ``edges``: cells that these entries
    cover. ``work``: the work as counted for turns. ``share``: its share of the work until the next
    report, in millionths. ``weight``: set by a user.
    """

    instance: str
    figures: dict[str, Any] = field(default_factory=dict)
