"""The rows of a table that the user has marked, on which the next command acts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from fuzztui.tui.base.rows import RowModel

T = TypeVar("T")


class MarkedRows:
    """Keys of marked rows, in the order of marking. A row may be hidden by a filter, or gone."""

    def __init__(self) -> None:
        self._keys: dict[str, None] = {}
        self._last: str | None = None
        """The row that was marked or unmarked last."""

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def toggle(self, key: str) -> None:
        """Mark a row, or unmark it."""
        if key in self._keys:
            del self._keys[key]
        else:
            self._keys[key] = None
        self._last = key

    def extend(self, index: int, source: RowModel[Any]) -> None:
        """Mark all rows from the one that was marked last to the one at ``index``."""
        start = None if self._last is None else source.position(self._last)
        first, last = sorted((index if start is None else start, index))
        self._keys |= dict.fromkeys(source.key(i) for i in range(first, last + 1))
        self._last = source.key(index)

    def clear(self) -> None:
        """Unmark all rows."""
        self._keys.clear()
        self._last = None

    def rows(self, source: RowModel[T]) -> list[T]:
        """Return the marked rows that still exist."""
        rows = map(source.row, self._keys)
        return [row for row in rows if row is not None]

    def hidden(self, source: RowModel[Any]) -> int:
        """Return the number of marked rows that the filter hides."""
        return sum(source.position(key) is None for key in self._keys)

    def notes(self, source: RowModel[Any]) -> Sequence[str]:
        """Return the numbers of marked and hidden rows as texts, the longest first."""
        if not self._keys:
            return ()
        words, hidden = f"{len(self._keys):,} marked", self.hidden(source)
        if not hidden:
            return (words,)
        return f"{words}, {hidden:,} hidden", f"{words} ({hidden:,})"
