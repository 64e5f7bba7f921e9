"""What features add to the table of instances, and to what is shown about one instance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from fuzztui.kernel.base.guarded import guarded
from fuzztui.kernel.base.plugins import PluginError
from fuzztui.kernel.model.feature import features
from fuzztui.kernel.model.state import Instance, State
from fuzztui.tui.base.columns import Cell, Column
from fuzztui.tui.labels.facts import Fact, fact
from fuzztui.tui.labels.legend import LEGEND


def feature_columns(state: Callable[[], State]) -> Iterator[Column[Instance]]:
    """Yield the columns that features add; ``state`` returns the state that is shown."""
    for feature in features():
        if feature.columns:
            for column in feature.call(feature.columns, Column, state):
                sort = column.sort and guarded(column.sort, lambda *_: "")
                yield replace(column, cell=guarded(partial(_cell, column), _failed), sort=sort)


def _cell(column: Column[Instance], instance: Instance) -> Cell:
    text, style = column.cell(instance)
    return str(text), str(style)


def _failed(error: Exception, instance: Instance) -> Cell:
    return f"({type(error).__name__})", "failed"


def whole_legend() -> dict[str, dict[str, str]]:
    """Return the meanings of all columns by screen and column, with those of features."""
    added = {column.id: column.meaning for column in feature_columns(State)}
    return {**LEGEND, "overview": {**LEGEND["overview"], **added}}


def feature_facts(instance: Instance, state: State) -> Iterator[Fact]:
    """Yield the facts that features add."""
    for feature in features():
        if feature.facts:
            try:
                yield from feature.call(feature.facts, Fact, instance, state)
            except PluginError as e:
                yield fact("", str(e), "failed")
