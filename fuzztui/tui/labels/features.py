"""What features add to the table of instances, and to what is shown about one instance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any, TypeVar

from fuzztui.kernel.base.guarded import guarded
from fuzztui.kernel.model.feature import features, list_of, own_features
from fuzztui.kernel.model.state import Instance, State
from fuzztui.tui.base.canvas import TextSpan
from fuzztui.tui.base.columns import Cell, Column
from fuzztui.tui.labels.facts import Fact, fact
from fuzztui.tui.labels.legend import ABOVE, LEGEND, Legend

T = TypeVar("T")


def feature_columns(state: Callable[[], State]) -> Iterator[Column[Instance]]:
    """Yield the columns that features add; ``state`` returns the state that is shown."""
    for feature in features():
        if feature.columns:
            yield from map(_safe, feature.objects(feature.columns, Column, state))


def _safe(column: Column[Instance]) -> Column[Instance]:
    """The column, with functions that never raise and return what tables expect."""
    sort, value, searched, cut = column.sort, column.value, column.searched, column.cut
    number = column.number or (sort if column.align == "right" else None)
    return replace(
        column,
        cell=guarded(partial(_cell, column.cell), _failed),
        sort=sort and guarded(partial(_sort_key, sort), lambda *_: (0, 0.0, "")),
        number=number and guarded(partial(_call, float, number), lambda *_: -1.0),
        value=value and guarded(partial(_call, str, value), lambda *_: ""),
        searched=searched and guarded(partial(_call, str, searched), lambda *_: ""),
        cut=cut and guarded(partial(_call, str, cut), lambda _, text, room: text[:room]),
    )


def _call(kind: Callable[[Any], T], function: Callable[..., Any], *args: Any) -> T:
    return kind(function(*args))


def _cell(cell: Callable[[Instance], Cell], instance: Instance) -> Cell:
    text, style = cell(instance)
    return str(text), str(style)


def _sort_key(sort: Callable[[Instance], Any], instance: Instance) -> tuple[int, float, str]:
    """A key that orders numbers before texts, for columns that may have both."""
    key = sort(instance)
    return (1, key, "") if isinstance(key, int | float) else (2, 0.0, str(key))


def _failed(error: Exception, instance: Instance) -> Cell:
    return f"({type(error).__name__})", "failed"


@cache
def whole_legend() -> Legend:
    """Return the meanings of all columns, with those of features."""
    added = {column.id: column.meaning for column in feature_columns(State)}
    columns = {**LEGEND, "overview": {**LEGEND["overview"], **added}}
    above = dict(ABOVE)
    for feature in own_features():
        if feature.legend:
            legend: Legend = feature.load(feature.legend)
            columns.update(legend.columns)
            above.update(legend.above)
    return Legend(columns, above)


def feature_facts(instance: Instance, state: State) -> Iterator[Fact]:
    """Yield the facts that features add."""
    for feature in features():
        if feature.facts:
            yield from feature.made_or(feature.facts, _facts, _failed_fact, instance, state)


def _facts(made: Iterable[Fact]) -> list[Fact]:
    """The facts, with texts wherever lines expect them."""
    return [
        Fact(str(one.name), [TextSpan(str(text), str(style)) for text, style, _ in one.spans])
        for one in list_of(Fact, made)
    ]


def _failed_fact(error: str) -> list[Fact]:
    return [fact("", error, "failed")]
