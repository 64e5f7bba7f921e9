"""What engines report of text mutators, type targeting and suites, as text."""

from __future__ import annotations

from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.stats import finite
from fuzztui.kernel.wire.events import (
    GoalsUncovered,
    MutatorStats,
    PropertiesFound,
    PropertyFigures,
    TargetingStats,
)
from fuzztui.kernel.wire.mixture import CLASSES, Mixture
from fuzztui.tui.base import format
from fuzztui.tui.labels.events.base import INSTANCES, STATS, Described, describe


@describe.register
def _mutators(event: MutatorStats) -> Described:
    mode = "adaptive" if event.adaptive else "fixed"
    parts = (finite(getattr(event, name)) for name in CLASSES)
    trials = f"{format.count(event.trials)} trial{'s' * (event.trials != 1)}"
    text = f"{trials}  {Mixture(*parts)}  {mode}"
    return Described("mixture", text, "muted", event.instance, STATS)


@describe.register
def _types(event: TargetingStats) -> Described:
    text = f"{event.uncovered:,} of {several(event.targets, 'goal')} uncovered"
    text += f", {event.frontier:,} on the frontier"
    text += f"  {several(len(event.names), 'type')}"
    text += f"  {format.share(min(1.0, finite(event.targeted)))} targeted"
    text += f"  pinned {event.pinned}" if event.pinned else ""
    text += f"  {len(event.ignored):,} ignored" if event.ignored else ""
    return Described("types", text, "muted", event.instance, STATS)


@describe.register
def _goals(event: GoalsUncovered) -> Described:
    text = f"{len(event.left):,} reported" + (f"  {len(event.gone):,} covered" * bool(event.gone))
    return Described("goals", text, "muted", event.instance, STATS)


@describe.register
def _properties(event: PropertiesFound) -> Described:
    out = sum(bool(reason) for reason in event.reasons.values())
    text = several(len(event.reasons) - out, "property", "properties")
    text += f"  {out:,} not run" if out else ""
    return Described("suite", text, "muted", event.instance, INSTANCES)


@describe.register
def _shares(event: PropertyFigures) -> Described:
    text = f"figures of {several(len(event.figures), 'property', 'properties')}"
    return Described("suite", text, "muted", event.instance, STATS)
