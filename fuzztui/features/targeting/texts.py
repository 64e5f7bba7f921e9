"""What engines report of types and goals, as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.stats import finite
from fuzztui.kernel.wire.events import Event, GoalsUncovered, TargetingStats
from fuzztui.tui.base import format
from fuzztui.tui.labels.events import STATS, Described


def _goals(event: GoalsUncovered) -> Described:
    text = f"{len(event.left):,} reported" + (f"  {len(event.gone):,} covered" * bool(event.gone))
    return Described("goals", text, "muted", event.instance, STATS)


def _types(event: TargetingStats) -> Described:
    text = f"{event.uncovered:,} of {several(event.targets, 'goal')} uncovered"
    text += f", {event.frontier:,} on the frontier"
    text += f"  {several(len(event.names), 'type')}"
    text += f"  {format.share(min(1.0, finite(event.targeted)))} targeted"
    text += ", adaptive" * (event.adaptive is True)
    text += f"  pinned {event.pinned}" if event.pinned else ""
    text += f"  {len(event.ignored):,} ignored" if event.ignored else ""
    return Described("types", text, "muted", event.instance, STATS)


def texts() -> dict[type[Event], Callable[[Any], Described]]:
    """Return the functions that describe events as text, by class of event."""
    return {GoalsUncovered: _goals, TargetingStats: _types}
