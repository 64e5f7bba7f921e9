"""The text of the event on the Log screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuzztui.kernel.wire.events import Event, TargetShares
from fuzztui.tui.base.text import plain
from fuzztui.tui.labels.events import STATS, Described


def _shares(event: TargetShares) -> Described:
    having = [plain(n) for n, f in event.targets.items() if isinstance(f, dict) and f.get("runs")]
    text = f"turn of {', '.join(having)}" if having else "no target has a turn"
    return Described("targets", text, "muted", "", STATS)


def texts() -> dict[type[Event], Callable[[Any], Described]]:
    """Return the functions that describe events as text, by class of event."""
    return {TargetShares: _shares}
