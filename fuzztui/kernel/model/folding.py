"""What each module of the model gives to the fold: how events of one kind change the state."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from fuzztui.kernel.model.changes import ChangesBuilder
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import Event


def _always(state: State, event: Event) -> bool:
    return True


def never(state: State, event: Event) -> bool:
    """Return False: the event list shows no event of the kind, because there are too many."""
    return False


@dataclass(frozen=True, slots=True)
class EventFold:
    """The fold of events of one kind. Several modules may fold the same kind, in their order."""

    kind: type[Event]
    apply: Callable[[State, Any, ChangesBuilder], None]
    is_news: Callable[[State, Any], bool] = _always
    """Whether the event list shows an event; called before it is folded."""
    rows: Callable[[Any], Collection[Any]] | None = None
    """Returns the rows of an event that is a long list. Such an event is not in the event list, and
    the work of its fold is counted by its rows (:attr:`State.cost`)."""
