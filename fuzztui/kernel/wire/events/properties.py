"""Events about the properties of a suite."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from fuzztui.kernel.wire.events.base import Event


@dataclass(frozen=True, slots=True)
class PropertiesFound(Event):
    """The properties of a suite, reported once by each worker that has loaded them.

    ``reasons``: why a property is not run, by its name; an empty string: it is run. ``others``:
    tests that were collected and are no properties.
    """

    kind: ClassVar[str] = "properties_found"
    instance: str
    reasons: dict[str, Any] = field(default_factory=dict)
    others: int = 0


@dataclass(frozen=True, slots=True)
class PropertyFigures(Event):
    """The figures of some properties of a suite, cumulative for the instance, by name.

    Each is ``{"trials", "invalid", "entries", "edges", "findings", "cpu_ms", "work", "share",
    "weight"}``. ``entries``: those in the queue. ``edges``: cells that the property's entries
    cover. ``work``: as it is counted for turns. ``share``: of the work until the next report, in
    millionths. ``weight``: a user's.
    """

    kind: ClassVar[str] = "property_figures"
    instance: str
    figures: dict[str, Any] = field(default_factory=dict)
