"""The rows of ``fuzztui status`` about types, uncovered goals and changed modules."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fuzztui.features.targeting.fold import TargetingSummary, stale, targeting_summary, type_rows
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.state import State

LIKELIEST = 2
"""Number of most probable types that ``status`` lists."""


def how_many_ignored(now: TargetingSummary) -> str:
    """Return the end of a line: how many goals are ignored; empty: none is."""
    return f"; {len(now.ignored):,} ignored" if now.ignored else ""


def targeting_rows(state: State, run: Path) -> Iterator[tuple[str, str]]:
    """Yield names and texts of the rows."""
    now = targeting_summary(state)
    if now is None:
        return
    rows = list(type_rows(state).values())
    likely = [f"{row.name} {row.probability:.0%}" for row in rows[:LIKELIEST] if row.probability]
    names = f"; most probable {', '.join(likely)}" if likely else ""
    pinned = f"; pinned {now.pinned}" if now.pinned else ""
    yield (
        "types",
        f"{now.share_text}{names}; "
        f"{now.uncovered:,} of {several(now.targets, 'goal')} left, "
        f"{now.frontier:,} on the frontier{pinned}{how_many_ignored(now)}",
    )
    if warning := stale(state):
        yield "changed", warning
