"""A widget drawn from styled spans that repaints only changed cells.

Over SSH every byte counts, and an idle screen should send none: a subclass returns its current
lines, and the canvas determines what changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from fuzztui.tui.base.painter import painter
from fuzztui.tui.base.palette import Palette


class TextSpan(NamedTuple):
    """Text in one style; must have gone through :func:`~fuzztui.tui.base.text.plain`.

    ``style`` is for the :class:`~fuzztui.tui.base.palette.Palette`. ``click`` is passed to
    :meth:`Canvas.clicked` after a click on the span.
    """

    text: str
    style: str = ""
    click: str = ""


Line = Sequence[TextSpan]


class OneLine(list[TextSpan]):
    """A :data:`Line` that is cut, not wrapped, in a narrow pane: a line of source code."""


def width_of(line: Line) -> int:
    """Return the width of ``line`` in cells."""
    return sum(cell_len(span.text) for span in line)


def spread(left: Line, right: Line, width: int) -> list[TextSpan]:
    """Return ``left`` and ``right`` at the ends of ``width`` cells; without room only ``left``."""
    room = width - width_of(left)
    wanted = width_of(right)
    if wanted >= room:
        return list(left)
    return [*left, TextSpan(" " * (room - wanted)), *right]


def to_strip(line: Line, width: int, base: Style, palette: Palette) -> Strip:
    """Return ``line`` in exactly ``width`` cells."""
    segments = [Segment(s.text, base + palette[s.style] if s.style else base) for s in line]
    return Strip(segments).adjust_cell_length(width, base)


def changed_span(old: Strip, new: Strip) -> tuple[int, int] | None:
    """Return the first and last-plus-one differing cell; None if equal."""
    a, b = list(old), list(new)
    if a == b:
        return None
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    first = sum(s.cell_length for s in b[:start])
    tail = sum(s.cell_length for s in b[len(b) - end :])
    # Of the segments at both ends only the part that differs: a curve grows by a cell.
    a, b = a[start : len(a) - end], b[start : len(b) - end]
    if a and b:
        head = _common(a[0], b[0])
        first += cell_len(head)
        # Of a single segment only the rest.
        left = [s._replace(text=s.text[len(head) :]) for s in (a[0], b[0])]
        last = [left[n] if len(part) == 1 else part[-1] for n, part in enumerate((a, b))]
        mirrored = [s._replace(text=s.text[::-1]) for s in last]
        tail += cell_len(_common(*mirrored))
    return first, max(old.cell_length, new.cell_length) - tail


def _common(one: Segment, other: Segment) -> str:
    """The start that the texts of two segments of one style have in common."""
    if one.style != other.style or one.control or other.control:
        return ""
    pairs = enumerate(zip(one.text, other.text, strict=False))
    shortest = min(len(one.text), len(other.text))
    return one.text[: next((n for n, (a, b) in pairs if a != b), shortest)]


class Canvas(Widget):
    """The base of all widgets with a few lines.

    Subclasses implement :meth:`paint` and call :meth:`repaint` when their data changed.
    """

    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._strips: list[Strip] = []
        self._lines: list[Line] = []
        self._painted: Size | None = None

    def paint(self, width: int, height: int) -> Sequence[Line]:
        """Return the lines for ``width`` x ``height`` cells; the remaining cells stay empty."""
        raise NotImplementedError

    def clicked(self, click: str, at: int) -> None:
        """Called after a click on a span with ``click``, ``at`` cells from its start."""

    def repaint(self) -> None:
        """Draw again; only cells that differ are sent to the terminal."""
        if self._painted is None or self._painted != self.size:
            self.refresh()  # first time at this size: Textual draws everything anyway
            self._painted = None
            return
        old = self._strips
        self._draw()
        for y, (before, after) in enumerate(zip(old, self._strips, strict=True)):
            if before is not after and (span := changed_span(before, after)) is not None:
                self.refresh(Region(span[0], y, span[1] - span[0], 1))

    def _draw(self) -> None:
        width, height = self.size
        lines = list(self.paint(width, height))[:height] if width and height else []
        known = list(zip(self._lines, self._strips, strict=False))
        if self._painted != self.size:
            known.clear()
        elif lines == self._lines:
            return  # nearly always: ages are updated once per second
        base = self.rich_style
        palette = painter(self).palette
        self._strips = [
            known[y][1]
            if y < len(known) and known[y][0] == line
            else to_strip(line, width, base, palette)
            for y, line in enumerate(lines)
        ]
        self._strips += [Strip.blank(width, base)] * (height - len(lines))
        self._lines, self._painted = lines, self.size

    def render_line(self, y: int) -> Strip:
        """Implements Textual's Line API."""
        if self._painted != self.size:
            self._draw()
        return self._strips[y] if y < len(self._strips) else Strip.blank(self.size.width)

    def notify_style_update(self) -> None:
        """Discard all strips, because the theme changed."""
        self._painted = None
        super().notify_style_update()

    def on_click(self, event: events.Click) -> None:
        """Find the span under the pointer."""
        offset = event.get_content_offset(self)
        if offset is None or offset.y >= len(self._lines):
            return
        x = 0
        for span in self._lines[offset.y]:
            start, x = x, x + cell_len(span.text)
            if offset.x < x:
                if span.click:
                    event.stop()
                    self.clicked(span.click, offset.x - start)
                return
