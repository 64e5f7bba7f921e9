"""A widget drawn from styled spans that repaints only the cells that changed.

Over SSH every byte counts and an idle screen should send none: a subclass says what
the lines are now, the canvas finds out what that changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from fuzztui.tui.base.painter import painter
from fuzztui.tui.base.palette import Palette
from fuzztui.tui.base.text import cell_len


class TextSpan(NamedTuple):
    """Text that is :func:`~fuzztui.tui.base.text.plain` already, in one style.

    ``style`` are words for the :class:`~fuzztui.tui.base.palette.Palette`. ``click`` names
    what a click on it means; the canvas hands it to :meth:`Canvas.clicked`.
    """

    text: str
    style: str = ""
    click: str = ""


Line = Sequence[TextSpan]


class OneLine(list[TextSpan]):
    """A :data:`Line` that is cut where a pane is too narrow, not wrapped: a line of a program."""


def width_of(line: Line) -> int:
    """Cells that ``line`` takes."""
    return sum(cell_len(span.text) for span in line)


def spread(left: Line, right: Line, width: int) -> list[TextSpan]:
    """``left`` and ``right`` at the two ends of ``width`` cells; ``right`` gives way first."""
    room = width - width_of(left)
    wanted = width_of(right)
    if wanted >= room:
        return list(left)
    return [*left, TextSpan(" " * (room - wanted)), *right]


def to_strip(line: Line, width: int, base: Style, palette: Palette) -> Strip:
    """``line`` in exactly ``width`` cells."""
    segments = [Segment(s.text, base + palette[s.style] if s.style else base) for s in line]
    return Strip(segments).adjust_cell_length(width, base)


def changed_span(old: Strip, new: Strip) -> tuple[int, int] | None:
    """First and last-plus-one cell that differ, to whole segments; None if none does."""
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
    return first, max(old.cell_length, new.cell_length) - tail


class Canvas(Widget):
    """Base of all widgets that are a handful of lines.

    Subclasses implement :meth:`paint` and call :meth:`repaint` when their data changed.
    """

    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._strips: list[Strip] = []
        self._lines: list[Line] = []
        self._painted: Size | None = None

    def paint(self, width: int, height: int) -> Sequence[Line]:
        """The lines to show in ``width`` x ``height`` cells; spare room stays empty."""
        raise NotImplementedError

    def clicked(self, click: str, at: int) -> None:
        """A span with a ``click`` was clicked, ``at`` cells from its start."""

    def repaint(self) -> None:
        """Draw again; only cells that differ are sent to the terminal."""
        if self._painted is None or self._painted != self.size:
            self.refresh()  # never shown at this size: Textual asks for all of it anyway
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
            return  # nearly always: ages are asked for once a second
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
        """Textual's Line API."""
        if self._painted != self.size:
            self._draw()
        return self._strips[y] if y < len(self._strips) else Strip.blank(self.size.width)

    def notify_style_update(self) -> None:
        """The theme changed: every strip is stale."""
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
