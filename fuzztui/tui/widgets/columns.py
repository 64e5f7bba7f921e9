"""What a table shows of a row, and how many cells each column gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")

Cell = tuple[str, str]
"""Text (untrusted: the table makes it plain) and style words."""

GAP = 2
"""Blank cells between columns."""


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """One column: its cells, its order, its room.

    ``sort`` gives a value of one comparable type for every row; None: not sortable.
    ``flex`` takes the room that is left (one column a table). ``needs``: the column
    is left out in a table with fewer cells than that.
    """

    id: str
    title: str
    cell: Callable[[T], Cell]
    sort: Callable[[T], Any] | None = None
    align: str = "left"
    min: int = 3
    max: int = 40
    flex: bool = False
    needs: int = 0
    descending: bool = False
    """The first click sorts the largest to the top."""


def shown(columns: Sequence[Column[T]], room: int) -> list[Column[T]]:
    """The columns that a table of ``room`` cells shows."""
    return [c for c in columns if c.needs <= room]


def widths(
    columns: Sequence[Column[T]],
    wanted: Sequence[int],
    room: int,
    sorted_by: Column[T] | None = None,
) -> list[int]:
    """Cells for each column: what its content wants within its limits, the rest to ``flex``.

    The sum with gaps may exceed ``room``: then the table scrolls sideways.
    """
    out = [
        max(c.min, len(c.title) + 2 * (c is sorted_by), min(c.max, want))
        for c, want in zip(columns, wanted, strict=True)
    ]
    left = room - sum(out) - GAP * (len(out) - 1)
    for i, column in enumerate(columns):
        if column.flex:
            out[i] = max(column.min, out[i] + left)
            break
    return out
