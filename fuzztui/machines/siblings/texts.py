"""Siblings on screens: the text of their event, and facts about their passive instances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.state import Instance, State
from fuzztui.kernel.wire.events import Event
from fuzztui.machines.siblings.fold import SiblingState, counts, sibling_rows
from fuzztui.tui.base.text import plain
from fuzztui.tui.labels.events import STATS, Described
from fuzztui.tui.labels.facts import Fact, fact


def facts(instance: Instance, state: State) -> Iterator[Fact]:
    """Yield what was exchanged, of the passive instance of a sibling."""
    for row, kept in sibling_rows(state):
        if row.instance == instance.id:
            yield fact("exchanged", counts(row, kept, state.t))
            if row.problem:
                yield fact("problem", row.problem, "failed")


def _described(event: SiblingState) -> Described:
    text = event.problem or (
        f"{several(event.imported, 'input')} imported, {event.exported:,} exported, "
        f"{several(event.crashes, 'crash', 'crashes')}"
    )
    return Described("sibling", plain(text), "imported", event.instance, STATS)


def texts() -> dict[type[Event], Callable[[Any], Described]]:
    """Return the functions that describe events as text, by class of event."""
    return {SiblingState: _described}
