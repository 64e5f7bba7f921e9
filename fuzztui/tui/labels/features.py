"""What features add to the table of instances, and to what is shown about one instance."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fuzztui.base.plugins import named
from fuzztui.model.feature import features
from fuzztui.model.state import Instance, State
from fuzztui.tui.base.columns import Column
from fuzztui.tui.labels.facts import Fact


def feature_columns(state: Callable[[], State]) -> Iterator[Column[Instance]]:
    """Yield the columns that features add; ``state`` returns the state that is shown."""
    for feature in features():
        if feature.columns:
            yield from named(feature.columns)(state)


def feature_facts(instance: Instance, state: State) -> Iterator[Fact]:
    """Yield the facts that features add."""
    for feature in features():
        if feature.facts:
            yield from named(feature.facts)(instance, state)
