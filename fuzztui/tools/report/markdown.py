"""A page as Markdown, for a comment or a job's summary. Charts become small tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from fuzztui.kernel.base.page import (
    Block,
    Cell,
    Code,
    Facts,
    Folded,
    Item,
    Note,
    Page,
    PageChart,
    Part,
    Table,
    moment,
    value_at,
)
from fuzztui.tools.report.markdown_text import fenced, markdown_code, markdown_text

_MOMENTS: Final = 5
"""Columns of a chart's table: evenly spaced campaign times."""
_MAX_LINES: Final = 40
_MAX_CODE: Final = 500


def markdown_page(page: Page) -> str:
    """Return the whole text."""
    return "\n".join(_page(page)) + "\n"


def _page(page: Page) -> Iterator[str]:
    yield f"# {markdown_text(page.title)}"
    yield ""
    yield markdown_text(page.about)
    for section in page.sections:
        yield ""
        yield f"## {markdown_text(section.title)}"
        yield from _parts(section.parts)
    yield ""
    yield f"<sub>{markdown_text(page.end)}</sub>"


def _parts(parts: Sequence[Part]) -> Iterator[str]:
    for part in parts:
        yield ""
        yield from _part(part)


def _part(part: Part) -> Iterator[str]:
    match part:
        case Note(text, is_warning):
            yield f"> ⚠ {markdown_text(text)}" if is_warning else markdown_text(text)
        case Facts(rows):
            yield from _rows(["", ""], [[name, cell] for name, cell in rows], frozenset())
        case Block(text):
            yield from fenced(text)
        case Table():
            yield from _rows(part.heads, part.rows, part.numbers)
            if part.left_out:
                yield ""
                yield f"and {part.left_out:,} more"
        case PageChart():
            yield from _chart(part)
        case Folded(summary, parts):
            yield f"<details><summary>{markdown_text(summary)}</summary>"
            yield from _parts(parts)
            yield ""
            yield "</details>"
        case Item(title, parts, labels):
            tags = f" ({', '.join(map(markdown_text, labels))})" if labels else ""
            yield f"### {markdown_text(title)}{tags}"
            yield from _parts(parts)


def _rows(
    heads: Sequence[str], rows: Sequence[Sequence[Cell]], numbers: frozenset[int]
) -> Iterator[str]:
    yield f"| {' | '.join(map(markdown_text, heads))} |"
    yield f"|{'|'.join('--:' if n in numbers else '---' for n in range(len(heads)))}|"
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"


def _cell(cell: Cell) -> str:
    if isinstance(cell, Code):
        return markdown_code(cell.text, _MAX_CODE)
    return markdown_text(cell)


def _chart(chart: PageChart) -> Iterator[str]:
    times = [chart.end_s * n / (_MOMENTS - 1) for n in range(_MOMENTS)]
    heads = [chart.title, *(moment(t, chart.end_s) for t in times)]
    rows = [
        [line.name or chart.title, *(f"{value_at(line, t):,.0f}" for t in times)]
        for line in chart.lines[:_MAX_LINES]
    ]
    yield from _rows(heads, rows, frozenset(range(1, len(heads))))
    if len(chart.lines) > _MAX_LINES:
        yield f"\nand {len(chart.lines) - _MAX_LINES:,} more"
