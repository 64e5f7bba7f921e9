"""The filter of a table: the conditions of its input line, applied to the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from fuzztui.kernel.wire.conditions import FilterKey, parse_filter
from fuzztui.tui.base.filterbar import FilterBar
from fuzztui.tui.frame.table import BigTable

T = TypeVar("T")

SAMPLED = 2_000
"""Rows of which the values are offered while a condition is typed."""


def narrow(
    bar: FilterBar,
    table: BigTable[T],
    text: str,
    keys: Mapping[str, FilterKey[T]],
    also: Callable[[T], bool] | None = None,
) -> None:
    """Show only rows that pass the filter and ``also``; the input shows what is wrong with it."""
    found = parse_filter(text, keys)
    bar.say(found.problem)
    tests = (*found.tests, *([also] if also is not None else []))
    table.narrow(found.words, (lambda row: all(t(row) for t in tests)) if tests else None)
    count(bar, table)


def count(bar: FilterBar, table: BigTable[T]) -> None:
    """Show how many rows pass."""
    rows = table.rows
    bar.count(len(rows), rows.total, rows.progress)


def values_of(table: BigTable[T], keys: Mapping[str, FilterKey[T]], key: str) -> Iterable[str]:
    """Return the values of some rows, to complete a condition."""
    of = keys.get(key)
    if of is None or not of.listed:
        return
    rows = table.source
    for index in range(0, len(rows), max(1, len(rows) // SAMPLED)):
        row = rows.row(rows.key(index))
        if row is not None:
            yield of.text(row)
