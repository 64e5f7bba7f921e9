"""The rows of ``fuzztui status`` about the mixture and the best mutators."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fuzztui.features.mutators.fold import mixture_summary
from fuzztui.kernel.base.text import clock, several
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.mixture import CLASSES, percentage

BEST = 3
"""Number of mutators that ``status`` lists."""


def mixture_rows(state: State, run: Path) -> Iterator[tuple[str, str]]:
    """Yield names and texts of the rows."""
    now = mixture_summary(state)
    if now is None:
        return
    parts = zip(CLASSES, now.mixture, strict=True)
    text = ", ".join(f"{name} {percentage(part)}{now.did(name)}" for name, part in parts)
    if now.each:
        yield "mixture", now.each
        yield "", f"on average {text}"
    else:
        text += f", {'adaptive' if now.adaptive else 'fixed'}"
        if now.t >= 0:
            text += f" since {clock(now.t)}" + (f" by {now.by}" if now.by else "")
        if now.differ:
            text += f" (the mean of {several(now.instances, 'instance')})"
        yield "mixture", text
    best = [f"{a.name} ({a.found:,} in {a.applied:,} uses)" for a in now.best[:BEST]]
    if best:
        yield "pays", f"best {', '.join(best)}"
