"""Which columns of a table have something to show in any row that passes the filter."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from fuzztui.tui.base.columns import Column
from fuzztui.tui.base.rows import AT_ONCE, RowModel

T = TypeVar("T")


class Presence(Generic[T]):
    """Decides which columns have something to show, by all rows: scrolling hides no column.

    A column is present as long as one row with text in it (``spare``), or two rows with different
    texts (``varies``), pass the filter. Only when such rows are gone are others looked for.
    """

    def __init__(self, columns: Sequence[Column[T]]) -> None:
        self._wanted = {
            c.id: 2 if c.varies else 1 for c in columns if c.spare or c.spare_below or c.varies
        }
        self._columns = {c.id: c for c in columns}
        self._proofs: dict[str, dict[str, str]] = {id: {} for id in self._wanted}
        """By column: as many texts as are needed, each with the key of a row that has it."""
        self._next = 0
        self.present: set[str] = set()
        """Ids of the present columns, of those that are hidden without text."""

    def _lacking(self) -> list[str]:
        return [id for id, n in self._wanted.items() if len(self._proofs[id]) < n]

    def _text(self, id: str, row: T) -> str:
        column = self._columns[id]
        if column.value is not None and not column.cell(row)[0].strip():
            return ""  # a value that conditions compare, and that is not shown
        return (column.value or column.hay)(row).strip()

    def _note(self, ids: Iterable[str], key: str, row: T) -> None:
        for id in ids:
            if text := self._text(id, row):
                self._proofs[id].setdefault(text, key)

    def restart(self) -> None:
        """Look at all rows again, because they were filtered or sorted."""
        self._next = 0

    def changed(self, model: RowModel[T], keys: Iterable[str]) -> None:
        """Look at rows that were added or changed."""
        lacking = self._lacking()
        for key in keys if lacking else ():
            row = model.row(key)
            shown = [] if row is None else [id for id in lacking if self._text(id, row)]
            if row is not None and shown and model.position(key) is not None:
                self._note(shown, key, row)

    def look(self, model: RowModel[T], within: float) -> bool:
        """Update :attr:`present`; in a large table for ``within`` seconds. Returns whether done."""
        for id, proofs in self._proofs.items():
            for text, key in [*proofs.items()]:
                row = model.row(key)
                if row is None or model.position(key) is None or self._text(id, row) != text:
                    del proofs[text]
                    self._next = 0
        end, large = time.thread_time() + within, len(model) > AT_ONCE
        lacking = self._lacking()
        while lacking and self._next < len(model):
            key = model.key(self._next)
            row = model.row(key)
            self._next += 1
            if row is not None:
                self._note(lacking, key, row)
                if self._next % 16 == 0:
                    lacking = self._lacking()
                    if large and time.thread_time() >= end:
                        break
        lacking = self._lacking()
        done = not lacking or self._next >= len(model)
        self.present |= self._wanted.keys() - set(lacking)
        if done:
            self.present -= {id for id in lacking if not self._columns[id].stays}
        return done

    def forget(self, column: str) -> None:
        """Hide a column that is shown although it has become empty (:attr:`Column.stays`)."""
        if column in self._lacking():
            self.present.discard(column)
