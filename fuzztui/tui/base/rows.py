"""The rows of a table: sorted, filtered and marked while they change.

No Textual in here. A :class:`Rows` uses 100,000 rows of the model's own dict without a copy; an
update takes time for the changed rows only. Sorting and filtering all rows takes longer than a
frame, so that it can be done in slices.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from typing import Any, Generic, Protocol, TypeVar

from fuzztui.tui.base.columns import Column

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

BULK = 200
"""Number of changed keys from which one sort is faster than insertions."""

STEP = 64
"""Rows between two looks at the clock: about 1 ms."""

SHOWN_AT = 256
"""Rows that a filter has looked at when its first results are shown."""

AT_ONCE = 2_000
"""Rows up to which work is never sliced."""

RUN = 20_000
"""Rows that are sorted at once. The sorted parts are merged afterwards, which is faster."""


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
    """A :class:`RowModel` over a dict, ordered by a column, filtered by words and a test.

    The order is ascending by (sort value, the dict's own order); ``reverse`` reverses it. Without
    a column the sort value is ``rank``, by default the same for all rows.
    :meth:`update` must get every key that was added, changed or removed.

    :meth:`sort` and :meth:`narrow` with a time limit may leave work for :meth:`work`
    (:attr:`pending`). Until that is done the rows have their earlier order, or are those that the
    filter has found so far.
    """

    def __init__(
        self, columns: Sequence[Column[T]], rank: Callable[[T], Any] | None = None
    ) -> None:
        self._columns = columns
        self._rank = rank or _no_value
        self._rows: dict[str, T] = {}
        self._arrival: dict[str, int] = {}
        self._order: list[str] = []
        self._value: dict[str, Any] = {}
        """The sort value of each row in :attr:`_order`."""
        self._values: Callable[[T], Any] = _no_value
        """Returns the sort value by which :attr:`_order` is sorted now."""
        self._haystack: dict[str, str] = {}
        self._words: list[str] = []
        self._also: Callable[[T], bool] | None = None
        self._job: Iterator[None] | None = None
        self._changed: set[str] = set()
        """Rows that have changed since the unfinished work began."""
        self._reordered = False
        """Whether the dict's order may differ from the order in which the rows arrived: rows were
        removed, which may come again, or the dict was filled in another order."""
        self._descending = False
        """Whether :attr:`_order` is read from its end; ``reverse``, once the work is done."""
        self.progress = 1.0
        """The part of the rows that the filter has looked at."""
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
        return self._order[-1 - index if self._descending else index]

    def position(self, key: str) -> int | None:
        """See :class:`RowModel`; takes logarithmic time."""
        if key not in self._value:
            return None
        index = self._place(key, self._value[key])
        return len(self._order) - 1 - index if self._descending else index

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

    def load(self, rows: dict[str, T], within: float = inf, first: str | None = None) -> None:
        """Show ``rows`` (kept by reference) from now on.

        ``within`` and ``first``: see :meth:`narrow`.
        """
        self._rows = rows
        self._arrival = {key: i for i, key in enumerate(rows)}
        self._haystack.clear()
        self._reordered = False
        self._order, self._value = [], {}
        self._rebuild(within, first=first, publishes=True)

    def on_reordered(self) -> None:
        """Note that the dict was filled again, in another order; before :meth:`update`."""
        self._reordered = True

    def update(self, keys: Iterable[str], within: float = inf) -> bool:
        """Update the rows with these keys. Works ``within`` seconds at most.

        Returns False if no row has come, gone or moved.
        """
        keys = [*dict.fromkeys(keys)]
        for key in keys:
            self._haystack.pop(key, None)
        gone = [key for key in keys if key not in self._rows]
        self._reordered = self._reordered or bool(gone)
        bulk = len(keys) >= max(BULK, len(self._rows) // 64)
        if bulk or self._job is not None:
            for key in gone:
                if key in self._value:
                    del self._order[self._place(key, self._value[key])]
                    del self._value[key]
            if self._job is None:
                self._rebuild(within)
            else:
                self._changed.update(keys)  # looked at again when the work is done
            return True
        moved = False
        self._arrive({k for k in keys if k in self._rows and k not in self._arrival})
        for key in keys:
            row = self._rows.get(key)
            if key in self._value:
                old = self._value[key]
                if row is not None and self._passes(key, row) and self._values(row) == old:
                    continue
                del self._order[self._place(key, old)]
                del self._value[key]
                moved = True
            if row is not None and self._passes(key, row):
                value = self._values(row)
                self._order.insert(self._place(key, value), key)
                self._value[key] = value
                moved = True
        return moved

    def sort(self, column: Column[T] | None, reverse: bool = False, within: float = inf) -> None:
        """Order by ``column``; None: by ``rank``. Works ``within`` seconds at most."""
        self.reverse = reverse
        if column is not self.sort_column:
            self.sort_column = column
            self._rebuild(within)
        elif self._job is None:
            self._descending = reverse

    def narrow(
        self,
        words: str | Sequence[str],
        also: Callable[[T], bool] | None = None,
        *,
        within: float = inf,
        first: str | None = None,
    ) -> None:
        """Show rows that contain every word (any case) and pass ``also``.

        Works ``within`` seconds at most; looks at the row with key ``first`` at the beginning.
        """
        words = words.split() if isinstance(words, str) else words
        self.filter_text, self._also = " ".join(words), also
        self._words = [word.casefold() for word in words]
        self._rebuild(within, first=first, publishes=True)

    @property
    def pending(self) -> bool:
        """Whether sorting or filtering is not finished."""
        return self._job is not None

    def work(self, within: float = inf) -> bool:
        """Go on sorting or filtering for some seconds. Returns whether that is finished."""
        end = time.thread_time() + within
        while self._job is not None:
            if next(self._job, self) is self:
                self._finish()
            elif time.thread_time() >= end:
                break
        return self._job is None

    # ------------------------------------------------------------ details

    def _place(self, key: str, value: Any) -> int:
        arrival, values = self._arrival, self._value
        wanted = value, arrival[key]
        return bisect_left(self._order, wanted, key=lambda k: (values[k], arrival[k]))

    def _arrive(self, new: set[str]) -> None:
        """Number the ``new`` keys (a set, thus unordered) in the dict's order.

        Searches the dict from its end, where new keys are.
        """
        found: list[str] = []
        for key in reversed(self._rows):
            if len(found) == len(new):
                break
            if key in new:
                found.append(key)
        for key in reversed(found):
            self._arrival[key] = len(self._arrival)

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

    def _rebuild(
        self, within: float = inf, *, first: str | None = None, publishes: bool = False
    ) -> None:
        # A copy: the thread that reads the log may be adding rows. Of the keys only: 100,000 new
        # tuples would start a garbage collection, which takes far longer than the copy.
        keys = list(self._rows)
        if len(self._arrival) < len(keys) or self._reordered:
            for key in keys:
                self._arrival.setdefault(key, len(self._arrival))
        if self._reordered:
            keys.sort(key=self._arrival.__getitem__)
        self._changed.clear()
        self._job = self._build(keys, first, publishes)
        self.work(within if len(keys) > AT_ONCE else inf)

    def _finish(self) -> None:
        self._job = None
        self.progress = 1.0
        changed, self._changed = self._changed, set()
        if changed:
            self.update(changed)

    def _build(self, keys: list[str], first: str | None, publishes: bool) -> Iterator[None]:
        """Filter and sort; each step takes some milliseconds at most."""
        column, reverse = self.sort_column, self.reverse
        of = column.sort if column is not None and column.sort is not None else self._rank
        value: dict[str, Any] = {}
        ahead = self._rows.get(first) if first is not None else None
        if first is not None and ahead is not None and self._passes(first, ahead):
            value[first] = of(ahead)
        runs: list[list[str]] = []
        """Parts of the result in the order of arrival, each sorted by value."""
        run: list[str] = []
        publish_at = SHOWN_AT
        for at in range(0, len(keys), STEP):
            for key in keys[at : at + STEP]:
                row = self._rows.get(key)
                if row is not None and self._passes(key, row):
                    value[key] = of(row)
                    run.append(key)
            done = at + STEP
            self.progress = min(1.0, done / len(keys))
            if len(run) >= RUN and of is not _no_value:
                runs.append(sorted(run, key=value.__getitem__))
                run = []
            yield
            # Publish whenever the number of rows has doubled: each merge costs time, too.
            if publishes and publish_at <= done < len(keys) and len(value) < RUN:
                publish_at = 2 * done
                found = [key for part in (*runs, run) for key in part]
                if len(value) > len(found) and first is not None:
                    found.append(first)  # it arrived after all others
                found.sort(key=value.__getitem__)
                self._order, self._value, self._values = found, dict(value), of
                self._descending = reverse
                yield
        runs.append(run if of is _no_value else sorted(run, key=value.__getitem__))
        while len(runs) > 1:
            merged = []
            for two in range(0, len(runs), 2):
                yield
                pair = [key for part in runs[two : two + 2] for key in part]
                merged.append(sorted(pair, key=value.__getitem__))
            runs = merged
        self._order, self._value, self._values = runs[0], value, of
        self._descending = self.reverse


def _no_value(_row: object) -> int:
    """The sort value of all rows in their own order."""
    return 0


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
