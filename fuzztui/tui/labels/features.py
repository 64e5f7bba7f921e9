"""What features add to the table of instances, and to what is shown about one instance."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fuzztui.kernel.model.feature import features
from fuzztui.kernel.model.state import Instance, State
from fuzztui.tui.base.columns import Column
from fuzztui.tui.labels.facts import Fact
from fuzztui.tui.labels.legend import LEGEND


def feature_columns(state: Callable[[], State]) -> Iterator[Column[Instance]]:
    """Yield the columns that features add; ``state`` returns the state that is shown."""
    for feature in features():
        if feature.columns:
            yield from feature.load(feature.columns)(state)


def whole_legend() -> dict[str, dict[str, str]]:
    """Return the meanings of all columns by screen and column, with those of features."""
    added = {column.id: column.meaning for column in feature_columns(State)}
    return {**LEGEND, "overview": {**LEGEND["overview"], **added}}


def feature_facts(instance: Instance, state: State) -> Iterator[Fact]:
    """Yield the facts that features add."""
    for feature in features():
        if feature.facts:
            yield from feature.load(feature.facts)(instance, state)
