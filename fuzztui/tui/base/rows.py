"""The rows of a table: sorted and filtered while they change.

No Textual in here. A :class:`Rows` uses 100,000 rows of the model's own dict without a copy; an
update takes time for the changed rows only.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from fuzztui.tui.base.columns import Column

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

BULK = 200
"""Number of changed keys from which one sort is faster than insertions."""


class RowModel(Protocol[T_co]):
    """The interface of a table's rows. A key identifies a row permanently."""

    def __len__(self) -> int:
        """Return the number of rows that pass the filter."""

    def key(self, index: int) -> str:
        """Return the key of the row at ``index``."""

    def position(self, key: str) -> int | None:
        """Return the index of the row with ``key``; None if it is not shown."""

    def row(self, key: str) -> T_co | None:
        """Return the row; None while it is being loaded."""


class Rows(Generic[T]):
    """A :class:`RowModel` over a dict, ordered by a column, filtered by a text.

    The order is ascending by (sort value, the dict's own order); ``reverse`` reverses it.
    :meth:`update` must get every key that was added, changed or removed.
    """

    def __init__(self, columns: Sequence[Column[T]]) -> None:
        self._columns = columns
        self._rows: dict[str, T] = {}
        self._arrival: dict[str, int] = {}
        self._order: list[tuple[Any, int, str]] = []
        self._rank: dict[str, tuple[Any, int, str]] = {}
        self._haystack: dict[str, str] = {}
        self._words: list[str] = []
        self._also: Callable[[T], bool] | None = None
        self.sort_column: Column[T] | None = None
        self.reverse = False
        self.filter_text = ""

    # ----------------------------------------------------------- RowModel

    def __len__(self) -> int:
        return len(self._order)

    def key(self, index: int) -> str:
        """See :class:`RowModel`. Raises :class:`IndexError`."""
        if not 0 <= index < len(self._order):
            raise IndexError(index)
        return self._order[-1 - index if self.reverse else index][2]

    def position(self, key: str) -> int | None:
        """See :class:`RowModel`; takes logarithmic time."""
        rank = self._rank.get(key)
        if rank is None:
            return None
        index = bisect_left(self._order, rank)
        return len(self._order) - 1 - index if self.reverse else index

    def row(self, key: str) -> T | None:
        """See :class:`RowModel`."""
        return self._rows.get(key)

    def __contains__(self, key: str) -> bool:
        """Whether the row exists, shown or not."""
        return key in self._rows

    @property
    def total(self) -> int:
        """Number of rows before the filter."""
        return len(self._rows)

    # ------------------------------------------------------------ changes

    def load(self, rows: dict[str, T]) -> None:
        """Show ``rows`` (kept by reference) from now on."""
        self._rows = rows
        self._arrival = {key: i for i, key in enumerate(rows)}
        self._haystack.clear()
        self._rebuild()

    def update(self, keys: Iterable[str]) -> None:
        """Update the rows with these keys."""
        keys = [*dict.fromkeys(keys)]
        for key in keys:
            self._haystack.pop(key, None)
        if len(keys) >= BULK:
            self._rebuild()
            return
        self._arrive({k for k in keys if k in self._rows and k not in self._arrival})
        for key in keys:
            old = self._rank.pop(key, None)
            row = self._rows.get(key)
            new = None if row is None or not self._passes(key, row) else self._ranked(key, row)
            if old is not None:
                if new == old:
                    self._rank[key] = old
                    continue
                del self._order[bisect_left(self._order, old)]
            if new is not None:
                self._rank[key] = new
                insort(self._order, new)

    def sort(self, column: Column[T] | None, reverse: bool = False) -> None:
        """Order by ``column``; None: in the dict's order."""
        self.reverse = reverse
        if column is not self.sort_column:
            self.sort_column = column
            self._rebuild()

    def narrow(self, text: str, also: Callable[[T], bool] | None = None) -> None:
        """Show rows that contain every word of ``text`` (any case) and pass ``also``."""
        self.filter_text, self._words, self._also = text, text.casefold().split(), also
        self._rebuild()

    # ------------------------------------------------------------ details

    def _arrive(self, new: set[str]) -> None:
        """Number ``new`` keys in the dict's order, because the caller has a set only.

        New keys are at the dict's end, so that only its end is searched.
        """
        found: list[str] = []
        for key in reversed(self._rows):
            if len(found) == len(new):
                break
            if key in new:
                found.append(key)
        for key in reversed(found):
            self._arrival[key] = len(self._arrival)

    def _ranked(self, key: str, row: T) -> tuple[Any, int, str]:
        column = self.sort_column
        value = column.sort(row) if column is not None and column.sort is not None else 0
        return value, self._arrival[key], key

    def _passes(self, key: str, row: T) -> bool:
        if self._also is not None and not self._also(row):
            return False
        if not self._words:
            return True
        hay = self._haystack.get(key)
        if hay is None:
            hay = "\n".join(c.hay(row) for c in self._columns).casefold()
            self._haystack[key] = hay
        return all(word in hay for word in self._words)

    def _rebuild(self) -> None:
        # A copy: the thread that reads the log may be adding rows.
        rows = list(self._rows.items())
        for key, _ in rows:
            self._arrival.setdefault(key, len(self._arrival))
        self._rank = {key: self._ranked(key, row) for key, row in rows if self._passes(key, row)}
        self._order = sorted(self._rank.values())
