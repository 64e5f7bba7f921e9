"""A page as text for a terminal: without charts, and with the start of long tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Final

from fuzztui.kernel.base.page import Block, Cell, Code, Facts, Folded, Item, Note, Page, Part, Table
from fuzztui.kernel.base.text import aligned, brief, visible

_WIDTH: Final = 96
"""Columns of a paragraph."""

_CELL: Final = 72
"""Columns of a cell."""

_ROWS: Final = 40
"""Rows of a table; the other formats have more."""


def plain_page(page: Page) -> str:
    """Return the text."""
    return "\n".join(_page(page))


def _page(page: Page) -> Iterator[str]:
    yield brief(page.title)
    yield brief(page.about)
    for section in page.sections:
        lines = [line for part in section.parts for line in _part(part)]
        if lines:
            yield ""
            yield brief(section.title)
            yield from lines


def _part(part: Part) -> Iterator[str]:
    match part:
        case Note(text):
            yield from (f"  {line}" for line in wrap(visible(text), _WIDTH))
        case Facts(rows):
            width = max((len(name) for name, _ in rows), default=0)
            for name, cell in rows:
                yield f"  {visible(name):<{width}}  {_cell(cell)}"
        case Block(text):
            for line in visible(text, lines=True).split("\n"):
                yield f"    {line}"
        case Table():
            yield from _table(part)
        case Item(title, parts) | Folded(title, parts):
            yield f"  {brief(title)}"
            for inner in parts:
                yield from _part(inner)


def _cell(cell: Cell) -> str:
    return brief(cell.text if isinstance(cell, Code) else cell, _CELL)


def _table(table: Table) -> Iterator[str]:
    rows: list[Sequence[str]] = [[visible(h) for h in table.heads]]
    rows += [[_cell(cell) for cell in row] for row in table.rows[:_ROWS]]
    yield from (f"  {line}".rstrip() for line in aligned(rows, table.numbers))
    if left := len(table.rows) - (len(rows) - 1) + table.left_out:
        yield f"  and {left:,} more: -o FILE.html"
