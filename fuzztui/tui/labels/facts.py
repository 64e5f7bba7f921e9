"""Properties of one instance or host, and as many of them as lines have room for. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len

from fuzztui.tui.base.canvas import Line, TextSpan, width_of
from fuzztui.tui.base.text import fit, plain


class Fact(NamedTuple):
    """One property; the spans are safe to draw."""

    name: str
    spans: Line


def fact(name: str, value: str, style: str = "") -> Fact:
    """Return a property with one value, which need not be plain yet."""
    return Fact(name, [TextSpan(plain(value), style)])


def flow(about: Sequence[Fact], width: int, height: int, first: int = -1) -> list[Line]:
    """Return lines with as many facts as fit; the last fact may be cut.

    ``first``: cells of the first line, if they differ from ``width``.
    """
    room = width if first < 0 else first
    lines: list[Line] = []
    line: list[TextSpan] = [TextSpan(" ")]
    for fact in about:
        spans = [*([TextSpan(f"{fact.name} ", "muted")] if fact.name else []), *fact.spans]
        gap = [TextSpan("   ")] if len(line) > 1 else []
        full = gap and width_of([*line, *gap, *spans]) > room
        if full and len(lines) + 1 < height:
            lines.append(cut(line, room))
            line, room, gap = [TextSpan(" ")], width, []
        line += [*gap, *spans]
        if full and gap:
            break
    return [*lines, cut(line, room)][:height]


def cut(line: Line, width: int) -> list[TextSpan]:
    """Return ``line`` cut to ``width`` cells."""
    out: list[TextSpan] = []
    room = width
    for span in line:
        if room <= 0:
            break
        wide = cell_len(span.text)
        out.append(span if wide <= room else span._replace(text=fit(span.text, room)))
        room -= wide
    return out
