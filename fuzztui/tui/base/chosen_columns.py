"""The columns of a table that a user wants to see, in the user's order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fuzztui.tui.base.columns import NEVER, Column

HIDDEN = "-"
"""In front of the id of a column that is not shown."""


def chosen(columns: Sequence[Column[Any]], wanted: Sequence[str]) -> Sequence[Column[Any]]:
    """Return the columns with those first that ``wanted`` names by id, in this order.

    The others only serve a filter. If the names begin with :data:`HIDDEN`, all but the named
    columns are shown, in their own order. Without room the last ones are left out. Unchanged are
    a table without any of the named columns, and one that would show none.
    """
    by_id = {c.id: c for c in columns if c.needs < NEVER}
    if any(name.startswith(HIDDEN) for name in wanted):
        hidden = {name.removeprefix(HIDDEN) for name in wanted}
        if by_id.keys() <= hidden:
            return columns
        return [replace(c, needs=NEVER) if c.id in hidden else c for c in columns]
    first = [by_id[name] for name in wanted if name in by_id]
    if not first:
        return columns
    # The first column stays whatever the room.
    shown = [replace(c, needs=0, spare=False, drop=n > 0) for n, c in enumerate(first)]
    return [*shown, *(replace(c, needs=NEVER) for c in columns if c not in first)]
