"""A page as one HTML file that contains all it needs: no script, and nothing is fetched."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence

from fuzztui.kernel.base.page import (
    Block,
    Cell,
    Code,
    Facts,
    Folded,
    Gutter,
    Item,
    ListedLine,
    Note,
    Page,
    PageChart,
    Part,
    Section,
    SourceLines,
    Table,
)
from fuzztui.kernel.base.text import visible
from fuzztui.tools.report.charts import chart
from fuzztui.tools.report.style import STYLE

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def escape(text: str, *, lines: bool = False) -> str:
    """Return untrusted text as it may stand in HTML, also within an attribute.

    ``lines``: newlines stay, for ``<pre>``.
    """
    return html.escape(visible(text, lines=lines), quote=True)


def html_page(page: Page) -> str:
    """Return the whole file."""
    return "\n".join(_page(page)) + "\n"


def _page(page: Page) -> Iterator[str]:
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    yield '<meta name="referrer" content="no-referrer">'
    yield f"<title>{escape(page.title)}</title>"
    yield f"<style>{STYLE}</style>\n</head>\n<body>"
    yield f"<header>\n<h1>{escape(page.title)}</h1>"
    yield f'<p class="about">{escape(page.about)}</p>\n</header>\n<main>'
    for section in page.sections:
        yield from _section(section)
    yield f'</main>\n<footer class="end">{escape(page.end)}</footer>\n</body>\n</html>'


def _section(section: Section) -> Iterator[str]:
    yield f"<section>\n<h2>{escape(section.title)}</h2>"
    yield from _parts(section.parts)
    yield "</section>"


def _parts(parts: Sequence[Part]) -> Iterator[str]:
    charts = False  # neighbouring charts stand side by side
    for part in parts:
        if isinstance(part, PageChart) != charts:
            charts = not charts
            yield '<div class="charts">' if charts else "</div>"
        yield from _part(part)
    if charts:
        yield "</div>"


def _part(part: Part) -> Iterator[str]:
    match part:
        case Note(text, is_warning):
            style = ' class="warn"' if is_warning else ""
            yield f"<p{style}>{escape(text)}</p>"
        case Facts(rows):
            yield "<dl>"
            yield from (f"<dt>{escape(name)}</dt><dd>{_cell(cell)}</dd>" for name, cell in rows)
            yield "</dl>"
        case Block(text):
            yield f"<pre>{escape(text, lines=True)}</pre>"
        case Table():
            yield from _table(part)
        case PageChart():
            yield from chart(part, escape)
        case SourceLines(lines):
            yield '<pre class="src">' + "\n".join(map(_listed, lines)) + "</pre>"
        case Folded(summary, parts):
            yield f"<details><summary>{escape(summary)}</summary>"
            yield from _parts(parts)
            yield "</details>"
        case Item(title, parts, labels):
            tags = "".join(f'<span class="tag">{escape(label)}</span>' for label in labels)
            yield f"<h3>{escape(title)}{tags}</h3>"
            yield from _parts(parts)


def _listed(line: ListedLine) -> str:
    styles = [name for name, is_on in (
        ("hit", line.gutter is Gutter.COVERED), ("miss", line.gutter is Gutter.MISSED),
        ("reach", line.gutter is Gutter.REACHED), ("bad", line.is_finding),
        ("left", line.survivors > 0),
    ) if is_on]  # fmt: skip
    marks = " ".join(f"{sign}{n}" for sign, n in (("✓", line.killed), ("●", line.survivors)) if n)
    style = f' class="{" ".join(styles)}"' if styles else ""
    notes = "".join(f"\n<i>{escape(note)}</i>" for note in line.notes)
    number, mark = f"<b>{line.number}</b>", f"<u>{marks}</u>"
    return f"<span{style}>{number}{mark}{escape(line.text)}</span>{notes}"


def _cell(cell: Cell) -> str:
    return f"<code>{escape(cell.text)}</code>" if isinstance(cell, Code) else escape(cell)


def _table(table: Table) -> Iterator[str]:
    def row(tag: str, cells: Iterable[str]) -> str:
        styles = (' class="n"' if n in table.numbers else "" for n in range(len(table.heads)))
        both = zip(styles, cells, strict=True)
        inside = (f"<{tag}{style}>{cell}</{tag}>" for style, cell in both)
        return f"<tr>{''.join(inside)}</tr>"

    yield '<div class="wide"><table>'
    yield f"<thead>{row('th', map(escape, table.heads))}</thead>\n<tbody>"
    for cells in table.rows:
        yield row("td", map(_cell, cells))
    yield "</tbody></table></div>"
    if table.left_out:
        yield f'<p class="more">and {table.left_out:,} more</p>'
