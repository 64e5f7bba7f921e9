"""The lines of the big table: a row in its cells, and the header."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Offset, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from fuzztui.tui.base.columns import GAP, Column, Layout
from fuzztui.tui.base.palette import Palette
from fuzztui.tui.base.rows import Rows
from fuzztui.tui.base.text import fit, plain

T = TypeVar("T")


class TableFrame(NamedTuple):
    """What all lines of a frame share: Textual would compute these values for each line."""

    place: tuple[Size, Offset]
    """The room for the lines, without the scrollbar, and the scroll position."""
    base: Style
    """The style of a cell."""

    @classmethod
    def of(cls, table: ScrollView) -> TableFrame:
        """Take the present values of a table."""
        room = Size(table.scrollable_content_region.width, table.size.height)
        return cls((room, table.scroll_offset), table.rich_style)


def cut(strip: Strip, x: int, width: int, base: Style) -> Strip:
    """Crop to the visible part; a text that continues beyond the edge gets an ellipsis."""
    seen = strip.crop_extend(x, x + width, base)
    edge = strip.crop(x + width - 1, x + width + 1).text
    if len(edge) == 2 and not any(map(str.isspace, edge)):
        return Strip([*seen.crop(0, width - 1), Segment("…", base)])
    return seen


def row_line(
    row: T, cells: Sequence[tuple[Column[T], int]], palette: Palette, base: Style
) -> Strip:
    """Draw a row; ``cells`` are the columns with their widths."""
    segments = [Segment(" ", base)]
    for column, width in cells:
        text, words = column.cell(row)
        # Colours would turn a reversed bar into a patchwork on 16-colour terminals.
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
    notes: Sequence[str],
    x: int,
    width: int,
    *,
    base: Style,
    sign: Style,
) -> Strip:
    """Draw ``width`` cells of the header, from cell ``x`` on.

    Signs at the edges mark columns out of view, and those that only a wider table has.
    The first of ``notes`` (longest first) that fits is shown next to a title, never over one; none
    is shown if none fits.
    """
    segments = [Segment(" ", base)]
    note = notes[0] if notes else ""
    for column, wide in layout.cells:
        title, style, cells = column.title, base, wide
        last = column is layout.cells[-1][0]
        by = column is rows.sort_column
        roomy = cell_len(f"{title}  {note}") <= cells
        if note and column.flex and roomy and not (last or by):
            # Next to its own title, not over another title.
            segments.append(Segment(title, base))
            title, style, cells = f"  {note}", sign, cells - cell_len(title)
            notes = ()
        if by:
            # The mark is never cut off.
            title = fit(title, min(cell_len(title), cells - 2))
            title += " ▼" if rows.reverse else " ▲"
            style = base + Style(bold=True)
        segments.append(Segment(fit(title, cells, column.align) + " " * GAP, style))
    header = Strip(segments).crop_extend(x, x + width, base)
    if x > 0:
        header = Strip([Segment("‹", sign), *header.crop(1)])
    if x + width < layout.total:
        header = Strip([*header.crop(0, width - 1), Segment("›", sign)])
    elif layout.hidden:
        # In the last gap: at the end, or in front of the last title. It narrows no column.
        start, end = ([gap.span() for gap in re.finditer(" {2,}", header.text)] or [(0, 0)])[-1]
        if end > start:
            at = end - 1 if end == width or end - start < 3 else end - 2
            header = Strip([*header.crop(0, at), Segment("…", base), *header.crop(at + 1)])
    gaps = [gap.span() for gap in re.finditer(" +", header.text)]
    for note in filter(None, notes):
        size = cell_len(note)
        # One blank on either side, two before a title. The last gap that fits: the eye ends there.
        fitting = [(start, end) for start, end in gaps if end - start >= size + 2]
        if fitting:
            start, end = fitting[-1]
            at = max(start + 1, end - size - (1 if end == width else 2))
            header = Strip([*header.crop(0, at), Segment(note, sign), *header.crop(at + size)])
            break
    return header.adjust_cell_length(width, base)
