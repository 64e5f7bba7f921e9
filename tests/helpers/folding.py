"""States of made-up campaigns."""

from __future__ import annotations

from collections.abc import Iterable

from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import Event, Record


def fold(*events: Event, state: State | None = None) -> State:
    """A state after these events, one a second; ``state`` is continued."""
    state = State() if state is None else state
    numbered = enumerate(events, state.seq + 1)
    apply(state, [Record(n, float(n), event) for n, event in numbered])
    return state


def state_of(records: Iterable[Record]) -> State:
    state = State()
    apply(state, records)
    return state
