"""What the lines of the big table look like: a row in its cells, the titles above them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from fuzztui.tui.palette import Palette
from fuzztui.tui.text import cell_len, fit, plain
from fuzztui.tui.widgets.columns import GAP, Column, Layout
from fuzztui.tui.widgets.rows import Rows

__all__ = ["cut", "header_line", "row_line"]

T = TypeVar("T")


def cut(strip: Strip, x: int, width: int, base: Style) -> Strip:
    """What is in view; a text that ends at the edge must not be taken for the whole of it."""
    seen = strip.crop_extend(x, x + width, base)
    edge = strip.crop(x + width - 1, x + width + 1).text
    if len(edge) == 2 and not any(map(str.isspace, edge)):
        return Strip([*seen.crop(0, width - 1), Segment("…", base)])
    return seen


def row_line(
    row: T, cells: Sequence[tuple[Column[T], int]], palette: Palette, base: Style
) -> Strip:
    """A row in columns of so many cells each."""
    segments = [Segment(" ", base)]
    for column, width in cells:
        text, words = column.cell(row)
        # Reversed colours would be a patchwork: sixteen-colour terminals get a plain bar.
        style = base + palette[words] if words and not base.reverse else base
        shown = plain(text)
        if column.cut is not None and cell_len(shown) > width:
            shown = plain(column.cut(text, width))
        segments.append(Segment(fit(shown, width, column.align), style))
        segments.append(Segment(" " * GAP, base))
    return Strip(segments)


def header_line(
    layout: Layout[Any],
    rows: Rows[Any],
    note: str,
    x: int,
    width: int,
    *,
    base: Style,
    sign: Style,
) -> Strip:
    """Titles, from cell ``x`` on, ``width`` of them.

    At the edges stand signs for columns out of view, at the right the ``note``.
    """
    segments = [Segment(" ", base)]
    for column, cells in layout.cells:
        title, style = column.title, base
        last = column is layout.cells[-1][0]
        if note and column.flex and not last and cell_len(note) <= cells:  # not over others
            title, style, note = note, sign, ""
        if column is rows.sort_column:
            title += " ▼" if rows.reverse else " ▲"
            style = base + Style(bold=True)
        segments.append(Segment(fit(title, cells, column.align) + " " * GAP, style))
    header = Strip(segments).crop_extend(x, x + width, base)
    if x > 0:
        header = Strip([Segment("‹", sign), *header.crop(1)])
    note = f" {note} " if note else ""
    if x + width < layout.total:
        note += "›"
    if note:
        left = max(0, width - cell_len(note))
        header = Strip([*header.crop(0, left), Segment(note, sign)])
    return header.adjust_cell_length(width, base)
