"""What engines report of text mutators, as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuzztui.kernel.model.stats import finite
from fuzztui.kernel.wire.events import Event, MutatorStats
from fuzztui.kernel.wire.mixture import CLASSES, Mixture
from fuzztui.tui.base import format
from fuzztui.tui.labels.events import STATS, Described


def _mutators(event: MutatorStats) -> Described:
    mode = "adaptive" if event.adaptive else "fixed"
    parts = (finite(getattr(event, name)) for name in CLASSES)
    trials = f"{format.count(event.trials)} trial{'s' * (event.trials != 1)}"
    text = f"{trials}  {Mixture(*parts)}  {mode}"
    return Described("mixture", text, "muted", event.instance, STATS)


def texts() -> dict[type[Event], Callable[[Any], Described]]:
    """Return the functions that describe events as text, by class of event."""
    return {MutatorStats: _mutators}
